#!/usr/bin/env python3
"""Check, compare and export DESIGN.md files without any package.

usage: design_md.py lint FILE                       findings as JSON; exit 1 if there are errors
       design_md.py contrast FILE                   every text/background pair and its ratio
       design_md.py contrast '#1B1B1B' '#F6F4EF'    one pair
       design_md.py diff OLD NEW                    tokens added, removed, changed; exit 1 if NEW has more errors or warnings
       design_md.py export css|tailwind|dtcg FILE   CSS variables, Tailwind 4 @theme, W3C design tokens

Reads the plain YAML that DESIGN.md uses (nested maps, lists of scalars, quoted or bare values). Contrast is computed for hex,
rgb() and a few named colours; others are reported as not checked.
"""
import json
import re
import sys

GROUPS = ("colors", "typography", "rounded", "spacing", "components")
KNOWN = ("version", "name", "description", "omitted") + GROUPS
ORDER = ["Overview", "Colors", "Typography", "Layout", "Elevation & Depth", "Shapes", "Components", "Do's and Don'ts"]
ALIASES = {"brand & style": "Overview", "layout & spacing": "Layout", "elevation": "Elevation & Depth"}
PROPERTIES = {"backgroundColor", "textColor", "typography", "rounded", "padding", "size", "height", "width"}
FONT = {"fontFamily", "fontSize", "fontWeight", "lineHeight", "letterSpacing", "fontFeature", "fontVariation"}
NAMED = {"black": "#000000", "white": "#ffffff", "red": "#ff0000", "gray": "#808080", "grey": "#808080", "navy": "#000080"}
DIMENSION = re.compile(r"(-?\d*\.?\d+)(px|em|rem)$")
REFERENCE = re.compile(r"\{([^{}]+)\}$")


class Bad(Exception):
    pass


def scalar(text):
    if text[:1] in "\"'" and text[-1:] == text[:1] and len(text) > 1:
        return text[1:-1]
    if text[:1] in "[{&*|>!%@`":
        raise Bad(f"value {text!r}: quote it, or write it as a nested block")
    return text


def uncomment(line):
    quote = None
    for at, char in enumerate(line):
        if quote:
            quote = None if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char == "#" and (at == 0 or line[at - 1] in " \t"):
            return line[:at]
    return line


def yaml(text, first=1):
    """The YAML subset: maps by indentation, lists of scalars or one-level maps."""
    root = {}
    stack = [(-1, root, None, None)]                    # indent, container, parent, key in parent
    for number, raw in enumerate(text.split("\n"), first):
        line = uncomment(raw).rstrip()
        if not line.strip():
            continue
        if "\t" in line[: len(line) - len(line.lstrip())]:
            raise Bad(f"line {number}: tab in the indentation")
        indent, body = len(line) - len(line.lstrip()), line.strip()
        while stack[-1][0] >= indent and not (body.startswith("- ") and stack[-1][0] == indent and isinstance(stack[-1][1], list)):
            stack.pop()
        if body.startswith("- "):
            _, container, parent, key = stack[-1]
            if isinstance(container, dict) and not container and parent is not None:
                parent[key] = []
                stack[-1] = (indent, parent[key], parent, key)
            container = stack[-1][1]
            if not isinstance(container, list):
                raise Bad(f"line {number}: list item where a key was expected")
            entry = re.match(r"([\w-]+):\s+(.*)$", body[2:].strip())
            if entry:
                container.append({entry.group(1): scalar(entry.group(2))})
                stack.append((indent + 1, container[-1], None, None))
            else:
                container.append(scalar(body[2:].strip()))
            continue
        match = re.match(r"(\"[^\"]+\"|'[^']+'|[^:\s][^:]*?):(?:\s+(.*))?$", body)
        if not match or not isinstance(stack[-1][1], dict):
            raise Bad(f"line {number}: not understood: {body[:60]!r}")
        key, value = match.group(1).strip("\"'"), match.group(2)
        if key in stack[-1][1]:
            raise Bad(f"line {number}: {key!r} is defined twice")
        if value:
            stack[-1][1][key] = scalar(value.strip())
        else:
            stack[-1][1][key] = {}
            stack.append((indent, stack[-1][1][key], stack[-1][1], key))
    return root


