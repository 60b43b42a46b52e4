//! What holds for any text and any key.

use hermes_home::redact::{Redactor, contains_sentinel, mask_token};
use proptest::prelude::*;

use super::{ON, keys};

/// Pieces of what rules look for, in any order.
fn suspicious() -> impl Strategy<Value = String> {
    let pieces = vec![
        "TOKEN=",
        "\"token\": \"",
        "Authorization: ",
        "Bearer ",
        "sk-",
        "ghp_abcdefghij",
        "eyJabcdefghijkl",
        "://",
        "u:p@",
        "postgres",
        "https",
        "-----BEGIN PRIVATE KEY-----",
        "12345678:",
        "+1234567",
        "é",
        "***",
        "...",
        "\"",
        "'",
        "&key=",
        "?",
        "=",
        "\n",
        " ",
        "abcdefghijklmnopqrst",
        "«redacted",
        "»",
        "<@1",
        "password: ",
        "\\",
    ];
    prop::collection::vec(prop::sample::select(pieces), 0..24).prop_map(|pieces| pieces.concat())
}

// Text that no rule touches, whatever stands beside it.
const HARMLESS: &str = "[a-z ,.;\n\t(é日]{0,40}";

proptest! {
    #[test]
    fn any_text_is_survived(text in prop_oneof![any::<String>(), suspicious()]) {
        ON.code(&text);
        ON.file_read(&text);
        ON.apply(&ON.apply(&text));
    }

    #[test]
    fn a_key_in_any_harmless_text_is_masked_once_and_for_all(
        which in 0..keys().len(), tail in "[A-Z0-9]{0,40}", before in HARMLESS, after in "([ ,;\n)é日][a-z ,;\né日]{0,40})?",
    ) {
        let (prefix, short) = keys().swap_remove(which);
        let key = if prefix == "AKIA" { short } else { format!("{}{tail}", short.trim_end_matches('=')) };
        let boundary = if before.ends_with(|c: char| c.is_ascii_alphanumeric()) { " " } else { "" };
        let text = format!("{before}{boundary}{key}{after}");
        let once = ON.apply(&text).into_owned();
        prop_assert_eq!(&once, &format!("{before}{boundary}{}{after}", mask_token(&key)));
        prop_assert_eq!(ON.apply(&once), once.as_str());
        prop_assert!(contains_sentinel(&ON.file_read(&text)));
    }

    #[test]
    fn masks_of_all_rules_are_left_alone(
        secret in "[a-z][a-zA-Z0-9]{20,40}", place in prop::sample::select(vec![
            "TOKEN=§ x", "TOKEN='§'", "password: §", "{\"api_key\": \"§\"}", "Authorization: Bearer §", "x-api-key: §",
            "postgres://u:§@h", "https://u:§@h", "https://§@h", "https://h/?token=§&a=1", "token=§&a=1",
            "12345678:§abcdefghijklmnopqrst", "eyJ§abcdefghij.§",
        ])
    ) {
        let text = place.replace('§', &secret);
        for run in [Redactor::apply, Redactor::force] {
            let once = run(&ON, &text).into_owned();
            prop_assert!(!once.contains(&secret), "{once}");
            prop_assert_eq!(run(&ON, &once), once.as_str());
        }
    }
}
