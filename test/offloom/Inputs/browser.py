"""Says what a browser made of a page of `offloom report`: its text and bars, from the document; its colours, from the picture."""

import re
import struct
import sys
import zlib
from html.parser import HTMLParser


class Page(HTMLParser):
    """What is in the document."""

    def __init__(self):
        super().__init__()
        self.stack, self.title, self.tiles, self.bars, self.said = [], "", [], {}, []
        self.sections, self.rows, self.outside, self.verdict = [], [], 0, ""
        # Those of a section are in both.
        self.rows_of_sections = []

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.outside += sum(name in ("src", "href", "action") for name in values)
        if tag == "rect":
            self.bars[values["class"]] = self.bars.get(values["class"], 0) + 1
            assert float(values["width"]) >= 2 and float(values["height"]) >= 2, values
            self.said.append("")
        if tag not in ("meta", "link", "br"):
            self.stack.append(tag)
        if tag == "section":
            self.sections.append("")
        if tag == "tr":
            self.rows.append([])
            if "section" in self.stack:
                self.rows_of_sections.append(self.rows[-1])
        if tag == "td":
            self.rows[-1].append("")
        if tag in ("dt", "dd"):
            self.tiles.append("")

    def handle_endtag(self, tag):
        while self.stack and self.stack.pop() != tag:
            pass

    def handle_data(self, data):
        if self.stack[-1:] == ["h1"]:
            self.title += data
        if self.stack[-2:] == ["rect", "title"]:
            self.said[-1] += data
        if "section" in self.stack and "table" not in self.stack:
            self.sections[-1] += data + " "
        if "td" in self.stack:
            self.rows[-1][-1] += data
        if self.stack[-1:] in (["dt"], ["dd"]) or "dd" in self.stack:
            self.tiles[-1] += data
        if self.stack == ["html", "body", "p"] and not self.verdict:
            self.verdict = data


def narrow_fits(rows):
    """Whether nothing of the page that is framed in the first 480 columns is at the frame's right edge: the page has a margin there."""
    edge = {colour for row in rows for colour in row[472:480]}
    return len(edge) == 1 and len({colour for row in rows for colour in row[:472]}) > 8


def pixels(path):
    """The rows of a PNG of eight bits a channel, each a list of red, green, blue."""
    data = open(path, "rb").read()
    width, height, depth, kind = struct.unpack(">IIBB", data[16:26])
    channels = {2: 3, 6: 4}[kind]
    assert depth == 8
    packed, at = b"", 8
    while at < len(data):
        length, name = struct.unpack(">I4s", data[at:at + 8])
        packed += data[at + 8:at + 8 + length] if name == b"IDAT" else b""
        at += length + 12
    raw, stride, found = zlib.decompress(packed), width * channels, []
    before = bytearray(stride)
    for row in range(height):
        line = bytearray(raw[row * (stride + 1) + 1:(row + 1) * (stride + 1)])
        kind = raw[row * (stride + 1)]
        if kind == 2 and found and not any(line):
            # The row above once more.
            found.append(found[-1])
            continue
        for i in range(stride if kind else 0):
            left = line[i - channels] if i >= channels else 0
            corner = before[i - channels] if i >= channels else 0
            guess = left + before[i] - corner
            near = min((abs(guess - left), 0, left), (abs(guess - before[i]), 1, before[i]), (abs(guess - corner), 2, corner))[2]
            line[i] = (line[i] + (0, left, before[i], (left + before[i]) // 2, near)[kind]) & 255
        found.append(list(zip(line[0::channels], line[1::channels], line[2::channels])))
        before = line
    return found


def main():
    page = Page()
    page.feed(open(sys.argv[1], encoding="utf-8").read())
    print("shown:", page.title)
    print("verdict:", page.verdict)
    for name, value in zip(page.tiles[0::2], page.tiles[1::2]):
        print("tile:", name, value)
    kinds = ("compile", "cache", "run", "failed", "ahead-of-time", "of-variants")
    print("bars:", *(f"{kind} {page.bars.get(kind, 0)}" for kind in kinds))
    for says in page.said:
        print("bar:", says)
    for section in page.sections:
        print("kernel:", re.sub(r"\s+", " ", section))
    made = [row for row in page.rows_of_sections if len(row) == 11]
    print("row:", len(made), made[0][1] if made else "")
    for row in (row for row in page.rows if not any(row is other for other in page.rows_of_sections)):
        # Name, host, number; and name and number of processes; each before the columns of a sum.
        if len(row) in (10, 11):
            print("over all:" if len(row) == 10 else "process:", *row)
    print("outside:", page.outside)
    seen = set().union(*pixels(sys.argv[2]))
    shown = {"compile": (0xE6, 0x9F, 0x00), "cache": (0x56, 0xB4, 0xE9), "run": (0x00, 0x9E, 0x73), "of-variants": (0x00, 0x72, 0xB2), "ahead-of-time": (0x99, 0x99, 0x99)}
    wanted = {colour for kind, colour in shown.items() if page.bars.get(kind)}
    print("picture:", "has colours of the timeline" if wanted and wanted <= seen else f"lacks {wanted - seen}")
    for view, path in zip(sys.argv[3::2], sys.argv[4::2]):
        if view == "narrow":
            print("narrow:", "fits" if narrow_fits(pixels(path)) else "is cut off")
        else:
            dark = (0x16, 0x18, 0x1C) in set().union(*pixels(path))
            print("dark:", "is dark" if dark else "is not dark")


if __name__ == "__main__":
    main()
