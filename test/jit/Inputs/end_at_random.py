"""Ends a program in every way, at random moments, again and again; fails when one run does not end as asked.

usage: end_at_random.py COMMAND... LIBRARY LIBRARY

OFFLOOM_TEST_ENDINGS: how many runs there are of each way; 1 by default. OFFLOOM_TEST_SEED: repeats the moments of an earlier run.
"""

import os
import random
import shutil
import signal
import subprocess
import sys

# How long the longest run launches for, in microseconds: some compiles.
LONGEST = 120_000
ENDINGS = {
    "return": 7, "exit": 7, "exit-elsewhere": 7, "_exit": 7, "quick_exit": 7, "execute": 7, "fork": 7, "close": 7, "catch": 7,
    "last-thread": 0,
    "abort": -signal.SIGABRT, "throw": -signal.SIGABRT, "kill": -signal.SIGKILL, "terminate": -signal.SIGTERM,
}

command, libraries = sys.argv[1:-2], sys.argv[-2:]
rounds = int(os.environ.get("OFFLOOM_TEST_ENDINGS", "1"))
seed = os.environ.get("OFFLOOM_TEST_SEED") or str(random.randrange(1 << 32))
chance = random.Random(seed)
cache = os.path.abspath("cache")
failures = 0
for number in range(rounds * len(ENDINGS)):
    way = list(ENDINGS)[number % len(ENDINGS)]
    settings = {
        "OFFLOOM_JIT": chance.choice(["async", "async", "sync"]),
        "OFFLOOM_JIT_WORKER": chance.choice("01"),
        "OFFLOOM_JIT_CACHE_MODE": chance.choice(["rw", "off"]),
        "OFFLOOM_JIT_RETIRE": chance.choice("01"),
        "OFFLOOM_JIT_CACHE_DIR": cache,
        "OFFLOOM_JIT_STRICT": "1",
    }
    patience = int(LONGEST * chance.random() ** 2)
    if chance.random() < 0.2:
        shutil.rmtree(cache, ignore_errors=True)
    # No program that is to end at once may be waited for by exit handlers for long; a loaded machine may be slow.
    run = subprocess.run(command + [way, str(patience)] + libraries, env=os.environ | settings, timeout=120, check=False,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if run.returncode != ENDINGS[way]:
        failures += 1
        print(f"seed {seed}, run {number}: {way} after {patience} us ended with {run.returncode}, with {settings}:\n"
              f"{run.stderr.decode(errors='replace')}", flush=True)
print(f"{failures} of {number + 1} runs failed")
sys.exit(failures != 0)
