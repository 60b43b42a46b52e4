#!/usr/bin/env python3
"""Read an .xlsx workbook with nothing but the standard library.

usage: xlsx_to_csv.py FILE.xlsx                      list the sheets
       xlsx_to_csv.py FILE.xlsx SHEET [-o OUT.csv]   one sheet as CSV; SHEET is a name or a number from 1
       xlsx_to_csv.py FILE.xlsx SHEET --formulas     formulas instead of stored results

Dates become ISO. Stored results are what the last program that saved the file calculated.
"""
import argparse
import csv
import datetime
import re
import sys
import zipfile
from xml.etree import ElementTree

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
REL = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
BUILT_IN_DATES = set(range(14, 23)) | set(range(45, 48))


def xml(book, name):
    return ElementTree.fromstring(book.read(name)) if name in book.namelist() else None


def sheets(book):
    targets = {}
    for rel in xml(book, "xl/_rels/workbook.xml.rels"):
        target = rel.get("Target")
        targets[rel.get("Id")] = target.lstrip("/") if target.startswith("/") else "xl/" + target
    root = xml(book, "xl/workbook.xml")
    props = root.find(MAIN + "workbookPr")
    since_1904 = props is not None and props.get("date1904") in ("1", "true")
    return [(s.get("name"), targets[s.get(REL)], s.get("state", "visible")) for s in root.iter(MAIN + "sheet")], since_1904


def date_styles(book):
    root = xml(book, "xl/styles.xml")
    if root is None:
        return set()
    custom = {int(f.get("numFmtId")): f.get("formatCode", "") for f in root.iter(MAIN + "numFmt")}

    def is_date(number):
        code = re.sub(r'"[^"]*"|\[[^\]]*\]|\\.', "", custom.get(number, ""))
        return number in BUILT_IN_DATES or bool(re.search(r"[ymdhs]", code, re.I)) and "General" not in code

    formats = root.find(MAIN + "cellXfs")
    return {n for n, f in enumerate(formats if formats is not None else []) if is_date(int(f.get("numFmtId", 0)))}


def column(reference):
    number = 0
    for letter in re.match(r"[A-Z]+", reference).group():
        number = number * 26 + ord(letter) - 64
    return number - 1


def moment(serial, since_1904):
    begin = datetime.datetime(1904, 1, 1) if since_1904 else datetime.datetime(1899, 12, 30)
    at = begin + datetime.timedelta(seconds=round(float(serial) * 86400))
    if float(serial) < 1:
        return at.time().isoformat()
    return at.date().isoformat() if at.time() == datetime.time(0) else at.isoformat(sep=" ")


def table(book, path, since_1904, formulas):
    root = xml(book, "xl/sharedStrings.xml")
    shared = ["".join(t.text or "" for t in item.iter(MAIN + "t")) for item in root.iter(MAIN + "si")] if root is not None else []
    dates, rows = date_styles(book), []
    for row in xml(book, path).iter(MAIN + "row"):
        while len(rows) < int(row.get("r", len(rows) + 1)) - 1:
            rows.append([])
        cells = []
        for cell in row.iter(MAIN + "c"):
            at = column(cell.get("r")) if cell.get("r") else len(cells)
            cells += [""] * (at + 1 - len(cells))
            kind, value, formula = cell.get("t", "n"), cell.findtext(MAIN + "v"), cell.find(MAIN + "f")
            if formulas and formula is not None:
                cells[at] = "=" + (formula.text or "(shared)")
            elif kind == "inlineStr":
                cells[at] = "".join(t.text or "" for t in cell.iter(MAIN + "t"))
            elif value is None:
                pass
            elif kind == "s":
                cells[at] = shared[int(value)]
            elif kind == "b":
                cells[at] = "TRUE" if value == "1" else "FALSE"
            elif kind == "n" and int(cell.get("s", 0)) in dates:
                cells[at] = moment(value, since_1904)
            else:
                cells[at] = value
        rows.append(cells)
    return rows


def main():
    args = argparse.ArgumentParser(usage=__doc__)
    args.add_argument("file")
    args.add_argument("sheet", nargs="?")
    args.add_argument("-o", "--output")
    args.add_argument("--formulas", action="store_true")
    args = args.parse_args()
    with zipfile.ZipFile(args.file) as book:
        names, since_1904 = sheets(book)
        if args.sheet is None:
            for n, (name, path, state) in enumerate(names, 1):
                rows = table(book, path, since_1904, False)
                print(f"{n}. {name} ({state}): {len(rows)} rows, {max(map(len, rows), default=0)} columns")
            return
        found = [p for n, (name, p, _) in enumerate(names, 1) if args.sheet in (name, str(n))]
        if not found:
            sys.exit("no such sheet; there are: " + ", ".join(name for name, _, _ in names))
        rows = table(book, found[0], since_1904, args.formulas)
    width = max(map(len, rows), default=0)
    out = open(args.output, "w", encoding="utf-8", newline="") if args.output else sys.stdout
    csv.writer(out, lineterminator="\n").writerows(row + [""] * (width - len(row)) for row in rows)
    if args.output:
        out.close()


main()
