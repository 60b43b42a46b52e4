//! What each dialect puts on the wire, without the parts that are the same in every event.

use aws_smithy_eventstream::frame::read_message_from;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::raw::{Seen, ask, chat, post, start};

/// A reply with everything in it.
fn reply(path: &str, stream: bool) -> Seen {
    let server = start(json!([{
        "reasoning": "Hm.",
        "text": ["Hi, ", "you"],
        "tool_calls": [{"name": "f", "arguments": {"a": 1}}],
        "usage": {"input": 10, "output": 5, "cache_read": 3, "cache_write": 2, "reasoning": 1},
    }]));
    let mut body = ask("hi");
    body["stream"] = json!(stream);
    body["stream_options"] = json!({"include_usage": true});
    post(&server, path, &body)
}

fn lines(values: impl IntoIterator<Item = Value>) -> String {
    let lines: Vec<_> = values.into_iter().map(|value| value.to_string()).collect();
    lines.join("\n")
}

#[test]
fn chat_events() {
    let seen = reply("/v1/chat/completions", true);
    let first = seen.body().lines().next().unwrap().to_owned();
    let created = seen.events()[0]["created"].to_string();
    assert_snapshot!(first.replace(&created, "NOW"), @r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":NOW,"model":"m","service_tier":"default","system_fingerprint":"fp_scripted","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}],"usage":null}"#);
    assert!(seen.body().ends_with("}\n\ndata: [DONE]\n\n"));
    let events = seen.events();
    let choices = events.iter().map(|event| event["choices"].clone());
    assert_snapshot!(lines(choices), @r#"
    [{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}]
    [{"index":0,"delta":{"reasoning_content":"Hm."},"logprobs":null,"finish_reason":null}]
    [{"index":0,"delta":{"content":"Hi, "},"logprobs":null,"finish_reason":null}]
    [{"index":0,"delta":{"content":"you"},"logprobs":null,"finish_reason":null}]
    [{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1_1","type":"function","function":{"name":"f","arguments":""}}]},"logprobs":null,"finish_reason":null}]
    [{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":1}"}}]},"logprobs":null,"finish_reason":null}]
    [{"index":0,"delta":{},"logprobs":null,"finish_reason":"tool_calls"}]
    []
    "#);
    assert_snapshot!(events.last().unwrap()["usage"], @r#"{"prompt_tokens":15,"completion_tokens":5,"total_tokens":20,"prompt_tokens_details":{"cached_tokens":3,"cache_write_tokens":2,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":1,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}"#);
}

