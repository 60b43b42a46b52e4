"""The scripted model server as Amazon's own client sees it: bedrock_check.py BASE_URL."""

import json
import sys

import boto3
from botocore.config import Config
from botocore.exceptions import EventStreamError
from checks import check, equal, raises, run
from urllib3.exceptions import ProtocolError, ReadTimeoutError

URL = sys.argv[1].rstrip("/")
GREETING = "Grüße, 👩‍🚀!"
NOVA = "amazon.nova-pro-v1:0"
CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"


def client(key="good-key", attempts=1, timeout=10):
    config = Config(retries={"max_attempts": attempts, "mode": "standard"}, read_timeout=timeout)
    return boto3.client(
        "bedrock-runtime", endpoint_url=URL, region_name="us-east-1", config=config,
        aws_access_key_id=key, aws_secret_access_key="secret",
    )  # fmt: skip


def said(text):
    return {"modelId": NOVA, "messages": [{"role": "user", "content": [{"text": text}]}]}


def whole(text, **more):
    return client().converse(**said(text), **more)


def events(text):
    return list(client().converse_stream(**said(text))["stream"])


def put_together(stream):
    """The message, stop reason and usage a stream tells, as the whole reply would have them."""
    blocks, reason, usage = {}, None, None
    for event in stream:
        [(name, body)] = event.items()
        index = body.get("contentBlockIndex")
        if name == "contentBlockStart":
            blocks[index] = {"toolUse": body["start"]["toolUse"] | {"input": ""}}
        elif name == "contentBlockDelta":
            delta = body["delta"]
            if "text" in delta:
                blocks.setdefault(index, {"text": ""})["text"] += delta["text"]
            elif "toolUse" in delta:
                blocks[index]["toolUse"]["input"] += delta["toolUse"]["input"]
            else:
                thought = blocks.setdefault(index, {"reasoningContent": {"reasoningText": {"text": "", "signature": ""}}})
                for key, value in delta["reasoningContent"].items():
                    thought["reasoningContent"]["reasoningText"][key] += value
        elif name == "messageStop":
            reason = body["stopReason"]
        elif name == "metadata":
            usage = body["usage"]
    content = [blocks[index] for index in sorted(blocks)]
    for block in content:
        if "toolUse" in block:
            block["toolUse"]["input"] = json.loads(block["toolUse"]["input"])
    return {"output": {"message": {"role": "assistant", "content": content}}, "stopReason": reason, "usage": usage}


def both(text):
    """The reply as a whole, and what its stream says."""
    return [whole(text), put_together(events(text))]


def content(reply):
    return reply["output"]["message"]["content"]


@check
def reply_whole_and_streamed():
    for reply in both("plain"):
        equal((content(reply), reply["stopReason"]), ([{"text": GREETING}], "end_turn"))
        usage = reply["usage"]
        equal((usage["inputTokens"], usage["outputTokens"], usage["totalTokens"]), (100, 7, 132))
        equal((usage["cacheReadInputTokens"], usage["cacheWriteInputTokens"]), (20, 5))


@check
def events_in_order():
    kinds = [next(iter(event)) for event in events("plain")]
    deltas = kinds.count("contentBlockDelta")
    assert deltas > 4, kinds
    equal(kinds, ["messageStart", *["contentBlockDelta"] * deltas, "contentBlockStop", "messageStop", "metadata"])


@check
def bytes_cut_anywhere():
    deltas = [event["contentBlockDelta"]["delta"]["text"] for event in events("pieces") if "contentBlockDelta" in event]
    equal(deltas, ["One, ", "two."])


@check
def echo():
    equal(content(whole("echo ✓", system=[{"text": "Be brief."}])), [{"text": "You said: echo ✓"}])


@check
def reasoning():
    for reply in both("reasoning"):
        [thought, text] = content(reply)
        thought = thought["reasoningContent"]["reasoningText"]
        equal((thought["text"], text), ("Let me see.", {"text": "42"}))
        assert thought["signature"], thought


