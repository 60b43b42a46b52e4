//! The redactor as its callers see it: tables of text and what becomes of it.

mod properties;

use std::borrow::Cow;

use hermes_home::redact::{
    Redactor, Switch, contains_sentinel, is_secret_name, marks, mask_display, mask_token,
};
use pretty_assertions::assert_eq;

const ON: Redactor = Redactor::new(Switch::On);
const OPAQUE: &str = "abcdefghijklmnopqrstuvwxyz";

/// One case in each line, `text ⇒ what becomes of it`; ␤ is a line end.
fn check(run: for<'t> fn(&Redactor, &'t str) -> Cow<'t, str>, table: &str) {
    for case in table.trim().lines() {
        let case = case.replace('␤', "\n");
        let (text, expected) = case.split_once(" ⇒ ").unwrap();
        assert_eq!(run(&ON, text), expected, "of {text}");
    }
}

/// Lines in which nothing may change, in any mode.
fn check_untouched(lines: &str) {
    for text in lines.trim().lines() {
        for clean in [ON.apply(text), ON.code(text), ON.file_read(text)] {
            assert!(matches!(clean, Cow::Borrowed(_)), "copied: {text}");
            assert_eq!(clean, text);
        }
    }
}

/// Each prefix with the shortest key behind it, and its label in a sentinel.
fn keys() -> Vec<(&'static str, String)> {
    let ten = "sk- ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ xoxa- xoxb- xoxp- xoxr- xoxs- pplx- fal_ fc- bb_live_ \
        sk_live_ sk_test_ rk_live_ SG. hf_ r8_ npm_ pypi- dop_v1_ doo_v1_ am_ sk_ tvly- exa_ gsk_ syt_ \
        retaindb_ hsk- mem0_ brv_ ntn_";
    let mut keys: Vec<_> = ten
        .split_whitespace()
        .map(|p| (p, format!("{p}aB3456789x")))
        .collect();
    keys.extend(
        ["AIza", "xai-", "fw-", "fw_", "fpk_"].map(|p| (p, format!("{p}{}", "k3Y".repeat(10)))),
    );
    keys.push(("gAAAA", format!("gAAAA{}==", "Bx9".repeat(7))));
    keys.push(("AKIA", "AKIAIOSFODNN7EXAMPLE".to_owned()));
    keys.push(("xapp-", "xapp-1-A0123456789-98765-abcdef".to_owned()));
    keys
}

#[test]
fn every_prefix_is_masked_wherever_it_stands() {
    for (prefix, key) in keys() {
        let mask = mask_token(&key);
        for (before, after) in [
            ("", ""),
            ("got ", " back"),
            ("\"", "\","),
            ("(", ")"),
            ("é", "…"),
            ("a=", "\n"),
        ] {
            let text = format!("{before}{key}{after}");
            assert_eq!(ON.code(&text), format!("{before}{mask}{after}"));
            assert_eq!(
                ON.file_read(&text),
                format!("{before}«redacted:{prefix}…»{after}")
            );
        }
        assert_eq!(ON.code(&format!("{key} {key}")), format!("{mask} {mask}"));
    }
}

#[test]
fn a_prefix_inside_a_word_or_before_too_little_stays() {
    for (prefix, key) in keys() {
        for text in [
            format!("x{key}"),
            format!("_{key}"),
            format!("-{key}"),
            format!("{prefix}abc"),
            prefix.into(),
        ] {
            assert_eq!(ON.code(&text), text);
        }
    }
    check_untouched(
        r#"
task-force-one-two-three
mask-abcdefghijklmn
sk_bulk_insert
sk_bulk_insert_many_rows()
am_abcdefghijklmn exa_somethinglong
npm_config_registry_url
ghp_abcdefghijklmnop_1
AKIAIOSFODNN7EXAMPLEX AKIAiosfodnn7example
fc-cache team_abcdefghij param_abcdefghij1
xai-shorterthanthirty0123
"#,
    );
}

