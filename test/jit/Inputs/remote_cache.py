"""The JIT's remote cache, with stores that this starts and ends: see remote.cpp.

Arguments: the program offloom, the program under test, the file with what it prints, which cases, and what those take.
"""

import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time

# What is imported is not kept beside the tests.
sys.dont_write_bytecode = True
from remote_at_once import many_at_once
from remote_nodes import EXPECTED, LONG, PROGRAM, VARIANTS, Node, compiled_all, fetched_all, fill, kept_all, without_log
from remote_stores import HERE, Empty, NoBucket, Redis, S3, WebServer, WebServers, between, free_port, server, until

CASES, GIVEN, JUDGED = sys.argv[4], sys.argv[5], sys.argv[-1]


def redis_serves_others():
    with Redis() as redis:
        maker, remote = fill("maker", redis)
        assert remote["absent"] == VARIANTS, remote
        assert len(redis.keys("claim")) == VARIANTS, redis.cli("keys", "*")
        # A second run has all in its folder, and a first one elsewhere has all from the store, with a public key alone.
        kept_all(maker)
        reader = Node("reader", redis.url, trusts=maker)
        remote = fetched_all(reader)
        assert remote["fetched"] + remote["fetched_ahead"] >= VARIANTS, remote
        assert "only read" in reader.offloom("cache", "remote", "status")
        assert "no private key" in reader.offloom("cache", "push", fails=True)
        assert "remote store" in reader.offloom("explain", reader.folder / "stats.1")
        # Now it is in the folder; and a folder that a site shares is told apart.
        kept_all(reader)
        beside = Node("beside", redis.url, trusts=maker)
        assert beside.run(OFFLOOM_JIT_CACHE_PATH=str(maker.folder / "cache"))[0] == {"shared_cache": VARIANTS}
        # Beside a program, nothing is compiled either. On a busy machine a program this short may end before an answer is there.
        for _ in range(50):
            origins, remote, says = Node("async", redis.url, trusts=maker).run(OFFLOOM_JIT="async")
            assert not origins["compiled"] and not without_log(says), (origins, remote, says)
            if remote["fetched_ahead"] > 0:
                break
        assert remote["fetched_ahead"] > 0, (origins, remote, says)
        # The program has no thread more, one socket, and hardly more memory.
        counts = []
        for number, url in enumerate(("", redis.url)):
            counting = Node("counting", url, trusts=maker)
            counting.environment = {name: value for name, value in counting.environment.items() if value}
            counting.run(COUNT=str(HERE / f"count.{number}"))
            counts.append([int(word) for word in (HERE / f"count.{number}").read_text(encoding="utf-8").split()])
        (threads, sockets, memory), (with_store, sockets_with_store, memory_with_store) = counts
        assert with_store == threads and sockets_with_store <= sockets + 1, counts
        assert 0 < memory_with_store <= memory + 512, counts

        # An altered byte, in the contents and in the header.
        whole = redis.keys("object")
        for offset in (500, 90):
            for key in whole:
                redis.cli("setrange", key, offset, "altered!")
            redis.cli("del", "a", *redis.keys("list"))
            compiled_all(Node("altered", redis.url, trusts=maker), "not used: its signature is wrong", refused=VARIANTS)
        # Who pushes, or makes them and signs, puts them there anew.
        pushed = f"pushed 0 kernels, {VARIANTS} more in the place of what is not to be trusted here"
        assert pushed in maker.offloom("cache", "push")
        assert fetched_all(Node("mended", redis.url, trusts=maker))["fetched"] == VARIANTS
        for key in whole:
            redis.cli("setrange", key, 500, "altered!")
        heir = Node("heir", redis.url, signs=True, trusts=maker)
        compiled_all(heir, "not used: its signature is wrong", refused=VARIANTS, published=VARIANTS)
        until(lambda: len(redis.keys("list")) == 2, "what was compiled anew is not put into the store")
        assert fetched_all(Node("mended", redis.url, trusts=heir))["refused"] == 0

        # Another machine's key does not change what this one's has signed, but for lists, which it replaces.
        def lists():
            digest = "return redis.sha1hex(redis.call('get', KEYS[1]))"
            return {redis.cli("eval", digest, 1, key) for key in redis.keys("list")}

        before = lists()
        stranger = Node("stranger", redis.url, signs=True)
        assert compiled_all(stranger, "is not trusted here", published=VARIANTS)["refused"] >= VARIANTS
        until(lambda: lists() != before, "what another machine wants is not put into the store")
        redis.cli("del", *redis.keys("list"))
        fetched_all(Node("mended", redis.url, trusts=heir))
        listed = json.loads(heir.offloom("--json", "key", "list"))
        assert sorted((key["name"], key["signs"]) for key in listed) == [("heir", True), ("maker", False)], listed
        redis.cli("flushall")
        maker, _ = fill("maker", redis)
        # One object under the name of another.
        one, *others = redis.keys("object")
        for other in others:
            redis.cli("copy", one, other, "replace")
        redis.cli("del", *redis.keys("list"))
        elsewhere = Node("moved", redis.url, trusts=Node("maker2", redis.url, signs=True))
        compiled_all(elsewhere, "which is not trusted here", refused=VARIANTS)
        trusting = Node("moved", redis.url)
        shutil.copytree(maker.folder / "keys", trusting.folder / "keys")
        (trusting.folder / "keys" / "maker.key").unlink()
        origins, remote, says = trusting.run()
        assert remote["refused"] == VARIANTS - 1 and "signed for another object" in says, (remote, says)
        # No key at all, and one that others may read.
        compiled_all(Node("keyless", redis.url), "no key is trusted", fetched=0)
        (maker.folder / "keys" / "maker.key").chmod(0o644)
        careless = Node("careless", redis.url)
        shutil.copytree(maker.folder / "keys", careless.folder / "keys")
        compiled_all(careless, "must belong to you or to root and have mode 600", fetched=0)


