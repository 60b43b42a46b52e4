"""The tools of this Hermes session, for the script that execute_code runs.

Every function sends one line of JSON to Hermes and waits for one line back. A failed call returns a dict with
"error"; only when Hermes itself cannot be reached is an exception raised.
"""

import json
import os
import shlex
import socket
import time

_MAX_REQUEST = @MAX_REQUEST@
_TIMEOUT = 300


def _call(tool, **args):
    args = {name: value for name, value in args.items() if value is not None}
    token = os.environ.get("HERMES_RPC_TOKEN", "")
    request = json.dumps({"tool": tool, "args": args, "token": token}).encode() + b"\n"
    if len(request) > _MAX_REQUEST:
        return {"error": f"The arguments of {tool} are too large ({len(request)} bytes); pass less at a time."}
    # A connection for each call: threads and forked children need not share one.
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_TIMEOUT)
            connection.connect(os.environ["HERMES_RPC_SOCKET"])
            connection.sendall(request)
            with connection.makefile("rb") as answers:
                answer = answers.readline()
    except OSError as problem:
        raise RuntimeError(f"Hermes did not answer the call of {tool}: {problem}") from problem
    if not answer.endswith(b"\n"):
        raise RuntimeError(f"Hermes hung up during the call of {tool}")
    return json.loads(answer)


def json_parse(text):
    """JSON from program output, where line breaks and tabs inside strings are not always escaped."""
    return json.loads(text, strict=False)


def shell_quote(text):
    """The text as one word of a shell command."""
    return shlex.quote(str(text))


def retry(fn, max_attempts=3, delay=2):
    """Calls fn until it does not raise; waits delay seconds, then twice as long, and so on."""
    for attempt in range(max_attempts - 1):
        try:
            return fn()
        except Exception:
            time.sleep(delay * 2**attempt)
    return fn()
