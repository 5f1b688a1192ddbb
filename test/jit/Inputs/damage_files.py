"""Flips one bit in the middle of every file below a folder."""

import pathlib
import sys

files = [path for path in pathlib.Path(sys.argv[1]).rglob("*") if path.is_file()]
assert files, "nothing to damage"
for path in files:
    data = bytearray(path.read_bytes())
    if data:
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
