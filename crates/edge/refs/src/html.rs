//! From HTML to text a model can read: one pass, no tree, so that no page is too deep.

/// What is between these tags is not for readers.
const UNREAD: [&str; 7] = [
    "script", "style", "noscript", "template", "svg", "iframe", "textarea",
];

/// The text of a page: paragraphs apart, headings and list items marked.
pub(crate) fn text(html: &str) -> String {
    let lower = html.to_ascii_lowercase();
    let mut page = Page::default();
    let mut at = 0;
    while let Some(found) = html[at..].find('<') {
        page.say(&html[at..at + found]);
        at += found;
        at = match tag(&lower[at..]) {
            Some(Tag::Comment(length)) => at + length,
            Some(Tag::Element {
                name,
                is_end,
                length,
            }) => {
                page.element(name, is_end);
                at += length;
                match UNREAD.contains(&name) && !is_end {
                    true => at + closing(&lower[at..], name),
                    false => at,
                }
            }
            None => {
                page.say("<");
                at + 1
            }
        };
    }
    page.say(&html[at..]);
    page.finish()
}

enum Tag<'h> {
    Comment(usize),
    Element {
        name: &'h str,
        is_end: bool,
        length: usize,
    },
}

/// What a text that begins with `<` begins with.
fn tag(lower: &str) -> Option<Tag<'_>> {
    if let Some(rest) = lower.strip_prefix("<!--") {
        return Some(Tag::Comment(
            rest.find("-->").map_or(lower.len(), |end| end + 7),
        ));
    }
    let inner = &lower[1..];
    let is_end = inner.starts_with('/');
    let inner = inner.strip_prefix('/').unwrap_or(inner);
    if inner.starts_with(['!', '?']) {
        return Some(Tag::Comment(
            lower.find('>').map_or(lower.len(), |end| end + 1),
        ));
    }
    if !inner.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let end = inner.find(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    let name = &inner[..end.unwrap_or(inner.len())];
    Some(Tag::Element {
        name,
        is_end,
        length: tag_end(lower),
    })
}

/// Where a tag ends: `>` in a quoted attribute does not end it.
fn tag_end(lower: &str) -> usize {
    let mut quote = None;
    for (at, byte) in lower.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return at + 1,
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
    }
    // A quote nobody closes, perhaps; then the first `>` it is.
    lower.find('>').map_or(lower.len(), |end| end + 1)
}

/// How far it is to the end of an element whose content is not read.
fn closing(lower: &str, name: &str) -> usize {
    lower.find(&format!("</{name}")).unwrap_or(lower.len())
}

/// The text so far.
#[derive(Default)]
struct Page {
    text: String,
    /// Newlines owed before the next word.
    breaks: usize,
    /// What the next word begins with.
    mark: &'static str,
    space: bool,
    /// How many elements that keep spaces are open.
    verbatim: usize,
}

impl Page {
    fn say(&mut self, raw: &str) {
        let said = entities(raw);
        if self.verbatim > 0 {
            self.begin_word();
            self.text.push_str(&said);
            return;
        }
        for c in said.chars() {
            if c.is_whitespace() {
                self.space = true;
                continue;
            }
            self.begin_word();
            self.text.push(c);
        }
    }

    fn begin_word(&mut self) {
        if self.breaks > 0 {
            let kept = self.text.trim_end().len();
            self.text.truncate(kept);
            let breaks = if self.text.is_empty() { 0 } else { self.breaks };
            self.text.extend(std::iter::repeat_n('\n', breaks));
            self.text.push_str(self.mark);
        } else if self.space && !self.text.is_empty() {
            self.text.push(' ');
        }
        (self.breaks, self.space, self.mark) = (0, false, "");
    }

