"""Takes a JIT bundle apart by its documented format: lists the names, writes both modules, and a GPU's device runtime, to files."""

import struct
import sys

data = open(sys.argv[1], "rb").read()
magic, version, llvm, _identity, size, level = struct.unpack_from("<8sII16sQI", data)
assert magic == b"OFFLOOMJ" and version == 8 and size == len(data), "not a bundle of version 8"
offset = 44


def string():
    global offset
    (length,) = struct.unpack_from("<I", data, offset)
    offset += 4 + length
    return data[offset - length : offset].decode()


def strings():
    global offset
    (count,) = struct.unpack_from("<I", data, offset)
    offset += 4
    return [string() for _ in range(count)]


print(f"bundle for LLVM {llvm}, -O{level}, {string()}")
(kernel_count,) = struct.unpack_from("<I", data, offset)
offset += 4
for _ in range(kernel_count):
    name, _source = string(), string()
    has_fast_math, parameter_count = struct.unpack_from("<?I", data, offset)
    offset += 5
    print("kernel", name + (", fast-math" if has_fast_math else ""))
    for position in range(parameter_count):
        kind, size, uses, _are_there, contents = struct.unpack_from("<BBH?I", data, offset)
        offset += 9
        bits = int.from_bytes(data[offset : offset + (contents + 7) // 8], "little")
        offset += (contents + 7) // 8
        constant = [byte for byte in range(contents) if bits >> byte & 1]
        kinds = ["launch environment", "pointer", "scalar"]
        print(f"  parameter {position}: {kinds[kind]}, {size} bytes, uses {uses:#x}, {len(constant)} bytes of contents")
    (has_launch,) = struct.unpack_from("<?", data, offset)
    offset += 1
    if has_launch:
        fields = struct.unpack_from("<B6i2I", data, offset)
        offset += struct.calcsize("<B6i2I")
        mode, *threads_and_teams, reduction_size, reduction_length, thread_limit, num_teams = fields
        modes = {1: "generic", 2: "SPMD", 3: "generic as SPMD"}
        print(f"  launch: {modes[mode]}, threads and teams {threads_and_teams}, thread_limit {thread_limit}, num_teams {num_teams},", end=" ")
        print(f"reduction of {reduction_size} bytes for {reduction_length} teams")
for anchor in strings():
    print("anchor", anchor)
(left_count,) = struct.unpack_from("<I", data, offset)
offset += 4
for _ in range(left_count):
    print("left ahead of time", f"{string()}: {string()}")
(is_for_gpu,) = struct.unpack_from("<?", data, offset)
offset += 1
if is_for_gpu:
    print("processor", string(), string())
    print("assembler", *strings())
    (runtime_size,) = struct.unpack_from("<Q", data, offset)
    offset += 8 + runtime_size
    if len(sys.argv) > 4:
        open(sys.argv[4], "wb").write(data[offset - runtime_size : offset])
for path in sys.argv[2:4]:
    (bitcode_size,) = struct.unpack_from("<Q", data, offset)
    offset += 8 + bitcode_size
    open(path, "wb").write(data[offset - bitcode_size : offset])
assert offset == len(data), "the bitcode does not end the bundle"
