#!/usr/bin/env python3
"""Bring an OpenClaw (ClawdBot, MoltBot) setup over to Hermes, step by step.

usage: openclaw.py plan    [--source DIR] [--home DIR] [--workspace-target DIR] [--json]
       openclaw.py apply   … --take ITEM[,ITEM…] [--on-conflict ITEM=keep|replace|rename]…
       openclaw.py secrets … [--send NAME -- COMMAND…]

plan     reads only, and prints every item with its state, destination and reason
apply    does what --take names; any item in conflict that it takes needs a choice, otherwise nothing at all is done
secrets  lists the names of keys that were found, never a value; --send gives one value to COMMAND on standard input

--home is the Hermes home (default ~/.hermes; the directory of `hermes config path`). Nothing in the source is ever changed.
"""
import argparse
import datetime
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

SOURCES = ["~/.openclaw", "~/.clawdbot", "~/.moltbot"]
CONFIGS = ["openclaw.json", "clawdbot.json", "moltbot.json"]
WORKSPACES = ["workspace", "workspace-main", "workspace-assistant", "workspace.default"]
LIMITS = {"memory": 2200, "user-profile": 1375}
ARCHIVED = ["IDENTITY.md", "TOOLS.md", "HEARTBEAT.md", "BOOTSTRAP.md", ".learnings"]
ARCHIVED_SOURCE = ["cron", "hooks"]
NEVER = ["credentials", "devices", "identity", "workspace.zip", "memory/main.sqlite", "state", "sessions"]
PROVIDERS = {"openrouter": "OPENROUTER_API_KEY", "openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "deepseek": "DEEPSEEK_API_KEY",
             "gemini": "GEMINI_API_KEY", "google": "GEMINI_API_KEY", "zai": "ZAI_API_KEY", "minimax": "MINIMAX_API_KEY", "elevenlabs": "ELEVENLABS_API_KEY"}
CHANNELS = {("telegram", "botToken"): "TELEGRAM_BOT_TOKEN", ("discord", "token"): "DISCORD_BOT_TOKEN",
            ("slack", "botToken"): "SLACK_BOT_TOKEN", ("slack", "appToken"): "SLACK_APP_TOKEN"}
SEPARATOR = "\n§\n"


