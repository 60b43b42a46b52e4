"""A server of both eras that forgets sessions soon: server2.py PORT IDLE_SECONDS."""

import sys

import uvicorn
from mcp.server.mcpserver import MCPServer
from post_only import PostOnly

PORT, IDLE = int(sys.argv[1]), float(sys.argv[2])

server = MCPServer("forgetful")


@server.tool()
def echo(message: str) -> str:
    """Says it again."""
    return message


app = server.streamable_http_app(session_idle_timeout=IDLE)
uvicorn.run(PostOnly(app), host="127.0.0.1", port=PORT, log_level="error")
