"""Stores that tests start and end: real servers, and servers that are of no use.

The sixth argument of the program that imports this is the S3 server.
"""

import contextlib
import http.client
import http.server
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import threading
import time

HERE = pathlib.Path.cwd()


def until(condition, what):
    """Waits for what happens beside the programs, and returns what came of it."""
    end = time.monotonic() + 120
    while not (found := condition()):
        assert time.monotonic() < end, what
        time.sleep(0.02)
    return found


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


class Redis:
    """A server of its own, on a socket in this folder."""

    def __init__(self, *options, password=""):
        self.socket = HERE / "redis.sock"
        self.environment = os.environ | {"REDISCLI_AUTH": password}
        options = (*options, "--requirepass", password) if password else options
        command = ["redis-server", "--port", "0", "--unixsocket", self.socket, "--save", "", "--dir", HERE, "--set-proc-title", "no", *options]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        self.url = f"redis+unix://{self.socket}"
        try:
            until(lambda: self.socket.exists() and self.cli("ping") == "PONG", "redis-server does not start")
        except AssertionError:
            self.__exit__()
            raise

    def cli(self, *words):
        command = ["redis-cli", "-s", self.socket, *map(str, words)]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)
        return done.stdout.strip()

    def keys(self, kind):
        return sorted(self.cli("keys", f"offloom/1/{kind}/*").split())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.socket.unlink(missing_ok=True)


class InTurn(http.server.BaseHTTPRequestHandler):
    """Passes requests on to the S3 server, one that puts something after the other: this one looks whether something is there, and
    then puts it, where Amazon's do both at once."""

    protocol_version = "HTTP/1.1"
    turn = threading.Lock()
    port = None

    def do_GET(self):
        self.pass_on(b"")

    def do_PUT(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        with self.turn:
            self.pass_on(body)

    def pass_on(self, body):
        server = http.client.HTTPConnection("127.0.0.1", self.port)
        # What is signed is the request as it came.
        server.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            server.putheader(name, value)
        server.endheaders(body or None)
        answer = server.getresponse()
        contents = answer.read()
        self.send_response_only(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                self.send_header(name, value)
        self.send_header("content-length", str(len(contents)))
        self.end_headers()
        self.wfile.write(contents)
        server.close()

    def log_message(self, *_):
        pass


class S3:
    """A server of its own, with one bucket, which is a folder."""

    def __init__(self):
        port = free_port()
        InTurn.port = port
        self.in_turn = WebServers(("127.0.0.1", 0), InTurn)
        threading.Thread(target=self.in_turn.serve_forever, daemon=True).start()
        self.folder = HERE / "buckets"
        self.prefix = self.folder / "builds" / "ci" / "offloom" / "1"
        shutil.rmtree(self.folder, ignore_errors=True)
        (self.folder / "builds").mkdir(parents=True)
        command = [sys.argv[5], "--host", "127.0.0.1", "--port", str(port), "--access-key", "us", "--secret-key", "hush", self.folder]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        self.url = "s3://builds/ci"
        os.environ |= {
            "AWS_ACCESS_KEY_ID": "us", "AWS_SECRET_ACCESS_KEY": "hush", "AWS_REGION": "eu-central-1",
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.in_turn.server_port}",
        }

        def answers():
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                return True

        until(answers, "the S3 server does not start")

    def end(self):
        """No more requests are taken."""
        self.in_turn.shutdown()
        self.in_turn.server_close()

    def keys(self, kind):
        return sorted(str(file) for file in self.prefix.glob(f"{kind}/*") if not file.name.startswith("."))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()
        self.process.kill()
        self.process.wait()


@contextlib.contextmanager
def server(answer):
    """Calls `answer` with each connection to a port, on a thread of its own."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def accept():
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(target=answer, args=(listening.accept()[0],), daemon=True).start()

        accepting = threading.Thread(target=accept, daemon=True)
        accepting.start()
        try:
            yield f"redis://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            # Closing alone leaves the thread waiting: it may take a connection to a later server that has the same descriptor.
            listening.shutdown(socket.SHUT_RDWR)
            accepting.join()


@contextlib.contextmanager
def between(redis, answer):
    """A store in front of a server, with which `answer` answers bytes that were asked: nothing ends the connection."""

    def serve(client):
        with contextlib.suppress(OSError), client, socket.socket(socket.AF_UNIX) as store:
            store.connect(str(redis.socket))

            def ask(asked):
                store.sendall(asked)
                return store.recv(1 << 20)

            while (asked := client.recv(1 << 20)) and (answered := answer(ask, asked)):
                client.sendall(answered)

    with server(serve) as url:
        yield url


class WebServers(http.server.ThreadingHTTPServer):
    """As many connections at once as a client makes."""

    request_queue_size = 128

    def handle_error(self, *_):
        """Programs end while they are answered."""


class WebServer(http.server.BaseHTTPRequestHandler):
    """Keeps what is put, for one user."""

    protocol_version = "HTTP/1.1"
    kept = {}

    def do_GET(self):
        body = self.kept.get(self.path)
        self.answer(200 if body is not None else 404, body or b"")

    def do_PUT(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.headers.get("if-none-match") == "*" and self.path in self.kept:
            self.answer(412)
        else:
            self.kept[self.path] = body
            self.answer(201)

    def answer(self, status, body=b""):
        if self.headers.get("authorization") != "Basic bWU6aHVzaA==":
            status, body = 401, b""
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Empty(http.server.BaseHTTPRequestHandler):
    """Has nothing."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(404)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class NoBucket(http.server.BaseHTTPRequestHandler):
    """Answers as Amazon's servers where there is no such bucket. The server that the tests have makes one."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = b'<?xml version="1.0"?><Error><Code>NoSuchBucket</Code><BucketName>none</BucketName></Error>'
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.send_response(404)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_PUT = do_GET

    def log_message(self, *_):
        pass