    fn element(&mut self, name: &str, is_end: bool) {
        let breaks = match name {
            "br" | "tr" | "li" | "dt" | "dd" | "option" => 1,
            "p" | "div" | "section" | "article" | "header" | "footer" | "main" | "nav"
            | "aside" | "ul" | "ol" | "dl" | "table" | "blockquote" | "pre" | "figure" | "form"
            | "hr" | "title" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => 2,
            "td" | "th" if is_end => {
                self.space = true;
                0
            }
            _ => 0,
        };
        // A paragraph that opens a list item stays on the line of its mark.
        if is_end || self.mark.is_empty() {
            self.breaks = self.breaks.max(breaks);
        }
        if name == "pre" {
            self.verbatim = match is_end {
                true => self.verbatim.saturating_sub(1),
                false => self.verbatim + 1,
            };
        }
        if breaks > 0 {
            self.mark = match (name, is_end) {
                ("title" | "h1", false) => "# ",
                ("h2", false) => "## ",
                ("h3", false) => "### ",
                ("h4" | "h5" | "h6", false) => "#### ",
                ("li", false) => "- ",
                ("blockquote", false) => "> ",
                (_, true) => "",
                (_, false) => self.mark,
            };
        }
    }

    fn finish(self) -> String {
        self.text.trim().to_owned()
    }
}

/// `&amp;` and `&#8212;` as they are meant.
fn entities(raw: &str) -> String {
    let mut said = String::new();
    let mut rest = raw;
    while let Some(at) = rest.find('&') {
        said.push_str(&rest[..at]);
        rest = &rest[at..];
        // None that we know is longer.
        let end = rest.bytes().take(12).position(|byte| byte == b';');
        match end.and_then(|end| Some((entity(&rest[1..end])?, end))) {
            Some((c, end)) => {
                said.push(c);
                rest = &rest[end + 1..];
            }
            None => {
                said.push('&');
                rest = &rest[1..];
            }
        }
    }
    said.push_str(rest);
    said
}

fn entity(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let number = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16),
            None => number.parse(),
        };
        return char::from_u32(number.ok()?).filter(|c| !c.is_control() || c.is_whitespace());
    }
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        "ndash" => '–',
        "mdash" => '—',
        "hellip" => '…',
        "bull" => '•',
        "middot" => '·',
        "copy" => '©',
        "reg" => '®',
        "trade" => '™',
        "deg" => '°',
        "euro" => '€',
        "pound" => '£',
        "times" => '×',
        "rarr" => '→',
        "larr" => '←',
        "laquo" => '«',
        "raquo" => '»',
        "lsquo" => '‘',
        "rsquo" => '’',
        "ldquo" => '“',
        "rdquo" => '”',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn pages_become_text() {
        let check = |html: &str, expected: &str| assert_eq!(text(html), expected, "{html}");
        check("plain", "plain");
        check("<p>one</p>\n<p>two  three</p>", "one\n\ntwo three");
        check("a<br>b<br/>c", "a\nb\nc");
        check("<h2>Head</h2>text", "## Head\n\ntext");
        check("<ul><li>a</li><li><p>b</p></li></ul>", "- a\n- b");
        check("<b>bold</b>er", "bolder");
        check("<script>if (a<b) {}</script>x<style>p{}</style>y", "xy");
        check("<!-- hidden -->x<!doctype html>y", "xy");
        check("<a title='1 > 0' href=x>link</a>", "link");
        check(
            "1 < 2 && 3 &gt; 2 &amp;lt; &#8212; &nope; &",
            "1 < 2 && 3 > 2 &lt; — &nope; &",
        );
        check("<pre>a\n  b</pre>c", "a\n  b\n\nc");
        check(
            "<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>",
            "a b\nc",
        );
        check("<title>T</title><body>界&nbsp;面", "# T\n\n界 面");
        check("<script>never closed", "");
        check("<p class=\"open", "");
    }

    #[test]
    fn depth_and_size_cost_no_more_than_their_length() {
        let deep = "<div>".repeat(200_000) + "x";
        assert_eq!(text(&deep), "x");
        assert_eq!(text(&"<".repeat(100_000)).len(), 100_000);
    }

    proptest! {
        #[test]
        fn nothing_panics(html in "([<>/!a-z&;#\"' 界-]|<p>|</p>|<script>|<!--|&amp;){0,80}") {
            let _ = text(&html);
        }
    }
}
