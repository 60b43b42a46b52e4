"""Fills HERMES_HOME the way a user of the Python program would have: with its own modules, and a config edited by hand."""

import shutil
import time
from pathlib import Path

from hermes_constants import get_hermes_home
from hermes_state import SessionDB

PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def tool_call(call_id, name, arguments):
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def plain_and_ended(db):
    db.create_session("20260101_100000_aaaaaa", "cli", model="test/model", system_prompt="You are kind.")
    db.append_message("20260101_100000_aaaaaa", "user", "What does the deployment script do?")
    db.append_message(
        "20260101_100000_aaaaaa",
        "assistant",
        "It copies the build to the server.",
        token_count=9,
        finish_reason="stop",
        reasoning="the script is short",
        reasoning_content="",
        reasoning_details=[{"type": "reasoning.text", "text": "short"}],
    )
    db.update_token_counts(
        "20260101_100000_aaaaaa",
        input_tokens=120,
        output_tokens=9,
        cache_read_tokens=64,
        estimated_cost_usd=0.0123,
        cost_status="estimated",
        billing_provider="openrouter",
        api_call_count=1,
    )
    db.set_session_title("20260101_100000_aaaaaa", "alpha")
    db.end_session("20260101_100000_aaaaaa", "cli_close")


def tools_and_images(db):
    session = "20260101_110000_bbbbbb"
    db.create_session(session, "telegram", user_id="42", model_config={"temperature": 0.5, "note": "ü"})
    db.append_message(
        session,
        "user",
        [
            {"type": "text", "text": "What is in this picture? 這張圖片裡有什麼"},
            {"type": "image_url", "image_url": {"url": PIXEL, "detail": "low"}},
        ],
    )
    calls = [tool_call("call_1", "terminal", '{"command": "file 图片.png"}'), tool_call("call_2", "read_file", "{}")]
    db.append_message(session, "assistant", None, tool_calls=calls, finish_reason="tool_calls")
    db.append_message(session, "tool", "图片.png: PNG image data, 1 x 1", tool_name="terminal", tool_call_id="call_1")
    db.append_message(session, "tool", '{"error": "no path"}', tool_name="read_file", tool_call_id="call_2")
    db.append_message(
        session,
        "assistant",
        "A single pixel.",
        codex_reasoning_items=[{"id": "rs_1", "encrypted_content": "opaque"}],
        codex_message_items=[{"id": "msg_1"}],
    )
    db.set_session_title(session, "漢字のタイトル 한국어")


def compression_chain(db):
    """root -> tip, with a sub-agent that ran before the split and a tool session of its own."""
    root, tip, helper = "20260101_120000_cccccc", "20260101_130000_dddddd", "20260101_121500_eeeeee"
    db.create_session(root, "cli", model="test/model")
    db.set_session_title(root, "proj")
    db.append_message(root, "user", "Refactor the parser, please.")
    db.create_session(helper, "subagent", parent_session_id=root, model_config={"_delegate_from": root})
    db.append_message(helper, "user", "Read the parser and list its functions.")
    db.append_message(helper, "assistant", "parse, peek, bump")
    db.end_session(helper, "cli_close")
    db.append_message(root, "assistant", "Started.")
    db.end_session(root, "compression")
    time.sleep(0.01)
    db.create_session(tip, "cli", model="test/model", parent_session_id=root)
    db.set_session_title(tip, db.get_next_title_in_lineage("proj"))
    db.append_message(tip, "user", "Refactor the parser, please.\n\n(summary of the work so far)")
    db.append_message(tip, "assistant", "The parser is half done.")


def odd_rows(db):
    db.create_session("cron_nightly_20260102_030000", "cron")
    db.append_message("cron_nightly_20260102_030000", "user", "nightly\nreport\twith control \x07 and 'quotes'")
    db.end_session("cron_nightly_20260102_030000", "cron_complete")
    db.create_session("20260102_040000_ffffff", "tool")
    db.append_message("20260102_040000_ffffff", "user", "asked by a program")
    db.create_session("1a2b3c4d", "discord", user_id="7")
    db.append_message("1a2b3c4d", "user", "日本語の全文検索は動きますか。docker と一緒に使いたい。")
    db.append_message("1a2b3c4d", "assistant", "はい、全文検索は動きます。")


def compacted_in_place(db):
    """Only newer versions do this: old rows stay, inactive, in the same session."""
    if not hasattr(db, "archive_and_compact"):
        return
    session = "20260102_050000_abcdef"
    db.create_session(session, "cli")
    db.append_message(session, "user", "the forgotten question about zebras")
    db.append_message(session, "assistant", "the forgotten answer")
    db.archive_and_compact(session, [{"role": "user", "content": "[summary] zebras were discussed"}])
    db.create_session("20260102_060000_fedcba", "cli")
    db.append_message("20260102_060000_fedcba", "user", "put away")
    db.set_session_archived("20260102_060000_fedcba", True)


def main():
    home = get_hermes_home()
    here = Path(__file__).parent
    shutil.copy(here / "config.yaml", home / "config.yaml")
    shutil.copy(here / "dotenv", home / ".env")
    db = SessionDB(home / "state.db")
    for make in (plain_and_ended, tools_and_images, compression_chain, odd_rows, compacted_in_place):
        make(db)
    db.close()


if __name__ == "__main__":
    main()
