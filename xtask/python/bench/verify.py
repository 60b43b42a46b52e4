"""An independent look at a database: are the message ids given on stdin there, is the file sound, do the indexes agree?"""

import json
import sqlite3
import sys

db = sqlite3.connect(sys.argv[1])


def one(sql):
    return db.execute(sql).fetchone()[0]


present = {row[0] for row in db.execute("SELECT id FROM messages")}
promised = [int(line) for line in sys.stdin if line.strip()]
print(
    json.dumps(
        {
            # An id promised twice counts as lost: only one message can have it.
            "lost": sum(1 for id in promised if id not in present) + len(promised) - len(set(promised)),
            "integrity": one("PRAGMA integrity_check"),
            "messages": len(present),
            "fts": one("SELECT count(*) FROM messages_fts"),
            "trigram": one("SELECT count(*) FROM messages_fts_trigram"),
        }
    )
)
