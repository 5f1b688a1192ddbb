"""The test format: lit's RUN lines, which end some time, and nothing may be left in the folder for temporary files.

A tool that fails or is killed half way must not leave its scratch files behind. So each test gets a temporary folder of its own,
and a test that passes but leaves something there has failed.

What a test has started is killed after a time that no test takes, so that the rest runs, and what hangs is named. lit's own limit
wants a package of Python that is not everywhere.
"""

import contextlib
import os
import re
import shutil
import signal

import lit.formats
import lit.Test


# libomptarget keeps a copy of each image for processors: under /tmp until LLVM 22, in this folder since 23.
OF_LIBOMPTARGET = re.compile(r"tmpfile-[0-9a-f]{6}\.tmp")


# Seconds. The longest test takes a minute or two, several times that on a busy machine.
LIMIT = 20 * 60
# What a test starts has this in its environment, by which it is found.
MARK = "TEST_OF_LIT"


def started_with(variable):
    """The processes that were started with this in their environment."""
    for entry in filter(str.isdigit, os.listdir("/proc")):
        # A process may be gone meanwhile.
        with contextlib.suppress(OSError), open(f"/proc/{entry}/environ", "rb") as environment:
            if os.fsencode(variable) in environment.read().split(b"\0"):
                yield int(entry)


@contextlib.contextmanager
def limited(seconds, variable, ended):
    """Kills what is started with this in its environment if it is still there after so long; calls `ended` then.

    A server that its parent has left behind is among that: lit waits for it where it may still print.
    """

    def kill(*_):
        # What the test starts then has a moment each.
        signal.alarm(60)
        ended()
        for process in started_with(variable):
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)

    before = signal.signal(signal.SIGALRM, kill)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def signals_for_tests():
    """What tests run is ended by signals that a shell ignores in all that it runs in the background."""
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGQUIT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class CleanShTest(lit.formats.ShTest):
    """A test of RUN lines, with a check that its temporary folder is empty afterwards."""

    def execute(self, test, lit_config):
        folder = test.getExecPath() + ".tmpdir"
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        for name in ("TMPDIR", "TEMP", "TMP", "TEMPDIR"):
            test.config.environment[name] = folder
        test.config.environment[MARK] = folder
        times_out = []
        with signals_for_tests(), limited(LIMIT, f"{MARK}={folder}", lambda: times_out.append(test)):
            result = super().execute(test, lit_config)
        left = sorted(name for name in os.listdir(folder) if not OF_LIBOMPTARGET.fullmatch(name))
        shutil.rmtree(folder)
        code = result[0] if isinstance(result, tuple) else result.code
        if times_out:
            return lit.Test.FAIL, f"killed after {LIMIT} s\n" + (result[1] if isinstance(result, tuple) else result.output)
        if left and code == lit.Test.PASS:
            return lit.Test.FAIL, f"left in TMPDIR: {', '.join(left)}\n"
        return result