def killed_and_restarted():
    with Redis() as redis:
        maker, _ = fill("maker", redis)
        url = redis.url
    reader = Node("reader", url, trusts=maker)
    remote = compiled_all(reader, "is left alone, and tried again in a minute", fetched=0)
    assert remote["failed"] <= 4, remote
    # The next process knows.
    reader.forget()
    compiled_all(reader, fetched=0, failed=0, absent=0)
    assert "remote store" in reader.offloom("cache", "remote", "status", fails=True)
    with Redis() as redis:
        fill("again", redis)


def full():
    with Redis("--maxmemory", "1kb", "--maxmemory-policy", "noeviction") as redis:
        maker = Node("full", redis.url, signs=True)
        for _ in range(50):
            origins, remote, says = maker.run()
            maker.forget()
            assert origins == {"compiled": VARIANTS}, (origins, remote)
            # The program may end before it hears of it.
            lines = without_log(says)
            assert (len(lines) == 1) == (remote["not_put"] > 0) and len(lines) <= 1, (remote, says)
            if lines:
                break
        assert "is not put into the remote store" in lines[0] and "OOM" in lines[0], says
        assert f"{remote['not_put']} not put there" in maker.offloom("explain", maker.folder / f"stats.{maker.runs}")
        assert redis.keys("object") == []


