//! What the word before the cursor is the beginning of.

/// A place where something can be completed. `typed` is always the end of the text before the cursor.
#[derive(Debug, PartialEq, Eq)]
pub enum Spot<'t> {
    /// `/na`, with its slash.
    Command(&'t str),
    /// What follows a command.
    Argument { command: &'t str, typed: &'t str },
    /// `@na`, `@file:na` or the beginning of a path.
    File(&'t str),
}

pub fn spot(before: &str) -> Option<Spot<'_>> {
    if let Some(typed) = reference(before) {
        return Some(Spot::File(typed));
    }
    match before.strip_prefix('/') {
        Some(line) if !line.contains('\n') => match line.split_once(' ') {
            None if !line.contains('/') => Some(Spot::Command(before)),
            Some((command, rest)) if !command.is_empty() && !command.contains('/') => {
                Some(Spot::Argument {
                    command,
                    typed: rest.trim_start(),
                })
            }
            _ => path(before).map(Spot::File),
        },
        _ => path(before).map(Spot::File),
    }
}

/// The beginning of a path at the end of the text.
pub fn path(before: &str) -> Option<&str> {
    let start = before.rfind(char::is_whitespace);
    let word = start.map_or(before, |at| before[at..].trim_start());
    let looks = word.contains('/') && !word.contains("://") && !word.starts_with("//");
    looks.then_some(word)
}

/// An `@` word at the end of the text, with blanks only inside of open quotes.
fn reference(before: &str) -> Option<&str> {
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = &before[line_start..];
    let starts = line.match_indices('@').map(|(at, _)| at);
    // The first that reaches the cursor: in `@file:"a @b` that is not the second one.
    starts
        .filter(|at| !line[..*at].ends_with(|c: char| c.is_alphanumeric() || "_/@".contains(c)))
        .map(|at| &line[at..])
        .find(|word| reaches_end(word))
}

fn reaches_end(word: &str) -> bool {
    let Some(blank) = word.find(char::is_whitespace) else {
        return true;
    };
    let Some((_, value)) = word[..blank].split_once(':') else {
        return false;
    };
    let quote = value.chars().next().filter(|c| "`\"'".contains(*c));
    quote.is_some_and(|quote| word.matches(quote).count() == 1)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn places() {
        let check = |before: &str, expected: Option<Spot<'_>>| {
            assert_eq!(spot(before), expected, "{before:?}");
        };
        let argument = |command, typed| Some(Spot::Argument { command, typed });
        check("", None);
        check("hello", None);
        check("/", Some(Spot::Command("/")));
        check("/re", Some(Spot::Command("/re")));
        check(" /re", Some(Spot::File("/re")));
        check("/usr/b", Some(Spot::File("/usr/b")));
        check("/model ", argument("model", ""));
        check("/resume  my ti", argument("resume", "my ti"));
        check("/bg look at @sr", Some(Spot::File("@sr")));
        check("/re\nx", None);
        check("see src/l", Some(Spot::File("src/l")));
        check("see ~/a and ./b", Some(Spot::File("./b")));
        check("see https://a.b/c", None);
        check("// comment", None);
        check("@", Some(Spot::File("@")));
        check("a (@file:x", Some(Spot::File("@file:x")));
        check("me@example", None);
        check("a/@b", Some(Spot::File("a/@b")));
        check("@done now", None);
        check("@file:\"a b", Some(Spot::File("@file:\"a b")));
        check("@file:\"a @b", Some(Spot::File("@file:\"a @b")));
        check("@file:\"a b\" c", None);
        check("one @a two @b", Some(Spot::File("@b")));
    }
}
