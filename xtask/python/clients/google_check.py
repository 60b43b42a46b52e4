"""The scripted model server as Google's own client sees it: google_check.py BASE_URL."""

import sys

import httpx2
from checks import check, equal, raises, run
from google import genai
from google.genai import errors, types

URL = sys.argv[1].rstrip("/")
GREETING = "Grüße, 👩‍🚀!"


def client(key="good-key", timeout=10_000):
    options = types.HttpOptions(base_url=URL, timeout=timeout)
    return genai.Client(api_key=key, vertexai=False, http_options=options)


def asked(contents, **config):
    return {"model": "scripted-1", "contents": contents, "config": types.GenerateContentConfig(**config)}


def whole(contents, **config):
    with client() as google:
        return google.models.generate_content(**asked(contents, **config))


def chunks(contents, **config):
    with client() as google:
        return list(google.models.generate_content_stream(**asked(contents, **config)))


def parts_of(responses):
    candidates = [response.candidates[0] for response in responses]
    return [part for candidate in candidates for part in candidate.content.parts or []]


def texts(responses, thought=None):
    return "".join(part.text or "" for part in parts_of(responses) if part.thought == thought)


@check
def models_are_listed():
    with client() as google:
        models = list(google.models.list())
    equal([model.name for model in models], ["models/scripted-1", "models/scripted-2"])
    equal(models[1].input_token_limit, 32000)


@check
def reply_whole_and_streamed():
    for responses in [[whole("plain")], chunks("plain")]:
        equal(texts(responses), GREETING)
        last = responses[-1]
        equal((last.candidates[0].finish_reason, last.model_version), (types.FinishReason.STOP, "scripted-1"))
        usage = last.usage_metadata
        equal((usage.prompt_token_count, usage.candidates_token_count, usage.total_token_count), (125, 7, 132))
        equal(usage.cached_content_token_count, 20)
    assert len(chunks("plain")) > 5


@check
def bytes_cut_anywhere():
    equal([part.text for part in parts_of(chunks("pieces"))], ["One, ", "two.", ""])


@check
def echo():
    equal(whole("echo ✓", system_instruction="Be brief.").text, "You said: echo ✓")


@check
def thoughts():
    for responses in [[whole("reasoning")], chunks("reasoning")]:
        equal((texts(responses, thought=True), texts(responses)), ("Let me see.", "42"))
        usage = responses[-1].usage_metadata
        equal((usage.thoughts_token_count, usage.candidates_token_count), (6, 3))


@check
def function_calls():
    for responses in [[whole("two tools")], chunks("two tools")]:
        equal(texts(responses), "Looking.")
        [weather, clock] = [part for part in parts_of(responses) if part.function_call]
        call = weather.function_call
        equal((call.id, call.name, call.args), ("given_id", "weather", {"city": "Bern"}))
        equal((clock.function_call.name, clock.function_call.args), ("clock", {}))
        assert weather.thought_signature.startswith(b"signature-"), weather
        equal(clock.thought_signature, None)


@check
def function_response_goes_back():
    first = whole("one tool")
    [call] = first.function_calls
    equal((call.name, call.args), ("weather", {"city": "Zürich", "days": 2}))
    contents = [
        types.UserContent("one tool"),
        first.candidates[0].content,
        types.UserContent(types.Part.from_function_response(name=call.name, response={"sky": "sunny"})),
    ]
    equal(whole(contents).text, "It is sunny.")
    contents[2] = types.UserContent(types.Part.from_function_response(name=call.name, response={"output": "sunny"}))
    equal(texts(chunks(contents)), "It is sunny.")


@check
def other_finish_reasons():
    equal(whole("length").candidates[0].finish_reason, types.FinishReason.MAX_TOKENS)
    equal(chunks("length")[-1].candidates[0].finish_reason, types.FinishReason.MAX_TOKENS)
    equal(whole("filtered").candidates[0].finish_reason, types.FinishReason.SAFETY)
    equal(whole("nothing").text, None)


@check
def refused():
    error = raises(errors.ClientError, lambda: whole("unauthorized"))
    equal((error.code, error.status), (401, "UNAUTHENTICATED"))
    error = raises(errors.ClientError, lambda: chunks("too fast"))
    equal((error.code, error.status), (429, "RESOURCE_EXHAUSTED"))

    def wrong_key():
        with client("bad-key") as google:
            google.models.generate_content(**asked("hi"))

    equal(raises(errors.ClientError, wrong_key).code, 401)


@check
def server_errors():
    equal(raises(errors.ServerError, lambda: whole("broken")).code, 500)
    equal(raises(errors.ServerError, lambda: whole("html")).code, 502)


@check
def script_is_over():
    error = raises(errors.ServerError, lambda: whole("nobody expects this"))
    assert "the script is over" in error.message, error.message


@check
def cut():
    raises(httpx2.RemoteProtocolError, lambda: chunks("cut"))


@check
def stalled():
    def stalled():
        with client(timeout=500) as google:
            list(google.models.generate_content_stream(**asked("stall")))

    raises(httpx2.ReadTimeout, stalled)


@check
def stream_error():
    error = raises(errors.ServerError, lambda: chunks("stream error"))
    equal((error.code, error.message), (500, "Overloaded"))


run()
