"""Says something in a chat as the Python program's gateway would: chat.py TEXT; prints the message's id."""

import json
import sys

from hermes_state import SessionDB

SESSION = "20260101_100000_aaaaaaaa"

db = SessionDB()
db.create_session(SESSION, "telegram", user_id="42", session_key="agent:main:telegram:dm:7", chat_id="7")
origin = {"platform": "telegram", "chat_id": "7", "chat_name": "Ada Lovelace", "chat_type": "dm", "user_name": "ada"}
db.record_gateway_session_peer(
    SESSION,
    source="telegram",
    user_id="42",
    session_key="agent:main:telegram:dm:7",
    chat_id="7",
    chat_type="dm",
    display_name="Ada",
    origin_json=json.dumps(origin),
)
print(db.append_message(SESSION, "user", sys.argv[1]))
db.close()
