//! Single words.

/// Unquoted braces and commas while a word is put together: they may still expand.
pub(super) const OPEN: char = '\u{e000}';
pub(super) const COMMA: char = '\u{e001}';
pub(super) const CLOSE: char = '\u{e002}';
/// Between the elements of an array: they are words of their own even in quotes.
pub(super) const SEPARATOR: &str = "\u{e003}";
/// All of these; in a command itself they mean nothing.
pub(crate) const MARKS: std::ops::RangeInclusive<char> = '\u{e000}'..='\u{e003}';

/// Words one brace expression may become.
const MAX_WORDS: usize = 256;
/// A longer word with braces is no list somebody wrote.
const MAX_LENGTH: usize = 4096;

/// `NAME=value`
pub(crate) fn assignment(word: &str) -> Option<(&str, &str)> {
    // Byte by byte: it is asked of every word, and most are none from the first or second letter on.
    let letter = |byte: &u8| *byte == b'_' || byte.is_ascii_alphanumeric();
    let end = word.bytes().position(|byte| !letter(&byte))?;
    let (name, rest) = word.split_at(end);
    let value = rest.strip_prefix('+').unwrap_or(rest).strip_prefix('=')?;
    let named = name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic());
    named.then_some((name, value))
}

/// What `echo x` or `printf x` prints, if that is clear.
pub(crate) fn printed(words: &[String]) -> Option<String> {
    let (program, args) = words.split_first()?;
    match program.as_str() {
        "echo" => {
            let options = args
                .iter()
                .take_while(|arg| matches!(arg.as_str(), "-n" | "-e" | "-ne" | "-en" | "-E"))
                .count();
            let text = args[options..].join(" ");
            let escapes = args[..options].iter().any(|option| option.contains('e'));
            Some(if escapes { unescaped(&text) } else { text })
        }
        "printf" => {
            let args = match args {
                [dashes, rest @ ..] if dashes == "--" => rest,
                args => args,
            };
            let (format, values) = args.split_first()?;
            formatted(&unescaped(format), values)
        }
        _ => None,
    }
}

/// Only `%s` and `%b`; the format is used again as long as there are values.
fn formatted(format: &str, values: &[String]) -> Option<String> {
    let mut values = values.iter();
    let mut text = String::new();
    loop {
        let mut pieces = format.split('%');
        text += pieces.next().unwrap_or_default();
        let mut used = false;
        for piece in pieces {
            let rest = piece.strip_prefix(['s', 'b'])?;
            used = true;
            text += values.next().map_or("", String::as_str);
            text += rest;
        }
        if !used || values.len() == 0 || text.len() > MAX_LENGTH {
            return Some(text);
        }
    }
}

/// `\x72`, `\162`, `\n` as `echo -e` and `printf` read them.
fn unescaped(text: &str) -> String {
    let mut chars = text.chars().peekable();
    let mut out = String::new();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let (radix, digits) = match chars.peek() {
            Some('x') => {
                chars.next();
                (16, 2)
            }
            Some('0'..='7') => (8, 4),
            Some('n') => {
                chars.next();
                out.push('\n');
                continue;
            }
            _ => {
                out.push('\\');
                continue;
            }
        };
        let mut code = 0;
        for _ in 0..digits {
            let Some(digit) = chars.peek().and_then(|c| c.to_digit(radix)) else {
                break;
            };
            code = code * radix + digit;
            chars.next();
        }
        out.extend(char::from_u32(code));
    }
    out
}

pub(super) enum Expansion {
    /// There is nothing to expand.
    None,
    Words(Vec<String>),
    /// The first ones.
    TooMany(Vec<String>),
}

/// `a{b,c}` is two words. Braces in braces are taken from the inside out.
pub(super) fn expand(word: &str) -> Expansion {
    if word.is_ascii() || !word.contains([OPEN, COMMA, CLOSE]) {
        return Expansion::None;
    }
    if !word.contains(OPEN) || !word.contains(COMMA) {
        return Expansion::Words(vec![plain(word)]);
    }
    if word.len() > MAX_LENGTH {
        return Expansion::TooMany(vec![plain(word)]);
    }
    let mut waiting = vec![word.to_owned()];
    let mut words = Vec::new();
    while let Some(word) = waiting.pop() {
        if words.len() + waiting.len() >= MAX_WORDS {
            words.push(plain(&word));
            return Expansion::TooMany(words);
        }
        let Some((open, close)) = expression(&word) else {
            words.push(plain(&word));
            continue;
        };
        let (before, after) = (&word[..open], &word[close + CLOSE.len_utf8()..]);
        let choices = word[open + OPEN.len_utf8()..close].split(COMMA).rev();
        waiting.extend(choices.map(|choice| format!("{before}{choice}{after}")));
    }
    Expansion::Words(words)
}

/// Any of these, for [`expand`].
pub(super) fn alternatives(values: &[String]) -> String {
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    match values.as_slice() {
        [one] => (*one).to_owned(),
        many => format!("{OPEN}{}{CLOSE}", many.join(&COMMA.to_string())),
    }
}

/// The innermost braces with a comma in them.
fn expression(word: &str) -> Option<(usize, usize)> {
    let mut open = Vec::new();
    for (at, c) in word.char_indices() {
        match c {
            OPEN => open.push((at, false)),
            COMMA => {
                if let Some(innermost) = open.last_mut() {
                    innermost.1 = true;
                }
            }
            CLOSE => {
                if let Some((start, true)) = open.pop() {
                    return Some((start, at));
                }
            }
            _ => {}
        }
    }
    None
}

pub(super) fn plain(word: &str) -> String {
    let mut plain = word.to_owned();
    if !word.is_ascii() && word.contains(|c| MARKS.contains(&c)) {
        plain = word
            .replace(OPEN, "{")
            .replace(COMMA, ",")
            .replace(CLOSE, "}")
            .replace(SEPARATOR, " ");
    }
    plain
}
