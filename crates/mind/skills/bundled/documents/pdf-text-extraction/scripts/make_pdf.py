#!/usr/bin/env python3
"""Make a small valid PDF with text, to try extraction tools on.   usage: make_pdf.py OUT.pdf LINE..."""
import sys


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    text = [line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)") for line in sys.argv[2:]]
    stream = "BT /F1 12 Tf 72 770 Td 16 TL " + " ".join(f"({line}) Tj T*" for line in text) + " ET"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        f"<< /Length {len(stream.encode('cp1252'))} >>\nstream\n{stream}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    data, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(data))
        data += f"{number} 0 obj\n{body}\nendobj\n".encode("cp1252")
    start = len(data)
    data += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    data += b"".join(f"{offset:010} 00000 n \n".encode() for offset in offsets)
    data += f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n".encode()
    with open(sys.argv[1], "wb") as file:
        file.write(data)


main()
