//! Just enough Rust to measure it: strings and comments blanked out, then functions and test modules found by their braces.

/// A function's name, the line it begins on (from 1) and how many lines it spans.
#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    pub name: String,
    pub line: usize,
    pub lines: usize,
}

/// All functions with a body, nested ones too. `code` must be blanked.
pub fn functions(code: &str) -> Vec<Function> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        if code[..at].ends_with(is_word) {
            continue;
        }
        let name: String = code[at + 3..].chars().take_while(|c| is_word(*c)).collect();
        let Some(end) = body_end(&code[at..]) else {
            continue;
        };
        if !name.is_empty() {
            found.push(Function {
                name,
                line: line_at(code, at),
                lines: code[at..at + end].matches('\n').count() + 1,
            });
        }
    }
    found
}

/// How many lines are in `#[cfg(test)] mod name { … }` blocks. `code` must be blanked.
pub fn test_lines(code: &str) -> usize {
    test_blocks(code)
        .into_iter()
        .map(|(start, end)| code[start..end].matches('\n').count() + 1)
        .sum()
}

/// `code` with its test modules blanked, line numbers kept.
pub fn without_tests(code: &str) -> String {
    let mut kept = code.to_owned();
    for (start, end) in test_blocks(code) {
        let blank: String = code[start..end].chars().filter(|c| *c == '\n').collect();
        let padding = " ".repeat(end - start - blank.len());
        kept.replace_range(start..end, &(padding + &blank));
    }
    kept
}

fn test_blocks(code: &str) -> Vec<(usize, usize)> {
    const MARK: &str = "#[cfg(test)]";
    code.match_indices(MARK)
        .filter(|(at, _)| code[at + MARK.len()..].trim_start().starts_with("mod "))
        .filter_map(|(at, _)| Some((at, at + body_end(&code[at..])?)))
        .collect()
}

/// The line (from 1) of a byte offset.
pub fn line_at(text: &str, offset: usize) -> usize {
    text[..offset].matches('\n').count() + 1
}

/// Where the first `{…}` of this item ends; `None` if a `;` ends the item before any body.
fn body_end(item: &str) -> Option<usize> {
    let (mut braces, mut brackets) = (0usize, 0usize);
    for (at, c) in item.char_indices() {
        match c {
            '(' | '[' => brackets += 1,
            ')' | ']' => brackets = brackets.saturating_sub(1),
            ';' if braces == 0 && brackets == 0 => return None,
            // A brace inside brackets is a const expression such as `[u8; { N }]`.
            '{' if braces > 0 || brackets == 0 => braces += 1,
            '}' if braces == 1 => return Some(at + 1),
            '}' => braces = braces.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// The source with strings, chars and comments replaced by spaces; newlines stay, so line numbers do too.
pub fn blank(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        if let Some(length) = opaque(rest, out.ends_with(is_word)) {
            let hidden = rest[..length].chars();
            out.extend(hidden.map(|c| if c == '\n' { '\n' } else { ' ' }));
            rest = &rest[length..];
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    out
}

/// The length of the comment, string or char that `rest` begins with.
fn opaque(rest: &str, inside_word: bool) -> Option<usize> {
    if rest.starts_with("//") {
        Some(rest.find('\n').unwrap_or(rest.len()))
    } else if rest.starts_with("/*") {
        Some(block_comment(rest))
    } else if rest.starts_with('"') {
        Some(string(rest))
    } else if let Some(inside) = rest.strip_prefix('\'') {
        character(inside).map(|length| length + 1)
    } else if inside_word {
        None
    } else {
        raw_string(rest)
    }
}

fn block_comment(rest: &str) -> usize {
    let mut depth = 0usize;
    let mut at = 0;
    while at < rest.len() {
        match rest.as_bytes()[at..] {
            [b'/', b'*', ..] => depth += 1,
            [b'*', b'/', ..] if depth == 1 => return at + 2,
            [b'*', b'/', ..] => depth -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
    }
    rest.len()
}

fn string(rest: &str) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            '"' if !escaped => return at + 1,
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    rest.len()
}

/// `'a'`, `'\n'` and `'{'` are characters; `'a` alone is a lifetime.
fn character(inside: &str) -> Option<usize> {
    let mut chars = inside.char_indices();
    let (_, first) = chars.next()?;
    if first == '\\' {
        let (after, _) = chars.nth(1)?;
        return Some(after + inside[after..].find('\'')? + 1);
    }
    let (after, close) = chars.next()?;
    (close == '\'').then_some(after + 1)
}

/// `r"…"`, `r#"…"#`, and the same after `b` or `c`.
fn raw_string(rest: &str) -> Option<usize> {
    let quoted = rest.strip_prefix(['b', 'c']).unwrap_or(rest);
    let open = quoted.strip_prefix('r')?;
    let text = open.trim_start_matches('#');
    let close = format!("\"{}", &open[..open.len() - text.len()]);
    let text = text.strip_prefix('"')?;
    let end = text.find(&close).map_or(text.len(), |at| at + close.len());
    Some(rest.len() - text.len() + end)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, expected: &[(&str, usize, usize)]) {
        let found = functions(&blank(source));
        let found: Vec<_> = found
            .iter()
            .map(|f| (f.name.as_str(), f.line, f.lines))
            .collect();
        assert_eq!(found, expected, "{source}");
    }

    #[test]
    fn functions_end_at_their_own_brace() {
        check("fn a() {}", &[("a", 1, 1)]);
        check(
            "fn a() {\n  {\n  }\n}\nfn b() {}",
            &[("a", 1, 4), ("b", 5, 1)],
        );
        check("fn a() {\n fn b() {\n }\n}", &[("a", 1, 4), ("b", 2, 2)]);
        check("fn a<T>(x: T)\nwhere T: Fn(u8),\n{\n}", &[("a", 1, 4)]);
        check("fn a(x: [u8; { 1 }]) -> [u8; { 2 }] {\n}", &[("a", 1, 2)]);
    }

    #[test]
    fn what_only_looks_like_a_function_is_none() {
        check("trait T { fn a(&self); }\nstruct S(fn (u8));", &[]);
        check("// fn a() {\n/* fn b() { /* { */ } */", &[]);
        check("let x = \"fn a() { \\\" {\";", &[]);
        check("let x = r#\"fn a() {\" \"#; let y = br\"\\\";", &[]);
    }

    #[test]
    fn braces_in_text_do_not_count() {
        check("fn a() {\n '{'; '\\''; \"}\"; b'}'\n}\n", &[("a", 1, 3)]);
        check(
            "fn a<'x>(y: &'x str) {\n r##\"}\"#}\"##;\n}",
            &[("a", 1, 3)],
        );
        check("fn a() {\n let for_r = 1; // }\n}", &[("a", 1, 3)]);
        check("fn a() {\n '漢'; \"漢}\" }\n", &[("a", 1, 2)]);
    }

    #[test]
    fn test_modules_are_told_apart() {
        let code = "fn a() {}\n#[cfg(test)]\nmod tests {\n fn t() {}\n}\nfn b() {}\n";
        assert_eq!(test_lines(code), 4);
        let rest = without_tests(code);
        let found: Vec<_> = functions(&rest)
            .into_iter()
            .map(|f| (f.name, f.line))
            .collect();
        assert_eq!(found, [("a".to_owned(), 1), ("b".to_owned(), 6)]);
        assert_eq!(test_lines("#[cfg(test)]\nmod tests;\nfn a() {\n}"), 0);
    }
}
