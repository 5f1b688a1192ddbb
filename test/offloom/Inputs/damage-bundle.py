"""damage-bundle.py PROGRAM DAMAGED: writes the program with a bundle that says it is larger than its section."""

import sys

MAGIC = b"OFFLOOMJ"
# Behind the magic, the format's version, that of LLVM, and the id.
SIZE_OFFSET = 32

with open(sys.argv[1], "rb") as file:
    program = bytearray(file.read())
size = program.index(MAGIC) + SIZE_OFFSET
program[size : size + 8] = b"\xff" * 8
with open(sys.argv[2], "wb") as file:
    file.write(program)