def slow_and_garbage():
    with Redis() as redis:
        maker, _ = fill("maker", redis)
        redis.cli("del", *redis.keys("list"))

        def delayed(client):
            with contextlib.suppress(OSError), client, socket.socket(socket.AF_UNIX) as store:
                store.connect(str(redis.socket))
                while asked := client.recv(1 << 16):
                    store.sendall(asked)
                    answer = store.recv(1 << 20)
                    time.sleep(2)
                    client.sendall(answer)

        with server(delayed) as url:
            # One launch waits; beside the others it is found out that the store is of no use, or after the program's end. The next
            # process knows.
            slow = Node("slow", url, trusts=maker, deadline=50)

            def is_left_alone():
                origins, remote, says = slow.run()
                slow.forget()
                assert origins == {"compiled": VARIANTS} and remote["failed"] <= 4, (origins, remote, says)
                assert len(re.findall(r"it has not answered in \d+ ms", says)) <= 1, says
                return "another process has found it slow" in says and remote["failed"] == 0

            assert not is_left_alone()
            until(is_left_alone, "a slow store is not left alone")

            # What is compiled is put there all the same.
            redis.cli("flushall")
            maker = Node("slow-maker", url, signs=True, deadline=50)
            origins, remote, _ = maker.run()
            assert origins == {"compiled": VARIANTS} and remote["published"] == VARIANTS, (origins, remote)
            until(lambda: len(redis.keys("object")) == VARIANTS, "a slow store is not given what is compiled")

    noise = random.Random(40)

    def garbage(client):
        with contextlib.suppress(OSError), client:
            while client.recv(1 << 16):
                client.sendall(noise.choice([b"$99999999999\r\n", b"*-7\r\n", noise.randbytes(300), b"+OK\r\n$3\r\nabc\r\n"]))

    for _ in range(3):
        with server(garbage) as url:
            origins, _, says = Node("garbage", url, trusts=maker, deadline=200).run()
            assert origins == {"compiled": VARIANTS} and len(without_log(says)) <= 2, (origins, says)


def loses_writes():
    """Says that it has kept what it has not."""
    with Redis() as redis:
        with between(redis, lambda ask, asked: b"+OK\r\n" if b"\r\nSET\r\n" in asked else ask(asked)) as url:
            maker = Node("forgotten", url, signs=True)
            for _ in range(2):
                node = Node("forgotten", url)
                shutil.copytree(maker.folder / "keys", node.folder / "keys")
                compiled_all(node, fetched=0, fetched_ahead=0, absent=VARIANTS, refused=0, failed=0, published=VARIANTS)
                assert not redis.keys("*"), redis.cli("keys", "*")
            assert "answers in" in maker.offloom("cache", "remote", "status")


