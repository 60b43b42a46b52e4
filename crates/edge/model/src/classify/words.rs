//! The words by which servers can be understood. All are looked for in lower-case text.

pub(super) fn any(text: &str, list: &[&str]) -> bool {
    list.iter().any(|word| text.contains(word))
}

pub(super) const GRAMMAR: &[&str] = &["error parsing grammar", "json-schema-to-grammar"];

/// Of quotas without payment: those that don't come back within minutes.
pub(super) const FREE_TIER_OVER: &[&str] = &["limit: 0", "perday", "per day", "per_day"];

pub(super) const IMAGE_REJECTED: &[&str] = &[
    "only 'text' content type",
    "only text content type",
    "does not support image",
    "does not support vision",
    "does not support multimodal",
    "image_url is not supported",
    "image content is not supported",
    "multimodal is not supported",
    "multimodal content is not supported",
    "multimodal input is not supported",
    "vision is not supported",
    "vision input is not supported",
    "image_url'. expected",
    "unknown variant `image_url`",
    "no endpoints found that support image input",
];

pub(super) const IMAGE_TOO_LARGE: &[&str] = &[
    "image exceeds",
    "image too large",
    "image_too_large",
    "image size exceeds",
    "image dimensions exceed",
    "dimensions exceed max allowed size",
];

pub(super) const PAYLOAD: &[&str] = &["request entity too large", "payload too large"];

pub(super) const SPENDING_LIMIT: &[&str] = &["key limit exceeded", "spending limit"];

pub(super) const BILLING: &[&str] = &[
    "insufficient credits",
    "insufficient balance",
    "insufficient_quota",
    "credit balance",
    "credits have been exhausted",
    "top up your credits",
    "payment required",
    "billing hard limit",
    "exceeded your current quota",
    "account is deactivated",
    "plan does not include",
];

pub(super) const RATE: &[&str] = &[
    "rate limit",
    "rate_limit",
    "too many requests",
    "throttled",
    "requests per minute",
    "tokens per minute",
    "requests per day",
    "try again in",
    "please retry after",
    "resource_exhausted",
    "rate increased too quickly",
    "throttlingexception",
    "too many concurrent requests",
    "servicequotaexceeded",
];

pub(super) const USAGE_LIMIT: &[&str] = &[
    "usage limit",
    "quota",
    "limit exceeded",
    "session usage limit",
];

pub(super) const TRANSIENT: &[&str] = &[
    "try again",
    "retry",
    "resets at",
    "reset in",
    "wait",
    "requests remaining",
    "periodic",
    "window",
];

pub(super) const CONTEXT: &[&str] = &[
    "context length",
    "context size",
    "context window",
    "maximum context",
    "token limit",
    "too many tokens",
    "reduce the length",
    "exceeds the limit",
    "prompt is too long",
    "prompt exceeds max length",
    "max_tokens",
    "maximum number of tokens",
    "max_model_len",
    "prompt length",
    "input is too long",
    "maximum model length",
    "truncating input",
    "slot context",
    "n_ctx_slot",
    "超过最大长度",
    "上下文长度",
    "max input token",
    "input token",
];

pub(super) const POLICY: &[&str] = &[
    "no endpoints available matching your guardrail",
    "no endpoints available matching your data policy",
    "no endpoints found matching your data policy",
];

pub(super) const MODEL: &[&str] = &[
    "is not a valid model",
    "invalid model",
    "model not found",
    "model_not_found",
    "does not exist",
    "no such model",
    "unknown model",
    "unsupported model",
];

pub(super) const AUTH: &[&str] = &[
    "invalid api key",
    "authentication",
    "unauthorized",
    "forbidden",
    "invalid token",
    "token expired",
    "token revoked",
    "access denied",
];

pub(super) const TLS_ALERT: &[&str] = &[
    "bad record mac",
    "ssl alert",
    "tls alert",
    "handshake failure",
    "bad_record_mac",
];

pub(super) const DISCONNECT: &[&str] = &[
    "server disconnected",
    "peer closed connection",
    "connection reset by peer",
    "connection was closed",
    "network connection lost",
    "unexpected eof",
    "incomplete chunked read",
];

/// An error event in a stream that is really a broken connection further up.
pub(super) const DROP: &[&str] = &[
    "connection lost",
    "connection reset",
    "connection closed",
    "connection terminated",
    "network error",
    "network connection lost",
    "peer closed",
    "broken pipe",
    "upstream connect error",
];

pub(super) const TIMEOUT: &[&str] = &["timed out", "deadline exceeded"];

pub(super) const RATE_CODES: &[&str] = &[
    "resource_exhausted",
    "throttled",
    "rate_limit_exceeded",
    "rate_limit_error",
];
pub(super) const BILLING_CODES: &[&str] = &[
    "insufficient_quota",
    "billing_not_active",
    "payment_required",
];
pub(super) const MODEL_CODES: &[&str] =
    &["model_not_found", "model_not_available", "invalid_model"];
pub(super) const CONTEXT_CODES: &[&str] = &["context_length_exceeded", "max_tokens_exceeded"];
pub(super) const OVERLOADED_CODES: &[&str] = &["overloaded_error"];

pub const FIELD_REFUSED: &[&str] = &[
    "unsupported parameter",
    "unsupported value",
    "not supported",
    "does not support",
    "is deprecated",
    "unrecognized request argument",
    "unknown parameter",
    "unexpected keyword",
    "extra inputs are not permitted",
    "only the default",
];

pub const FIELDS: &[(&str, super::Field)] = &[
    ("temperature", super::Field::Temperature),
    ("max_tokens", super::Field::OutputLimit),
    ("max_completion_tokens", super::Field::OutputLimit),
    ("max_output_tokens", super::Field::OutputLimit),
    ("reasoning", super::Field::Reasoning),
    ("encrypted content", super::Field::Reasoning),
];