#[test]
fn chat_whole() {
    let whole = reply("/v1/chat/completions", false).json();
    assert_snapshot!(whole["choices"][0], @r#"{"index":0,"message":{"role":"assistant","content":"Hi, you","refusal":null,"reasoning_content":"Hm.","tool_calls":[{"id":"call_1_1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},"logprobs":null,"finish_reason":"tool_calls"}"#);
}

#[test]
fn responses_events() {
    let seen = reply("/v1/responses", true);
    assert!(
        seen.body()
            .starts_with("event: response.created\ndata: {\"type\":")
    );
    let events = seen.events().into_iter().map(|mut event| {
        if let Some(response) = event.get_mut("response") {
            *response = json!({"status": response["status"], "usage": response["usage"],
                "output": response["output"].as_array().map(Vec::len)});
        }
        event
    });
    assert_snapshot!(lines(events), @r#"
    {"type":"response.created","response":{"status":"in_progress","usage":null,"output":0},"sequence_number":0}
    {"type":"response.in_progress","response":{"status":"in_progress","usage":null,"output":0},"sequence_number":1}
    {"type":"response.output_item.added","output_index":0,"item":{"id":"rs_1_0","type":"reasoning","encrypted_content":"","summary":[]},"sequence_number":2}
    {"type":"response.reasoning_summary_part.added","item_id":"rs_1_0","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""},"sequence_number":3}
    {"type":"response.reasoning_summary_text.delta","item_id":"rs_1_0","output_index":0,"summary_index":0,"delta":"Hm.","sequence_number":4}
    {"type":"response.reasoning_summary_text.done","item_id":"rs_1_0","output_index":0,"summary_index":0,"text":"Hm.","sequence_number":5}
    {"type":"response.reasoning_summary_part.done","item_id":"rs_1_0","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":"Hm."},"sequence_number":6}
    {"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1_0","type":"reasoning","encrypted_content":"sealed-rs_1_0","summary":[{"type":"summary_text","text":"Hm."}]},"sequence_number":7}
    {"type":"response.output_item.added","output_index":1,"item":{"id":"msg_1_1","type":"message","status":"in_progress","content":[],"role":"assistant"},"sequence_number":8}
    {"type":"response.content_part.added","item_id":"msg_1_1","output_index":1,"content_index":0,"part":{"type":"output_text","annotations":[],"logprobs":[],"text":""},"sequence_number":9}
    {"type":"response.output_text.delta","item_id":"msg_1_1","output_index":1,"content_index":0,"delta":"Hi, ","logprobs":[],"sequence_number":10}
    {"type":"response.output_text.delta","item_id":"msg_1_1","output_index":1,"content_index":0,"delta":"you","logprobs":[],"sequence_number":11}
    {"type":"response.output_text.done","item_id":"msg_1_1","output_index":1,"content_index":0,"text":"Hi, you","logprobs":[],"sequence_number":12}
    {"type":"response.content_part.done","item_id":"msg_1_1","output_index":1,"content_index":0,"part":{"type":"output_text","annotations":[],"logprobs":[],"text":"Hi, you"},"sequence_number":13}
    {"type":"response.output_item.done","output_index":1,"item":{"id":"msg_1_1","type":"message","status":"completed","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":"Hi, you"}],"role":"assistant"},"sequence_number":14}
    {"type":"response.output_item.added","output_index":2,"item":{"id":"fc_1_2","type":"function_call","status":"in_progress","arguments":"","name":"f","call_id":"call_1_1"},"sequence_number":15}
    {"type":"response.function_call_arguments.delta","item_id":"fc_1_2","output_index":2,"delta":"{\"a\":1}","sequence_number":16}
    {"type":"response.function_call_arguments.done","item_id":"fc_1_2","output_index":2,"arguments":"{\"a\":1}","sequence_number":17}
    {"type":"response.output_item.done","output_index":2,"item":{"id":"fc_1_2","type":"function_call","status":"completed","arguments":"{\"a\":1}","name":"f","call_id":"call_1_1"},"sequence_number":18}
    {"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":15,"input_tokens_details":{"cached_tokens":3,"cache_write_tokens":2},"output_tokens":5,"output_tokens_details":{"reasoning_tokens":1},"total_tokens":20},"output":3},"sequence_number":19}
    "#);
}

#[test]
fn responses_whole() {
    let whole = reply("/v1/responses", false).json();
    assert_snapshot!(lines(whole["output"].as_array().unwrap().clone()), @r#"
    {"id":"rs_1_0","type":"reasoning","encrypted_content":"sealed-rs_1_0","summary":[{"type":"summary_text","text":"Hm."}]}
    {"id":"msg_1_1","type":"message","status":"completed","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":"Hi, you"}],"role":"assistant"}
    {"id":"fc_1_2","type":"function_call","status":"completed","arguments":"{\"a\":1}","name":"f","call_id":"call_1_1"}
    "#);
}

