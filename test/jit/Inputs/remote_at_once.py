"""Many processes on many machines that start at once, with a remote store that is empty."""

import collections
import shutil
import time

from remote_nodes import VARIANTS, Node, without_log

# Seconds that a claim holds (`CLAIM` in jit/cache/src/remote.rs).
CLAIM = 10


def many_at_once(kind):
    """Cold: eight processes on each of eight machines, all at once."""
    machines, processes = 8, 8
    with kind() as store:
        begin = time.monotonic()
        first = Node("machine", store.url, signs=True)
        nodes = []
        for number in range(machines):
            node = Node(f"machine{number}", store.url)
            shutil.copytree(first.folder / "keys", node.folder / "keys")
            # Where 64 of them compile, some may get no time to.
            node.environment["OFFLOOM_JIT_STRICT"] = "0"
            nodes.append(node)
        started = [(node, node.start()) for _ in range(processes) for node in nodes]
        compiles, failed, said = collections.Counter(), 0, []
        for node, run in started:
            _, remote, says = node.finish(run)
            compiles.update(node.compiled)
            failed += remote["failed"]
            said += without_log(says)
        # Of one machine's processes one compiles. Of the machines it is who has the claim: one, or two where the first is slow.
        # Claims end after ten seconds, which a busy machine needs for all of this; and whoever gets no answer compiles.
        took = time.monotonic() - begin
        most = 2 + failed if took < CLAIM else machines
        assert len(compiles) == VARIANTS and max(compiles.values()) <= most, (compiles, most, failed, took, said)
        # As programs run by default: beside them, and with little patience. What they print is right, whatever comes in time.
        for node in nodes:
            node.forget()
        started = [(node, node.start(OFFLOOM_JIT="async", OFFLOOM_JIT_REMOTE_DEADLINE="50")) for _ in range(2) for node in nodes]
        for node, run in started:
            node.finish(run)
