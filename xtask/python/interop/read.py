"""What the Python program sees in HERMES_HOME, as JSON: its config, its list of sessions, its searches, the database's health."""

import json
import sqlite3
import sys

import yaml
from hermes_constants import get_hermes_home
from hermes_state import SessionDB


def leaves(node, path=()):
    """Every value that is not a mapping, by the way to it."""
    if isinstance(node, dict) and node:
        for key, value in node.items():
            yield from leaves(value, (*path, key))
    else:
        yield path, node


def config():
    """The user's own keys with the values the program gives them."""
    from hermes_cli.config import load_config
    from hermes_cli.env_loader import load_hermes_dotenv

    load_hermes_dotenv(hermes_home=get_hermes_home())
    effective = load_config()
    with open(get_hermes_home() / "config.yaml", encoding="utf-8") as file:
        raw = yaml.safe_load(file)
    seen = {}
    for path, _ in leaves(raw):
        value = effective
        for key in path:
            value = value[key]
        if path == ("model",):
            path = ("model", "default")  # what the short form stands for
        # A key that is not text has no name on the command line (`yes: x` is the key True).
        if not any(isinstance(key, bool) for key in path):
            seen[".".join(map(str, path))] = value
    return seen


def sessions():
    db = SessionDB(get_hermes_home() / "state.db")
    return db.list_sessions_rich(exclude_sources=["tool"], limit=1000)


def search(*queries):
    db = SessionDB(get_hermes_home() / "state.db")
    return {query: sorted({hit["session_id"] for hit in db.search_messages(query, limit=100)}) for query in queries}


def replay(session):
    db = SessionDB(get_hermes_home() / "state.db")
    return db.get_messages_as_conversation(session)


def health():
    db = sqlite3.connect(f"file:{get_hermes_home() / 'state.db'}?mode=ro", uri=True)
    one = lambda sql: db.execute(sql).fetchone()[0]
    return {
        "integrity": one("PRAGMA integrity_check"),
        "version": one("SELECT version FROM schema_version"),
        "messages": one("SELECT count(*) FROM messages"),
        "fts": one("SELECT count(*) FROM messages_fts"),
        "trigram": one("SELECT count(*) FROM messages_fts_trigram"),
    }


if __name__ == "__main__":
    what = {"config": config, "sessions": sessions, "search": search, "replay": replay, "health": health}[sys.argv[1]]
    print(json.dumps(what(*sys.argv[2:]), default=str))
