"""The scripted model server as OpenAI's own client sees it: openai_check.py BASE_URL."""

import json
import sys

import openai
from checks import check, equal, raises, run, strictly

URL = sys.argv[1].rstrip("/") + "/v1"
GREETING = "Grüße, 👩‍🚀!"


def client(key="good-key", retries=0, timeout=10):
    return openai.OpenAI(base_url=URL, api_key=key, max_retries=retries, timeout=timeout)


def chat(text, **options):
    return client().chat.completions.create(model="scripted-1", messages=[{"role": "user", "content": text}], **options)


def chat_stream(text, **options):
    return [strictly(chunk) for chunk in chat(text, stream=True, **options)]


def chat_final(text):
    """What the client's own accumulator makes of a stream."""
    with client().chat.completions.stream(model="scripted-1", messages=[{"role": "user", "content": text}]) as stream:
        for _ in stream:
            pass
        return stream.get_final_completion().choices[0]


def respond(text, **options):
    return client().responses.create(model="scripted-1", input=text, **options)


def respond_stream(text, **options):
    return [strictly(event) for event in respond(text, stream=True, **options)]


def respond_final(text):
    with client().responses.stream(model="scripted-1", input=text) as stream:
        for _ in stream:
            pass
        return stream.get_final_response()


# Models


@check
def models_are_listed():
    models = [strictly(model) for model in client().models.list()]
    equal([model.id for model in models], ["scripted-1", "scripted-2"])
    equal(models[1].context_length, 32000)


# Chat completions


@check
def chat_whole():
    completion = strictly(chat("plain"))
    choice = completion.choices[0]
    equal((choice.message.content, choice.message.role, choice.finish_reason), (GREETING, "assistant", "stop"))
    equal(completion.model, "scripted-1")
    usage = completion.usage
    equal((usage.prompt_tokens, usage.completion_tokens, usage.total_tokens), (125, 7, 132))
    equal(usage.prompt_tokens_details.cached_tokens, 20)


@check
def chat_streamed():
    chunks = chat_stream("plain")
    equal(chunks[0].choices[0].delta.role, "assistant")
    deltas = [chunk.choices[0].delta.content for chunk in chunks]
    assert len(deltas) > 5, deltas
    equal("".join(delta or "" for delta in deltas), GREETING)
    equal([chunk.choices[0].finish_reason for chunk in chunks][-2:], [None, "stop"])
    assert all(chunk.usage is None for chunk in chunks)


@check
def chat_streamed_with_usage():
    chunks = chat_stream("plain", stream_options={"include_usage": True})
    equal(chunks[-1].choices, [])
    equal(chunks[-1].usage.total_tokens, 132)
    assert all(chunk.usage is None and "usage" in chunk.model_fields_set for chunk in chunks[:-1])


@check
def chat_bytes_cut_anywhere():
    contents = [chunk.choices[0].delta.content for chunk in chat_stream("pieces")]
    equal(contents, ["", "One, ", "two.", None])


@check
def chat_echo():
    equal(chat("echo ✓").choices[0].message.content, "You said: echo ✓")


@check
def chat_reasoning():
    message = chat("reasoning").choices[0].message
    equal((message.reasoning_content, message.content), ("Let me see.", "42"))
    deltas = [chunk.choices[0].delta for chunk in chat_stream("reasoning")]
    equal("".join(getattr(delta, "reasoning_content", "") for delta in deltas), "Let me see.")
    equal(chat("reasoning").usage.completion_tokens_details.reasoning_tokens, 6)


def chat_calls(choice):
    equal(choice.finish_reason, "tool_calls")
    return [(call.id, call.function.name, json.loads(call.function.arguments)) for call in choice.message.tool_calls]


@check
def chat_tool_call_whole_and_back():
    choice = strictly(chat("one tool")).choices[0]
    equal(choice.message.content, None)
    [(call_id, name, arguments)] = chat_calls(choice)
    equal((name, arguments), ("weather", {"city": "Zürich", "days": 2}))
    answer = client().chat.completions.create(
        model="scripted-1",
        messages=[
            {"role": "user", "content": "one tool"},
            choice.message.model_dump(exclude_none=True),
            {"role": "tool", "tool_call_id": call_id, "content": "sunny"},
        ],
    )
    equal(answer.choices[0].message.content, "It is sunny.")


@check
def chat_tool_calls_streamed():
    choice = chat_final("two tools")
    equal(choice.message.content, "Looking.")
    [first, second] = chat_calls(choice)
    equal(first, ("given_id", "weather", {"city": "Bern"}))
    equal(second[1:], ("clock", {}))
    assert second[0].startswith("call_"), second
    calls = [call for chunk in chat_stream("two tools") for call in chunk.choices[0].delta.tool_calls or []]
    equal([call.function.name for call in calls if call.function.name], ["weather", "clock"])
    equal({call.index for call in calls}, {0, 1})


@check
def chat_other_finishes():
    equal(chat("length").choices[0].finish_reason, "length")
    equal(chat("filtered").choices[0].finish_reason, "content_filter")
    equal(chat_stream("length")[-1].choices[0].finish_reason, "length")
    equal(chat("nothing").choices[0].message.content, "")
    equal([chunk.choices[0].delta.content for chunk in chat_stream("nothing")], ["", None])


# Errors, which both dialects share


@check
def unauthorized():
    error = raises(openai.AuthenticationError, lambda: chat("unauthorized"))
    equal((error.code, error.request_id is None), ("invalid_api_key", False))
    raises(openai.AuthenticationError, lambda: respond("unauthorized"))


@check
def wrong_key():
    ask = client("bad-key").chat.completions.create
    raises(openai.AuthenticationError, lambda: ask(model="m", messages=[{"role": "user", "content": "hi"}]))


