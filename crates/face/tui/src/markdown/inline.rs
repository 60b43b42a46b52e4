//! Text with its marks: what stands inside a paragraph, a heading or a cell.

use std::rc::Rc;

use pulldown_cmark::{Event, Tag, TagEnd};

/// Longer addresses are not said in full: they hold data, not a place.
const SAID: usize = 400;

pub(super) type Inline = Vec<Piece>;

pub(super) enum Piece {
    Text(Text),
    Break,
}

pub(super) struct Text {
    pub text: String,
    pub marks: Marks,
    /// Where it leads.
    pub leads: Option<Rc<str>>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Marks {
    pub strong: bool,
    pub emphasis: bool,
    pub strike: bool,
    pub code: bool,
    pub link: bool,
    /// Said beside the text: where a link leads.
    pub aside: bool,
}

/// Collects the events of one text.
#[derive(Default)]
pub(super) struct Writing {
    pub pieces: Inline,
    marks: Marks,
    /// Where the links lead that are open, and where their text begins.
    links: Vec<(String, usize)>,
}

impl Writing {
    pub fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Text(text) => self.text(&text, self.marks),
            Event::Code(text) => self.text(
                &text,
                Marks {
                    code: true,
                    ..self.marks
                },
            ),
            Event::SoftBreak | Event::HardBreak => self.pieces.push(Piece::Break),
            Event::InlineHtml(tag) | Event::Html(tag) => match is_break(&tag) {
                true => self.pieces.push(Piece::Break),
                false => self.text(&tag, self.marks),
            },
            Event::Start(tag) => self.start(tag),
            Event::End(end) => self.end(end),
            _ => {}
        }
    }

    fn text(&mut self, text: &str, marks: Marks) {
        // The parser cuts words where a sign could have meant something; addresses have many of those.
        if let Some(Piece::Text(last)) = self.pieces.last_mut()
            && last.marks == marks
            && !marks.link
        {
            return last.text.push_str(text);
        }
        self.pieces.push(Piece::Text(Text {
            text: text.to_owned(),
            marks,
            leads: None,
        }));
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Strong => self.marks.strong = true,
            Tag::Emphasis => self.marks.emphasis = true,
            Tag::Strikethrough => self.marks.strike = true,
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.marks.link = true;
                self.links.push((dest_url.to_string(), self.pieces.len()));
            }
            _ => {}
        }
    }

    fn end(&mut self, end: TagEnd) {
        match end {
            TagEnd::Strong => self.marks.strong = false,
            TagEnd::Emphasis => self.marks.emphasis = false,
            TagEnd::Strikethrough => self.marks.strike = false,
            TagEnd::Link | TagEnd::Image => {
                self.marks.link = false;
                if let Some((url, from)) = self.links.pop() {
                    self.leads_to(&url, from);
                }
            }
            _ => {}
        }
    }

    /// Says where a link leads, unless its text says so.
    fn leads_to(&mut self, url: &str, from: usize) {
        let (mut said, leads) = (String::new(), Rc::<str>::from(url));
        let from = from.min(self.pieces.len());
        for piece in &mut self.pieces[from..] {
            match piece {
                Piece::Text(text) => {
                    said.push_str(&text.text);
                    text.leads.get_or_insert_with(|| leads.clone());
                }
                Piece::Break => said.push(' '),
            }
        }
        let bare = url.strip_prefix("mailto:").unwrap_or(url);
        if !url.is_empty() && said != url && said != bare {
            let marks = Marks {
                aside: true,
                ..Marks::default()
            };
            self.pieces.push(Piece::Text(Text {
                text: format!(" ({})", short(url)),
                marks,
                leads: Some(leads),
            }));
        }
    }
}

fn short(url: &str) -> String {
    match url.char_indices().nth(SAID) {
        Some((end, _)) => format!("{}…", &url[..end]),
        None => url.to_owned(),
    }
}

/// Parts of a text, and which of them are addresses.
pub(super) fn addresses(text: &str) -> Vec<(&str, bool)> {
    let mut parts = Vec::new();
    let mut rest = text;
    let mut from = 0;
    while let Some(at) = rest[from..].find("http").map(|at| from + at) {
        // What stands inside a word is not looked at: a long one may have many of these.
        let inside = rest[..at].ends_with(|c: char| c.is_alphanumeric());
        let length = if inside { 0 } else { address(&rest[at..]) };
        if length == 0 {
            from = at + 4;
            continue;
        }
        parts.push((&rest[..at], false));
        parts.push((&rest[at..at + length], true));
        (rest, from) = (&rest[at + length..], 0);
    }
    parts.push((rest, false));
    parts.retain(|(part, _)| !part.is_empty());
    parts
}

/// Bytes of the address a text begins with; 0: it begins with none.
fn address(text: &str) -> usize {
    let scheme = ["https://", "http://"];
    let Some(scheme) = scheme.iter().find(|scheme| text.starts_with(**scheme)) else {
        return 0;
    };
    let ends = |c: char| c.is_whitespace() || c.is_control() || "<>\"`|".contains(c);
    let whole = &text[..text.find(ends).unwrap_or(text.len())];
    let mut kept = whole.trim_end_matches(['.', ',', ';', ':', '!', '?', '\'', '*', '_', '~', '…']);
    // A bracket that was opened before it is not part of it.
    for (open, close) in [('(', ')'), ('[', ']')] {
        let opened = kept.matches(open).count();
        let mut closed = kept.matches(close).count();
        while closed > opened && kept.ends_with(close) {
            kept = &kept[..kept.len() - close.len_utf8()];
            closed -= 1;
        }
    }
    match kept.len() > scheme.len() {
        true => kept.len(),
        false => 0,
    }
}

fn is_break(tag: &str) -> bool {
    let name = tag.trim_matches(['<', '>', '/', ' ']);
    name.eq_ignore_ascii_case("br")
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn addresses_are_found_in_a_text() {
        let check = |text: &str, expected: &[&str]| {
            let parts = addresses(text);
            let whole: String = parts.iter().map(|(part, _)| *part).collect();
            assert_eq!(whole, text);
            let found: Vec<_> = parts
                .iter()
                .filter(|(_, is)| *is)
                .map(|(part, _)| *part)
                .collect();
            assert_eq!(found, expected, "{text:?}");
        };
        check(
            "see https://a.example/b_c?d=e#f, or not",
            &["https://a.example/b_c?d=e#f"],
        );
        check("(https://a.example/x_(y))", &["https://a.example/x_(y)"]);
        check(
            "http://a.example. http://b.example",
            &["http://a.example", "http://b.example"],
        );
        check("http https:// xhttp://a.example httpd", &[]);
        check("漢http://a.example/漢字 字", &[]);
        check("", &[]);
        let brackets = format!("http://a.example/{}", ")".repeat(100_000));
        check(&brackets, &["http://a.example/"]);
        check(&"xhttp://a".repeat(20_000), &[]);
    }
}