def too_large():
    """What is larger than a setting allows is not put there, and counted."""
    with Redis() as redis:
        maker = Node("large", redis.url, signs=True)
        maker.environment["OFFLOOM_JIT_REMOTE_LIMIT"] = "100"
        compiled_all(maker, published=0, too_large=VARIANTS)
        assert f"pushed 0 kernels, {VARIANTS} more are larger than OFFLOOM_JIT_REMOTE_LIMIT allows" in maker.offloom("cache", "push")
        assert redis.keys("object") == []
        sizes = sorted(file.stat().st_size for file in maker.kept())
        assert len(sizes) == VARIANTS, sizes
        limit = sizes[VARIANTS // 2]
        put = sum(size <= limit for size in sizes)
        assert 0 < put < VARIANTS, sizes
        other = Node("larger", redis.url)
        shutil.copytree(maker.folder / "keys", other.folder / "keys")
        other.environment["OFFLOOM_JIT_REMOTE_LIMIT"] = str(limit)
        # Claims of the first one hold.
        redis.cli("flushall")
        compiled_all(other, published=put, too_large=VARIANTS - put)
        until(lambda: len(redis.keys("object")) == put, "what is small enough is not put into the store")


def restarts_meanwhile():
    """A server that is restarted again and again while a program asks it: it is asked anew, and not left alone."""
    with Redis() as redis:
        maker, _ = fill("maker", redis)
        redis.cli("del", *redis.keys("list"))

        objects = []

        def interrupted(ask, asked):
            if b"/object/" in asked:
                objects.append(asked)
                if len(objects) % 2 == 0:
                    return b""
            return ask(asked)

        with between(redis, interrupted) as url:
            origins, remote, says = Node("reader", url, trusts=maker).run()
        assert len(objects) == VARIANTS and origins == {"remote": 3, "compiled": 2}, (objects, origins, remote, says)
        assert remote["failed"] == 2 and not without_log(says), (remote, says)


def wrong_clocks():
    """Machines whose clocks are days off, by a library that is loaded before all others: as signer and as reader."""
    ahead, behind = ({"LD_PRELOAD": GIVEN, "CLOCK_OFFSET": str(days * 86400)} for days in (40, -40))
    with Redis() as redis:
        maker, _ = fill("maker", redis)
        for clock, reason in ((ahead, "made after today"), (behind, "has expired")):
            redis.cli("flushall")
            assert f"pushed {VARIANTS} kernels" in maker.offloom("cache", "push", **clock)
            compiled_all(Node("reader", redis.url, trusts=maker), reason, refused=VARIANTS, failed=0)
        redis.cli("flushall")
        maker.offloom("cache", "push", "--list", "a")
        for clock, reason in ((ahead, "has expired"), (behind, "made after today")):
            reader = Node("reader", redis.url, trusts=maker)
            assert reason in reader.offloom("cache", "pull", "--list", "a", fails=True, **clock)
        assert f"pulled {VARIANTS} kernels" in reader.offloom("cache", "pull", "--list", "a")


def verdicts_travel():
    """What launches took on one machine, others with such a processor know, and do not time again."""
    with Redis() as redis:

        def judging(name, **more):
            node = Node(name, redis.url, **more)
            node.environment["OFFLOOM_JIT_RETIRE"] = "1"
            node.program, node.expected = JUDGED, "done: 0\n"
            return node

        judge = judging("judge", signs=True)
        _, remote, says = judge.run()
        assert remote["verdicts_published"] == 2 and remote["verdicts"] == 0, remote
        assert "a variant is kept" in says and "a variant is retired" in says, says
        until(lambda: redis.keys("verdicts") and redis.keys("list"), "what was found out is not put into the store")
        assert len(redis.keys("verdicts")) == 1 and int(redis.cli("strlen", redis.keys("verdicts")[0])) < 400

        def others(condition, what):
            """A machine of which this holds, if not the first: no launch waits for verdicts, and what comes too late is found out again."""

            def attempt():
                other = judging("other", trusts=judge)
                origins, remote, says = other.run()
                assert origins == {"remote": 2}, (origins, remote, says)
                return (other, says) if condition(remote, says) else None

            return until(attempt, what)

        def counted(node, count):
            words = f"Verdicts of the remote store: {count} taken over, 0 published"
            return words in node.offloom("explain", node.folder / f"stats.{node.runs}")

        def is_not_timed(says):
            assert "faster lately: it is not timed again" in says and "slower lately: it is not used" in says, says
            return "a variant is" not in says

        other, _ = others(lambda remote, says: remote["verdicts"] == 2 and remote["verdicts_published"] == 0 and is_not_timed(says),
                          "what launches took on such a processor is not taken over")
        assert counted(other, 2)
        remote, says = kept_all(other, 2)
        assert remote["verdicts"] == remote["verdicts_published"] == 0, (remote, says)
        assert is_not_timed(says) and counted(other, 0), says
        # One that is not to be trusted costs launches that are timed.
        redis.cli("setrange", redis.keys("verdicts")[0], 200, "altered!")
        reason = "what launches took elsewhere: its signature is wrong"
        _, says = others(lambda remote, says: remote["refused"] == 1 and remote["verdicts"] == 0 and reason in says,
                         "altered verdicts are not refused")
        assert "a variant is kept" in says, says


def verdicts_of_gpus_travel():
    """What launches took on one GPU counts for GPUs of its model."""
    with Redis() as redis:
        def run(model, **more):
            node = Node("gpu", redis.url, **more)
            node.environment |= {"OFFLOOM_JIT_RETIRE": "1", "OFFLOOM_VIRTUAL_GPU": model}
            return node, *node.run()

        judge, origins, remote, says = run("sm_80", signs=True)
        assert origins == {"compiled": 1} and remote["verdicts_published"] == 1 and remote["verdicts"] == 0, (origins, remote, says)
        assert "a variant is kept" in says, says
        until(lambda: redis.keys("verdicts") and redis.keys("list"), "what was found out is not put into the store")

        def are_taken_over():
            """No launch waits for them: what comes too late is found out again."""
            _, origins, remote, says = run("sm_80", trusts=judge)
            assert origins == {"remote": 1}, (origins, remote, says)
            return remote["verdicts"] == 1 and "a variant is" not in says and "faster lately: it is not timed again" in says

        until(are_taken_over, "what launches took on such a GPU is not taken over")
        _, origins, remote, says = run("sm_90", trusts=judge)
        assert origins == {"compiled": 1} and remote["verdicts"] == 0 and "a variant is kept" in says, (origins, remote, says)


def other_stores():
    folder = HERE / "store"
    folder.mkdir()
    web = WebServers(("127.0.0.1", 0), WebServer)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    secrets = HERE / "secrets"
    secrets.write_text("user = 'me'\npassword = 'hush'\n", encoding="utf-8")
    secrets.chmod(0o600)
    os.environ["OFFLOOM_JIT_REMOTE_CREDENTIALS"] = str(secrets)
    for url, count in ((f"file://{folder}", lambda: len(list(folder.iterdir()))),
                       (f"http://127.0.0.1:{web.server_port}/cache", lambda: len(WebServer.kept))):
        maker = Node("maker", url, signs=True)
        compiled_all(maker, published=VARIANTS, refused=0, failed=0)
        until(lambda: count() == 2 * VARIANTS + 1, "what was compiled is not put into the store")
        fetched_all(Node("reader", url, trusts=maker))
        # By hand: what is there already is not put there again, and nothing runs that a key has not signed.
        assert f"pushed 0 kernels, {VARIANTS} more were there already" in maker.offloom("cache", "push", "--list", "a")
        puller = Node("puller", url, trusts=maker)
        assert f"pulled {VARIANTS} kernels" in puller.offloom("cache", "pull", "--list", "a")
        kept_all(puller)
        assert "no list `b`" in puller.offloom("cache", "pull", "--list", "b", fails=True)
        stranger = Node("stranger", url, signs=True)
        assert "is not trusted here" in stranger.offloom("cache", "pull", "--list", "a", fails=True)
        # A secret is nowhere in what is said or written.
        for said in (maker.offloom("cache", "remote", "status"), (maker.folder / "stats.1").read_text(encoding="utf-8")):
            assert "hush" not in said, said
    web.shutdown()
    web.server_close()
    del os.environ["OFFLOOM_JIT_REMOTE_CREDENTIALS"]


def precompiles():
    """What is compiled for other processors is put into the store too."""
    with Redis() as redis:
        maker, _ = fill("maker", redis)
        said = maker.offloom("precompile", "--target", "x86-64-v2", maker.folder / "stats.1", PROGRAM)
        assert f"{VARIANTS} compiled now" in said, said
        until(lambda: len(redis.keys("object")) == 2 * VARIANTS, "what was precompiled is not put into the store")


def over_tls():
    """Stores whose certificate an authority of the system's has signed, and others, which are as none."""
    certificate, key = HERE / "certificate.pem", HERE / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                    "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE",
                    "-keyout", key, "-out", certificate], check=True, capture_output=True)
    port = free_port()
    web = WebServers(("127.0.0.1", 0), Empty)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    web.socket = context.wrap_socket(web.socket, server_side=True)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    with Redis("--tls-port", str(port), "--tls-cert-file", certificate, "--tls-key-file", key, "--tls-ca-cert-file", certificate,
               "--tls-auth-clients", "no") as redis:
        for url in (f"rediss://127.0.0.1:{port}", f"https://127.0.0.1:{web.server_port}/cache"):
            maker = Node("maker", url, signs=True)
            says = maker.offloom("cache", "remote", "status", fails=True)
            assert "certificate" in says and "UnknownIssuer" in says, says
            compiled_all(maker, "is left alone", fetched=0)
            reader = Node("reader", url, trusts=maker)
            trusted = {"SSL_CERT_FILE": str(certificate)}
            assert "answers in" in reader.offloom("cache", "remote", "status", **trusted)
            # What tools find by the environment, programs find as well.
            if url.startswith("rediss"):
                os.environ |= trusted
                maker = Node("trusting-maker", url, signs=True)
                compiled_all(maker, published=VARIANTS, failed=0)
                until(lambda: len(redis.keys("object")) == VARIANTS and redis.keys("list"), "nothing is put into the store")
                fetched_all(Node("reader", url, trusts=maker))
                del os.environ["SSL_CERT_FILE"]
    web.shutdown()
    web.server_close()


