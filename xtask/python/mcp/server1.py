"""A server of the session era that forgets sessions soon: server1.py PORT IDLE_SECONDS."""

import sys

import uvicorn
from mcp.server.fastmcp import FastMCP
from post_only import PostOnly

PORT, IDLE = int(sys.argv[1]), float(sys.argv[2])

server = FastMCP("forgetful", session_idle_timeout=IDLE)


@server.tool()
def echo(message: str) -> str:
    """Says it again."""
    return message


uvicorn.run(PostOnly(server.streamable_http_app()), host="127.0.0.1", port=PORT, log_level="error")
