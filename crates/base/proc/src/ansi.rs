//! Removing what a program tells a terminal rather than a reader: colours, cursor movements, titles.

use std::borrow::Cow;
use std::iter::Peekable;
use std::str::Chars;

const ESC: char = '\u{1b}';
const BEL: char = '\u{7}';
const STRING_END: char = '\u{9c}';

/// The text without control sequences (ECMA-48). Works on characters, so that no UTF-8 is harmed.
pub fn strip_ansi(text: &str) -> Cow<'_, str> {
    let speaks_to_terminal = |c: char| c == ESC || ('\u{80}'..='\u{9f}').contains(&c);
    if !text.contains(speaks_to_terminal) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut ends = Ends::Perhaps;
    while let Some(c) = chars.next() {
        match c {
            ESC => escape(&mut chars, &mut ends),
            '\u{9b}' => control(&mut chars),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => string(&mut chars, &mut ends),
            '\u{80}'..='\u{9f}' => {}
            c => clean.push(c),
        }
    }
    Cow::Owned(clean)
}

/// Whether a string that begins here can have an end.
#[derive(PartialEq)]
enum Ends {
    Perhaps,
    /// One before had none, so there is none in the rest.
    Never,
}

fn escape(chars: &mut Peekable<Chars<'_>>, ends: &mut Ends) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            control(chars);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            chars.next();
            string(chars, ends);
        }
        Some(' '..='/') => {
            while chars.next_if(|c| (' '..='/').contains(c)).is_some() {}
            chars.next_if(|c| ('0'..='~').contains(c));
        }
        Some('0'..='~') => drop(chars.next()),
        _ => {}
    }
}

/// Parameters, intermediates, one final character.
fn control(chars: &mut Peekable<Chars<'_>>) {
    while chars.next_if(|c| ('0'..='?').contains(c)).is_some() {}
    while chars.next_if(|c| (' '..='/').contains(c)).is_some() {}
    chars.next_if(|c| ('@'..='~').contains(c));
}

/// Up to its end. One that never ends is only its beginning, or it would take all the output with it.
fn string(chars: &mut Peekable<Chars<'_>>, ends: &mut Ends) {
    if *ends == Ends::Never {
        return;
    }
    let mut ahead = chars.clone();
    while let Some(c) = ahead.next() {
        let ended = match c {
            BEL | STRING_END => true,
            ESC => ahead.next_if_eq(&'\\').is_some(),
            _ => false,
        };
        if ended {
            *chars = ahead;
            return;
        }
    }
    *ends = Ends::Never;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_go_and_text_stays() {
        let check = |text: &str, expected: &str| {
            assert_eq!(strip_ansi(text), expected, "{text:?}");
        };
        check("plain äöü €\n", "plain äöü €\n");
        check("\x1b[1;31mred\x1b[0m", "red");
        check("\x1b[38:2::1:2:3mx\x1b[?25ly\x1b[2 qz", "xyz");
        check("\x1b]0;title\x07text", "text");
        check("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link");
        check("\x1bPq#0;2\x1b\\sixel\x1b_app\u{9c}!", "sixel!");
        check("\x1b(Bascii\x1b=keys\x1bMup\x1b7", "asciikeysup");
        check("\u{9b}31mred\u{9d}t\u{9c}x\u{85}y", "redxy");
        check("à\u{a0}ÿ", "à\u{a0}ÿ");
        check("cut\x1b", "cut");
        check("cut\x1b[", "cut");
        check(
            "\x1b]0;never ends\nbut this is output",
            "0;never ends\nbut this is output",
        );
        check("\x1b]a\x1b]b\x1b[1mc", "abc");
    }
}
