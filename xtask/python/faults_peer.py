"""The MCP client of the Python program, called from outside: faults_peer.py SERVER

SERVER is an entry of `mcp_servers`, as JSON. After `{"ready": …}` every line read is a wish, and every line written
its answer: `{"call": "CTw"}` with `at_once` (how many) or `cancel_ms`.
"""

import json
import os
import sys
import threading
import time

# The program's own messages must not get between the answers.
answers = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)

from tools import interrupt, mcp_tool  # noqa: E402

NAME = "faulty"
PATIENCE = 30.0


def handlers(timeout):
    tool = mcp_tool._make_tool_handler
    return {
        "CTw": (tool(NAME, "write", timeout), {}),
        "CTr": (tool(NAME, "read", timeout), {}),
        "LR": (mcp_tool._make_list_resources_handler(NAME, timeout), {}),
        "RR": (mcp_tool._make_read_resource_handler(NAME, timeout), {"uri": "file:///notes.txt"}),
        "LP": (mcp_tool._make_list_prompts_handler(NAME, timeout), {}),
        "GP": (mcp_tool._make_get_prompt_handler(NAME, timeout), {"name": "greet", "arguments": {}}),
    }


class Call(threading.Thread):
    def __init__(self, handler, args):
        super().__init__(daemon=True)
        self.handler, self.args, self.text = handler, args, None
        self.begun = time.monotonic()
        self.ended = None

    def run(self):
        try:
            self.text = self.handler(self.args)
        except Exception as error:  # an answer of its own kind
            self.text = json.dumps({"error": f"raised {type(error).__name__}: {error}"})
        self.ended = time.monotonic()

    def finish(self):
        self.join(max(0.0, self.begun + PATIENCE - time.monotonic()))
        if self.ended is None:
            return {"outcome": "hang", "ms": int(PATIENCE * 1000), "text": ""}
        took = int((self.ended - self.begun) * 1000)
        return {"outcome": judge(self.text), "ms": took, "text": self.text[:300]}


def judge(text):
    answer = json.loads(text)
    if "error" not in answer:
        return "ok"
    error = answer["error"]
    if answer.get("needs_reauth"):
        return "A"
    if "interrupted" in error:
        return "C"
    if "is unreachable after" in error:
        return "S"
    # It never says that the outcome of a call is unknown.
    return "E"


def fulfil(wish, known):
    handler, args = known[wish["call"]]
    calls = [Call(handler, dict(args)) for _ in range(wish.get("at_once", 1))]
    for call in calls:
        call.start()
    if "cancel_ms" in wish:
        time.sleep(wish["cancel_ms"] / 1000)
        for call in calls:
            interrupt.set_interrupt(True, call.ident)
            call.begun = time.monotonic()
    ended = [call.finish() for call in calls]
    for call in calls:
        # The next thread may get the same number.
        interrupt.set_interrupt(False, call.ident)
    return ended


def main():
    server = json.loads(sys.argv[1])
    mcp_tool.register_mcp_servers({NAME: server})
    live = mcp_tool._servers.get(NAME)
    print(json.dumps({"ready": bool(live and live.session)}), file=answers)
    known = handlers(server["timeout"])
    for line in sys.stdin:
        print(json.dumps({"answers": fulfil(json.loads(line), known)}), file=answers)
    # Whatever still waits for the server would keep the process.
    os._exit(0)


main()
