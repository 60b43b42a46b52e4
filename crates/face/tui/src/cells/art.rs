//! Pictures made of letters, with colours written as `[bold #hex]…[/]`.

use ratatui::style::Style;
use ratatui::text::Span;

use crate::Row;
use crate::look::{Look, Rgb, Role};
use crate::text::{harmless, width};

/// The name in large letters.
const LOGO: &str = "\
╦ ╦ ╔═╗ ╦═╗ ╔╦╗ ╔═╗ ╔═╗
╠═╣ ║╣  ╠╦╝ ║║║ ║╣  ╚═╗
╩ ╩ ╚═╝ ╩╚═ ╩ ╩ ╚═╝ ╚═╝";

/// The skin's name in large letters, or the usual one.
pub(super) fn logo(look: &Look, columns: usize) -> Vec<Row> {
    let own = &look.skin().banner_logo;
    let art = if own.is_empty() { LOGO } else { own };
    rows(art, look, columns)
}

/// A picture; nothing where it doesn't fit.
pub(super) fn rows(art: &str, look: &Look, columns: usize) -> Vec<Row> {
    let lines = art.trim_matches('\n').lines();
    let rows: Vec<_> = lines.map(|line| row(line, look)).collect();
    let fits = |row: &Row| width(&row.to_string()) <= columns;
    match rows.iter().all(fits) {
        true => rows,
        false => Vec::new(),
    }
}

fn row(line: &str, look: &Look) -> Row {
    let usual = look.style(Role::Title);
    let mut style = usual;
    let mut spans = Vec::new();
    let mut rest = line;
    while let Some((text, tagged)) = rest.split_once('[') {
        let Some((tag, after)) = tagged.split_once(']') else {
            break;
        };
        let Some(next) = meaning(tag, usual, look) else {
            spans.push(Span::styled(harmless(&format!("{text}[")), style));
            rest = tagged;
            continue;
        };
        spans.push(Span::styled(harmless(text), style));
        style = next;
        rest = after;
    }
    spans.push(Span::styled(harmless(rest), style));
    spans.retain(|span| !span.content.is_empty());
    Row::from(spans)
}

/// What a tag says; `None`: it is no tag but part of the picture.
fn meaning(tag: &str, usual: Style, look: &Look) -> Option<Style> {
    if tag.starts_with('/') {
        return Some(usual);
    }
    let known = |word: &str| word.starts_with('#') || matches!(word, "bold" | "dim" | "italic");
    if tag.is_empty() || !tag.split(' ').all(known) {
        return None;
    }
    let mut style = Style::new();
    if let Some(colour) = Rgb::parse(tag).and_then(|rgb| look.paint(rgb)) {
        style = style.fg(colour);
    }
    for word in tag.split(' ') {
        style = match word {
            "bold" => style.bold(),
            "dim" => style.dim(),
            "italic" => style.italic(),
            _ => style,
        };
    }
    Some(style)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::look::{Depth, Skin};

    #[test]
    fn pictures_have_colours() {
        let look = Look::new(Skin::default(), Depth::True);
        let check = |line: &str, expected: &[&str]| {
            let row = row(line, &look);
            let texts: Vec<_> = row.spans.iter().map(|span| span.content.as_ref()).collect();
            assert_eq!(texts, expected, "{line:?}");
        };
        check("a[bold #ff0000]b[/]c", &["a", "b", "c"]);
        check("a[b]c", &["a[", "b]c"]);
        check("[x", &["[x"]);
        check("\x1b[2J", &["\u{fffd}[2J"]);
    }
}