@check
def rate_limited():
    error = raises(openai.RateLimitError, lambda: chat("too fast", stream=True))
    equal((error.response.headers["retry-after"], error.code), ("7", "rate_limit_exceeded"))
    raises(openai.RateLimitError, lambda: respond("too fast"))


@check
def server_errors():
    raises(openai.InternalServerError, lambda: chat("broken"))
    raises(openai.InternalServerError, lambda: respond("broken", stream=True))
    error = raises(openai.InternalServerError, lambda: chat("html"))
    assert "502 Bad Gateway" in error.response.text, error.response.text


@check
def error_body_of_the_script():
    error = raises(openai.BadRequestError, lambda: chat("own body"))
    equal(error.code, "context_length_exceeded")
    assert "70000" in error.message, error.message


@check
def script_is_over():
    error = raises(openai.InternalServerError, lambda: chat("nobody expects this"))
    assert "the script is over" in error.message, error.message


@check
def retried_by_the_client():
    messages = [{"role": "user", "content": "flaky"}]
    answer = client(retries=1).chat.completions.create(model="scripted-1", messages=messages)
    equal(answer.choices[0].message.content, "At last.")


@check
def chat_cut():
    raises(openai.APIConnectionError, lambda: chat_stream("cut"))


@check
def chat_stalled():
    def stalled():
        messages = [{"role": "user", "content": "stall"}]
        list(client(timeout=0.5).chat.completions.create(model="m", messages=messages, stream=True))

    raises(openai.APITimeoutError, stalled)


@check
def chat_stream_error():
    error = raises(openai.APIError, lambda: chat_stream("stream error"))
    equal(error.message, "Overloaded")


# Responses


@check
def response_whole():
    response = strictly(respond("plain"))
    equal((response.output_text, response.status), (GREETING, "completed"))
    usage = response.usage
    equal((usage.input_tokens, usage.output_tokens, usage.total_tokens), (125, 7, 132))
    equal(usage.input_tokens_details.cached_tokens, 20)


@check
def response_streamed():
    events = respond_stream("plain")
    equal([event.sequence_number for event in events], list(range(len(events))))
    kinds = [event.type.removeprefix("response.") for event in events]
    equal([kind for kind in kinds if kind != "output_text.delta"], [
        "created", "in_progress", "output_item.added", "content_part.added",
        "output_text.done", "content_part.done", "output_item.done", "completed",
    ])  # fmt: skip
    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert len(deltas) > 4, deltas
    equal("".join(deltas), GREETING)
    equal(events[-1].response.usage.total_tokens, 132)


@check
def response_input_as_items():
    item = {"role": "user", "content": [{"type": "input_text", "text": "echo ✓"}]}
    equal(respond([item], instructions="Be brief.").output_text, "You said: echo ✓")


@check
def response_reasoning():
    for response in [strictly(respond("reasoning")), respond_final("reasoning")]:
        [reasoning, message] = response.output
        equal((reasoning.type, reasoning.summary[0].text), ("reasoning", "Let me see."))
        assert reasoning.encrypted_content, reasoning
        equal(message.content[0].text, "42")
        equal(response.usage.output_tokens_details.reasoning_tokens, 6)
    deltas = [e.delta for e in respond_stream("reasoning") if e.type == "response.reasoning_summary_text.delta"]
    equal(deltas, ["Let ", "me s", "ee."])


@check
def response_tool_calls():
    for response in [strictly(respond("two tools")), respond_final("two tools")]:
        equal([item.type for item in response.output], ["reasoning", "message", "function_call", "function_call"])
        [weather, clock] = response.output[2:]
        equal((weather.call_id, weather.name, json.loads(weather.arguments)), ("given_id", "weather", {"city": "Bern"}))
        equal((clock.name, clock.arguments, clock.status), ("clock", "{}", "completed"))
    deltas = [e.delta for e in respond_stream("one tool") if e.type == "response.function_call_arguments.delta"]
    assert len(deltas) > 3, deltas
    equal(json.loads("".join(deltas)), {"city": "Zürich", "days": 2})


@check
def response_streamed_with_tools_offered():
    weather = {"type": "function", "name": "weather", "strict": False, "parameters": {"type": "object", "properties": {}}}
    asked = {"model": "scripted-1", "input": "one tool", "tools": [weather], "store": False}
    with client().responses.stream(**asked, include=["reasoning.encrypted_content"]) as stream:
        kinds = [event.type.removeprefix("response.") for event in stream]
        [call] = stream.get_final_response().output
    equal((call.name, json.loads(call.arguments)), ("weather", {"city": "Zürich", "days": 2}))
    assert call.id.startswith("fc_") and call.call_id.startswith("call_"), call
    equal(kinds[-3:], ["function_call_arguments.done", "output_item.done", "completed"])


@check
def response_tool_result_goes_back():
    response = respond("one tool")
    [call] = response.output
    items = [
        {"role": "user", "content": "one tool"},
        call.model_dump(exclude_none=True),
        {"type": "function_call_output", "call_id": call.call_id, "output": "sunny"},
    ]
    equal(respond(items).output_text, "It is sunny.")


@check
def response_incomplete():
    response = respond("length")
    equal((response.status, response.incomplete_details.reason), ("incomplete", "max_output_tokens"))
    equal(respond("filtered").incomplete_details.reason, "content_filter")
    equal(respond_stream("length")[-1].type, "response.incomplete")
    equal(respond("nothing").output, [])


@check
def response_cut():
    raises(openai.APIConnectionError, lambda: respond_stream("cut"))


@check
def response_stream_error():
    event = respond_stream("stream error")[-1]
    equal((event.type, event.message), ("error", "Overloaded"))


run()
