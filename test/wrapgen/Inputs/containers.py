"""Writes an OffloadBinary of version 2 with two images, as LLVM 23's packager does: containers.py FILE"""

import struct
import sys

images = [("x86_64-pc-linux-gnu", "generic", b"an image"), ("nvptx64-nvidia-cuda", "sm_80", b"and another")]
texts = b"".join(text.encode() + b"\0" for text in ["triple", "arch"] + [text for image in images for text in image[:2]])


def align(size):
    return (size + 7) // 8 * 8


pairs_at = 32 + 40 * len(images)
texts_at = pairs_at + 48 * len(images)
end = align(texts_at + len(texts))
entries, pairs, contents = b"", b"", b""
for triple, arch, image in images:
    entries += struct.pack("<HHIQQQQ", 1, 1, 0, pairs_at + len(pairs), 2, end + len(contents), len(image))
    for key, value in (("triple", triple), ("arch", arch)):
        place = lambda text: texts_at + (b"\0" + texts).index(b"\0" + text.encode() + b"\0")
        pairs += struct.pack("<QQQ", place(key), place(value), len(value))
    contents += image.ljust(align(len(image)), b"\0")
size = end + len(contents)
header = struct.pack("<4sIQQQ", b"\x10\xff\x10\xad", 2, size, 32, len(images))
with open(sys.argv[1], "wb") as file:
    file.write((header + entries + pairs + texts).ljust(end, b"\0") + contents)
