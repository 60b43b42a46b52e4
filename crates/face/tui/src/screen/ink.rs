//! A row as bytes for a terminal: as few changes of style as possible, nothing wider than the screen.

use ratatui::style::{Color, Modifier, Style};
use unicode_segmentation::UnicodeSegmentation;

use crate::Row;
use crate::look::{Link, Links};
use crate::text::grapheme_width;

const MODIFIERS: [(Modifier, &str); 9] = [
    (Modifier::BOLD, "1"),
    (Modifier::DIM, "2"),
    (Modifier::ITALIC, "3"),
    (Modifier::UNDERLINED, "4"),
    (Modifier::SLOW_BLINK, "5"),
    (Modifier::RAPID_BLINK, "6"),
    (Modifier::REVERSED, "7"),
    (Modifier::HIDDEN, "8"),
    (Modifier::CROSSED_OUT, "9"),
];

/// What draws `row` from the left edge on and blanks the rest of the line. It ends without any style. Colours of
/// underlines are left out: terminals that don't know them show something else instead.
pub(super) fn ink(row: &Row, columns: u16, links: &Links) -> String {
    let mut pen = Pen::default();
    let mut left = usize::from(columns);
    'row: for span in &row.spans {
        let style = row.style.patch(span.style);
        let link = links.of(style);
        for grapheme in span.content.graphemes(true) {
            debug_assert!(is_printable(grapheme), "a control character in {row:?}");
            let shown = if is_printable(grapheme) {
                grapheme
            } else {
                "\u{fffd}"
            };
            let wide = grapheme_width(shown);
            if wide > left {
                break 'row;
            }
            left -= wide;
            pen.lead(link.as_ref());
            pen.change(style);
            pen.bytes.push_str(shown);
        }
    }
    pen.lead(None);
    pen.change(Style::new());
    if left > 0 {
        // Behind a full line this would take its last character away.
        pen.bytes.push_str("\x1b[K");
    }
    pen.bytes
}

fn is_printable(grapheme: &str) -> bool {
    !grapheme.contains(char::is_control)
}

#[derive(Default)]
struct Pen {
    bytes: String,
    now: Look,
    /// The number of the link that is open.
    link: Option<u32>,
}

/// What of a style reaches the terminal.
#[derive(Clone, Copy, Default, PartialEq)]
struct Look {
    front: Option<Color>,
    back: Option<Color>,
    modifier: Modifier,
}

impl Pen {
    /// Opens and closes links. The number tells the terminal which parts of several rows are one.
    fn lead(&mut self, link: Option<&Link>) {
        let next = link.map(|link| link.number);
        if next == self.link {
            return;
        }
        self.link = next;
        let opening = match link {
            Some(Link { number, address }) => format!("\x1b]8;id=h{number};{address}\x1b\\"),
            None => "\x1b]8;;\x1b\\".to_owned(),
        };
        self.bytes.push_str(&opening);
    }

    fn change(&mut self, style: Style) {
        let color = |color: Option<Color>| color.filter(|color| *color != Color::Reset);
        let next = Look {
            front: color(style.fg),
            back: color(style.bg),
            modifier: style.add_modifier,
        };
        if next == self.now {
            return;
        }
        if next == Look::default() {
            self.bytes.push_str("\x1b[m");
        } else {
            let codes = codes(self.now, next).join(";");
            self.bytes.push_str(&format!("\x1b[{codes}m"));
        }
        self.now = next;
    }
}

fn codes(mut now: Look, next: Look) -> Vec<String> {
    let mut codes = Vec::new();
    if !next.modifier.contains(now.modifier) {
        // Bold and faint share the code that ends them; beginning anew is always right.
        codes.push("0".to_owned());
        now = Look::default();
    }
    let added = next.modifier - now.modifier;
    let added = MODIFIERS.iter().filter(|(one, _)| added.contains(*one));
    codes.extend(added.map(|(_, code)| (*code).to_owned()));
    if next.front != now.front {
        codes.push(color_code(next.front, 30));
    }
    if next.back != now.back {
        codes.push(color_code(next.back, 40));
    }
    codes
}

