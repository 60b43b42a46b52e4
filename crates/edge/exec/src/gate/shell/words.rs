//! Single words.

/// Unquoted braces and commas while a word is put together: they may still expand.
pub(super) const OPEN: char = '\u{e000}';
pub(super) const COMMA: char = '\u{e001}';
pub(super) const CLOSE: char = '\u{e002}';
/// Words one brace expression may become.
const MAX_EXPANSION: usize = 256;

/// `NAME=value`
pub(in crate::gate) fn assignment(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let named = name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
        && name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic());
    named.then_some((name, value))
}

/// What `echo x` or `printf x` prints, if that is clear.
pub(super) fn printed(words: &[String]) -> Option<String> {
    let (program, args) = words.split_first()?;
    let args: Vec<&str> = args
        .iter()
        .map(String::as_str)
        .filter(|arg| !matches!(*arg, "-n" | "-e" | "-ne" | "-en" | "--"))
        .collect();
    match (program.as_str(), args.as_slice()) {
        ("echo", args) => Some(args.join(" ")),
        ("printf", ["%s", text] | [text]) => Some((*text).to_owned()),
        _ => None,
    }
}

/// `a{b,c}` is two words. Braces in braces are taken from the inside out.
pub(super) fn expand_braces(word: &str) -> Vec<String> {
    let mut words = vec![word.to_owned()];
    while words.len() < MAX_EXPANSION {
        let Some(index) = words.iter().position(|word| expression(word).is_some()) else {
            break;
        };
        let word = words.remove(index);
        let Some((open, close)) = expression(&word) else {
            break;
        };
        let (before, after) = (&word[..open], &word[close + CLOSE.len_utf8()..]);
        let expanded: Vec<String> = word[open + OPEN.len_utf8()..close]
            .split(COMMA)
            .map(|choice| format!("{before}{choice}{after}"))
            .collect();
        words.splice(index..index, expanded);
    }
    words.iter().map(|word| plain(word)).collect()
}

/// The innermost braces with a comma in them.
fn expression(word: &str) -> Option<(usize, usize)> {
    word.match_indices(CLOSE).find_map(|(close, _)| {
        let open = word[..close].rfind(OPEN)?;
        word[open..close].contains(COMMA).then_some((open, close))
    })
}

pub(super) fn plain(word: &str) -> String {
    word.replace(OPEN, "{")
        .replace(COMMA, ",")
        .replace(CLOSE, "}")
}
