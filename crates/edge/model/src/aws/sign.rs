//! Signature version 4 over a request that is about to be sent.

use std::time::SystemTime;

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{self, SignableBody, SignableRequest, SigningSettings};
use aws_sigv4::sign::v4;
use reqwest::Request;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};

use super::KeyPair;

const SERVICE: &str = "bedrock";

/// Adds the headers that prove who asks, for this very request and a few minutes from `now`.
pub(crate) fn sign(request: &mut Request, pair: &KeyPair, now: SystemTime) -> Result<(), String> {
    let token = pair.session_token.clone();
    let identity = Credentials::new(&pair.id, &pair.secret, token, None, "hermes").into();
    let params = v4::SigningParams::builder()
        .identity(&identity)
        .region(&pair.region)
        .name(SERVICE)
        .time(now)
        .settings(SigningSettings::default())
        .build();
    let params = params.map_err(|error| error.to_string())?.into();
    // The others may be changed on the way; a signature over them would break.
    let headers = [CONTENT_TYPE, ACCEPT].into_iter().filter_map(|name| {
        let value = request.headers().get(&name)?.to_str().ok()?;
        Some((name, value))
    });
    let headers: Vec<_> = headers.collect();
    let body = request.body().and_then(|body| body.as_bytes());
    let signable = SignableRequest::new(
        request.method().as_str(),
        request.url().as_str(),
        headers.iter().map(|(name, value)| (name.as_str(), *value)),
        SignableBody::Bytes(body.unwrap_or_default()),
    );
    let signed = signable.and_then(|signable| http_request::sign(signable, &params));
    let (instructions, _) = signed.map_err(|error| error.to_string())?.into_parts();
    for (name, value) in instructions.headers() {
        let parsed = (name.parse::<HeaderName>(), value.parse::<HeaderValue>());
        if let (Ok(name), Ok(mut value)) = parsed {
            value.set_sensitive(true);
            request.headers_mut().insert(name, value);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use pretty_assertions::assert_eq;
    use reqwest::{Method, Url};
    use serde_json::Value;

    use super::*;

    /// Signatures Amazon's own library made for the same requests.
    #[test]
    fn signatures_are_the_vendors() {
        let file = include_str!("../../tests/it/fixtures/bedrock/signatures.json");
        let file: Value = serde_json::from_str(file).unwrap();
        let date: Timestamp = file["date"].as_str().unwrap().parse().unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let cases = file["cases"].as_array().unwrap();
        assert!(!cases.is_empty());
        for case in cases {
            let url: Url = text(&case["url"]).parse().unwrap();
            let mut request = Request::new(Method::POST, url);
            let headers = request.headers_mut();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            let stream = "application/vnd.amazon.eventstream";
            headers.insert(ACCEPT, HeaderValue::from_static(stream));
            *request.body_mut() = Some(text(&case["body"]).into());
            let mut pair = KeyPair::new(
                &text(&file["id"]),
                &text(&file["secret"]),
                &text(&case["region"]),
            );
            if let Some(token) = case["session_token"].as_str() {
                pair = pair.with_session_token(token);
            }
            sign(&mut request, &pair, date.into()).unwrap();
            let header = |name: &str| Some(request.headers().get(name)?.to_str().unwrap());
            assert_eq!(
                header("authorization"),
                case["authorization"].as_str(),
                "{}",
                case["name"]
            );
            assert_eq!(header("x-amz-date"), Some("20260102T030405Z"));
            assert_eq!(
                header("x-amz-security-token"),
                case["session_token"].as_str()
            );
        }
    }
}
