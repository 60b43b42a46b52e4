//! What a token says about itself. Nobody checks the signature here: it is only ever our own token.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

/// The claims of a JWT; `Null` for anything else.
pub(crate) fn claims(token: &str) -> Value {
    let mut parts = token.split('.');
    let (Some(_), Some(payload), Some(_), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Value::Null;
    };
    let decoded = URL_SAFE_NO_PAD.decode(payload.trim_end_matches('='));
    let claims = decoded
        .ok()
        .and_then(|json| serde_json::from_slice(&json).ok());
    claims.filter(Value::is_object).unwrap_or_default()
}

/// Whose token it is, as far as it says.
pub(crate) fn owner(token: &str) -> Option<String> {
    let claims = claims(token);
    let names = ["email", "preferred_username", "upn"];
    let mut found = names.iter().filter_map(|name| claims[*name].as_str());
    found
        .find(|name| !name.trim().is_empty())
        .map(|name| name.trim().to_owned())
}

/// The account of a ChatGPT token, which every request has to name.
pub(crate) fn chatgpt_account(token: &str) -> Option<String> {
    let claims = claims(token);
    let account = &claims["https://api.openai.com/auth"]["chatgpt_account_id"];
    account.as_str().map(str::to_owned)
}

#[cfg(test)]
pub(crate) fn token(claims: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!(
        "{}.{}.c2ln",
        part(&serde_json::json!({"alg": "none"})),
        part(claims)
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_token_tells_whose_it_is() {
        let jwt = token(&json!({"email": " a@b.c ", "exp": 5,
            "https://api.openai.com/auth": {"chatgpt_account_id": "acc-1"}}));
        assert_eq!(owner(&jwt).as_deref(), Some("a@b.c"));
        assert_eq!(chatgpt_account(&jwt).as_deref(), Some("acc-1"));
        assert_eq!(claims(&jwt)["exp"], 5);
        for odd in ["", "sk-123", "a.b", "a.!!.c", "a.e30.c.d"] {
            assert_eq!(claims(odd), Value::Null, "{odd}");
        }
    }
}
