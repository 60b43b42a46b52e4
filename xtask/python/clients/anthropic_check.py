"""The scripted model server as Anthropic's own client sees it: anthropic_check.py BASE_URL."""

import sys

import anthropic
import httpx2
from checks import check, equal, raises, run, strictly

URL = sys.argv[1].rstrip("/")
GREETING = "Grüße, 👩‍🚀!"


def client(key="good-key", retries=0, timeout=10):
    return anthropic.Anthropic(base_url=URL, api_key=key, max_retries=retries, timeout=timeout)


def asked(text):
    return {"model": "scripted-1", "max_tokens": 100, "messages": [{"role": "user", "content": text}]}


def whole(text):
    return strictly(client().messages.create(**asked(text)))


def events(text):
    return [strictly(event) for event in client().messages.create(**asked(text), stream=True)]


def final(text):
    """What the client's own accumulator makes of a stream."""
    with client().messages.stream(**asked(text)) as stream:
        return strictly(stream.get_final_message())


@check
def models_are_listed():
    models = [strictly(model) for model in client().models.list()]
    equal([model.id for model in models], ["scripted-1", "scripted-2"])


@check
def message_whole_and_streamed():
    for message in [whole("plain"), final("plain")]:
        equal((message.content[0].text, message.stop_reason, message.role), (GREETING, "end_turn", "assistant"))
        equal(message.model, "scripted-1")
        usage = message.usage
        equal((usage.input_tokens, usage.output_tokens), (100, 7))
        equal((usage.cache_read_input_tokens, usage.cache_creation_input_tokens), (20, 5))


@check
def events_in_order():
    kinds = [event.type for event in events("plain")]
    deltas = kinds.count("content_block_delta")
    assert deltas > 4, kinds
    equal(kinds, [
        "message_start", "content_block_start", *["content_block_delta"] * deltas,
        "content_block_stop", "message_delta", "message_stop",
    ])  # fmt: skip


@check
def pings_are_sent():
    with client().messages.with_streaming_response.create(**asked("plain"), stream=True) as response:
        assert "event: ping" in response.read().decode()


@check
def bytes_cut_anywhere():
    deltas = [event.delta.text for event in events("pieces") if event.type == "content_block_delta"]
    equal(deltas, ["One, ", "two."])


@check
def echo():
    content = [{"type": "text", "text": "echo ✓"}]
    message = client().messages.create(**asked(content), system=[{"type": "text", "text": "Be brief."}])
    equal(message.content[0].text, "You said: echo ✓")


@check
def thinking():
    for message in [whole("reasoning"), final("reasoning")]:
        [thought, text] = message.content
        equal((thought.type, thought.thinking, text.text), ("thinking", "Let me see.", "42"))
        assert thought.signature, thought
    kinds = [event.delta.type for event in events("reasoning") if event.type == "content_block_delta"]
    equal(kinds, ["thinking_delta"] * 3 + ["signature_delta", "text_delta"])


@check
def tool_use():
    for message in [whole("two tools"), final("two tools")]:
        equal([block.type for block in message.content], ["thinking", "text", "tool_use", "tool_use"])
        equal(message.stop_reason, "tool_use")
        [weather, clock] = message.content[2:]
        equal((weather.id, weather.name, weather.input), ("given_id", "weather", {"city": "Bern"}))
        equal((clock.name, clock.input), ("clock", {}))
        assert clock.id.startswith("toolu_"), clock.id


@check
def tool_result_goes_back():
    message = final("one tool")
    [call] = message.content
    equal(call.input, {"city": "Zürich", "days": 2})
    messages = [
        {"role": "user", "content": "one tool"},
        {"role": "assistant", "content": message.content},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": "sunny"}]},
    ]
    answer = client().messages.create(model="scripted-1", max_tokens=100, messages=messages)
    equal(answer.content[0].text, "It is sunny.")


@check
def other_stop_reasons():
    equal(whole("length").stop_reason, "max_tokens")
    equal(final("length").stop_reason, "max_tokens")
    equal(whole("filtered").stop_reason, "refusal")
    for message in [whole("nothing"), final("nothing")]:
        equal((message.content, message.stop_reason), ([], "end_turn"))


@check
def unauthorized():
    error = raises(anthropic.AuthenticationError, lambda: whole("unauthorized"))
    equal((error.body["error"]["type"], error.request_id is None), ("authentication_error", False))
    raises(anthropic.AuthenticationError, lambda: client("bad-key").messages.create(**asked("hi")))


@check
def rate_limited():
    error = raises(anthropic.RateLimitError, lambda: events("too fast"))
    equal(error.response.headers["retry-after"], "7")


@check
def server_errors():
    raises(anthropic.InternalServerError, lambda: whole("broken"))
    error = raises(anthropic.InternalServerError, lambda: whole("html"))
    assert "502 Bad Gateway" in error.message, error.message


@check
def script_is_over():
    error = raises(anthropic.InternalServerError, lambda: whole("nobody expects this"))
    assert "the script is over" in error.message, error.message


@check
def retried_by_the_client():
    equal(client(retries=1).messages.create(**asked("flaky")).content[0].text, "At last.")


# Within a stream this client lets the exceptions of its transport through.


@check
def cut():
    raises(httpx2.RemoteProtocolError, lambda: events("cut"))


@check
def stalled():
    ask = client(timeout=0.5).messages.create
    raises(httpx2.ReadTimeout, lambda: list(ask(**asked("stall"), stream=True)))


@check
def stream_error():
    error = raises(anthropic.APIStatusError, lambda: events("stream error"))
    equal(error.body["error"], {"type": "overloaded_error", "message": "Overloaded"})


run()
