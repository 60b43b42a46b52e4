//! Takes secrets out of a text before it reaches a model, a log or a screen. Pure.

/// What stands where a secret was.
const MARK: &str = "[REDACTED]";

/// A value shorter than this stands in too many innocent places to be looked for.
const SHORTEST: usize = 8;

/// For errors and log lines: known secrets, what looks like one, and what addresses carry along.
pub fn redact(text: &str, secrets: &[&str]) -> String {
    without_patterns(&bare_urls(&without_values(text, secrets)))
}

/// For text whose addresses must stay usable: known secrets and what looks like one.
pub fn redact_values(text: &str, secrets: &[&str]) -> String {
    without_patterns(&without_values(text, secrets))
}

/// The exact values, longest first: one may be part of another.
fn without_values(text: &str, secrets: &[&str]) -> String {
    let mut values: Vec<&str> = Vec::new();
    for secret in secrets.iter().map(|secret| secret.trim()) {
        values.push(secret);
        // `Bearer abc` is one header, but `abc` alone is the secret.
        values.extend(secret.split_once(' ').map(|(_, bare)| bare.trim()));
    }
    values.retain(|value| value.len() >= SHORTEST && !MARK.contains(value));
    values.sort_by_key(|value| std::cmp::Reverse(value.len()));
    values
        .iter()
        .fold(text.to_owned(), |text, value| match text.contains(value) {
            true => text.replace(value, MARK),
            false => text,
        })
}

