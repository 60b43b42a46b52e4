"""What the Python program learns in HERMES_HOME and what it sees there, done by its own modules, as JSON."""

import json
import os
import stat
import sys
import time

from hermes_constants import get_hermes_home
from tools import skill_usage, skills_sync
from tools.memory_tool import MemoryStore, memory_tool
from tools.skill_manager_tool import skill_manage
from tools.skills_tool import skill_view, skills_list

SKILL = """---
name: {name}
description: Made by the Python program.
---
# Steps

Call step one.
"""


def store():
    made = MemoryStore(memory_char_limit=20000, user_char_limit=20000)
    made.load_from_disk()
    return made


def done(answer):
    """What a tool said, if it succeeded."""
    answer = json.loads(answer)
    if not answer.get("success"):
        sys.exit(f"refused: {answer}")
    return answer


def remember(target, *entries):
    memory = store()
    for entry in entries:
        done(memory_tool(action="add", target=target, content=entry, store=memory))


def forget(target, part):
    done(memory_tool(action="remove", target=target, old_text=part, store=store()))


def create(name):
    done(skill_manage(action="create", name=name, content=SKILL.format(name=name)))
    skill_usage.mark_agent_created(name)
    skill_usage.bump_view(name)
    skill_usage.bump_use(name)


def patch(name, old, new):
    done(skill_manage(action="patch", name=name, old_string=old, new_string=new))


def pin(name):
    skill_usage.set_pinned(name, True)


def sync():
    """Brings bundled skills up to date, from HERMES_BUNDLED_SKILLS."""
    return skills_sync.sync_skills(quiet=True)


def crowd(prefix, count):
    """Adds entries as soon as somebody else has begun to."""
    file = get_hermes_home() / "memories" / "MEMORY.md"
    until = time.monotonic() + 60
    while not file.exists() or prefix not in file.read_text(encoding="utf-8"):
        if time.monotonic() > until:
            sys.exit("nobody else has begun")
        time.sleep(0.001)
    memory = store()
    for n in range(int(count)):
        done(memory_tool(action="add", target="memory", content=f"theirs {n}", store=memory))
        time.sleep(0.005)


def read():
    home = get_hermes_home()
    memory = store()
    mode = lambda path: oct(stat.S_IMODE(os.stat(home / path).st_mode)) if (home / path).exists() else None
    names = sorted(skill["name"] for skill in json.loads(skills_list())["skills"])
    return {
        "memory": memory.memory_entries,
        "user": memory.user_entries,
        "prompt": memory.format_for_system_prompt("user"),
        "modes": {path: mode(path) for path in ("memories/MEMORY.md", "memories/USER.md", "skills/.usage.json")},
        "skills": names,
        "contents": {name: json.loads(skill_view(name))["content"] for name in names},
        "usage": skill_usage.load_usage(),
        "manifest": skills_sync._read_manifest(),
    }


command, *args = sys.argv[1:]
print(json.dumps(globals()[command](*args), ensure_ascii=False))