def with_password():
    """A server that wants one: which no file that is written, and nothing that is said, has."""
    secrets = HERE / "secrets"
    with Redis(password="hush") as redis:
        for password, fails in (("hush", False), ("loud", True)):
            secrets.write_text(f"password = '{password}'\n", encoding="utf-8")
            secrets.chmod(0o600)
            maker = Node("maker", redis.url, signs=True)
            maker.environment["OFFLOOM_JIT_REMOTE_CREDENTIALS"] = str(secrets)
            if fails:
                compiled_all(maker, "is left alone, and tried again in a minute", fetched=0)
            else:
                compiled_all(maker, failed=0)
                trusted = maker
            said = [maker.offloom("cache", "remote", "status", fails=fails), maker.offloom("doctor", fails=fails)]
            assert all(("authentication failed" in text) == fails for text in said), said
            said += [maker.offloom(what, maker.folder / "stats.1") for what in ("explain", "report")]
            said += [maker.run()[2]]
            written = [file.read_bytes() for file in maker.folder.rglob("*") if file.is_file()]
            assert not any(password in text for text in said), said
            assert not any(password.encode() in file for file in written), maker.folder

        # Far away: a connection takes longer than is waited for answers, which come in time then. That is no failure.
        secrets.write_text("password = 'hush'\n", encoding="utf-8")

        def far(ask, asked):
            if b"AUTH" in asked:
                time.sleep(0.3)
            return ask(asked)

        with between(redis, far) as url:
            # Where the program takes long, entries come in time too.
            node = Node("far", url, signs=True, trusts=trusted, deadline=50)
            node.environment["OFFLOOM_JIT_REMOTE_CREDENTIALS"] = str(secrets)
            origins, remote, says = node.run()
            assert sum(origins.values()) == VARIANTS and remote["failed"] == 0 and not without_log(says), (origins, remote, says)


