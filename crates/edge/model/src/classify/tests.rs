//! Failures as they were met, and what they mean.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;

const fn overflow(limit: Option<u64>) -> Kind {
    Kind::ContextOverflow { limit }
}

const SMALL: SessionSize = SessionSize {
    tokens: 2_000,
    messages: 4,
    window: 200_000,
};
const LARGE: SessionSize = SessionSize {
    tokens: 130_000,
    messages: 60,
    window: 200_000,
};

fn kind_of(status: Option<u16>, text: &str, size: SessionSize) -> Kind {
    classify(&Failure {
        status,
        text,
        size,
        transport: None,
    })
    .kind
}

/// Status, what was said, what it means.
const CASES: &[(u16, &str, Kind)] = &[
    // One-shot remedies come first.
    (
        400,
        "Invalid `signature` in `thinking` block",
        Kind::ThinkingSignature,
    ),
    (
        400,
        "The encrypted content for item rs_1 could not be verified.",
        Kind::ThinkingSignature,
    ),
    (
        400,
        "API key not valid. Please pass a valid API key.",
        Kind::Auth,
    ),
    (
        429,
        "Quota exceeded for metric: generate_content_free_tier_requests, limit: 0",
        Kind::Billing,
    ),
    (
        429,
        "Quota exceeded for metric: generate_content_free_tier_requests, limit: 15",
        Kind::RateLimit,
    ),
    (
        429,
        "Extra usage is required for long context requests",
        Kind::LongContextTier,
    ),
    (
        400,
        "The long context beta is not yet available",
        Kind::BetaForbidden,
    ),
    (400, "error parsing grammar: bad pattern", Kind::Grammar),
    (400, "json-schema-to-grammar failed", Kind::Grammar),
    (
        400,
        "Unable to generate parser for this template",
        Kind::Grammar,
    ),
    (
        400,
        "Only 'text' content type is supported.",
        Kind::ImagesRejected,
    ),
    (
        404,
        "No endpoints found that support image input",
        Kind::ImagesRejected,
    ),
    (401, "Invalid key", Kind::Auth),
    (402, "Payment required", Kind::Billing),
    (
        402,
        "Usage limit reached, try again in 5 hours",
        Kind::RateLimit,
    ),
    (403, "Forbidden", Kind::Auth),
    (403, "Key limit exceeded (weekly)", Kind::Billing),
    (
        404,
        "No endpoints available matching your guardrail restrictions",
        Kind::PolicyBlocked,
    ),
    (404, "The model `x` does not exist", Kind::ModelNotFound),
    (404, "page not found", Kind::Unknown),
    (413, "", Kind::PayloadTooLarge),
    (422, "unprocessable", Kind::Format),
    (429, "slow down", Kind::RateLimit),
    (500, "oops", Kind::Server),
    (502, "bad gateway", Kind::Server),
    (503, "later", Kind::Overloaded),
    (529, "Overloaded", Kind::Overloaded),
    (400, "image exceeds 5 MB maximum", Kind::ImageTooLarge),
    (
        400,
        "maximum context length is 70000 tokens",
        overflow(Some(70_000)),
    ),
    (
        400,
        "prompt is too long: 250,000 tokens > 200,000 maximum",
        overflow(Some(200_000)),
    ),
    (
        400,
        "This model's max_model_len 32768 is exceeded",
        overflow(Some(32_768)),
    ),
    (400, "prompt is too long", overflow(None)),
    (400, "请求超过最大长度", overflow(None)),
    (
        400,
        "max_tokens: 32768 > context_window: 200000 - input_tokens: 190000 = available_tokens: 10000",
        Kind::OutputTooLarge { available: 10_000 },
    ),
    (
        400,
        "Range of max_tokens should be [1, 65536]",
        Kind::OutputTooLarge { available: 65_536 },
    ),
    (400, "foo is not a valid model ID", Kind::ModelNotFound),
    (400, "Rate limit reached", Kind::RateLimit),
    (400, "Your credit balance is too low", Kind::Billing),
    (400, "Error", Kind::Format),
    (
        400,
        "Unsupported parameter: 'max_tokens' is not supported",
        Kind::Format,
    ),
    (307, "", Kind::Format),
];

#[test]
fn by_status_and_text() {
    for (status, text, expected) in CASES {
        assert_eq!(
            kind_of(Some(*status), text, SMALL),
            *expected,
            "{status} {text}"
        );
    }
}

#[test]
fn a_vague_refusal_of_a_large_session_is_about_its_length() {
    assert_eq!(kind_of(Some(400), "Error", LARGE), overflow(None));
    let detailed = "Error: field messages[3].role has a value nobody knows";
    assert_eq!(kind_of(Some(400), detailed, LARGE), Kind::Format);
    assert_eq!(kind_of(None, "server disconnected", SMALL), Kind::Transport);
    assert_eq!(kind_of(None, "server disconnected", LARGE), overflow(None));
}