#[test]
fn messages_events() {
    let seen = reply("/v1/messages", true);
    assert!(
        seen.body()
            .starts_with("event: message_start\ndata: {\"type\":")
    );
    assert_snapshot!(lines(seen.events()), @r#"
    {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":2,"cache_read_input_tokens":3,"output_tokens":1,"service_tier":"standard"}}}
    {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}
    {"type":"ping"}
    {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm."}}
    {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"signature-1"}}
    {"type":"content_block_stop","index":0}
    {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}
    {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hi, "}}
    {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"you"}}
    {"type":"content_block_stop","index":1}
    {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_1_1","name":"f","input":{}}}
    {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":""}}
    {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}
    {"type":"content_block_stop","index":2}
    {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":10,"cache_creation_input_tokens":2,"cache_read_input_tokens":3,"output_tokens":5}}
    {"type":"message_stop"}
    "#);
}

#[test]
fn messages_whole() {
    let whole = reply("/v1/messages", false).json();
    assert_snapshot!(lines(whole["content"].as_array().unwrap().clone()), @r#"
    {"type":"thinking","thinking":"Hm.","signature":"signature-1"}
    {"type":"text","text":"Hi, you"}
    {"type":"tool_use","id":"toolu_1_1","name":"f","input":{"a":1}}
    "#);
}

#[test]
fn gemini_chunks() {
    let seen = reply("/v1beta/models/m:streamGenerateContent?alt=sse", true);
    let events = seen.events();
    let candidates = events.iter().map(|event| event["candidates"][0].clone());
    assert_snapshot!(lines(candidates), @r#"
    {"content":{"parts":[{"text":"Hm.","thought":true}],"role":"model"},"index":0}
    {"content":{"parts":[{"text":"Hi, "}],"role":"model"},"index":0}
    {"content":{"parts":[{"text":"you"}],"role":"model"},"index":0}
    {"content":{"parts":[{"functionCall":{"name":"f","args":{"a":1}},"thoughtSignature":"c2lnbmF0dXJlLTE="}],"role":"model"},"index":0}
    {"content":{"parts":[{"text":""}],"role":"model"},"index":0,"finishReason":"STOP"}
    "#);
    assert_snapshot!(events.last().unwrap()["usageMetadata"], @r#"{"promptTokenCount":15,"cachedContentTokenCount":3,"candidatesTokenCount":4,"thoughtsTokenCount":1,"totalTokenCount":20,"promptTokensDetails":[{"modality":"TEXT","tokenCount":15}]}"#);
}

#[test]
fn gemini_whole() {
    let whole = reply("/v1beta/models/m:generateContent", false).json();
    assert_eq!(whole["modelVersion"], "m");
    assert_snapshot!(whole["candidates"][0], @r#"{"content":{"parts":[{"text":"Hm.","thought":true},{"text":"Hi, you"},{"functionCall":{"name":"f","args":{"a":1}},"thoughtSignature":"c2lnbmF0dXJlLTE="}],"role":"model"},"index":0,"finishReason":"STOP"}"#);
}

/// Kind, name and payload of each binary message.
fn messages(seen: &Seen) -> String {
    let messages = seen.chunks.iter().map(|chunk| {
        let message = read_message_from(&chunk[..]).unwrap();
        let header = |name: &str| {
            let mut headers = message.headers().iter();
            let header = headers.find(|header| header.name().as_str() == name);
            header.map(|header| header.value().as_string().unwrap().as_str().to_owned())
        };
        let name = header(":event-type").or_else(|| header(":exception-type"));
        let payload = String::from_utf8_lossy(message.payload());
        format!(
            "{} {} {payload}",
            header(":message-type").unwrap(),
            name.unwrap()
        )
    });
    messages.collect::<Vec<_>>().join("\n")
}

#[test]
fn converse_messages() {
    let seen = reply("/model/a%3Ab/converse-stream", true);
    assert!(seen.head.contains("application/vnd.amazon.eventstream"));
    assert_snapshot!(messages(&seen), @r#"
    event messageStart {"role":"assistant"}
    event contentBlockDelta {"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"Hm."}}}
    event contentBlockDelta {"contentBlockIndex":0,"delta":{"reasoningContent":{"signature":"signature-1"}}}
    event contentBlockStop {"contentBlockIndex":0}
    event contentBlockDelta {"contentBlockIndex":1,"delta":{"text":"Hi, "}}
    event contentBlockDelta {"contentBlockIndex":1,"delta":{"text":"you"}}
    event contentBlockStop {"contentBlockIndex":1}
    event contentBlockStart {"contentBlockIndex":2,"start":{"toolUse":{"name":"f","toolUseId":"tooluse_1_1"}}}
    event contentBlockDelta {"contentBlockIndex":2,"delta":{"toolUse":{"input":"{\"a\":1}"}}}
    event contentBlockStop {"contentBlockIndex":2}
    event messageStop {"stopReason":"tool_use"}
    event metadata {"usage":{"inputTokens":10,"outputTokens":5,"totalTokens":20,"cacheReadInputTokens":3,"cacheWriteInputTokens":2},"metrics":{"latencyMs":1}}
    "#);
}

#[test]
fn converse_whole() {
    let whole = reply("/model/a%3Ab/converse", false).json();
    assert_snapshot!(whole, @r#"{"output":{"message":{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"Hm.","signature":"signature-1"}}},{"text":"Hi, you"},{"toolUse":{"name":"f","toolUseId":"tooluse_1_1","input":{"a":1}}}]}},"stopReason":"tool_use","usage":{"inputTokens":10,"outputTokens":5,"totalTokens":20,"cacheReadInputTokens":3,"cacheWriteInputTokens":2},"metrics":{"latencyMs":1}}"#);
}

#[test]
fn claude_in_envelopes() {
    let server = start(json!([{"text": "Hi", "stream_error": "broken"}]));
    let seen = post(
        &server,
        "/model/a%3Ab/invoke-with-response-stream",
        &ask("hi"),
    );
    let messages = messages(&seen);
    let lines: Vec<_> = messages.lines().collect();
    let last = "exception modelStreamErrorException {\"message\":\"broken\"";
    assert!(lines.last().unwrap().starts_with(last), "{messages}");
    // {"type":"content_block_delta",…
    assert!(
        lines[3].starts_with("event chunk {\"bytes\":\"eyJ0eXBlIjoiY29udGVudF9ibG9ja19kZWx0YSI")
    );
}

#[test]
fn errors_have_their_vendors_shape() {
    let check = |path: &str, kind: Option<&str>, body: Value| {
        let server = start(json!([{"status": 429}]));
        let seen = post(&server, path, &ask("hi"));
        assert_eq!((seen.status, seen.json()), (429, body), "{path}");
        let has = |kind: &str| seen.head.contains(&format!("x-amzn-errortype: {kind}"));
        assert!(kind.is_none_or(has), "{}", seen.head);
    };
    let message = "Too Many Requests";
    check(
        "/model/m/converse",
        Some("throttlingexception"),
        json!({"message": message}),
    );
    check(
        "/v1beta/models/m:generateContent",
        None,
        json!({"error": {"code": 429, "message": message, "status": "RESOURCE_EXHAUSTED"}}),
    );
}

#[test]
fn odd_tool_calls() {
    let server = start(json!([{"chunk": 4, "tool_calls": [
        {"name": "broken", "arguments": "{\"a\": ", "resend_name": true},
        {"name": "again", "index": 0, "whole": true, "arguments": [1, 2]},
        {"name": "nameless", "no_id": true},
    ]}]));
    let events = chat(&server, "hi").events();
    let calls = events
        .iter()
        .map(|event| event["choices"][0]["delta"]["tool_calls"][0].clone())
        .filter(|call| !call.is_null());
    assert_snapshot!(lines(calls), @r#"
    {"index":0,"id":"call_1_1","type":"function","function":{"name":"broken","arguments":""}}
    {"index":0,"function":{"name":"broken","arguments":"{\"a\""}}
    {"index":0,"function":{"name":"broken","arguments":": "}}
    {"index":0,"id":"call_1_2","type":"function","function":{"name":"again","arguments":"[1,2]"}}
    {"index":2,"type":"function","function":{"name":"nameless","arguments":""}}
    {"index":2,"function":{"arguments":"{}"}}
    "#);
}
