#!/usr/bin/env python3
"""What kind of PDF is this? Needs no packages.   usage: pdf_probe.py FILE.pdf

Tells pages, fonts, images, encryption, forms, and prints text of simple PDFs with --text.
It looks into compressed streams, but is no full PDF reader: use pdftotext for real extraction.
"""
import re
import sys
import zlib


def streams(data):
    for match in re.finditer(rb"<<(.*?)>>\s*stream\r?\n(.*?)\r?\n?endstream", data, re.S):
        head, body = match.groups()
        if b"FlateDecode" in head:
            try:
                body = zlib.decompressobj().decompress(body)
            except zlib.error:
                continue
        yield head, body


ESCAPES = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f"}


def strings(body):
    """Text between BT and ET, from (…) strings only."""
    for block in re.findall(rb"BT\b(.*?)\bET\b", body, re.S):
        for literal, operator in re.findall(rb"(\((?:\\.|[^()\\])*\)|\[(?:[^\]\\]|\\.)*\])\s*(Tj|TJ|'|\")", block, re.S):
            parts = re.findall(rb"\(((?:\\.|[^()\\])*)\)", literal, re.S)
            text = re.sub(rb"\\([0-7]{1,3}|.)", lambda m: bytes([int(m.group(1), 8) & 255]) if m.group(1)[:1].isdigit()
                          else ESCAPES.get(m.group(1), m.group(1)), b"".join(parts), flags=re.S)
            yield text.decode("cp1252", "replace")


def main():
    paths = [a for a in sys.argv[1:] if not a.startswith("--")]
    if len(paths) != 1:
        sys.exit(__doc__)
    with open(paths[0], "rb") as file:
        data = file.read()
    if b"%PDF-" not in data[:1024]:
        sys.exit("not a PDF")
    found = list(streams(data))
    everything = data + b"\n".join(body for head, body in found if b"/ObjStm" in head)
    content = [line for _, body in found for line in strings(body)]
    count = lambda regex: len(re.findall(regex, everything))
    pages, fonts, images = count(rb"/Type\s*/Page\b"), count(rb"/Type\s*/Font\b"), count(rb"/Subtype\s*/Image\b")
    if "--text" in sys.argv:
        print("\n".join(content))
        return
    print(f"version {data[data.index(b'%PDF-') + 5:][:3].decode()}, {pages} pages, {fonts} fonts, {images} images")
    print("encrypted:", "yes" if b"/Encrypt" in data else "no", "| form:", "yes" if b"/AcroForm" in everything else "no",
          "| complete:", "yes" if b"%%EOF" in data[-1100:] else "no, cut off")
    print("likely a scan: recognise the text (OCR)" if images >= max(pages, 1) and not fonts else "has text" if fonts else "no fonts: drawings or empty")


main()