#[test]
fn bodies_are_looked_into() {
    let check = |status: Option<u16>, body: Value, expected: Kind, message: &str| {
        let verdict = classify(&Failure {
            status,
            text: &body.to_string(),
            size: SMALL,
            transport: None,
        });
        assert_eq!((verdict.kind, &*verdict.text), (expected, message));
    };
    check(
        Some(429),
        json!({"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}),
        Kind::Billing,
        "You exceeded your current quota",
    );
    check(
        Some(400),
        json!({"error": {"message": "too long", "code": "context_length_exceeded"}}),
        overflow(None),
        "too long",
    );
    check(
        None,
        json!({"error": {"message": "Provider returned error", "code": 429,
            "metadata": {"raw": "{\"error\": {\"message\": \"busy\"}}", "provider_name": "X"}}}),
        Kind::RateLimit,
        "Provider returned error: busy",
    );
    check(
        Some(400),
        json!({"error": {"message": "Provider returned error", "code": 400,
            "metadata": {"raw": "{\"message\": \"maximum context length is 8192 tokens\"}"}}}),
        overflow(Some(8_192)),
        "Provider returned error: maximum context length is 8192 tokens",
    );
    check(
        None,
        json!({"type": "overloaded_error", "message": "Overloaded"}),
        Kind::Overloaded,
        "Overloaded",
    );
    check(None, json!({"error": "odd"}), Kind::Unknown, "odd");
    check(
        None,
        json!({"detail": "model not found"}),
        Kind::ModelNotFound,
        "model not found",
    );
}

#[test]
fn transport_failures() {
    let check = |transport, text, kind, retry| {
        let verdict = classify(&Failure {
            status: None,
            text,
            transport: Some(transport),
            size: SMALL,
        });
        assert_eq!(
            (verdict.kind, verdict.retry),
            (kind, retry),
            "{transport:?}"
        );
    };
    check(
        Transport::Connect,
        "connection refused",
        Kind::Transport,
        true,
    );
    check(Transport::Timeout, "no answer", Kind::Timeout, true);
    check(
        Transport::Broken,
        "connection reset by peer",
        Kind::Transport,
        true,
    );
    check(
        Transport::Broken,
        "received fatal tls alert",
        Kind::Timeout,
        true,
    );
    check(
        Transport::Certificate,
        "invalid peer certificate",
        Kind::Transport,
        false,
    );
}

#[test]
fn what_may_work_later_is_retried() {
    let check = |status, text, retry| {
        let failure = Failure {
            status: Some(status),
            text,
            ..Failure::default()
        };
        assert_eq!(classify(&failure).retry, retry, "{status} {text}");
    };
    for status in [429, 500, 502, 503, 529] {
        check(status, "", true);
    }
    check(404, "page not found", true);
    for status in [401, 402, 403, 413, 422] {
        check(status, "", false);
    }
    check(400, "Error", false);
    check(404, "no such model", false);
}

#[test]
fn pages_are_reduced_to_their_title() {
    let check = |page, expected| {
        let failure = Failure {
            status: Some(502),
            text: page,
            ..Failure::default()
        };
        assert_eq!(classify(&failure).text, expected);
    };
    check(
        "<!DOCTYPE html><html><head><title>502\n Bad Gateway</title></head><body>long</body></html>",
        "a web page: 502 Bad Gateway",
    );
    check(
        "<html><title>Attention</title>Ray ID: <strong>8f0e1d2c3b4a5968</strong></html>",
        "a web page: Attention (Ray ID 8f0e1d2c3b4a5968)",
    );
    check("<html>nothing</html>", "a web page: no title");
}

#[test]
fn errors_in_a_stream_can_be_drops() {
    assert!(is_drop(&json!({"message": "Network connection lost."})));
    assert!(is_drop(
        &json!({"message": "upstream connect error or disconnect"})
    ));
    assert!(!is_drop(
        &json!({"message": "connection reset", "code": 502})
    ));
    assert!(!is_drop(&json!({"message": "content blocked"})));
    assert!(is_streaming_refused(
        "Streaming is not supported for this model"
    ));
    assert!(!is_streaming_refused("streaming failed"));
}

#[test]
fn fields_a_model_refuses() {
    let check = |text: &str, expected| assert_eq!(refused_field(text), expected, "{text}");
    check(
        "Unsupported parameter: 'temperature' is not supported with this model.",
        Some(Field::Temperature),
    );
    check(
        "`temperature` is deprecated for this model.",
        Some(Field::Temperature),
    );
    check(
        "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
        Some(Field::Reasoning),
    );
    check(
        "Encrypted content is not supported with this model.",
        Some(Field::Reasoning),
    );
    check("Invalid value for temperature", None);
    check(
        "Unsupported parameter: 'max_tokens'",
        Some(Field::OutputLimit),
    );
}

#[test]
fn waits_are_found_in_bodies() {
    let check = |text: &str, expected: Option<u64>| {
        assert_eq!(
            retry_delay(text),
            expected.map(Duration::from_millis),
            "{text}"
        );
    };
    let body = json!({"error": {"details": [{"@type": "x"}, {"retryDelay": "37.5s"}]}});
    check(&body.to_string(), Some(37_500));
    check(&json!([body]).to_string(), Some(37_500));
    check("{\"error\": {\"message\": \"no\"}}", None);
    check("no JSON", None);
}
