"""The Python program's own store, timed in milliseconds on the database, queries and sessions that ours is timed on."""

import json
import random
import sys
import time
from pathlib import Path

from hermes_state import SessionDB


def timed(action):
    start = time.perf_counter()
    action()
    return (time.perf_counter() - start) * 1000


def main():
    database, queries, short, long, rounds = sys.argv[1:]
    db = SessionDB(Path(database))  # the first open brings the schema up to date
    text = "a message of ordinary length. " * 40
    figures = {
        "search": [timed(lambda: db.search_messages(q)) for q in Path(queries).read_text(encoding="utf-8").splitlines()],
        "append_short": [],
        "append_long": [],
    }
    for _ in range(int(rounds) * 2):
        name, session = random.choice([("append_short", short), ("append_long", long)])
        figures[name].append(timed(lambda: db.append_message(session, "user", text)))
    db.close()
    figures["open"] = [timed(lambda: SessionDB(Path(database))) for _ in range(5)]
    print(json.dumps(figures))


main()
