#!/usr/bin/env python3
"""Group log lines that differ only in numbers, ids, times, addresses and quoted values.

usage: log_groups.py [--top N] [--grep REGEX] [--only-new FILE_WITH_NORMAL_LOG] [FILE...]   (- or nothing: stdin; .gz is read too)

Prints, most frequent first: count, line number of first and last sight, the pattern, and one real example.
"""
import argparse
import gzip
import re
import sys

RULES = [
    (re.compile(r"\x1b\[[0-9;]*m"), ""),
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"), "<time>"),
    (re.compile(r"\b[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d\b"), "<time>"),
    (re.compile(r"\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b"), "<time>"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.I), "<uuid>"),
    (re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b"), "<ip>"),
    (re.compile(r"\b(?:0x[0-9a-f]+|(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,})\b", re.I), "<hex>"),
    (re.compile(r'"[^"]*"'), '"…"'),
    (re.compile(r"'[^']*'"), "'…'"),
    (re.compile(r"(?<![\w<])[-+]?\d+(?:\.\d+)?"), "#"),
]


def pattern(line):
    for regex, put in RULES:
        line = regex.sub(put, line)
    return re.sub(r"\s+", " ", line).strip()


def lines(paths):
    for path in paths or ["-"]:
        if path == "-":
            yield from sys.stdin
        else:
            opener = gzip.open if path.endswith(".gz") else open
            with opener(path, "rt", encoding="utf-8", errors="replace") as file:
                yield from file


def main():
    args = argparse.ArgumentParser(usage=__doc__)
    args.add_argument("--top", type=int, default=25)
    args.add_argument("--grep")
    args.add_argument("--only-new")
    args.add_argument("files", nargs="*")
    args = args.parse_args()
    known = {pattern(line) for line in lines([args.only_new])} if args.only_new else set()
    wanted = re.compile(args.grep, re.I) if args.grep else None
    groups, total = {}, 0
    for number, line in enumerate(lines(args.files), 1):
        if not line.strip() or (wanted and not wanted.search(line)):
            continue
        total += 1
        key = pattern(line)
        if key in known:
            continue
        group = groups.setdefault(key, [0, number, number, line.rstrip("\n")])
        group[0] += 1
        group[2] = number
    ranked = sorted(groups.items(), key=lambda item: -item[1][0])
    print(f"{total} lines, {len(groups)} groups")
    for key, (count, first, last, example) in ranked[: args.top]:
        print(f"{count:7}  lines {first}–{last}  {key[:200]}\n         e.g. {example[:200]}")
    if len(ranked) > args.top:
        print(f"… and {len(ranked) - args.top} rarer groups")


main()
