"""Runs a program by itself and with more rights than its user, with everything in the environment that names a file, and says
which of the files and folders were opened or made."""

import ctypes
import os
import shutil
import struct
import subprocess
import sys

USER = 65534
IN_OPEN, IN_CREATE = 0x20, 0x100

user, warm, library, program = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)


def place(name):
    return os.path.join(user, name)


def environment():
    return {
        **os.environ,
        "HOME": place("home"),
        "XDG_CACHE_HOME": place("home"),
        "OFFLOOM_CONFIG": place("config/offloom.toml"),
        "OFFLOOM_JIT_CACHE_MODE": "rw",
        "OFFLOOM_JIT_CACHE_DIR": place("cache"),
        "OFFLOOM_JIT_CACHE_PATH": place("shared"),
        "OFFLOOM_JIT_STATS": place("stats/stats.json"),
        "OFFLOOM_JIT_DUMP_DIR": place("dumps"),
        "OFFLOOM_JIT_PERF": "1",
    }


def run(more_rights, variables, *arguments):
    """The program's output, and which folders were touched."""
    shutil.rmtree(user, ignore_errors=True)
    folders = ["home", "config", "cache", "stats", "dumps", "library"]
    for name in folders:
        os.makedirs(place(name), mode=0o700)
    shutil.copytree(warm, place("shared"))
    with open(place("config/offloom.toml"), "w", encoding="utf-8") as file:
        file.write("OFFLOOM_JIT_THRESHOLD = 16\n")
    watch = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    assert watch >= 0, os.strerror(ctypes.get_errno())
    watched = {}
    # All are found first: that opens them.
    for folder in [folder for folder, _, _ in os.walk(user)]:
        number = libc.inotify_add_watch(watch, os.fsencode(folder), IN_OPEN | IN_CREATE)
        assert number >= 0, os.strerror(ctypes.get_errno())
        name = os.path.relpath(folder, user).split(os.sep)[0]
        watched[number] = name if name != "." else "user"
    # What the kernel looks at for a program whose file has the set-user-id bit: whose the process is, and with whose rights it is.
    secure = (lambda: os.setresuid(USER, 0, 0)) if more_rights else None
    process = subprocess.Popen([program, *arguments], env=variables, stdout=subprocess.PIPE, preexec_fn=secure)
    output = process.communicate()[0].decode().strip()
    assert process.returncode == 0, process.returncode
    touched = set()
    try:
        while True:
            events = os.read(watch, 1 << 16)
            while events:
                number, mask, _, length = struct.unpack_from("iIII", events)
                events = events[16 + length:]
                # Overflow of the queue would be no folder.
                touched.add(watched[number])
    except BlockingIOError:
        pass
    os.close(watch)
    map_file = f"/tmp/perf-{process.pid}.map"
    if os.path.exists(map_file):
        os.remove(map_file)
        touched.add("perf-map")
    return output, " ".join(sorted(touched))


output, touched = run(False, environment())
print(f"user's own: {output}; touched: {touched}")
everything = {**environment(), "OFFLOOM_JIT_LIBRARY": library, "TRACE_LOAD": place("library/loaded")}
output, touched = run(False, everything, "once")
print(f"user's library: {output}; touched: {touched}")
output, touched = run(True, everything)
print(f"more rights: {output}; touched: {touched or 'nothing'}")
shutil.rmtree(user)