/// `base` is 30 for letters and 40 for what is behind them.
fn color_code(color: Option<Color>, base: u8) -> String {
    let plain = match color {
        None | Some(Color::Reset) => 9,
        Some(Color::Black) => 0,
        Some(Color::Red) => 1,
        Some(Color::Green) => 2,
        Some(Color::Yellow) => 3,
        Some(Color::Blue) => 4,
        Some(Color::Magenta) => 5,
        Some(Color::Cyan) => 6,
        Some(Color::Gray) => 7,
        Some(Color::DarkGray) => 60,
        Some(Color::LightRed) => 61,
        Some(Color::LightGreen) => 62,
        Some(Color::LightYellow) => 63,
        Some(Color::LightBlue) => 64,
        Some(Color::LightMagenta) => 65,
        Some(Color::LightCyan) => 66,
        Some(Color::White) => 67,
        Some(Color::Indexed(index)) => return format!("{};5;{index}", base + 8),
        Some(Color::Rgb(r, g, b)) => return format!("{};2;{r};{g};{b}", base + 8),
    };
    (base + plain).to_string()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use ratatui::style::Stylize;
    use ratatui::text::Span;

    use super::*;

    #[test]
    fn styles_change_only_where_they_differ() {
        let check = |spans: Vec<Span<'static>>, expected: &str| {
            assert_eq!(ink(&Row::from(spans), 10, &Links::default()), expected);
        };
        check(vec!["a".into(), "b".into()], "ab\x1b[K");
        check(
            vec!["a".bold(), "b".bold(), "c".into()],
            "\x1b[1mab\x1b[mc\x1b[K",
        );
        check(
            vec!["a".red(), "b".red().bold(), "c".blue()],
            "\x1b[31ma\x1b[1mb\x1b[0;34mc\x1b[m\x1b[K",
        );
        check(
            vec!["a".red().on_black(), "b".on_black()],
            "\x1b[31;40ma\x1b[39mb\x1b[m\x1b[K",
        );
        check(
            vec![
                Span::from("a")
                    .fg(Color::Rgb(1, 2, 3))
                    .bg(Color::Indexed(9)),
            ],
            "\x1b[38;2;1;2;3;48;5;9ma\x1b[m\x1b[K",
        );
        check(
            vec!["a".white(), "b".fg(Color::Reset)],
            "\x1b[97ma\x1b[mb\x1b[K",
        );
    }

    #[test]
    fn the_style_of_a_row_is_under_those_of_its_spans() {
        let row = Row::from(vec!["a".into(), "b".not_bold()]).bold().red();
        assert_eq!(
            ink(&row, 3, &Links::default()),
            "\x1b[1;31ma\x1b[0;31mb\x1b[m\x1b[K"
        );
    }

    #[test]
    fn a_link_is_closed_where_its_text_ends() {
        let links = Links::default();
        let to = |address| links.mark(Style::new(), address);
        let row = Row::from(vec![
            Span::from("a"),
            Span::styled("bc", to("https://x.example/\x1b\\\x07")),
            Span::styled("d", to("https://x.example/\\").bold()),
            Span::styled("e", to("javascript:x")),
        ]);
        let (open, close) = ("\x1b]8;id=h0;https://x.example/\\\x1b\\", "\x1b]8;;\x1b\\");
        assert_eq!(
            ink(&row, 9, &links),
            format!("a{open}bc\x1b[1md{close}\x1b[me\x1b[K")
        );
        // Cut within it.
        assert_eq!(ink(&row, 2, &links), format!("a{open}b{close}"));
        // For somebody who does not know it, it is text.
        assert_eq!(ink(&row, 9, &Links::default()), "abc\x1b[1md\x1b[me\x1b[K");
    }

    #[test]
    fn nothing_is_wider_than_the_screen() {
        let check = |text: &'static str, columns, expected: &str| {
            assert_eq!(ink(&Row::raw(text), columns, &Links::default()), expected);
        };
        check("abc", 3, "abc");
        check("abcd", 3, "abc");
        check("ab你", 3, "ab\x1b[K");
        check("a你", 3, "a你");
        check("a\u{301}b", 1, "a\u{301}");
    }

    #[test]
    fn control_characters_are_recognised() {
        for text in ["\x1b", "\n", "\r\n", "\t", "\u{9b}", "\x7f"] {
            assert!(!is_printable(text), "{text:?}");
        }
        assert!(is_printable("👩‍👩‍👧"));
    }

    #[test]
    #[cfg_attr(debug_assertions, should_panic(expected = "a control character"))]
    fn control_characters_are_refused() {
        let bytes = ink(&Row::raw("a\x1b[2Jb"), 10, &Links::default());
        assert_eq!(bytes, "a\u{fffd}[2Jb\x1b[K");
    }
}
