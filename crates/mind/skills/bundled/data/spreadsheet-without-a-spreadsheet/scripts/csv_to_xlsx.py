#!/usr/bin/env python3
"""Make an .xlsx workbook from CSV files, one sheet each, with nothing but the standard library.

usage: csv_to_xlsx.py OUT.xlsx FILE.csv [FILE.csv ...]
Plain numbers become numbers, values starting with = become formulas, everything else (leading zeros, long ids) stays text.
The first row is bold and frozen. Programs calculate formulas when they open the file.
"""
import csv
import os
import re
import sys
import zipfile
from xml.sax.saxutils import escape, quoteattr

NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.\d+)?$")
HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
S = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
O = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
P = "http://schemas.openxmlformats.org/package/2006"
CT = "application/vnd.openxmlformats-officedocument.spreadsheetml."


def letters(at):
    text = ""
    at += 1
    while at:
        at, rest = divmod(at - 1, 26)
        text = chr(65 + rest) + text
    return text


def cell(value, at, row):
    where = f'r="{letters(at)}{row}"' + (' s="1"' if row == 1 else "")
    if value == "":
        return ""
    if value.startswith("=") and len(value) > 1:
        return f"<c {where}><f>{escape(value[1:])}</f></c>"
    if NUMBER.match(value):
        return f"<c {where}><v>{value}</v></c>"
    value = "".join(c for c in value if c >= " " or c in "\t\n\r")   # XML allows no other control characters
    return f'<c {where} t="inlineStr"><is><t xml:space="preserve">{escape(value)}</t></is></c>'


def sheet(path):
    with open(path, encoding="utf-8-sig", newline="") as file:
        rows = list(csv.reader(file))
    widths = [min(max(len(r[c]) if c < len(r) else 0 for r in rows) + 2, 60) for c in range(max(map(len, rows), default=0))]
    columns = "".join(f'<col min="{n}" max="{n}" width="{w}" customWidth="1"/>' for n, w in enumerate(widths, 1))
    body = "".join(f'<row r="{n}">' + "".join(cell(v, c, n) for c, v in enumerate(row)) + "</row>" for n, row in enumerate(rows, 1))
    return (f'{HEAD}<worksheet xmlns="{S}"><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" '
            f'activePane="bottomLeft" state="frozen"/></sheetView></sheetViews>'
            + (f"<cols>{columns}</cols>" if columns else "") + f"<sheetData>{body}</sheetData></worksheet>")


def main():
    if len(sys.argv) < 3 or not sys.argv[1].endswith(".xlsx"):
        sys.exit(__doc__)
    out, files = sys.argv[1], sys.argv[2:]
    names = []
    for path in files:
        name = re.sub(r"[\[\]:*?/\\]", " ", os.path.splitext(os.path.basename(path))[0])[:28] or "Sheet"
        while name in names:
            name += "_"
        names.append(name)
    count = range(1, len(files) + 1)
    parts = {
        "[Content_Types].xml": f'{HEAD}<Types xmlns="{P}/content-types"><Default Extension="rels" ContentType='
        '"application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{CT}sheet.main+xml"/>'
        f'<Override PartName="/xl/styles.xml" ContentType="{CT}styles+xml"/>'
        + "".join(f'<Override PartName="/xl/worksheets/sheet{n}.xml" ContentType="{CT}worksheet+xml"/>' for n in count) + "</Types>",
        "_rels/.rels": f'{HEAD}<Relationships xmlns="{P}/relationships"><Relationship Id="r1" Type="{O}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/_rels/workbook.xml.rels": f'{HEAD}<Relationships xmlns="{P}/relationships">'
        + "".join(f'<Relationship Id="r{n}" Type="{O}/worksheet" Target="worksheets/sheet{n}.xml"/>' for n in count)
        + f'<Relationship Id="styles" Type="{O}/styles" Target="styles.xml"/></Relationships>',
        "xl/workbook.xml": f'{HEAD}<workbook xmlns="{S}" xmlns:r="{O}"><sheets>'
        + "".join(f'<sheet name={quoteattr(name)} sheetId="{n}" r:id="r{n}"/>' for n, name in zip(count, names))
        + '</sheets><calcPr fullCalcOnLoad="1"/></workbook>',
        "xl/styles.xml": f'{HEAD}<styleSheet xmlns="{S}"><fonts count="2"><font><sz val="11"/><name val="Calibri"/></font>'
        '<font><b/><sz val="11"/><name val="Calibri"/></font></fonts><fills count="2"><fill><patternFill patternType="none"/></fill>'
        '<fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>'
        '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>'
        '<cellXfs count="2"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>'
        '<xf numFmtId="0" fontId="1" fillId="0" borderId="0" xfId="0" applyFont="1"/></cellXfs>'
        '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>',
    }
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as book:
        for name, text in parts.items():
            book.writestr(name, text)
        for n, path in zip(count, files):
            book.writestr(f"xl/worksheets/sheet{n}.xml", sheet(path))
    print(f"{out}: {', '.join(names)}")


main()