#[test]
fn keys_with_several_parts_are_masked_whole() {
    check(
        Redactor::code,
        r#"
SG.abcdefghijklmnopqrstuv.abcdefghijklmnopqrstuvwxyzABCDEFG. ⇒ SG.abc...DEFG.
tvly-dev-abcdefghijklmnop ⇒ tvly-d...mnop
syt_YWxpY2U_abcdefghijklmnopqrst_1abcde ⇒ syt_YW...bcde
sk-ant-api03-abc_def-ghijklmnop ⇒ sk-ant...mnop
github_pat_11ABC_defghijklmnop ⇒ github...mnop
sk_live_abcdefghijklmnop ⇒ sk_liv...mnop
sk_live_abcdefghij_x1 ⇒ sk_liv...j_x1
ghp_abcdefghijklmnop1234 ⇒ ghp_ab...1234
ghp_abcdefghij ⇒ ***
"#,
    );
}

#[test]
fn assignments() {
    check(
        Redactor::apply,
        r#"
MY_SERVICE_TOKEN=abc123randomstringthatislong ⇒ MY_SERVICE_TOKEN=abc123...long
export API_KEY=short ⇒ export API_KEY=***
OPENAI_APIKEY=short ⇒ OPENAI_APIKEY=***
X_SECRET = foo ⇒ X_SECRET = ***
DB_PASSWORD='hunter2' next ⇒ DB_PASSWORD='***' next
DB_PASSWORD="correct horse battery" ⇒ DB_PASSWORD="correc...tery"
DB_PASSWD="unclosed ⇒ DB_PASSWD=***
AWS_CREDENTIAL=abc PATH=/bin ⇒ AWS_CREDENTIAL=*** PATH=/bin
BASIC_AUTH=u:p ⇒ BASIC_AUTH=***
TOKEN=123456 ⇒ TOKEN=***
API_KEY_2=123456 ⇒ API_KEY_2=***
OPENAI_API_KEY=sk-proj-abcdefghijklmnop ⇒ OPENAI_API_KEY=sk-pro...mnop
{"cmd":"API_KEY=abc"} ⇒ {"cmd":"API_KEY=***"}
(TOKEN=abc) ⇒ (TOKEN=***)
TOKEN=␤HOME=/root ⇒ TOKEN=␤HOME=/root
TOKEN=${TOKEN:-hunter2} ⇒ TOKEN=***}
DB_PASSWORD=$ecret ⇒ DB_PASSWORD=***
"#,
    );
}

#[test]
fn configuration_lines() {
    check(
        Redactor::apply,
        r#"
password=hunter2 ⇒ password=***
export api_key=abc ⇒ export api_key=***
spring.datasource.password=hunter2 ⇒ spring.datasource.password=***
a: 1␤  client-secret: abc # dev␤b: 2 ⇒ a: 1␤  client-secret: *** # dev␤b: 2
- token: 'a b c' ⇒ - token: '***'
accessToken: abcdefghijklmnopqrstuvwxyz ⇒ accessToken: abcdef...wxyz
token: the one you got by mail ⇒ token: the one you got by mail
I have password=foo in mind ⇒ I have password=foo in mind
token://local ⇒ token://local
"#,
    );
}

#[test]
fn fields() {
    check(
        Redactor::apply,
        r#"
{"api_key": "abcdefghijklmnopqrstuvwxyz", "x": 1} ⇒ {"api_key": "abcdef...wxyz", "x": 1}
{"apiKey":"short","token_count":5} ⇒ {"apiKey":"***","token_count":5}
{"password" : "ab\"cd"} ⇒ {"password" : "***"}
{"Refresh_Token": "a", "bearer": "b"} ⇒ {"Refresh_Token": "***", "bearer": "***"}
{"secret_input":"a","key_material":"b"} ⇒ {"secret_input":"***","key_material":"***"}
{"args": "{\"token\": \"a\"}"} ⇒ {"args": "{\"token\": \"***\"}"}
{"OPENAI_API_KEY": "a"} ⇒ {"OPENAI_API_KEY": "***"}
{'password': 'hunter2'} ⇒ {'password': '***'}
{"nextPageToken": "abc"} ⇒ {"nextPageToken": "abc"}
{"apiKey": "os.getenv('X')"} ⇒ {"apiKey": "os.getenv('X')"}
{"token": "<your token>"} ⇒ {"token": "<your token>"}
"#,
    );
}

#[test]
fn code_keeps_its_constants_and_fixtures() {
    for text in [
        "MAX_TOKENS=4096",
        "API_KEY=test",
        r#"{"apiKey": "test"}"#,
        "password: hunter2",
        "if TOKEN == other:",
    ] {
        assert_eq!(ON.code(text), text);
        assert_eq!(ON.file_read(text), text);
    }
}