@check
def tool_use():
    for reply in both("two tools"):
        equal(reply["stopReason"], "tool_use")
        [_, text, weather, clock] = content(reply)
        equal(text, {"text": "Looking."})
        equal(weather["toolUse"], {"toolUseId": "given_id", "name": "weather", "input": {"city": "Bern"}})
        equal((clock["toolUse"]["name"], clock["toolUse"]["input"]), ("clock", {}))


@check
def tool_result_goes_back():
    [reply, streamed] = both("one tool")
    equal(content(streamed)[0]["toolUse"]["input"], {"city": "Zürich", "days": 2})
    [call] = content(reply)
    for result in [{"text": "sunny"}, {"json": {"sky": "sunny"}}]:
        answer = {"toolResult": {"toolUseId": call["toolUse"]["toolUseId"], "content": [result]}}
        messages = [*said("one tool")["messages"], reply["output"]["message"], {"role": "user", "content": [answer]}]
        equal(content(client().converse(modelId=NOVA, messages=messages)), [{"text": "It is sunny."}])


@check
def other_stop_reasons():
    for reply in both("length"):
        equal(reply["stopReason"], "max_tokens")
    equal(whole("filtered")["stopReason"], "content_filtered")
    for reply in both("nothing"):
        equal((content(reply), reply["stopReason"]), ([], "end_turn"))


def refused(text, kind, status):
    for ask in [whole, events]:
        error = raises(getattr(client().exceptions, kind), lambda ask=ask: ask(text))
        equal((error.response["Error"]["Code"], error.response["ResponseMetadata"]["HTTPStatusCode"]), (kind, status))


@check
def errors():
    refused("unauthorized", "AccessDeniedException", 401)
    refused("too fast", "ThrottlingException", 429)
    refused("broken", "InternalServerException", 500)
    raises(client().exceptions.AccessDeniedException, lambda: client("bad-key").converse(**said("hi")))


@check
def script_is_over():
    error = raises(client().exceptions.InternalServerException, lambda: whole("nobody expects this"))
    assert "the script is over" in str(error), error


@check
def retried_by_the_client():
    equal(content(client(attempts=2).converse(**said("flaky"))), [{"text": "At last."}])


@check
def stream_error():
    error = raises(EventStreamError, lambda: events("stream error"))
    equal(error.response["Error"], {"Code": "modelStreamErrorException", "Message": "Overloaded"})


# Within a stream this client lets the exceptions of its transport through.


@check
def cut():
    raises(ProtocolError, lambda: events("cut"))


@check
def stalled():
    raises(ReadTimeoutError, lambda: list(client(timeout=0.5).converse_stream(**said("stall"))["stream"]))


# Claude, in Anthropic's own words


def invoked(text):
    body = {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 100, "messages": [{"role": "user", "content": text}]}
    return {"modelId": CLAUDE, "body": json.dumps(body)}


def claude_events(text):
    stream = client().invoke_model_with_response_stream(**invoked(text))["body"]
    return [json.loads(event["chunk"]["bytes"]) for event in stream]


@check
def claude_whole():
    reply = json.loads(client().invoke_model(**invoked("plain"))["body"].read())
    equal((reply["content"][0]["text"], reply["stop_reason"], reply["model"]), (GREETING, "end_turn", CLAUDE))


@check
def claude_streamed():
    events = claude_events("two tools")
    equal((events[0]["type"], events[-1]["type"]), ("message_start", "message_stop"))
    starts = [event["content_block"]["type"] for event in events if event["type"] == "content_block_start"]
    equal(starts, ["thinking", "text", "tool_use", "tool_use"])
    texts = [event["delta"]["text"] for event in claude_events("plain") if event.get("delta", {}).get("type") == "text_delta"]
    equal("".join(texts), GREETING)


@check
def claude_errors():
    raises(client().exceptions.ThrottlingException, lambda: claude_events("too fast"))
    error = raises(EventStreamError, lambda: claude_events("stream error"))
    equal(error.response["Error"]["Message"], "Overloaded")


run()
