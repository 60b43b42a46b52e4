//! Keys in the address of a page: whoever fetches it for us would read them.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use url::Url;

/// Names of parameters whose values let somebody in. `-` and `_` are the same, as is the case of letters.
const CREDENTIALS: [&str; 25] = [
    "access_key",
    "access_token",
    "api_key",
    "apikey",
    "auth_token",
    "authorization",
    "client_secret",
    "id_token",
    "jwt",
    "passwd",
    "password",
    "private_key",
    "private_token",
    "pwd",
    "refresh_token",
    "secret",
    "secret_key",
    "session_token",
    "sig",
    "signature",
    "token",
    "x_amz_credential",
    "x_amz_security_token",
    "x_amz_signature",
    "x_goog_signature",
];

/// A key may be encoded, and the result once more.
const MAX_DECODINGS: usize = 3;

/// Why an address is not for others to see.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Secret {
    #[error("the URL holds what looks like an API key")]
    Key,
    #[error("the URL holds a password")]
    Password,
    #[error("the URL holds a credential: `{0}`")]
    Parameter(String),
}

/// What must not be handed on. `is_key` says whether a text holds a key as some vendor makes them.
pub fn secret_in(url: &Url, is_key: impl Fn(&str) -> bool) -> Option<Secret> {
    let mut text = Cow::Borrowed(url.as_str());
    for _ in 0..=MAX_DECODINGS {
        if is_key(&text) {
            return Some(Secret::Key);
        }
        let decoded = percent_decode_str(&text).decode_utf8_lossy().into_owned();
        if decoded == text {
            break;
        }
        text = decoded.into();
    }
    if url.password().is_some() {
        return Some(Secret::Password);
    }
    // Some pages take their parameters behind the `#`.
    let behind = url.fragment().unwrap_or_default();
    let behind = url::form_urlencoded::parse(behind.as_bytes());
    let mut named = url.query_pairs().chain(behind);
    let credential = named.find(|(name, value)| !value.is_empty() && is_credential(name));
    credential.map(|(name, _)| Secret::Parameter(name.into_owned()))
}

fn is_credential(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('-', "_");
    CREDENTIALS.contains(&name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_credentials_are_seen() {
        let check = |url: &str, expected: Option<Secret>| {
            let url = Url::parse(url).unwrap();
            let found = secret_in(&url, |text| text.contains("=sk-"));
            assert_eq!(found, expected, "{url}");
        };
        check("https://x.test/a?q=words&page=2#top", None);
        check("https://x.test/?q=sk-1234", Some(Secret::Key));
        check("https://x.test/?q%3Dsk%2D1234", Some(Secret::Key));
        check(
            "https://x.test/?next=%2F%3Fq%253Dsk-1234",
            Some(Secret::Key),
        );
        check("https://me:pw@x.test/", Some(Secret::Password));
        check("https://me@x.test/", None);
        let parameter = |name: &str| Some(Secret::Parameter(name.to_owned()));
        check(
            "https://x.test/?a=1&Access-Token=x",
            parameter("Access-Token"),
        );
        check(
            "https://x.test/?X-Amz-Signature=0f",
            parameter("X-Amz-Signature"),
        );
        check("https://x.test/?to%6ben=x", parameter("token"));
        check("https://x.test/#access_token=x", parameter("access_token"));
        check("https://x.test/?token=&tokens=5&keyword=token", None);
    }
}
