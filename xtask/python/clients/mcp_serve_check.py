"""Hermes as an MCP server, as the vendor's client sees it: mcp_serve_check.py HERMES THEIR_PYTHON CHAT_SCRIPT."""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import time

import mcp
from checks import check, equal, run
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

PROGRAM, THEIR_PYTHON, CHAT = sys.argv[1:]
KEY = "agent:main:telegram:dm:7"
TOOLS = [
    "conversations_list",
    "conversation_get",
    "messages_read",
    "attachments_fetch",
    "events_poll",
    "events_wait",
    "messages_send",
    "channels_list",
    "permissions_list_open",
    "permissions_respond",
]


@contextlib.asynccontextmanager
async def connected(mode):
    server = StdioServerParameters(command=PROGRAM, args=["mcp", "serve"], env=dict(os.environ))
    if mode == "session":
        async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            yield session
    else:
        from mcp.client import Client

        async with Client(server, mode=mode) as client:
            equal(client.protocol_version, {"auto": "2026-07-28", "legacy": "2025-11-25"}[mode])
            yield client


MODES = ["auto", "legacy"] if hasattr(mcp, "Client") else ["session"]


def on_each(talk):
    for mode in MODES:

        async def go():
            async with connected(mode) as session:
                await talk(session)

        asyncio.run(asyncio.wait_for(go(), 60))


async def call(session, tool, **arguments):
    answer = (await session.call_tool(tool, arguments)).model_dump(by_alias=True, mode="json")
    [content] = answer["content"]
    equal((content["type"], answer["isError"]), ("text", False))
    equal(answer["structuredContent"], {"result": content["text"]})
    return json.loads(content["text"])


async def say(text):
    """Something new in the chat, from the Python program."""
    done = await asyncio.to_thread(
        subprocess.run, [THEIR_PYTHON, CHAT, text], check=True, capture_output=True, text=True, timeout=60
    )
    return done.stdout.strip().splitlines()[-1]


async def every_tool(session, chats):
    equal([tool.name for tool in (await session.list_tools()).tools], TOOLS)
    equal((await call(session, "conversations_list", limit="many"))["count"], chats)
    equal((await call(session, "channels_list"))["count"], chats)
    for tool in ["conversation_get", "messages_read"]:
        equal(await call(session, tool, session_key="nobody"), {"error": "Conversation not found: nobody"})
    nobody = await call(session, "attachments_fetch", session_key="nobody", message_id="1")
    equal(nobody, {"error": "Conversation not found: nobody"})
    equal(await call(session, "events_poll"), {"events": [], "next_cursor": 0})
    start = time.monotonic()
    equal(await call(session, "events_wait", timeout_ms=100), {"event": None, "reason": "timeout"})
    assert 0.1 <= time.monotonic() - start < 5
    sent = await call(session, "messages_send", target="telegram:7", message="hi")
    assert "no messaging platform is configured" in sent["error"], sent
    equal(await call(session, "permissions_list_open"), {"count": 0, "approvals": []})
    refused = (await call(session, "permissions_respond", id="1", decision="maybe"))["error"]
    for decision in ["allow-once", "allow-always", "deny"]:
        assert decision in refused, refused
    unknown = await call(session, "permissions_respond", id="1", decision="deny")
    equal(unknown, {"error": "Approval not found: 1"})


# spec: mcp §15.25
@check
def an_empty_home():
    on_each(lambda session: every_tool(session, 0))


@check
def their_chats():
    first = asyncio.run(say("look MEDIA:/tmp/a.png"))

    async def talk(session):
        await every_tool(session, 1)
        chat = await call(session, "conversation_get", session_key=KEY)
        names = ["platform", "chat_type", "display_name", "chat_name", "user_name", "chat_id"]
        equal([chat[name] for name in names], ["telegram", "dm", "Ada", "Ada Lovelace", "ada", "7"])
        read = await call(session, "messages_read", session_key=KEY)
        equal((read["messages"][0]["id"], read["messages"][0]["content"]), (first, "look MEDIA:/tmp/a.png"))
        attached = await call(session, "attachments_fetch", session_key=KEY, message_id=first)
        equal(attached["attachments"], [{"type": "media", "path": "/tmp/a.png"}])
        waiting = asyncio.create_task(call(session, "events_wait", session_key=KEY))
        written = await say("news")
        event = (await waiting)["event"]
        equal((event["type"], event["content"], event["message_id"]), ("message", "news", written))
        after = await call(session, "events_poll", after_cursor=event["cursor"])
        equal(after, {"events": [], "next_cursor": event["cursor"]})

    on_each(talk)


@check
def the_end_of_input():
    with subprocess.Popen(
        [PROGRAM, "mcp", "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as server:
        start = time.monotonic()
        out, err = server.communicate(timeout=10)
        equal((server.returncode, out, err), (0, b"", b""))
        assert time.monotonic() - start < 2


run()