def load(path):
    text = sys.stdin.read() if path == "-" else open(path, encoding="utf-8-sig").read()
    lines = text.replace("\r\n", "\n").split("\n")
    tokens, at = {}, 0
    if lines[0] == "---":
        if "---" not in lines[1:]:
            raise Bad("the front matter has no end")
        at = lines.index("---", 1)
        tokens = yaml("\n".join(lines[1:at]), 2)
        at += 1
    headings, block, fence = [], None, None
    for number, line in enumerate(lines[at:], at + 1):
        mark = re.match(r"(`{3,}|~{3,})(.*)", line)
        if fence:
            if mark and mark.group(1).startswith(fence) and not mark.group(2).strip():
                if block is not None:
                    for key, value in yaml("\n".join(block)).items():
                        if key in tokens:
                            raise Bad(f"line {number}: {key!r} is defined in two places")
                        tokens[key] = value
                fence, block = None, None
            elif block is not None:
                block.append(line)
        elif mark:
            fence, block = mark.group(1), [] if mark.group(2).strip() in ("yaml", "yml") else None
        elif re.match(r"##\s+\S", line):
            headings.append((number, line[2:].strip()))
    return tokens, headings


def look_up(tokens, path):
    here = tokens
    for step in path.split("."):
        if not isinstance(here, dict) or step not in here:
            return None
        here = here[step]
    return here


def resolve(tokens, value, seen=()):
    match = REFERENCE.match(value) if isinstance(value, str) else None
    if not match:
        return value
    if match.group(1) in seen:
        raise Bad(f"reference {value} goes round in a circle")
    found = look_up(tokens, match.group(1))
    if found is None:
        raise Bad(f"reference {value} leads nowhere")
    return resolve(tokens, found, seen + (match.group(1),))


def rgb(value):
    value = NAMED.get(str(value).lower(), str(value)).strip()
    match = re.match(r"#([0-9a-f]{3,8})$", value, re.I)
    if match and len(match.group(1)) in (3, 4, 6, 8):
        digits = match.group(1)
        digits = "".join(d * 2 for d in digits) if len(digits) < 6 else digits
        if len(digits) == 8 and digits[6:].lower() != "ff":
            return None                                      # transparent: depends on what is below
        return tuple(int(digits[n:n + 2], 16) for n in (0, 2, 4))
    match = re.match(r"rgb\(\s*(\d+)[\s,]+(\d+)[\s,]+(\d+)\s*\)$", value)
    return tuple(min(int(n), 255) for n in match.groups()) if match else None


