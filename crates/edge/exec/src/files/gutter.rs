//! Lines as the model reads them: without secrets, each with its number.

use hermes_home::redact::Redactor;

const KEY_BEGINS: &str = "-----BEGIN ";
const KEY_ENDS: &str = "-----END ";

/// `<n>|<text>` for each line, `first` being the number of the first.
pub(super) fn numbered(lines: &[String], first: usize, redactor: &Redactor) -> String {
    let text = lines.join("\n");
    let clean = redactor.file_read(&text);
    let same_lines = clean.matches('\n').count() == text.matches('\n').count();
    let shown: Vec<(usize, String)> = if same_lines && !lines.is_empty() {
        clean.split('\n').map(str::to_owned).enumerate().collect()
    } else {
        in_blocks(lines, redactor)
    };
    let rows = shown
        .iter()
        .map(|(index, line)| format!("{}|{line}", first + index));
    rows.collect::<Vec<_>>().join("\n")
}

/// A private key is one secret over many lines: it is shown as one line, and the next keeps its number.
fn in_blocks(lines: &[String], redactor: &Redactor) -> Vec<(usize, String)> {
    let mut shown = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let block = if lines[at].contains(KEY_BEGINS) {
            let end = lines[at..]
                .iter()
                .position(|line| line.contains(KEY_ENDS))
                .map_or(lines.len(), |end| at + end + 1);
            at..end
        } else {
            at..at + 1
        };
        let text = lines[block.clone()].join("\n");
        shown.extend(
            redactor
                .file_read(&text)
                .split('\n')
                .map(str::to_owned)
                .enumerate()
                .map(|(index, line)| (at + index, line)),
        );
        at = block.end;
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, first: usize, expected: &str) {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        assert_eq!(numbered(&lines, first, &Redactor::default()), expected);
    }

    #[test]
    fn lines_keep_their_numbers() {
        check("", 1, "");
        check("a\n\nb", 9, "9|a\n10|\n11|b");
        check(
            "MAX_TOKENS=4096\nkey = ghp_abcdefghijklmnop1234",
            1,
            "1|MAX_TOKENS=4096\n2|key = «redacted:ghp_…»",
        );
    }

    #[test]
    fn a_private_key_is_one_line_and_the_next_keeps_its_number() {
        let body = "MIIEowIBAAKCAQEA1234567890abcdef\n".repeat(3);
        let whole =
            format!("a\n-----BEGIN RSA PRIVATE KEY-----\n{body}-----END RSA PRIVATE KEY-----\nb");
        check(&whole, 1, "1|a\n2|[REDACTED PRIVATE KEY]\n7|b");
        let cut = format!("a\n-----BEGIN PRIVATE KEY-----\n{body}");
        check(&cut, 1, "1|a\n2|[REDACTED PRIVATE KEY]");
    }
}