/// Every address without its user and without the values of its query.
fn bare_urls(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        out.push_str(before);
        out.push_str("://");
        if !before.ends_with(|c: char| c.is_ascii_alphanumeric()) {
            rest = after;
            continue;
        }
        let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>' | '`');
        let url = &after[..after.find(ends).unwrap_or(after.len())];
        let url = url.trim_end_matches([')', '.', ',', ';', ':']);
        push_bare(&mut out, url);
        rest = &after[url.len()..];
    }
    out + rest
}

fn push_bare(out: &mut String, url: &str) {
    let authority = url.find(['/', '?', '#']).unwrap_or(url.len());
    let host = url[..authority].rfind('@').map_or(0, |at| at + 1);
    let Some(query) = url.find('?') else {
        return out.push_str(&url[host..]);
    };
    let end = url[query..].find('#').map_or(url.len(), |at| query + at);
    out.push_str(&url[host..=query]);
    for (index, pair) in url[query + 1..end].split('&').enumerate() {
        if index > 0 {
            out.push('&');
        }
        match pair.split_once('=') {
            Some((name, _)) => out.extend([name, "=", MARK]),
            None if pair.is_empty() => {}
            None => out.push_str(MARK),
        }
    }
    out.push_str(&url[end..]);
}

/// Part of a text: so much of it stays, so much of it is a secret.
struct Hit {
    kept: usize,
    hidden: usize,
}

fn without_patterns(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut rest, mut before) = (text, ' ');
    while let Some(next) = rest.chars().next() {
        match hit(rest, before) {
            Some(Hit { kept, hidden }) => {
                out.push_str(&rest[..kept]);
                out.push_str(MARK);
                rest = &rest[kept + hidden..];
                before = ']';
            }
            None => {
                out.push(next);
                rest = &rest[next.len_utf8()..];
                before = next;
            }
        }
    }
    out
}

fn hit(text: &str, before: char) -> Option<Hit> {
    let is_start = !before.is_alphanumeric();
    match text.as_bytes()[0].to_ascii_lowercase() {
        b'g' | b's' if is_start => known_key(text).or_else(|| labelled(text, before)),
        b'b' if is_start => bearer(text),
        b'c' | b'k' | b'p' | b's' | b't' => labelled(text, before),
        _ => None,
    }
}

/// A key that says by its first letters whose it is.
fn known_key(text: &str) -> Option<Hit> {
    let prefix = ["ghp_", "sk-"]
        .into_iter()
        .find(|prefix| begins(text, prefix))?;
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let body = run(&text[prefix.len()..], is_part);
    (body > 0).then_some(Hit {
        kept: 0,
        hidden: prefix.len() + body,
    })
}

/// `Bearer <token>`, but not the words in "Bearer token expired" or a challenge's `Bearer realm=…`.
fn bearer(text: &str) -> Option<Hit> {
    const WORDS: &[&str] = &[
        "token",
        "tokens",
        "auth",
        "authentication",
        "realm",
        "error",
        "scope",
        "scheme",
        "resource_metadata",
    ];
    const NAME: &str = "bearer";
    if !begins(text, NAME) {
        return None;
    }
    let gap = run(&text[NAME.len()..], char::is_whitespace);
    let token = &text[NAME.len() + gap..];
    let token = &token[..run(token, is_value)];
    let word = token.split('=').next().unwrap_or_default();
    let word = word.trim_end_matches(['.', ':', ')', '!', '?']);
    let is_word = WORDS.iter().any(|known| word.eq_ignore_ascii_case(known));
    (gap > 0 && !token.is_empty() && !is_word).then_some(Hit {
        kept: 0,
        hidden: NAME.len() + gap + token.len(),
    })
}

/// `token=…` and its kin, also at the end of a longer name such as `refresh_token=`.
fn labelled(text: &str, before: char) -> Option<Hit> {
    let names = ["token=", "key=", "password=", "secret="];
    let is_word = !before.is_alphanumeric() && before != '_';
    let name = names
        .into_iter()
        .find(|name| begins(text, name))
        .or_else(|| Some("code=").filter(|name| is_word && begins(text, name)))?;
    let quote = run(&text[name.len()..], |c| matches!(c, '"' | '\'')).min(1);
    let kept = name.len() + quote;
    let hidden = run(&text[kept..], is_value);
    (hidden > 0).then_some(Hit { kept, hidden })
}

fn is_value(c: char) -> bool {
    !c.is_whitespace() && !matches!(c, '&' | ',' | ';' | '"' | '\'')
}

/// How many bytes from the start on are like that.
fn run(text: &str, is_part: impl Fn(char) -> bool) -> usize {
    text.find(|c| !is_part(c)).unwrap_or(text.len())
}

fn begins(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_a_secret_is_hidden() {
        let check = |text: &str, expected: &str| assert_eq!(redact(text, &[]), expected);
        check("got ghp_Abc123, no", "got [REDACTED], no");
        check("sk-proj-ab-12_x!", "[REDACTED]!");
        check("a task-list and a desk-lamp", "a task-list and a desk-lamp");
        check("Authorization: bearer abc123", "Authorization: [REDACTED]");
        check("BEARER\tx.y.z==, next", "[REDACTED], next");
        check("Bearer token expired", "Bearer token expired");
        check("Bearer token=abc", "Bearer token=[REDACTED]");
        check("Bearer realm=\"x\"", "Bearer realm=\"x\"");
        check("token=abc&x=1", "token=[REDACTED]&x=1");
        check("API_KEY='abc' left", "API_KEY='[REDACTED]' left");
        check("client_secret=a;b", "client_secret=[REDACTED];b");
        check(
            "refresh_token=a,password=b",
            "refresh_token=[REDACTED],password=[REDACTED]",
        );
        check("code=abc", "code=[REDACTED]");
        check("status_code=500", "status_code=500");
        check("token= key=", "token= key=");
        check("plain ünïcode text", "plain ünïcode text");
        check("", "");
    }

    #[test]
    fn known_values_are_hidden_wherever_they_stand() {
        let secrets = [
            "Bearer hunter2-hunter2",
            "short",
            "longer-secret",
            "longer-secret-2",
        ];
        let check = |text: &str, expected: &str| assert_eq!(redact(text, &secrets), expected);
        check("x hunter2-hunter2 y", "x [REDACTED] y");
        check("Bearer hunter2-hunter2", "[REDACTED]");
        check("a short one", "a short one");
        check("longer-secret-2/longer-secret", "[REDACTED]/[REDACTED]");
    }

    #[test]
    fn addresses_lose_what_they_carry() {
        let check = |text: &str, expected: &str| assert_eq!(redact(text, &[]), expected);
        check("at https://me:pw@h.example/a", "at https://h.example/a");
        check(
            "(https://h/p?a=1&b=2&bare#f).",
            "(https://h/p?a=[REDACTED]&b=[REDACTED]&[REDACTED]#f).",
        );
        check("https://h/@scope/pkg", "https://h/@scope/pkg");
        check("no :// scheme?x=1", "no :// scheme?x=1");
        let kept = "see https://h/p?page=2";
        assert_eq!(redact_values(kept, &[]), kept);
    }

    #[test]
    fn a_redacted_text_stays_as_it_is() {
        for text in [
            "token=abc",
            "Bearer abc",
            "https://u@h/?a=b&c",
            "sk-abc key='x'",
        ] {
            let once = redact(text, &[]);
            assert_eq!(redact(&once, &[]), once);
        }
    }
}
