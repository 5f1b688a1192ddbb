"""Has the JIT's worker compile one kernel of a GPU's bundle, as the runtime does: BUNDLE KERNEL DESCRIPTOR ASSEMBLER CUBIN.

--deadline=MS. KERNEL may be a part of a kernel's name. DESCRIPTOR is what follows kernel and processor; empty: nothing. It counts arguments
as if the launch environment were the first of them, as it is before LLVM 23. Prints what the worker says."""

import argparse
import re
import socket
import struct
import subprocess
import sys

parser = argparse.ArgumentParser()
parser.add_argument("--worker", required=True)
parser.add_argument("--source", action="store_true")
parser.add_argument("--mode", type=int)
parser.add_argument("--deadline", type=int, default=60000)
parser.add_argument("--priority", type=int, default=0)
parser.add_argument("--assembler-argument", action="append", default=[])
for name in ["bundle", "kernel", "descriptor", "assembler", "cubin"]:
    parser.add_argument(name)
options = parser.parse_args()

data = open(options.bundle, "rb").read()
magic, version, _llvm, _identity, size, level = struct.unpack_from("<8sII16sQI", data)
assert magic == b"OFFLOOMJ" and version == 8 and size == len(data), "not a bundle of version 8"
offset = 44


def take(form):
    global offset
    values = struct.unpack_from("<" + form, data, offset)
    offset += struct.calcsize("<" + form)
    return values if len(values) > 1 else values[0]


def run(form="I"):
    global offset
    length = take(form)
    offset += length
    return data[offset - length : offset]


triple = run()
modes = {}
environments = {}
for _ in range(take("I")):
    name, _source, _fast_math = run().decode(), run(), take("?")
    for index in range(take("I")):
        kind, *_, contents = take("BBH?I")
        if kind == 0:
            environments[name] = index
        offset += (contents + 7) // 8
    modes[name] = take("B6i2I")[0] if take("?") else None
anchors = [run() for _ in range(take("I"))]
for _ in range(take("I")):
    run(), run()
assert take("?"), "the bundle is for no GPU"
processor, features = run(), run()
arguments = [run() for _ in range(take("I"))] + [argument.encode() for argument in options.assembler_argument]
runtime, bitcode, matched = run("Q"), run("Q"), run("Q")
(kernel,) = [name for name in modes if options.kernel in name]


def string(text):
    return struct.pack("<I", len(text)) + text


if environments[kernel] != 0:
    options.descriptor = re.sub(r"(?<![^;])\d+(?==)", lambda index: str(int(index[0]) - 1), options.descriptor)
descriptor = options.descriptor and f"kernel={kernel};arch={processor.decode()};{options.descriptor}"
body = struct.pack("<I", 0)
body += b"".join(map(string, [triple, processor, features, kernel.encode(), descriptor.encode()]))
body += struct.pack("<IIII", level, not options.source, options.deadline, 1)
body += string(options.assembler.encode()) + string(b"".join(argument + b"\0" for argument in arguments))
body += struct.pack("<II", options.mode or modes[kernel], len(anchors)) + string(runtime)
body += bitcode if options.source else matched
ours, theirs = socket.socketpair()
worker = subprocess.Popen([options.worker, "4096", str(options.priority)], stdin=theirs)
theirs.close()
ours.sendall(struct.pack("<4sIQ", b"OFJC", 8, len(body)) + body)


def receive(count):
    received = b""
    while len(received) < count:
        part = ours.recv(count - len(received))
        if not part:
            sys.exit("the worker is gone")
        received += part
    return received


reply = receive(struct.unpack("<4sIQ", receive(16))[2])
(sources,) = struct.unpack_from("<I", reply)
reply = reply[4 + sources :]
(kind,) = struct.unpack_from("<I", reply)
if kind != 1:
    kinds = {0: "failure", 2: "last failure", 3: "unable", 4: "starved"}
    print(f"{kinds[kind]}: {reply[4:].decode()}")
    sys.exit(1)
times = struct.unpack_from("<5I", reply, 4)
(is_of_gpu,) = struct.unpack_from("<I", reply, 24)
assert is_of_gpu, "no word on registers"
names = ["registers", "stack frame", "spill stores", "spill loads", "shared memory", "constant memory"]
print(f"{kernel}: " + ", ".join(f"{name} {number}" for name, number in zip(names, struct.unpack_from("<6I", reply, 28))))
print("ms: " + ", ".join(f"{time / 1000:.1f}" for time in times))
open(options.cubin, "wb").write(reply[52:])
ours.close()
worker.wait()
