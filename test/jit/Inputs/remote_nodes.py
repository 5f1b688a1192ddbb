"""Machines that use a remote store, each with a cache and keys of its own.

The first arguments of the program that imports this: the program offloom, the program under test, the file with what it prints.
"""

import collections
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import sys

from remote_stores import HERE, until

OFFLOOM, PROGRAM, EXPECTED = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]).read_text(encoding="utf-8")
VARIANTS = 5
# Far more than a look-up takes on a machine that does much else. Cases about stores that are too slow have less.
LONG = 60000
# What OFFLOOM_JIT_LOG has a program say besides.
LOGGED = ("attached ", "__omp_offloading", "the compile worker is started", "the remote store: ",
          "the remote store is left alone: another", "no processor has time")
NUMBERS = itertools.count()


class Node:
    """A machine: a cache and keys of its own."""

    def __init__(self, name, url, signs=False, trusts=None, deadline=LONG):
        # What an earlier machine of this name has started may still write into its folder.
        self.name, self.folder = name, HERE / f"{name}.{next(NUMBERS)}"
        self.folder.mkdir()
        self.environment = os.environ | {
            "OFFLOOM_JIT": "sync", "OFFLOOM_JIT_RETIRE": "0", "OFFLOOM_JIT_STRICT": "1", "OFFLOOM_JIT_CACHE_MODE": "rw",
            "OFFLOOM_JIT_LOG": "1", "OFFLOOM_JIT_CACHE_DIR": str(self.folder / "cache"), "OFFLOOM_JIT_REMOTE": url,
            "OFFLOOM_JIT_REMOTE_KEYS": str(self.folder / "keys"), "OFFLOOM_JIT_REMOTE_DEADLINE": str(deadline),
        }
        self.program, self.expected = PROGRAM, EXPECTED
        if signs:
            self.offloom("key", "new", name)
        if trusts:
            self.offloom("key", "trust", trusts.public())

    def public(self):
        return self.folder / "keys" / f"{self.name}.pub"

    def offloom(self, *words, fails=False, **more):
        done = subprocess.run([OFFLOOM, *words], env=self.environment | more, capture_output=True, text=True, check=False)
        assert (done.returncode != 0) == fails, done
        return done.stdout + done.stderr if fails else done.stdout

    def start(self, **more):
        self.runs = getattr(self, "runs", 0) + 1
        stats = self.folder / f"stats.{self.runs}"
        environment = self.environment | {"OFFLOOM_JIT_STATS": str(stats)} | more
        pipe = subprocess.PIPE
        return stats, subprocess.Popen([self.program], env=environment, stdout=pipe, stderr=pipe, text=True)

    def finish(self, started):
        """What became of a run: origins by number, what was asked of the store, and what was said."""
        stats, process = started
        out, said = process.communicate()
        assert process.returncode == 0 and out == self.expected, (process.returncode, out, said)
        values = json.loads(stats.read_text(encoding="utf-8"))
        made = [variant for kernel in values["kernels"] for variant in kernel["variants"]]
        self.compiled = [variant["descriptor"] for variant in made if variant["origin"] == "compiled"]
        origins = collections.Counter(variant["origin"] for variant in made)
        return origins, values.get("remote"), said

    def run(self, **more):
        return self.finish(self.start(**more))

    def kept(self):
        """The files of the variants in the folder: what was found out of launches is smaller."""
        folders = [folder for folder in (self.folder / "cache" / "v2").iterdir() if len(folder.name) == 2]
        return [file for folder in folders for file in folder.iterdir() if file.stat().st_size > 1000]

    def forget(self):
        """Removes all variants from the folder."""
        for folder in (self.folder / "cache" / "v2").iterdir():
            if len(folder.name) == 2:
                shutil.rmtree(folder)


def without_log(says):
    return [line for line in says.splitlines() if not line.removeprefix("offloom-jit: ").startswith(LOGGED)]


def compiled_all(node, said="", **uses):
    origins, remote, says = node.run()
    assert origins == {"compiled": VARIANTS}, (origins, remote, says)
    assert all(remote[name] == count for name, count in uses.items()), (remote, uses, says)
    lines = without_log(says)
    assert len(lines) == (said != "") and said in says, says
    return remote


def fetched_all(node, origin="remote"):
    origins, remote, says = node.run()
    assert origins == {origin: VARIANTS} and not without_log(says), (origins, remote, says)
    assert remote["refused"] == remote["failed"] == remote["published"] == 0, remote
    return remote


def kept_all(node, count=VARIANTS):
    """It has all in its folder: what came together gets files of its own beside the program, or after its end."""
    until(lambda: len(node.kept()) == count, "what was fetched is not put into the folder")
    origins, remote, says = node.run()
    assert origins == {"cache": count}, (origins, remote, says)
    return remote, says


def fill(name, store, **more):
    """A machine that has compiled all into a store."""
    maker = Node(name, store.url, signs=True, **more)
    remote = compiled_all(maker, published=VARIANTS, refused=0, failed=0)
    until(lambda: len(store.keys("object")) == VARIANTS and store.keys("list"), "what was compiled is not put into the store")
    return maker, remote
