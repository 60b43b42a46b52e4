#!/usr/bin/env python3
"""Make a failing input as small as possible.

usage: shrink.py [--by line|char|word] [--timeout S] [-o OUT] INPUT -- COMMAND...

COMMAND is run with the path of a candidate put in place of {} (appended if there is no {}).
It must exit 0 while the input still shows the bug. INPUT itself is never changed.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile


def pieces(text, by):
    if by == "line":
        return text.splitlines(keepends=True)
    if by == "word":
        return re.findall(r"\s*\S+|\s+$", text)
    return list(text)


def shrink(parts, shows):
    """Classic delta debugging: leave out ever smaller chunks while the bug stays."""
    chunk = max(len(parts) // 2, 1)
    while parts:
        at, smaller = 0, False
        while at < len(parts):
            candidate = parts[:at] + parts[at + chunk:]
            if candidate != parts and shows(candidate):
                parts, smaller = candidate, True
            else:
                at += chunk
        if chunk == 1 and not smaller:
            break
        chunk = max(chunk // 2, 1)
    return parts


def main():
    if "--" not in sys.argv:
        sys.exit(__doc__)
    cut = sys.argv.index("--")
    args = argparse.ArgumentParser(usage=__doc__)
    args.add_argument("--by", choices=["line", "word", "char"], default="line")
    args.add_argument("--timeout", type=float, default=30)
    args.add_argument("-o", "--output")
    args.add_argument("input")
    args = args.parse_args(sys.argv[1:cut])
    command = sys.argv[cut + 1:]
    if not any("{}" in word for word in command):
        command.append("{}")
    with open(args.input, encoding="utf-8", errors="surrogateescape", newline="") as file:
        text = file.read()
    runs = 0
    suffix = os.path.splitext(args.input)[1]
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "candidate" + suffix)

        def shows(parts):
            nonlocal runs
            runs += 1
            with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
                file.write("".join(parts))
            argv = [word.replace("{}", path) for word in command]
            try:
                done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL, timeout=args.timeout)
            except subprocess.TimeoutExpired:
                return False
            return done.returncode == 0

        parts = pieces(text, args.by)
        if not shows(parts):
            sys.exit("the command does not exit 0 for the whole input: nothing to shrink")
        parts = shrink(parts, shows)
    result = "".join(parts)
    if args.output:
        with open(args.output, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
            file.write(result)
    else:
        sys.stdout.write(result)
    print(f"{len(text)} -> {len(result)} characters in {runs} runs", file=sys.stderr)


main()
