//! Text with its marks: what stands inside a paragraph, a heading or a cell.

use pulldown_cmark::{Event, Tag, TagEnd};

pub(super) type Inline = Vec<Piece>;

pub(super) enum Piece {
    Text(String, Marks),
    Break,
}

#[derive(Clone, Copy, Default)]
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
        self.pieces.push(Piece::Text(text.to_owned(), marks));
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
        let text: String = self.pieces[from.min(self.pieces.len())..]
            .iter()
            .map(|piece| match piece {
                Piece::Text(text, _) => text.as_str(),
                Piece::Break => " ",
            })
            .collect();
        let bare = url.strip_prefix("mailto:").unwrap_or(url);
        if !url.is_empty() && text != url && text != bare {
            let aside = Marks {
                aside: true,
                ..Marks::default()
            };
            self.text(&format!(" ({url})"), aside);
        }
    }
}

fn is_break(tag: &str) -> bool {
    let name = tag.trim_matches(['<', '>', '/', ' ']);
    name.eq_ignore_ascii_case("br")
}
