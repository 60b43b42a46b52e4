"""The flaky MCP server as the vendor's client of the stateless era sees it: mcp2_check.py PROGRAM."""

import asyncio
import json
import sys

import flaky
import mcp_types as types
from checks import check, equal, run
from mcp import StdioServerParameters
from mcp.client import Client
from mcp.client.sse import sse_client

PROGRAM = sys.argv[1]


async def elicited(_context, params):
    equal(params.message, "Who are you?")
    return types.ElicitResult(action="accept", content={"name": "Ada"})


async def sampled(_context, params):
    equal(params.messages[0].content.text, "What is six times seven?")
    content = types.TextContent(type="text", text="forty-two")
    return types.CreateMessageResult(role="assistant", model="m", content=content, stop_reason="endTurn")


def client(server, transport, mode="auto"):
    if transport == "stdio":
        command, args = server.stdio()
        target = StdioServerParameters(command=command, args=args, env={"FLAKY_GIVEN": "yes"})
    else:
        target = server.url if transport == "http" else sse_client(server.sse)
    return Client(target, mode=mode, elicitation_callback=elicited, sampling_callback=sampled)


async def text(session, tool, **arguments):
    result = await session.call_tool(tool, arguments)
    [content] = result.content
    return ("error: " if result.is_error else "") + content.text


async def everything(session, transport):
    names, cursor = [], None
    while True:
        page = await session.list_tools(cursor=cursor)
        names += [tool.name for tool in page.tools]
        cursor = page.next_cursor
        if cursor is None:
            break
    equal(names[-2:], ["think", "x-y"])
    [resource] = (await session.list_resources()).resources
    [contents] = (await session.read_resource(resource.uri)).contents
    equal(contents.text, "a few notes")
    [prompt] = (await session.list_prompts()).prompts
    equal((await session.get_prompt(prompt.name, {"name": "Ada"})).messages[0].content.text, "Hello, Ada!")
    equal([await text(session, "write"), await text(session, "write")], ["written 1", "written 2"])
    equal(await text(session, "fail"), "error: it failed, as it always does")
    equal(await text(session, "slow", ms=1), "done")
    equal(len(await text(session, "big", bytes=300_000)), 300_000)
    env = json.loads(await text(session, "env"))
    equal(env.get("FLAKY_GIVEN"), "yes" if transport == "stdio" else None)
    progress = []

    async def heard(step, total, message):
        progress.append((step, total, message))

    await session.call_tool("progress", {"steps": 2, "ms": 1}, progress_callback=heard)
    equal(progress, [(1, 2, "step 1"), (2, 2, "step 2")])
    equal(await text(session, "ask"), "hello Ada")
    equal(await text(session, "think"), "forty-two")


def on(transport, version, mode="auto", **options):
    async def go(server):
        async with client(server, transport, mode) as session:
            equal(session.protocol_version, version)
            await everything(session, transport)

    with flaky.start(PROGRAM, page=5, tools=["x-y"], **options) as server:
        asyncio.run(asyncio.wait_for(go(server), 30))
        return server.counters()


@check
def stateless_http():
    counters = on("http", "2026-07-28")
    equal([counters[key] for key in ["discover", "initialize", "sessions_created"]], [1, 0, 0])


@check
def stateless_stdio():
    counters = on("stdio", "2026-07-28")
    equal([counters[key] for key in ["discover", "initialize", "children"]], [1, 0, 1])


@check
def stateless_only():
    equal(on("http", "2026-07-28", era="modern")["initialize"], 0)


@check
def falls_back_to_sessions():
    counters = on("http", "2025-11-25", era="legacy")
    equal((counters["discover"], counters["initialize"], counters["sessions_deleted"]), (1, 1, 1))
    equal(on("stdio", "2025-11-25", era="legacy")["initialize"], 1)


@check
def sessions_on_request():
    equal(on("http", "2025-11-25", mode="legacy")["discover"], 0)
    equal(on("sse", "2025-11-25", mode="legacy")["discover"], 0)


@check
def subscriptions():
    async def go(server, transport):
        async with client(server, transport) as session, session.listen(tools_list_changed=True) as changes:
            while server.counters()["streams_now"] == 0:
                await asyncio.sleep(0.01)
            server.wish(changed="tools")
            event = await asyncio.wait_for(anext(changes), 10)
            equal(type(event).__name__, "ToolsListChanged")

    for transport in ["http", "stdio"]:
        with flaky.start(PROGRAM) as server:
            asyncio.run(asyncio.wait_for(go(server, transport), 20))


run()
