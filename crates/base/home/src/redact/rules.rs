//! The rules, in the order they run.

use std::sync::LazyLock;

use super::scan::{Hit, Place, Rule, pattern};
use super::value::{is_lookup, is_setting};
use super::{Mode, mask};

/// The value of an assignment: quoted, or up to the next space.
const VALUE: &str = r#"(?:"([^"\n]+)"|'([^'\n]+)'|([^\s=>]\S*))"#;

/// The same in a configuration file; an `&` ends it, because a form body can begin like a setting.
const CONFIG_VALUE: &str = r#"(?:"([^"\n]+)"|'([^'\n]+)'|([^\s=>&][^\s&]*))"#;

/// Parameters of URLs and form bodies that carry a credential.
const PARAMS: &str = "access_token|refresh_token|id_token|token|api_key|apikey|client_secret|password|auth|jwt\
    |session|secret|key|code|signature|x-amz-signature";

pub(super) static RULES: [Rule; 14] = [
    // NAME=value, as `env` prints it.
    Rule {
        trigger: r"(?:API_?KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH)[A-Z0-9_]*[ \t]*=",
        pattern: LazyLock::new(|| {
            let name = "(?:API_?KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|AUTH)[A-Z0-9_]*";
            pattern(&format!(r"{name}[ \t]*=[ \t]*{VALUE}"))
        }),
        place: Place::Prose,
        replace: assigned,
    },
    // password: value and db.password=value, each on its own line of a configuration file.
    Rule {
        trigger: r"(?i)(?:key|token|secret|passwd|password|credential)[ \t]*[:=]",
        pattern: LazyLock::new(|| {
            let name = r"[\w.-]*(?:api[ _.-]?key|token|secret|passwd|password|credential)";
            pattern(&format!(
                r"(?im)^[ \t]*(?:export[ \t]+|-[ \t]+)?{name}[ \t]*[:=][ \t]*{CONFIG_VALUE}"
            ))
        }),
        place: Place::Prose,
        replace: configured,
    },
    // Fields of JSON, of JSON inside a JSON string, and of Python's dicts.
    Rule {
        trigger: r#"(?i)(?:key|token|secret|passwd|password|bearer|secret_value|secret_input|key_material|credential)\\?["'][ \t\r\n]*:"#,
        pattern: LazyLock::new(|| {
            let name = concat!(
                "(?:(?i:api_?key|(?:access_?|refresh_?|auth_?|id_?)?token|(?:client_?|raw_)?secret|secret_value",
                "|secret_input|password|passwd|bearer|private_?key|key_material)",
                "|[A-Z0-9_]+_(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL))",
            );
            pattern(&format!(
                r#""{name}"\s*:\s*"((?:[^"\\]|\\.)+)"|\\"{name}\\"\s*:\s*\\"((?:[^"\\]|\\[^"])+)\\"|'{name}'\s*:\s*'((?:[^'\\]|\\.)+)'"#
            ))
        }),
        place: Place::Prose,
        replace: credential,
    },
    // Authorization headers, bare or as a field. The scheme stays; the credential ends at a quote, since
    // swallowing it would break the command or document around it.
    Rule {
        trigger: r#"(?i)authorization(?:\\?["'])?[ \t]*:"#,
        pattern: LazyLock::new(|| {
            let scheme = r"(?:[A-Za-z][\w.+-]*[ \t]+)?";
            pattern(&format!(
                r#"(?i)authorization(?:[ \t]*:[ \t]*["'`]?|\\?["'][ \t]*:[ \t]*\\?["']){scheme}([^\s"'`\\]+)"#
            ))
        }),
        place: Place::Everywhere,
        replace: credential,
    },
    // Headers that carry a key without a scheme.
    Rule {
        trigger: r#"(?i)(?:api-key|apikey|api-token|auth-token|access-token)(?:\\?["'])?[ \t]*:"#,
        pattern: LazyLock::new(|| {
            let name = r"(?:(?i:x-(?:goog-)?api-key|api-key|x-(?:api|auth|access)-token)|\bapikey)";
            pattern(&format!(
                r#"{name}(?:[ \t]*:[ \t]*["'`]?|\\?["'][ \t]*:[ \t]*\\?["'])([^\s"'`\\,;]+)"#
            ))
        }),
        place: Place::Everywhere,
        replace: credential,
    },
    // Telegram bot tokens; the number names the bot and stays.
    Rule {
        trigger: r"[0-9]{8}:[A-Za-z0-9_-]",
        pattern: LazyLock::new(|| pattern(r"[0-9]{8,}:([A-Za-z0-9_-]{30,})")),
        place: Place::Everywhere,
        replace: password,
    },
    // Private keys; of one that was cut off, everything that still looks like key material. The body must not
    // reach over the next dashes: looking for a far end from each of many beginnings would take forever.
    Rule {
        trigger: r"PRIVATE KEY-----",
        pattern: LazyLock::new(|| {
            pattern(concat!(
                r"(-----BEGIN[A-Z ]*PRIVATE KEY-----",
                r"(?:(?:[^-]|-{1,4}[^-])*-----END[A-Z ]*PRIVATE KEY-----|(?:(?:\s|\\[rn])*[A-Za-z0-9+/=]{16,})+))",
            ))
        }),
        place: Place::Everywhere,
        replace: |_, _| Some(mask::PRIVATE_KEY.to_owned()),
    },
    // Passwords in database URLs; an unescaped @ or / may be part of them.
    Rule {
        trigger: r"://[^ \t\r\n]*@",
        pattern: LazyLock::new(|| {
            let scheme = r"(?i)(?:postgres(?:ql)?|mysql|mariadb|mongodb|rediss?|amqps?)(?:\+\w+)?";
            pattern(&format!(
                r#"{scheme}://[^:/@\s]*:([^\s/?#"'`]+|[^\s@"'`]+)@"#
            ))
        }),
        place: Place::Everywhere,
        replace: password,
    },
    // JSON web tokens, also without their signature.
    Rule {
        trigger: "eyJ",
        pattern: LazyLock::new(|| pattern(r"(eyJ[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_=-]{4,}){0,2})")),
        place: Place::Everywhere,
        replace: credential,
    },
    // user:password@ in other URLs.
    Rule {
        trigger: r"://[^ \t\r\n/]*:[^ \t\r\n/]*@",
        pattern: LazyLock::new(|| {
            pattern(r#"(?i)(?:https?|wss?|ftps?|git)://[^/\s:@]*:([^/\s"'`]+)@"#)
        }),
        place: Place::Everywhere,
        replace: password,
    },
    // A token alone before the host, as git remotes have it; shorter words are user names.
    Rule {
        trigger: r"://[^ \t\r\n/:@]{8,}@",
        pattern: LazyLock::new(|| pattern(r#"(?i)(?:https?|wss?|ftps?|git)://([^/\s:@"'`]{8,})@"#)),
        place: Place::Everywhere,
        replace: credential,
    },
    // Parameters of a URL or request line.
    Rule {
        trigger: "(?i)[?&](?:[a-z_-]*token|api_?key|[a-z_]*secret|password|auth|jwt|session|key|code|[a-z-]*signature)=",
        pattern: LazyLock::new(|| pattern(&format!(r#"(?i)[?&](?:{PARAMS})=([^&#;\s"'`<>\\]+)"#))),
        place: Place::Everywhere,
        replace: password,
    },
    // The first parameter of a form body: text that is nothing but pairs. The others follow an &.
    Rule {
        trigger: r"\A[ \t]*[A-Za-z_-]+=[^& \t\r\n]*&",
        pattern: LazyLock::new(|| {
            pattern(&format!(
                r"\A\s*(?i:{PARAMS})=([^&\s]+)(?:&[A-Za-z_][A-Za-z0-9_.-]*=[^&\s]*)+\s*\z"
            ))
        }),
        place: Place::Everywhere,
        replace: password,
    },
    // People: Discord mentions and phone numbers.
    Rule {
        trigger: r"<@!?[0-9]{17}|\+[1-9][0-9]{6}",
        pattern: LazyLock::new(|| pattern(r"<@!?([0-9]{17,20})>|(\+[1-9][0-9]{6,})")),
        place: Place::Everywhere,
        replace: person,
    },
];

fn credential(hit: &Hit<'_>, mode: Mode) -> Option<String> {
    (!is_lookup(hit.secret())).then(|| mode.mask(hit.secret()))
}

fn password(hit: &Hit<'_>, mode: Mode) -> Option<String> {
    (!is_lookup(hit.secret())).then(|| mode.hide())
}

fn assigned(hit: &Hit<'_>, mode: Mode) -> Option<String> {
    let name = hit
        .before()
        .trim_end_matches(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    // Without quotes the value runs up to the next space, over what closes the text around it.
    let value = hit
        .secret()
        .trim_end_matches(|c: char| "\"'`\\,;)]}".contains(c));
    if value.is_empty()
        || mask::is_masked(value)
        || is_lookup(hit.secret())
        || is_setting(name, value)
    {
        return None;
    }
    Some(mode.mask(value) + &hit.secret()[value.len()..])
}

fn configured(hit: &Hit<'_>, mode: Mode) -> Option<String> {
    let rest = hit.text[hit.whole.end..]
        .lines()
        .next()
        .unwrap_or_default()
        .trim_start();
    let is_sentence =
        hit.before().contains(':') && !rest.is_empty() && !rest.starts_with(['#', ',']);
    if is_sentence || hit.secret().starts_with("//") {
        return None;
    }
    assigned(hit, mode)
}

fn person(hit: &Hit<'_>, _: Mode) -> Option<String> {
    let id = hit.secret();
    if !id.starts_with('+') {
        return Some("***".to_owned());
    }
    let alphanumeric = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let inside_word = alphanumeric(hit.text[..hit.secret.start].chars().next_back())
        || alphanumeric(hit.text[hit.secret.end..].chars().next());
    let shown = if id.len() <= 8 { 2 } else { 4 };
    let is_phone = id.len() <= 16 && !inside_word;
    is_phone.then(|| format!("{}****{}", &id[..shown], &id[id.len() - shown..]))
}