def as_the_page_says():
    """What docs/user/cluster.md prints for CI, with the server of the tests in the place of Amazon's."""
    page = (pathlib.Path(__file__).resolve().parents[3] / "docs" / "user" / "cluster.md").read_text(encoding="utf-8")
    block = re.search(r"```console\n(.*?)```", page.split("\n## A bucket for CI\n")[1], re.DOTALL)[1]
    lines = block.splitlines()
    assert len(lines) == 4 and all(line.startswith("$ ") for line in lines), lines
    home = HERE / "home"
    (home / "jobs").mkdir(parents=True)
    with S3() as s3:
        site = Node("site", s3.url, signs=True)
        os.symlink(pathlib.Path(PROGRAM).resolve(), home / "jobs" / "tests")
        shutil.copy(site.public(), home / "jobs" / "ci.pub")
        environment = os.environ | {
            "HOME": str(home), "SITE_KEY": str(site.folder / "keys" / "site.key"), "OFFLOOM_JIT": "sync", "OFFLOOM_JIT_RETIRE": "0",
            "OFFLOOM_JIT_CACHE_MODE": "rw", "OFFLOOM_JIT_STRICT": "1", "OFFLOOM_JIT_REMOTE_DEADLINE": str(LONG),
        }
        environment.pop("XDG_CONFIG_HOME", None)
        environment.pop("XDG_CACHE_HOME", None)
        for run in range(2):
            shutil.rmtree(home / ".cache", ignore_errors=True)
            stats = home / f"stats.{run}"
            script = "set -e\n" + "\n".join(line.removeprefix("$ ") for line in lines)
            done = subprocess.run(["sh", "-c", script], cwd=home / "jobs", env=environment | {"OFFLOOM_JIT_STATS": str(stats)},
                                  capture_output=True, text=True, check=False)
            assert (done.returncode, done.stdout, done.stderr) == (0, EXPECTED, ""), done
            remote = json.loads(stats.read_text(encoding="utf-8"))["remote"]
            assert remote["failed"] == 0 and (remote["published"] == VARIANTS) == (run == 0), remote
            objects = s3.folder / "builds" / "offloom" / "offloom" / "1" / "object"
            until(lambda: objects.is_dir() and len(list(objects.glob("*"))) >= VARIANTS, "nothing is put into the bucket")