# JSON with comments, trailing commas, bare keys and single quotes
class Json5:
    def __init__(self, text):
        self.text, self.at = text, 0

    def fail(self, what):
        raise ValueError(f"line {self.text.count(chr(10), 0, self.at) + 1}: {what}")

    def space(self):
        match = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/|\ufeff)*", re.S).match(self.text, self.at)
        self.at = match.end()
        return self.text[self.at:self.at + 1]

    def value(self):
        char = self.space()
        if char == "{":
            return self.container("}", {})
        if char == "[":
            return self.container("]", [])
        if char in "\"'" and char:
            return self.string()
        match = re.compile(r"[^\s,\]}:]+").match(self.text, self.at)
        if not match:
            self.fail("value expected")
        self.at = match.end()
        word = match.group()
        named = {"true": True, "false": False, "null": None}
        if word in named:
            return named[word]
        try:
            return int(word, 16) if word.lower().startswith("0x") else float(word) if re.search(r"[.eE]", word) else int(word)
        except ValueError:
            self.fail(f"{word!r} is not a value")

    def string(self):
        quote, out = self.text[self.at], []
        self.at += 1
        while True:
            char = self.text[self.at:self.at + 1]
            if not char:
                self.fail("text without an end")
            self.at += 1
            if char == quote:
                return "".join(out)
            if char == "\\":
                char = self.text[self.at:self.at + 1]
                self.at += 1
                if char == "u":
                    out.append(chr(int(self.text[self.at:self.at + 4], 16)))
                    self.at += 4
                elif char != "\n":
                    out.append({"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}.get(char, char))
            else:
                out.append(char)

    def container(self, end, result):
        self.at += 1
        while self.space() != end:
            if isinstance(result, dict):
                match = re.compile(r"[\w$-]+").match(self.text, self.at)
                if self.text[self.at:self.at + 1] in "\"'":
                    key = self.string()
                elif match:
                    key, self.at = match.group(), match.end()
                else:
                    self.fail("key expected")
                if self.space() != ":":
                    self.fail("':' expected")
                self.at += 1
                result[key] = self.value()
            else:
                result.append(self.value())
            if self.space() == ",":
                self.at += 1
            elif self.space() != end:
                self.fail(f"',' or {end!r} expected")
        self.at += 1
        return result


def dig(tree, *path):
    for step in path:
        tree = tree.get(step) if isinstance(tree, dict) else None
    return tree


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def rebrand(text):
    """The old names become the new one, but not within web addresses and file names."""
    def swap(match):
        word = match.group("name")
        return match.group() if not word else "hermes" if word.islower() else "Hermes"
    return re.sub(r"https?://\S+|\S+\.json\b|(?P<name>\b(?:open ?claw|clawd ?bot|molt ?bot)\b)", swap, text, flags=re.I)


def masked(value):
    """What may be shown of a server's command line or address."""
    if isinstance(value, dict):
        return {key: masked(inner) for key, inner in value.items()}
    if isinstance(value, list):
        hidden = [n > 0 and re.search(r"key|token|secret|passw|auth|header", str(value[n - 1]), re.I) and "=" not in str(value[n - 1])
                  for n in range(len(value))]
        return ["***" if hide else masked(inner) for hide, inner in zip(hidden, value)]
    if not isinstance(value, str):
        return value
    value = re.sub(r"([?&;][^=&;]+=)[^&;#]+|(//)[^/@]+@", lambda m: (m.group(1) or m.group(2)) + "***", value)
    value = re.sub(r"(?i)((?:key|token|secret|passw\w*|auth\w*)[^=:\s]*[=:]\s*).+", r"\1***", value)
    return re.sub(r"(?<![\w/.@-])(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{24,}(?![\w/.])", "***", value)


def entries(text):
    """Bullets and paragraphs as single notes, with their headings in front; code and tables are left out."""
    found, headings, paragraph, fenced = [], [], [], False

    def close():
        if paragraph:
            found.append(": ".join([" > ".join(h for _, h in headings)] * bool(headings) + [" ".join(paragraph)]))
            paragraph.clear()

    for line in rebrand(text).split("\n"):
        if line.lstrip().startswith("```"):
            close()
            fenced = not fenced
            continue
        heading = re.match(r"(#{1,6})\s+(.*)", line)
        bullet = re.match(r"\s*(?:[-*+]|\d+[.)])\s+(?:\[.\]\s+)?(.*)", line)
        if fenced or line.lstrip().startswith("|") or re.match(r"\s*(?:---+|\*\*\*+|<!--.*)\s*$", line):
            continue
        if heading:
            close()
            depth = len(heading.group(1))
            headings[:] = [h for h in headings if h[0] < depth]
            if depth > 1:                                   # the title says nothing
                headings.append((depth, heading.group(2).strip()))
        elif bullet:
            close()
            paragraph.append(bullet.group(1).strip())
        elif line.strip():
            paragraph.append(line.strip())
        else:
            close()
    close()
    return [e for e in dict.fromkeys(found) if e.strip()]


def fit(old, new, limit):
    taken, rest = list(old), []
    for entry in new:
        if entry in taken:
            continue
        if len(SEPARATOR.join(taken + [entry])) <= limit:
            taken.append(entry)
        else:
            rest.append(entry)
    return taken, rest


class Setup:
    def __init__(self, args):
        given = [args.source] if args.source else SOURCES
        places = [os.path.expanduser(p) for p in given]
        self.source = next((p for p in places if os.path.isdir(p)), None)
        if not self.source:
            sys.exit("no OpenClaw directory found in " + ", ".join(places))
        self.home = os.path.expanduser(args.home)
        self.target = args.workspace_target and os.path.expanduser(args.workspace_target)
        self.config, self.trouble = {}, []
        for name in CONFIGS:
            path = os.path.join(self.source, name)
            if os.path.isfile(path):
                try:
                    self.config = Json5(read(path)).value()
                except (ValueError, OSError) as error:
                    self.trouble.append(f"{name} cannot be read: {error}")
                break
        own = dig(self.config, "agents", "defaults", "workspace")
        candidates = ([os.path.expanduser(own)] if isinstance(own, str) else []) + [os.path.join(self.source, n) for n in WORKSPACES]
        self.workspace = next((p for p in candidates if os.path.isdir(p)), self.source)

    def skills(self):
        seen = set()
        for root in (os.path.join(self.workspace, "skills"), os.path.join(self.source, "skills"),
                     os.path.join(self.workspace, ".agents", "skills"), os.path.expanduser("~/.agents/skills")):
            for name in sorted(os.listdir(root)) if os.path.isdir(root) else []:
                path = os.path.join(root, name)
                if os.path.isfile(os.path.join(path, "SKILL.md")) and name not in seen:
                    seen.add(name)
                    yield name, path

    def taken_names(self):
        found = {}
        for root, dirs, files in os.walk(os.path.join(self.home, "skills")):
            dirs[:] = [d for d in dirs if not d.startswith(".")]
            if "SKILL.md" in files:
                found[os.path.basename(root)] = root
        return found

    def secrets(self):
        """name -> (value, where); references to the environment are followed into the .env of the source."""
        plain = {}
        path = os.path.join(self.source, ".env")
        if os.path.isfile(path):
            for line in read(path).split("\n"):
                match = re.match(r"\s*(?:export\s+)?([A-Z][A-Z0-9_]*)\s*=\s*(.*)", line)
                if match:
                    plain[match.group(1)] = match.group(2).strip().strip("\"'")
        plain.update({k: v for k, v in (dig(self.config, "env", "vars") or {}).items() if isinstance(v, str)})
        found = {}

        def add(name, value, where):
            if isinstance(value, dict):
                value = plain.get(value.get("id")) if value.get("source") == "env" else None
            match = re.fullmatch(r"\$\{(\w+)\}", value) if isinstance(value, str) else None
            if match:
                value = plain.get(match.group(1))
            if name not in found:
                found[name] = (value if isinstance(value, str) and value.strip() else None, where)

        wanted = set(PROVIDERS.values()) | set(CHANNELS.values())
        for name, value in plain.items():
            if name in wanted:
                add(name, value, ".env")
        for provider, settings in (dig(self.config, "models", "providers") or {}).items():
            if provider in PROVIDERS and dig(settings, "apiKey"):
                add(PROVIDERS[provider], settings["apiKey"], f"models.providers.{provider}")
        if dig(self.config, "messages", "tts", "elevenlabs", "apiKey"):
            add("ELEVENLABS_API_KEY", self.config["messages"]["tts"]["elevenlabs"]["apiKey"], "messages.tts")
        for (channel, key), name in CHANNELS.items():
            settings = dig(self.config, "channels", channel) or {}
            value = settings.get(key) or dig(settings, "accounts", "default", key)
            if value:
                add(name, value, f"channels.{channel}")
        profiles = os.path.join(self.source, "agents", "main", "agent", "auth-profiles.json")
        if os.path.isfile(profiles):
            try:
                for profile in (Json5(read(profiles)).value().get("profiles") or {}).values():
                    if profile.get("provider") in PROVIDERS and profile.get("key"):
                        add(PROVIDERS[profile["provider"]], profile["key"], "auth-profiles.json")
            except (ValueError, AttributeError) as error:
                self.trouble.append(f"auth-profiles.json cannot be read: {error}")
        return found


def plan(setup):
    items = []

    def add(item, state, source, target, reason, **more):
        items.append({"item": item, "state": state, "from": source, "to": target, "reason": reason, **more})

    def text_file(item, name, target):
        source = os.path.join(setup.workspace, name)
        if not os.path.isfile(source):
            return
        if target is None:
            add(item, "skip", source, "", "no --workspace-target given")
        elif not os.path.exists(target):
            add(item, "new", source, target, "nothing there yet")
        elif read(target).strip() == rebrand(read(source)).strip():
            add(item, "same", source, target, "already the same")
        else:
            add(item, "conflict", source, target, f"another text is there ({len(read(target))} characters)")

    text_file("soul", "SOUL.md", os.path.join(setup.home, "SOUL.md"))
    for item, name in (("memory", "MEMORY.md"), ("user-profile", "USER.md")):
        source, target = os.path.join(setup.workspace, name), os.path.join(setup.home, "memories", name)
        if os.path.isfile(source):
            old = [e for e in read(target).split(SEPARATOR) if e.strip()] if os.path.exists(target) else []
            new = [e for e in entries(read(source)) if e not in old]
            kept, rest = fit(old, new, LIMITS[item])
            add(item, "new" if new else "same", source, target,
                f"{len(new)} new entries beside {len(old)}; {len(rest)} do not fit into {LIMITS[item]} characters and go to overflow/")
    daily = os.path.join(setup.workspace, "memory")
    if os.path.isdir(daily) and any(n.endswith(".md") for n in os.listdir(daily)):
        add("daily-memory", "archive", daily, "archive/memory/", "day notes are too long for memory; read them and pick what lasts")
    text_file("workspace-agents", "AGENTS.md", setup.target and os.path.join(setup.target, "AGENTS.md"))
    names = setup.taken_names()
    for name, source in setup.skills():
        target = os.path.join(setup.home, "skills", "openclaw-imports", name)
        if name in names:
            add("skill:" + name, "conflict", source, names[name], "a skill of that name exists")
        else:
            add("skill:" + name, "new", source, target, "read it before use")
    for name in ARCHIVED:
        if os.path.exists(os.path.join(setup.workspace, name)):
            add("archive:" + name, "archive", os.path.join(setup.workspace, name), "archive/" + name, "no counterpart; kept for reading")
    for name in ARCHIVED_SOURCE:
        if os.path.exists(os.path.join(setup.source, name)):
            add("archive:" + name, "archive", os.path.join(setup.source, name), "archive/" + name, "to be set up anew by hand")
    model = dig(setup.config, "agents", "defaults", "model")
    model = dig(model, "primary") if isinstance(model, dict) else model
    if model:
        add("model", "by hand", "agents.defaults.model", "", "hermes model search, then hermes model set", value=model)
    for name, server in (dig(setup.config, "mcp", "servers") or {}).items():
        add("mcp:" + name, "by hand", "mcp.servers." + name, "", "hermes mcp add " + name,
            value=masked({k: server[k] for k in ("command", "args", "url") if k in server}), variables=sorted(server.get("env") or {}))
    for path, key in ((("agents", "defaults", "userTimezone"), "timezone"), (("agents", "defaults", "thinkingDefault"), "agent.reasoning_effort"),
                      (("tools", "exec", "timeoutSec"), "terminal.timeout"), (("agents", "defaults", "workspace"), "terminal.cwd")):
        if dig(setup.config, *path) is not None:
            add("setting:" + key, "by hand", ".".join(path), key, "hermes config set", value=dig(setup.config, *path))
    approvals = os.path.join(setup.source, "exec-approvals.json")
    if os.path.isfile(approvals):
        try:
            agents = Json5(read(approvals)).value().get("agents") or {}
            patterns = sorted({e.get("pattern") for a in agents.values() for e in a.get("allowlist") or [] if e.get("pattern")})
            add("command-allowlist", "by hand", approvals, "command_allowlist", "each one is a standing permission: ask", value=patterns)
        except (ValueError, AttributeError) as error:
            setup.trouble.append(f"exec-approvals.json cannot be read: {error}")
    for name, (value, where) in setup.secrets().items():
        add("secret:" + name, "secret", where, name, "only on request" if value else "refers to something outside; the owner has to enter it")
    for name in NEVER:
        if os.path.exists(os.path.join(setup.source, name)):
            add("never:" + name, "never", name, "", "not copied")
    return items


def write(path, text):
    path = os.path.realpath(path)                       # a linked file stays a link
    os.makedirs(os.path.dirname(path), exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path))
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    if os.path.exists(path):
        shutil.copymode(path, temporary)
    os.replace(temporary, path)


def locked(path, action):
    """Others of the family write these files under the same lock."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".lock", "a") as lock:
        try:
            import fcntl
            fcntl.flock(lock, fcntl.LOCK_EX)
        except ImportError:
            pass
        action()


def copy_tree(source, target):
    ignored = shutil.ignore_patterns(".git", "node_modules", "__pycache__", ".venv", ".env")
    if os.path.isdir(source):
        shutil.copytree(source, target, ignore=ignored, symlinks=True)
        for root, dirs, files in os.walk(target):
            for name in dirs + files:
                if os.path.islink(os.path.join(root, name)):
                    os.unlink(os.path.join(root, name))        # links may lead anywhere
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(source, target)


def apply(setup, items, take, choices):
    wanted = [i for i in items if any(i["item"] == t or t.endswith("*") and i["item"].startswith(t[:-1]) for t in take)]
    unknown = [t for t in take if not any(i["item"] == t or t.endswith("*") and i["item"].startswith(t[:-1]) for i in items)]
    wrong = [i["item"] for i in wanted if i["state"] in ("by hand", "secret", "never", "skip")]
    open_ = [i["item"] for i in wanted if i["state"] == "conflict" and i["item"] not in choices]
    if unknown or wrong or open_:
        sys.exit("\n".join(["nothing was done"] + [f"  not in the plan: {u}" for u in unknown]
                           + [f"  cannot be applied by this script: {w}" for w in wrong] + [f"  conflict without a choice: {o}" for o in open_]))
    stamp = datetime.datetime.now().strftime("%Y%m%dT%H%M%S")
    report = os.path.join(setup.home, "migration", "openclaw", stamp)
    os.makedirs(report)
    done = []

    def backup(path):
        if os.path.exists(path):
            copy_tree(path, os.path.join(report, "backups", os.path.relpath(path, setup.home) if path.startswith(setup.home) else os.path.basename(path)))

    for item in wanted:
        name, choice, result = item["item"], choices.get(item["item"]), "done"
        try:
            if item["state"] == "same" or choice == "keep":
                result = "left as it is"
            elif item["state"] == "archive":
                copy_tree(item["from"], os.path.join(report, "archive", os.path.basename(item["from"])))
            elif name in LIMITS:
                def merge():
                    old = [e for e in read(item["to"]).split(SEPARATOR) if e.strip()] if os.path.exists(item["to"]) else []
                    kept, rest = fit(old, entries(read(item["from"])), LIMITS[name])
                    backup(item["to"])
                    write(item["to"], SEPARATOR.join(kept))
                    if rest:
                        write(os.path.join(report, "overflow", name + "_overflow.txt"), SEPARATOR.join(rest))
                    return kept, rest
                locked(item["to"], merge)
            elif name.startswith("skill:"):
                short = name[6:]
                target = os.path.join(setup.home, "skills", "openclaw-imports", short)
                if choice == "replace":
                    if os.path.dirname(item["to"]) != os.path.dirname(target):
                        raise OSError(f"{item['to']} did not come from an import; choose rename or keep")
                    backup(item["to"])
                    shutil.rmtree(item["to"])
                elif choice == "rename":
                    number, new = 1, short + "-imported"
                    while new in setup.taken_names():
                        number += 1
                        new = f"{short}-imported-{number}"
                    target = os.path.join(setup.home, "skills", "openclaw-imports", new)
                copy_tree(item["from"], target)
                if choice == "rename":
                    file = os.path.join(target, "SKILL.md")
                    write(file, re.sub(r"(?m)^name:.*$", "name: " + new, read(file), count=1))
                about = os.path.join(setup.home, "skills", "openclaw-imports", "DESCRIPTION.md")
                if not os.path.exists(about):
                    write(about, "---\ndescription: Skills brought over from OpenClaw\n---\n")
                result = "done: " + target
            else:
                if choice == "rename":
                    raise OSError("rename is for skills only")
                backup(item["to"])
                write(item["to"], rebrand(read(item["from"])))
        except OSError as error:
            result = f"failed: {error}"
        done.append({"item": name, "to": item["to"], "choice": choice, "result": result})
    left = [i["item"] for i in items if i["item"] not in {d["item"] for d in done}]
    write(os.path.join(report, "report.json"), json.dumps({"source": setup.source, "done": done, "left": left}, indent=2, ensure_ascii=False))
    lines = ["# Migration from OpenClaw", "", f"Source: {setup.source} (unchanged)", "", "| item | result |", "|---|---|"]
    lines += [f"| {d['item']} | {d['result']} |" for d in done] + ["", "Not done: " + (", ".join(left) or "nothing"), ""]
    write(os.path.join(report, "summary.md"), "\n".join(lines))
    for entry in done:
        print(f"{entry['result']:14} {entry['item']}")
    print(f"report, backups and archive: {report}")
    sys.exit(any(d["result"].startswith("failed") for d in done))


def main():
    words, command = sys.argv[1:], []
    if "--" in words:
        words, command = words[:words.index("--")], words[words.index("--") + 1:]
    args = argparse.ArgumentParser(usage=__doc__)
    args.add_argument("action", choices=["plan", "apply", "secrets"])
    args.add_argument("--source")
    args.add_argument("--home", default="~/.hermes")
    args.add_argument("--workspace-target")
    args.add_argument("--json", action="store_true")
    args.add_argument("--take", default="")
    args.add_argument("--on-conflict", action="append", default=[])
    args.add_argument("--send")
    args = args.parse_args(words)
    setup = Setup(args)
    if args.action == "secrets":
        found = setup.secrets()
        if args.send:
            value = found.get(args.send, (None, ""))[0]
            if not value or not command:
                sys.exit("no such value, or no command after --")
            sys.exit(subprocess.run(command, input=value + "\n", text=True).returncode)
        for name, (value, where) in found.items():
            print(f"{name}  from {where}  {'present' if value else 'not stored here'}")
        return
    items = plan(setup)
    if args.action == "apply":
        choices = {}
        for choice in args.on_conflict:
            item, _, what = choice.partition("=")
            if what not in ("keep", "replace", "rename"):
                sys.exit(f"{choice!r}: keep, replace or rename expected; nothing was done")
            choices[item] = what
        apply(setup, items, [t for t in args.take.split(",") if t], choices)
    elif args.json:
        print(json.dumps({"source": setup.source, "workspace": setup.workspace, "home": setup.home, "trouble": setup.trouble, "items": items}, indent=2, ensure_ascii=False))
    else:
        print(f"from {setup.source} (workspace {setup.workspace}) to {setup.home}; nothing was changed")
        for text in setup.trouble:
            print("TROUBLE ", text)
        for item in items:
            print(f"{item['state']:9} {item['item']:28} {item['to'] or item['from']}\n{'':38} {item['reason']}"
                  + (f": {json.dumps(item['value'], ensure_ascii=False)}" if "value" in item else ""))


main()