def contrast(one, two):
    def light(color):
        parts = [c / 255 for c in color]
        parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
    high, low = sorted((light(one), light(two)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def pairs(tokens):
    for name, part in tokens.get("components", {}).items():
        if isinstance(part, dict) and "backgroundColor" in part and "textColor" in part:
            try:
                yield name, resolve(tokens, part["textColor"]), resolve(tokens, part["backgroundColor"])
            except Bad:
                continue


def lint(path):
    findings = []

    def tell(severity, rule, where, message):
        findings.append({"severity": severity, "rule": rule, "path": where, "message": message})

    try:
        tokens, headings = load(path)
    except Bad as error:
        tell("error", "yaml", "", str(error))
        return findings
    for key, value in tokens.items():
        if key not in KNOWN and isinstance(value, dict):
            tell("warning", "unknown-key", key, f"{key!r} is no group of the format and is not exported")
    groups = {name: tokens.get(name) if isinstance(tokens.get(name), dict) else {} for name in GROUPS}
    omitted = {o.get("section") if isinstance(o, dict) else o for o in tokens.get("omitted", []) or []}
    if not tokens.get("name"):
        tell("warning", "missing-name", "name", "no name")
    if groups["colors"] and "primary" not in groups["colors"]:
        tell("warning", "missing-primary", "colors", "no primary colour: readers will make one up")
    if groups["colors"] and not groups["typography"] and "typography" not in omitted:
        tell("warning", "missing-typography", "typography", "no typography: readers will use their default fonts")
    for name in ("spacing", "rounded"):
        if groups["colors"] and not groups[name] and name not in omitted:
            tell("info", "missing-sections", name, f"no {name} tokens")
    used = set()

    def check_reference(where, value):
        match = REFERENCE.match(value) if isinstance(value, str) else None
        if match:
            used.add(match.group(1))
            try:
                resolve(tokens, value)
            except Bad as error:
                tell("error", "broken-ref", where, str(error))
        return bool(match)

    for name, value in groups["colors"].items():
        if value == {}:
            tell("error", "value", f"colors.{name}", "empty: a hex colour must be quoted, # begins a comment")
        elif not check_reference(f"colors.{name}", value) and not isinstance(value, str):
            tell("error", "value", f"colors.{name}", "a colour is one value")
        elif isinstance(value, str) and value.startswith("#") and not re.match(r"#(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})$", value, re.I):
            tell("error", "value", f"colors.{name}", f"{value!r} is no hex colour")
    for name, font in groups["typography"].items():
        for key, value in (font.items() if isinstance(font, dict) else [("", font)]):
            where = f"typography.{name}.{key}"
            if key not in FONT:
                tell("warning", "value", where, "no property of typography")
            elif key in ("fontSize", "letterSpacing") and not check_reference(where, value) and not DIMENSION.match(str(value)):
                tell("error", "value", where, f"{value!r}: number and px, em or rem expected")
    for group in ("rounded", "spacing"):
        for name, value in groups[group].items():
            plain = group == "spacing" and re.match(r"-?\d*\.?\d+$", str(value))
            if not check_reference(f"{group}.{name}", value) and not DIMENSION.match(str(value)) and not plain:
                tell("error", "value", f"{group}.{name}", f"{value!r}: number and px, em or rem expected")
    for name, part in groups["components"].items():
        for key, value in (part.items() if isinstance(part, dict) else []):
            check_reference(f"components.{name}.{key}", value)
            if key not in PROPERTIES:
                tell("warning", "unknown-property", f"components.{name}.{key}", "no property of the format")
    for name, text, ground in pairs(tokens):
        a, b = rgb(text), rgb(ground)
        if a is None or b is None:
            tell("info", "contrast-ratio", f"components.{name}", f"{text} on {ground}: not checked")
        elif contrast(a, b) < 4.5:
            tell("warning", "contrast-ratio", f"components.{name}", f"{text} on {ground} has {contrast(a, b):.2f}:1, WCAG AA wants 4.5:1")
    if groups["components"]:
        for name in groups["colors"]:
            if f"colors.{name}" not in used:
                tell("warning", "orphaned-tokens", f"colors.{name}", "no component uses it")
    names = [(number, ALIASES.get(text.lower(), next((o for o in ORDER if o.lower() == text.lower().replace("’", "'")), None)), text)
             for number, text in headings]
    places = [ORDER.index(known) for _, known, _ in names if known]
    if places != sorted(places):
        tell("warning", "section-order", "", "sections are out of order; expected: " + ", ".join(ORDER))
    seen = set()
    for number, known, text in names:
        if (known or text) in seen:
            tell("error", "duplicate-section", f"line {number}", f"section {text!r} appears twice")
        seen.add(known or text)
    tell("info", "token-summary", "", ", ".join(f"{len(groups[g])} {g}" for g in GROUPS))
    return findings


def count(findings):
    return {name: sum(f["severity"] == name for f in findings) for name in ("error", "warning", "info")}


def unit(value):
    match = re.match(r"(-?\d*\.?\d+)(px|em|rem)?$", str(value))
    if not match:
        return value
    number = float(match.group(1))
    number = int(number) if number == int(number) else number
    return {"value": number, "unit": match.group(2)} if match.group(2) else number


def export(kind, path):
    tokens, _ = load(path)
    get = lambda group: {name: resolve(tokens, value) for name, value in (tokens.get(group) or {}).items()}
    fonts = {name: {k: resolve(tokens, v) for k, v in font.items()} for name, font in get("typography").items()}
    if kind == "dtcg":
        out = {"$schema": "https://www.designtokens.org/schemas/2025.10/format.json"}
        if tokens.get("description"):
            out["$description"] = tokens["description"]
        color = lambda v: {"colorSpace": "srgb", "components": [round(c / 255, 3) for c in rgb(v)], "hex": "#%02x%02x%02x" % rgb(v)} if rgb(v) else v
        out["color"] = {"$type": "color", **{n: {"$value": color(v)} for n, v in get("colors").items()}}
        for group in ("spacing", "rounded"):
            out[group] = {"$type": "dimension", **{n: {"$value": unit(v)} for n, v in get(group).items()}}
        sized = {"fontSize", "letterSpacing", "lineHeight", "fontWeight"}
        out["typography"] = {n: {"$type": "typography", "$value": {k: unit(v) if k in sized else v for k, v in f.items()}} for n, f in fonts.items()}
        return json.dumps(out, indent=2, ensure_ascii=False)
    tailwind = kind == "tailwind"
    lines = [f"  --color-{n}: {v};" for n, v in get("colors").items()]
    parts = [("font", "fontFamily"), ("text", "fontSize"), ("leading", "lineHeight"), ("tracking", "letterSpacing"), ("font-weight", "fontWeight")]
    for prefix, key in parts:
        for name, font in fonts.items():
            if key in font:
                value = f'"{font[key]}"' if key == "fontFamily" and " " in font[key] and "," not in font[key] else font[key]
                lines.append(f"  --{prefix}-{name}: {value};")
    lines += [f"  --{'radius' if tailwind else 'rounded'}-{n}: {v};" for n, v in get("rounded").items()]
    lines += [f"  --spacing-{n}: {v};" for n, v in get("spacing").items()]
    return ("@theme {\n" if tailwind else ":root {\n") + "\n".join(lines) + "\n}"


def diff(old, new):
    a, b = load(old)[0], load(new)[0]
    changes = {}
    for group in GROUPS:
        one, two = a.get(group) or {}, b.get(group) or {}
        full = lambda tree, value: {k: resolve(tree, v) for k, v in value.items()} if isinstance(value, dict) else resolve(tree, value)
        changes[group] = {"added": [n for n in two if n not in one], "removed": [n for n in one if n not in two],
                          "changed": {n: [one[n], two[n]] for n in one if n in two and (one[n] != two[n] or full(a, one[n]) != full(b, two[n]))}}
    before, after = count(lint(old)), count(lint(new))
    worse = after["error"] > before["error"] or after["warning"] > before["warning"]
    return {"tokens": changes, "before": before, "after": after, "regression": worse}


def main():
    words = sys.argv[1:]
    try:
        if words[:1] == ["lint"] and len(words) == 2:
            findings = lint(words[1])
            print(json.dumps({"findings": findings, "summary": count(findings)}, indent=2, ensure_ascii=False))
            sys.exit(bool(count(findings)["error"]))
        if words[:1] == ["contrast"] and len(words) == 3:
            colors = [rgb(word) for word in words[1:]]
            if None in colors:
                sys.exit("only hex, rgb() and basic names can be compared")
            ratio = contrast(*colors)
            print(f"{ratio:.2f}:1  normal text {'AAA' if ratio >= 7 else 'AA' if ratio >= 4.5 else 'fails'}, "
                  f"large text and icons {'pass' if ratio >= 3 else 'fail'}")
        elif words[:1] == ["contrast"] and len(words) == 2:
            for name, text, ground in pairs(load(words[1])[0]):
                a, b = rgb(text), rgb(ground)
                print(f"{contrast(a, b):6.2f}:1  {name}: {text} on {ground}" if a and b else f"     ?    {name}: {text} on {ground}")
        elif words[:1] == ["diff"] and len(words) == 3:
            result = diff(words[1], words[2])
            print(json.dumps(result, indent=2, ensure_ascii=False))
            sys.exit(result["regression"])
        elif words[:1] == ["export"] and len(words) == 3 and words[1] in ("css", "tailwind", "dtcg"):
            print(export(words[1], words[2]))
        else:
            sys.exit(__doc__)
    except (Bad, OSError) as error:
        sys.exit(f"design_md.py: {error}")


main()
