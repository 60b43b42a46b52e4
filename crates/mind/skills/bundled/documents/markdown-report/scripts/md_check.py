#!/usr/bin/env python3
"""Check Markdown files: heading levels, links and anchors within and between files, images, footnotes, tables, left-over marks.

usage: md_check.py FILE.md [FILE.md ...]     exit 1 if something is wrong. Web addresses are listed with --urls, not fetched.
"""
import os
import re
import sys
import unicodedata
from urllib.parse import unquote


def slug(text):
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)|[`*]", lambda m: m.group(1) or "", text).strip().lower()
    kept = (c for c in text if c in "-_ " or unicodedata.category(c)[0] in "LNM")
    return "".join(kept).replace(" ", "-")


def prose(text):
    """Lines outside code, with inline code blanked out."""
    fence = None
    for number, line in enumerate(text.split("\n"), 1):
        mark = re.match(r"\s*(`{3,}|~{3,})", line)
        if mark and fence is None:
            fence = mark.group(1)
        elif fence and mark and mark.group(1).startswith(fence) and line.strip() == mark.group(1):
            fence = None
        elif fence is None:
            yield number, re.sub(r"`[^`]*`", lambda m: "`" + "x" * (len(m.group()) - 2) + "`", line), line
    if fence:
        yield 0, "", "unclosed code block"


def anchors(path):
    found, seen = set(), {}
    with open(path, encoding="utf-8") as file:
        for _, line, raw in prose(file.read()):
            match = re.match(r"#{1,6}\s+(.*?)\s*#*$", raw)
            if match:
                name = slug(match.group(1))
                count = seen.get(name, 0)
                seen[name] = count + 1
                found.add(f"{name}-{count}" if count else name)
            found.update(re.findall(r'<a\s+(?:id|name)="([^"]+)"', line))
    return found


def check(path, urls):
    problems = []
    with open(path, encoding="utf-8") as file:
        text = file.read()
    tell = lambda number, what: problems.append(f"{path}:{number}: {what}")
    level, titles, width = 0, 0, None
    notes, used = set(), set()
    for number, line, raw in prose(text):
        if number == 0:
            tell(1, raw)
            continue
        heading = re.match(r"(#{1,6})\s+\S", line)
        if heading:
            depth = len(heading.group(1))
            titles += depth == 1
            if depth > level + 1 and level:
                tell(number, f"heading jumps from level {level} to {depth}")
            level = depth
        elif re.match(r"#{1,6}[^#\s]", line):
            tell(number, "heading without a blank after #")
        if re.search(r"\b(TODO|TBD|FIXME|XXX|lorem ipsum)\b", line, re.I):
            tell(number, "left-over mark")
        for label in re.findall(r"\[\^([^\]]+)\]", re.sub(r"^\[\^([^\]]+)\]:", "", line)):
            used.add((label, number))
        note = re.match(r"\[\^([^\]]+)\]:", line)
        if note:
            notes.add(note.group(1))
        cells = len(re.findall(r"(?<!\\)\|", line.strip().strip("|"))) + 1 if line.strip().startswith("|") else None
        if cells and width and cells != width:
            tell(number, f"table row has {cells} cells instead of {width}")
        width = (width or cells) if cells else None
        for image, label, target in re.findall(r"(!?)\[([^\]]*)\]\(\s*<?([^)\s>]+)>?[^)]*\)", line):
            if image and not label.strip():
                tell(number, f"image {target} has no description")
            if re.match(r"[a-z][a-z0-9+.-]*:", target, re.I):
                if urls:
                    print(f"{path}:{number}: {target}")
                continue
            name, _, anchor = unquote(target).partition("#")
            other = os.path.join(os.path.dirname(path), name) if name else path
            if not os.path.exists(other):
                tell(number, f"{target}: no such file")
            elif anchor and other.endswith(".md") and anchor.lower() not in anchors(other):
                tell(number, f"{target}: no such heading")
    if titles != 1:
        tell(1, f"{titles} level-1 headings, one is usual")
    problems += [f"{path}:{number}: footnote {label} is missing" for label, number in sorted(used) if label not in notes]
    problems += [f"{path}: footnote {label} is never used" for label in sorted(notes - {label for label, _ in used})]
    return problems


def main():
    urls, paths = "--urls" in sys.argv, [a for a in sys.argv[1:] if a != "--urls"]
    if not paths or any(path.startswith("-") for path in paths):
        sys.exit(__doc__)
    problems = [problem for path in paths for problem in check(path, urls)]
    print("\n".join(problems) or f"{len(paths)} file(s) fine")
    sys.exit(bool(problems))


main()