#[test]
fn settings_lookups_and_templates_stay() {
    check_untouched(
        r#"
MAX_TOKENS=4096
TOKEN_LIMIT=1_000.5
AUTH_TIMEOUT=30
USE_TOKEN=true SECRET=None
if TOKEN == "x":
TOKEN => 5
API_KEY=os.environ["X"]
API_KEY=os.getenv('X')
apiKey = process.env.API_KEY
API_KEY=process.env.X;
API_KEY=${X} API_KEY="$X" TOKEN=$(pass show x)
TOKEN={{ .Values.token }}
tokenizer: cl100k_base
max_tokens: 4096
error: token expired
"Authorization": f"Bearer {token}"
Authorization: `Bearer ${token}`
Authorization: Bearer $TOKEN
Authorization: Bearer <token>
Authorization: Bearer %s
postgresql://{user}:{password}@{host}/db
https://x.y/z?key=${KEY}
"#,
    );
}

#[test]
fn headers() {
    check(
        Redactor::code,
        r#"
Authorization: Bearer abcdefghijklmnopqrstuvwxyz ⇒ Authorization: Bearer abcdef...wxyz
proxy-authorization: Basic dXNlcjpwYXNzd29yZA== ⇒ proxy-authorization: Basic dXNlcj...ZA==
AUTHORIZATION:abc ⇒ AUTHORIZATION:***
Authorization: abc␤Host: x ⇒ Authorization: ***␤Host: x
curl -H "Authorization: token abc" h ⇒ curl -H "Authorization: token ***" h
{"Authorization": "Bearer abc"} ⇒ {"Authorization": "Bearer ***"}
{\"authorization\":\"Bearer abc\"} ⇒ {\"authorization\":\"Bearer ***\"}
Authorization: Bearer sk-abcdefghijklmnopq ⇒ Authorization: Bearer sk-abc...nopq
x-api-key: abcdefghijklmnopqrstuvwxyz ⇒ x-api-key: abcdef...wxyz
curl -H 'X-Goog-Api-Key: abc' h ⇒ curl -H 'X-Goog-Api-Key: ***' h
'x-auth-token': 'abc' ⇒ 'x-auth-token': '***'
curl -H 'apikey: abc' h ⇒ curl -H 'apikey: ***' h
apiKey: config.apiKey, ⇒ apiKey: config.apiKey,
"#,
    );
}

#[test]
fn urls_and_forms() {
    check(
        Redactor::code,
        r#"
postgres://user:pass@host/db ⇒ postgres://user:***@host/db
postgresql+psycopg2://u:p@ss@h:5432/d ⇒ postgresql+psycopg2://u:***@h:5432/d
mysql://u:pa/ss@h ⇒ mysql://u:***@h
mongodb+srv://u:p@h redis://:s@h:6379/0 ⇒ mongodb+srv://u:***@h redis://:***@h:6379/0
amqp://guest:guest@h// ⇒ amqp://guest:***@h//
"redis://h:6379","mail":"a@b" ⇒ "redis://h:6379","mail":"a@b"
https://user:pass@example.com/x ⇒ https://user:***@example.com/x
wss://u:p@h FTP://u:p@h ⇒ wss://u:***@h FTP://u:***@h
https://ghtoken1234@github.com/o/r ⇒ https://***@github.com/o/r
https://git@github.com/o/r ⇒ https://git@github.com/o/r
https://h/mail?q=somebody@example.com ⇒ https://h/mail?q=somebody@example.com
https://x.y/cb?code=abc&state=xyz ⇒ https://x.y/cb?code=***&state=xyz
"https://x.y/?a=1&Token=abc#top" ⇒ "https://x.y/?a=1&Token=***#top"
https://s3/x?X-Amz-Signature=ab&x=1 ⇒ https://s3/x?X-Amz-Signature=***&x=1
"POST /hook?password=abc HTTP/1.1" ⇒ "POST /hook?password=*** HTTP/1.1"
https://x.y/?token_count=5&monkey=1 ⇒ https://x.y/?token_count=5&monkey=1
grant_type=x&refresh_token=abc&a=1 ⇒ grant_type=x&refresh_token=***&a=1
client_secret=abc&a=1␤ ⇒ client_secret=***&a=1␤
see token=abc&a=1 there ⇒ see token=abc&a=1 there
"#,
    );
}

#[test]
fn tokens_keys_and_people() {
    check(
        Redactor::code,
        r#"
bot123456789:AAEabcdefghijklmnopqrstuvwxyz012 ⇒ bot123456789:***
12345678:AAEabcdefghijklmnopqrstuvwxyz012! ⇒ 12345678:***!
1234567:AAEabcdefghijklmnopqrstuvwxyz012 ⇒ 1234567:AAEabcdefghijklmnopqrstuvwxyz012
eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c ⇒ eyJhbG...sw5c
eyJhbGciOiJIUzI1NiJ9. ⇒ eyJhbG...NiJ9.
a␤-----BEGIN RSA PRIVATE KEY-----␤MIIE␤+/=␤-----END RSA PRIVATE KEY-----␤b ⇒ a␤[REDACTED PRIVATE KEY]␤b
-----BEGIN PRIVATE KEY-----␤MIIEvQIBADANBgkqhkiG9w0B␤AQEFAASCBKcwggSjAgEAAoIB ⇒ [REDACTED PRIVATE KEY]
the line -----BEGIN PRIVATE KEY----- starts it ⇒ the line -----BEGIN PRIVATE KEY----- starts it
<@123456789012345678> and <@!123456789012345678> ⇒ <@***> and <@!***>
<@everyone> <@1234> ⇒ <@everyone> <@1234>
call +4915112345678, or +1234567. ⇒ call +491****5678, or +1****67.
1+4915112345678 +491511234567890123 +1234567a +0123456789 ⇒ 1+4915112345678 +491511234567890123 +1234567a +0123456789
"#,
    );
}

#[test]
fn file_reads_show_sentinels_that_can_be_found_again() {
    check(
        Redactor::file_read,
        r#"
token = "ghp_abcdefghijklmnop1234" ⇒ token = "«redacted:ghp_…»"
Authorization: Bearer ghp_abcdefghijklmnop1234 ⇒ Authorization: Bearer «redacted:ghp_…»
Authorization: Bearer abcdefghijklmnopqrstuvwxyz ⇒ Authorization: Bearer «redacted-secret»
postgres://u:p@h ⇒ postgres://u:«redacted-secret»@h
"#,
    );
    for (text, expected) in [
        ("key: «redacted:ghp_…»", true),
        ("key: «redacted-secret»", true),
        ("«redacted:» is what we write", false),
        ("sk-abc...wxyz", false),
        ("", false),
    ] {
        assert_eq!(contains_sentinel(text), expected, "{text}");
    }
    let text =
        "«redacted:sk-…» A_KEY=*** ghp_ab...1234 [REDACTED PRIVATE KEY] please...stop and...";
    let found: Vec<_> = marks(text).collect();
    assert_eq!(
        found,
        [
            "«redacted:sk-…»",
            "A_KEY=***",
            "ghp_ab...1234",
            "[REDACTED PRIVATE KEY]"
        ]
    );
}

#[test]
fn the_switch_turns_all_off_but_force() {
    let off = Redactor::new(Switch::Off);
    let text = "TOKEN=abc ghp_abcdefghijklmnop1234";
    assert_eq!(off.apply(text), text);
    assert_eq!(off.code(text), text);
    assert_eq!(off.file_read(text), text);
    assert_eq!(off.force(text), "TOKEN=*** ghp_ab...1234");
}

#[test]
fn masks_show_little() {
    let cases = [
        ("", "***", "***"),
        ("elevenchars", "***", "***"),
        ("twelve chars", "***", "twel...hars"),
    ];
    for (secret, token, display) in cases {
        assert_eq!(
            (mask_token(secret).as_str(), mask_display(secret).as_str()),
            (token, display)
        );
    }
    assert_eq!(
        (mask_token(OPAQUE), mask_display(OPAQUE)),
        ("abcdef...wxyz".into(), "abcd...wxyz".into())
    );
    assert_eq!(mask_token(&"ä".repeat(18)), "ääääää...ääää");
    assert_eq!(mask_token(&"ä".repeat(17)), "***");
}

#[test]
fn names_of_secrets() {
    for name in [
        "token",
        "api_key",
        "OPENAI_API_KEY",
        "accessToken",
        "password2",
        "DB_PASSWD",
        "client.secret",
    ] {
        assert!(is_secret_name(name), "{name}");
    }
    for name in [
        "",
        "key",
        "max_tokens",
        "tokenizer",
        "author",
        "secret_count",
        "session",
    ] {
        assert!(!is_secret_name(name), "{name}");
    }
}
