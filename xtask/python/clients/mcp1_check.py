"""The flaky MCP server as the vendor's client of the session era sees it: mcp1_check.py PROGRAM."""

import asyncio
import contextlib
import json
import sys

import flaky
import httpx
from checks import check, equal, run
from mcp import ClientSession, StdioServerParameters, types
from mcp.client.auth import OAuthClientProvider, TokenStorage
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata

PROGRAM = sys.argv[1]
TOOLS = ["write", "read", "idem", "slow", "fail", "env", "big", "progress", "ask", "think"]


async def elicited(_context, params):
    equal(params.message, "Who are you?")
    return types.ElicitResult(action="accept", content={"name": "Ada"})


async def sampled(_context, params):
    equal(params.messages[0].content.text, "What is six times seven?")
    return types.CreateMessageResult(
        role="assistant", model="m", content=types.TextContent(type="text", text="forty-two"), stopReason="endTurn"
    )


@contextlib.asynccontextmanager
async def connected(server, transport, notes=None):
    async def noted(message):
        if notes is not None and isinstance(message, types.ServerNotification):
            await notes.put(message.root.method)

    async with contextlib.AsyncExitStack() as stack:
        if transport == "http":
            read, write, *_ = await stack.enter_async_context(streamable_http_client(server.url))
        elif transport == "sse":
            read, write = await stack.enter_async_context(sse_client(server.sse))
        else:
            command, args = server.stdio()
            parameters = StdioServerParameters(command=command, args=args, env={"FLAKY_GIVEN": "yes"})
            read, write = await stack.enter_async_context(stdio_client(parameters))
        session = ClientSession(
            read, write, elicitation_callback=elicited, sampling_callback=sampled, message_handler=noted
        )
        async with session:
            session.greeting = await session.initialize()
            yield session


async def text(session, tool, **arguments):
    result = await session.call_tool(tool, arguments)
    [content] = result.content
    return ("error: " if result.isError else "") + content.text


async def everything(server, transport):
    async with connected(server, transport) as session:
        equal((session.greeting.serverInfo.name, session.greeting.protocolVersion), ("flaky", "2025-11-25"))
        assert session.greeting.capabilities.tools.listChanged
        await session.send_ping()
        await lists(session)
        await tools(session, transport)
        progress = []

        async def heard(step, total, message):
            progress.append((step, total, message))

        await session.call_tool("progress", {"steps": 3, "ms": 1}, progress_callback=heard)
        equal(progress, [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")])
        equal(await text(session, "ask"), "hello Ada")
        equal(await text(session, "think"), "forty-two")


async def lists(session):
    names, cursor, pages = [], None, 0
    while True:
        page = await session.list_tools(params=types.PaginatedRequestParams(cursor=cursor))
        names += [tool.name for tool in page.tools]
        pages, cursor = pages + 1, page.nextCursor
        if cursor is None:
            break
    equal((pages, names), (3, [*TOOLS, "x-y"]))
    hints = {tool.name: tool.annotations for tool in (await session.list_tools()).tools}
    equal((hints["read"].readOnlyHint, hints["idem"].idempotentHint), (True, True))
    [resource] = (await session.list_resources()).resources
    [contents] = (await session.read_resource(resource.uri)).contents
    equal(contents.text, "a few notes")
    [prompt] = (await session.list_prompts()).prompts
    greeting = await session.get_prompt(prompt.name, {"name": "Ada"})
    equal(greeting.messages[0].content.text, "Hello, Ada!")


async def tools(session, transport):
    equal([await text(session, "write"), await text(session, "write")], ["written 1", "written 2"])
    equal([await text(session, name) for name in ["read", "idem", "x-y"]], ["read done", "idem done", "x-y done"])
    equal(await text(session, "slow", ms=1), "done")
    equal(await text(session, "fail"), "error: it failed, as it always does")
    equal(len(await text(session, "big", bytes=300_000)), 300_000)
    env = json.loads(await text(session, "env"))
    equal(env.get("FLAKY_GIVEN"), "yes" if transport == "stdio" else None)
    slow, quick = await asyncio.gather(text(session, "slow", ms=200), text(session, "read"))
    equal((slow, quick), ("done", "read done"))


def on(transport):
    with flaky.start(PROGRAM, page=5, tools=["x-y"]) as server:
        asyncio.run(asyncio.wait_for(everything(server, transport), 30))
        counters = server.counters()
    equal((counters["initialize"], counters["executions"]["write"]), (1, 2))
    return counters


@check
def streamable_http():
    counters = on("http")
    equal((counters["sessions_created"], counters["sessions_deleted"]), (1, 1))


@check
def http_and_sse():
    equal(on("sse")["sessions_created"], 1)


@check
def stdio():
    counters = on("stdio")
    equal((counters["children"], counters["connections"]), (1, 0))


@check
def answers_as_streams():
    async def go(server):
        async with connected(server, "http") as session:
            equal(await text(session, "read"), "read done")

    with flaky.start(PROGRAM, stream_answers=True) as server:
        asyncio.run(go(server))


@check
def changes_are_told():
    async def go(server, transport):
        notes = asyncio.Queue()
        async with connected(server, transport, notes) as session:
            if transport == "http":
                # Its own stream is opened in the background.
                while server.counters()["streams_now"] == 0:
                    await asyncio.sleep(0.01)
            await session.send_ping()
            server.wish(changed="tools")
            equal(await asyncio.wait_for(notes.get(), 10), "notifications/tools/list_changed")

    for transport in ["http", "sse", "stdio"]:
        with flaky.start(PROGRAM) as server:
            asyncio.run(asyncio.wait_for(go(server, transport), 20))


@check
def cut_streams_are_resumed():
    async def go(server):
        async with connected(server, "http") as session:
            server.wish(arm="F18:50")
            equal(await text(session, "write"), "written 1")

    with flaky.start(PROGRAM) as server:
        asyncio.run(asyncio.wait_for(go(server), 20))
        equal((server.counters()["resumed"], server.counters()["executions"]["write"]), (1, 1))


class Memory(TokenStorage):
    tokens = client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


@check
def oauth():
    async def go(server):
        arrived = {}

        async def redirected(url):
            async with httpx.AsyncClient() as browser:
                arrived["at"] = httpx.URL((await browser.get(url)).headers["location"])

        async def callback():
            return arrived["at"].params["code"], arrived["at"].params["state"]

        metadata = OAuthClientMetadata(client_name="check", redirect_uris=["http://127.0.0.1:9/callback"])
        login = OAuthClientProvider(server.url, metadata, Memory(), redirected, callback)
        async with (
            httpx.AsyncClient(auth=login, timeout=10) as client,
            streamable_http_client(server.url, http_client=client) as (read, write, *_),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            equal(await text(session, "write"), "written 1")
            server.wish(arm="F23")
            # The client believes its token until it is told otherwise.
            login.context.token_expiry_time = 1
            equal(await text(session, "write"), "written 2")

    with flaky.start(PROGRAM, auth={"oauth": {"expires_in_s": 3600, "rotate": True}}) as server:
        asyncio.run(asyncio.wait_for(go(server), 20))
        counters = server.counters()
    equal([counters[key] for key in ["registrations", "authorize", "token_requests", "refreshes"]], [1, 1, 2, 1])


run()