def s3_serves_others():
    with S3() as s3:
        maker, remote = fill("maker", s3)
        assert remote["absent"] == VARIANTS, remote
        assert len(s3.keys("claim")) == VARIANTS, s3.keys("claim")
        kept_all(maker)
        reader = Node("reader", s3.url, trusts=maker)
        fetched_all(reader)
        kept_all(reader)
        status = reader.offloom("cache", "remote", "status")
        assert "only read" in status and "answers in" in status, status
        assert "signed and put into it" in maker.offloom("cache", "remote", "status")
        assert s3.url in reader.offloom("doctor")
        # By hand.
        assert f"pushed 0 kernels, {VARIANTS} more were there already" in maker.offloom("cache", "push", "--list", "a")
        puller = Node("puller", s3.url, trusts=maker)
        assert f"pulled {VARIANTS} kernels" in puller.offloom("cache", "pull", "--list", "a")
        kept_all(puller)
        assert "no list `b`" in puller.offloom("cache", "pull", "--list", "b", fails=True)

        # A secret that is wrong, and a bucket that is not there: as without a store, and it is said once why.
        wrong = Node("wrong", s3.url, trusts=maker)
        wrong.environment["AWS_SECRET_ACCESS_KEY"] = "else"
        remote = compiled_all(wrong, "is left alone, and tried again in a minute: the store answers a GET with 403", fetched=0)
        assert remote["failed"] <= 4, remote
        says = wrong.offloom("cache", "remote", "status", fails=True)
        assert "403" in says and "else" not in says and "X-Amz" not in says, says
        web = WebServers(("127.0.0.1", 0), NoBucket)
        threading.Thread(target=web.serve_forever, daemon=True).start()
        missing = Node("missing", "s3://none/ci", signs=True)
        missing.environment["AWS_ENDPOINT_URL"] = f"http://127.0.0.1:{web.server_port}"
        compiled_all(missing, "there is no such bucket", fetched=0)
        assert "there is no such bucket" in missing.offloom("cache", "remote", "status", fails=True)
        assert "there is no such bucket" in missing.offloom("cache", "push", fails=True)
        web.shutdown()
        web.server_close()

        # Altered, with what the server keeps beside it as it is.
        for file in s3.keys("object"):
            with open(file, "r+b") as opened:
                opened.seek(500)
                opened.write(b"altered!")
        shutil.rmtree(s3.prefix / "list")
        compiled_all(Node("altered", s3.url, trusts=maker), "not used: its signature is wrong", refused=VARIANTS)

        # The claims of a machine that is gone are taken over once they are old.
        for kind in ("object", "list"):
            shutil.rmtree(s3.prefix / kind, ignore_errors=True)
        for file in s3.keys("claim"):
            os.utime(file, (time.time() - 60, time.time() - 60))
        fill("heir", s3)
        assert all(os.stat(file).st_mtime > time.time() - 50 for file in s3.keys("claim")), s3.keys("claim")
    remote = compiled_all(Node("late", s3.url, trusts=maker), "is left alone", fetched=0)
    assert remote["failed"] <= 4, remote


def main():
    match CASES:
        case "redis":
            redis_serves_others()
            killed_and_restarted()
            full()
            slow_and_garbage()
            loses_writes()
            too_large()
            restarts_meanwhile()
            wrong_clocks()
            verdicts_travel()
            precompiles()
            with_password()
            over_tls()
            other_stores()
            many_at_once(Redis)
        case "gpu":
            verdicts_of_gpus_travel()
        case "s3":
            s3_serves_others()
            as_the_page_says()
            many_at_once(S3)


main()
