"""Damages each file of a cache's folder that holds an object: usage: damage.py flip|cut|empty|random FOLDER."""

import pathlib
import random
import sys

HOW = {
    "flip": lambda data: data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :],
    "cut": lambda data: data[: len(data) // 2],
    "empty": lambda data: b"",
    "random": lambda data: random.Random(1).randbytes(len(data)),
}

files = [path for path in pathlib.Path(sys.argv[2]).glob("??/*") if path.is_file()]
assert files, "nothing to damage"
for path in files:
    path.write_bytes(HOW[sys.argv[1]](path.read_bytes()))
