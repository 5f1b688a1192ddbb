"""Prints the one cubin in the cache of compiled kernels that is a folder."""
import pathlib
import sys

ELF = b"\x7fELF"
records = [file.read_bytes() for file in pathlib.Path(sys.argv[1]).rglob("*") if file.is_file()]
cubins = [record[record.index(ELF) :] for record in records if ELF in record]
assert len(cubins) == 1, f"{len(cubins)} records hold a cubin"
sys.stdout.buffer.write(cubins[0])
