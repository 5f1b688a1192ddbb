"""Takes code objects out of a cache of variants: those that name a kernel. Prints the paths of the files.

code_objects.py CACHE KERNEL
"""

import pathlib
import sys

ELF = b"\x7fELF\x02\x01\x01"


def main(cache, kernel):
    number = 0
    for path in sorted(pathlib.Path(cache).rglob("*")):
        data = path.read_bytes() if path.is_file() else b""
        start = data.find(ELF)
        if start < 0 or kernel.encode() not in data[start:]:
            continue
        out = pathlib.Path(f"code-object-{number}")
        out.write_bytes(data[start:])
        print(out)
        number += 1


main(*sys.argv[1:])
