//! `A && B &` puts the whole list into a subshell that waits around for B. `A && { B & }` does not.

/// Rewrites every such list; anything else, and anything inside quotes, parentheses or braces, stays as it is.
pub(super) fn compound_background(command: &str) -> String {
    // A document's lines are no commands, and where one begins is not seen here.
    if command.contains("<<") {
        return command.to_owned();
    }
    let mut scan = Scan {
        chars: command.chars().collect(),
        out: String::with_capacity(command.len()),
        depth: 0,
        last: None,
        word_start: true,
    };
    let mut pos = 0;
    while pos < scan.chars.len() {
        pos += scan.step(pos);
    }
    scan.out
}

struct Scan {
    chars: Vec<char>,
    out: String,
    depth: usize,
    /// Where the last part of an `&&` or `||` list begins in `out`.
    last: Option<usize>,
    word_start: bool,
}

impl Scan {
    /// Handles what stands at `pos`; how many characters that were.
    fn step(&mut self, pos: usize) -> usize {
        let c = self.chars[pos];
        let next = self.chars.get(pos + 1).copied();
        let length = match c {
            '\\' => 2,
            '\'' | '"' | '`' => self.quoted(pos),
            '#' if self.word_start => self.until_newline(pos),
            '&' | '|' if next == Some(c) => 2,
            '&' | '>' | '<' if matches!(next, Some('&' | '>')) => 2,
            _ => 1,
        };
        let piece: String = self.chars[pos..(pos + length).min(self.chars.len())]
            .iter()
            .collect();
        self.word_start = c.is_whitespace() || ";&|(".contains(c);
        self.put(&piece);
        length
    }

    fn put(&mut self, piece: &str) {
        match piece {
            "(" | "{" => self.depth += 1,
            ")" | "}" => self.depth = self.depth.saturating_sub(1),
            "&" if self.depth == 0 => return self.background(),
            _ => {}
        }
        self.out.push_str(piece);
        if self.depth == 0 {
            match piece {
                "&&" | "||" => self.last = Some(self.out.len()),
                ";" | "\n" => self.last = None,
                _ => {}
            }
        }
    }

    fn background(&mut self) {
        let Some(start) = self.last.take() else {
            return self.out.push('&');
        };
        let part = self.out.split_off(start);
        self.out.push_str(" { ");
        self.out.push_str(part.trim());
        self.out.push_str(" & }");
    }

    fn quoted(&self, pos: usize) -> usize {
        let quote = self.chars[pos];
        let mut at = pos + 1;
        while let Some(c) = self.chars.get(at) {
            match c {
                '\\' if quote != '\'' => at += 1,
                c if *c == quote => break,
                _ => {}
            }
            at += 1;
        }
        at + 1 - pos
    }

    fn until_newline(&self, pos: usize) -> usize {
        let rest = &self.chars[pos..];
        rest.iter().position(|c| *c == '\n').unwrap_or(rest.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_part_goes_to_the_background() {
        let check = |command: &str, expected: &str| {
            assert_eq!(compound_background(command), expected);
            assert_eq!(compound_background(expected), expected, "a second time");
        };
        let same = |command: &str| check(command, command);
        check("cd x && npm start &", "cd x && { npm start & }");
        check("a || b & c", "a || { b & } c");
        check("a && b | c & d && e &", "a && { b | c & } d && { e & }");
        check("a && b &\nc", "a && { b & }\nc");
        same("sleep 5 &");
        same("a; b &");
        same("a && b");
        same("(a && b &)");
        same("{ a && b & }");
        same("a && b 2>&1");
        same("a && b &> log");
        same("echo 'a && b &'");
        same("echo \"a && b &\" && c");
        same("a && b # && c &");
        same("a && b \\&");
        same("cat <<E && b &\nx\nE");
    }
}
