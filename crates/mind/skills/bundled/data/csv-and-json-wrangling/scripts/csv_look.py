#!/usr/bin/env python3
"""Describe a CSV or TSV file: encoding, delimiter, columns, types, gaps, oddities.

usage: csv_look.py FILE [--delimiter D] [--encoding E]
Exit 1 if rows have differing numbers of fields.
"""
import argparse
import codecs
import collections
import csv
import re
import sys

KINDS = [
    ("integer", re.compile(r"[-+]?(?:0|[1-9]\d*)$")),
    ("leading zeros", re.compile(r"0\d+$")),
    ("decimal", re.compile(r"[-+]?\d*\.\d+(?:[eE][-+]?\d+)?$")),
    ("decimal comma", re.compile(r"[-+]?(?:\d{1,3}(?:\.\d{3})+|\d+),\d+$")),
    ("ISO date", re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d.*)?$")),
    ("other date", re.compile(r"\d{1,2}[./]\d{1,2}[./]\d{2,4}$")),
    ("boolean", re.compile(r"(?:true|false|yes|no|y|n)$", re.I)),
]


def kind(value):
    for name, regex in KINDS:
        if regex.match(value):
            return name
    return "text"


def decode(data, wanted):
    if wanted:
        return data.decode(wanted), wanted
    for encoding in ("utf-8-sig", "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8", "cp1252"):
        try:
            return data.decode(encoding), encoding
        except UnicodeDecodeError:
            pass
    return data.decode("latin-1"), "latin-1"


def main():
    args = argparse.ArgumentParser(usage=__doc__)
    args.add_argument("file")
    args.add_argument("--delimiter")
    args.add_argument("--encoding")
    args = args.parse_args()
    with open(args.file, "rb") as file:
        data = file.read()
    text, encoding = decode(data, args.encoding)
    first = text.split("\n", 1)[0]
    delimiter = args.delimiter or max(",;\t|", key=first.count)
    rows = list(csv.reader(text.splitlines(keepends=True), delimiter=delimiter))
    rows = [row for row in rows if row]
    if not rows:
        sys.exit("empty")
    header, body = rows[0], rows[1:]
    bom = " with BOM" if data.startswith(codecs.BOM_UTF8) else ""
    print(f"{encoding}{bom}, delimiter {delimiter!r}, {len(body)} rows, {len(header)} columns")
    odd = [(n, len(row)) for n, row in enumerate(body, 2) if len(row) != len(header)]
    doubled = [name for name, count in collections.Counter(header).items() if count > 1]
    for at, name in enumerate(header):
        values = [row[at] for row in body if at < len(row)]
        filled = [value for value in values if value.strip()]
        kinds = collections.Counter(map(kind, filled)).most_common()
        common = collections.Counter(filled).most_common(3)
        blanks = sum(value != value.strip() for value in values)
        print(f"  {at + 1}. {name!r}: {len(values) - len(filled)} empty, {len(set(filled))} distinct, "
              + (", ".join(f"{count} {what}" for what, count in kinds) or "nothing")
              + (f", {blanks} with blanks around" if blanks else "")
              + ", e.g. " + ", ".join(f"{value[:25]!r}×{count}" for value, count in common))
    if doubled:
        print("  column names used twice:", ", ".join(map(repr, doubled)))
    if len(set(map(tuple, body))) < len(body):
        print(f"  {len(body) - len(set(map(tuple, body)))} rows are exact duplicates")
    if odd:
        print("  wrong number of fields:", ", ".join(f"row {n}: {count}" for n, count in odd[:10]), "…" if len(odd) > 10 else "")
        sys.exit(1)


main()
