//! Where links lead. A row has no place for addresses, so its style holds a number, in the one field that never
//! reaches a terminal: the colour of underlines. Whoever draws the row asks here what the number means.

use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ratatui::style::{Color, Style};

/// Longer addresses are no links; nobody types or reads them, and terminals drop them.
const LONGEST: usize = 2000;
/// Addresses that are remembered; older rows lose their links, not their text.
const MOST: usize = 4096;
/// Bytes of all of them.
const MOST_BYTES: usize = 512 * 1024;
/// What a terminal may be asked to open.
const SCHEMES: [&str; 4] = ["http://", "https://", "mailto:", "file://"];
/// Numbers that fit into a colour.
const NUMBERS: u32 = 1 << 24;

/// Clones know the same links.
#[derive(Clone, Debug, Default)]
pub struct Links(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    numbers: HashMap<Arc<str>, u32>,
    /// The oldest first.
    addresses: VecDeque<(u32, Arc<str>)>,
    next: u32,
    bytes: usize,
}

/// Where a piece of a row leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Pieces with the same number are one link, also where it is broken into rows.
    pub number: u32,
    /// Printable ASCII only.
    pub address: Arc<str>,
}

impl Links {
    /// `style` for text that leads to `address`; unchanged if that is nothing to be opened.
    pub fn mark(&self, style: Style, address: &str) -> Style {
        let Some(address) = clean(address) else {
            return style;
        };
        let number = self.known().number(address);
        let [_, r, g, b] = number.to_be_bytes();
        style.underline_color(Color::Rgb(r, g, b))
    }

    /// What [`mark`](Self::mark) has put into a style, as long as it is remembered.
    pub fn of(&self, style: Style) -> Option<Link> {
        let Some(Color::Rgb(r, g, b)) = style.underline_color else {
            return None;
        };
        let number = u32::from_be_bytes([0, r, g, b]);
        let address = self.known().address(number)?;
        Some(Link { number, address })
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // Nothing here is left half done by a panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn number(&mut self, address: String) -> u32 {
        if let Some(number) = self.numbers.get(address.as_str()) {
            return *number;
        }
        let (number, address) = (self.next, Arc::<str>::from(address));
        self.next = (self.next + 1) % NUMBERS;
        self.bytes += address.len();
        self.numbers.insert(address.clone(), number);
        self.addresses.push_back((number, address));
        while self.addresses.len() > MOST || self.bytes > MOST_BYTES {
            let Some((_, oldest)) = self.addresses.pop_front() else {
                break;
            };
            self.bytes -= oldest.len();
            self.numbers.remove(&oldest);
        }
        number
    }

    fn address(&self, number: u32) -> Option<Arc<str>> {
        let (first, _) = self.addresses.front()?;
        let place = (number + NUMBERS - first) % NUMBERS;
        let (_, address) = self.addresses.get(place as usize)?;
        Some(address.clone())
    }
}

/// An address as it may stand in an escape sequence: nothing in it can end that or begin another one.
fn clean(address: &str) -> Option<String> {
    if address.len() > LONGEST {
        return None;
    }
    let mut clean = String::with_capacity(address.len());
    for c in address.trim().chars().filter(|c| !c.is_control()) {
        match c {
            '!'..='~' => clean.push(c),
            _ => {
                let mut bytes = [0; 4];
                for byte in c.encode_utf8(&mut bytes).bytes() {
                    let _ = write!(clean, "%{byte:02X}");
                }
            }
        }
    }
    let is_known = |scheme: &str| {
        let begin = clean.get(..scheme.len());
        begin.is_some_and(|begin| begin.eq_ignore_ascii_case(scheme)) && clean.len() > scheme.len()
    };
    let opens = clean.len() <= LONGEST && SCHEMES.iter().any(|scheme| is_known(scheme));
    opens.then_some(clean)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn leads(address: &str) -> Option<String> {
        let links = Links::default();
        let link = links.of(links.mark(Style::new().bold(), address));
        link.map(|link| link.address.to_string())
    }

    #[test]
    fn addresses_are_plain_and_of_a_known_kind() {
        let check = |address: &str, expected: Option<&str>| {
            assert_eq!(leads(address).as_deref(), expected, "{address:?}");
        };
        check(
            "https://example.com/a?b=c;d",
            Some("https://example.com/a?b=c;d"),
        );
        check("HTTP://example.com", Some("HTTP://example.com"));
        check("mailto:a@example.com", Some("mailto:a@example.com"));
        check("file:///tmp/a b", Some("file:///tmp/a%20b"));
        check(
            "https://example.com/漢",
            Some("https://example.com/%E6%BC%A2"),
        );
        check("javascript:alert(1)", None);
        check("data:text/html,x", None);
        check("src/main.rs", None);
        check("https://", None);
        check("", None);
    }

    #[test]
    fn nothing_in_an_address_ends_the_sequence_it_stands_in() {
        let check = |address: &str, expected: &str| {
            assert_eq!(leads(address).as_deref(), Some(expected), "{address:?}");
        };
        check("http://x\x1b]0;EVIL\x07", "http://x]0;EVIL");
        check("http://x\x1b\\\x1b[2J", "http://x\\[2J");
        check("http://x\u{9c}\u{9d}0;EVIL\n\r\t\0", "http://x0;EVIL");
        check("ht\x1btp://x", "http://x");
        check("http://x/\u{202e}gpj", "http://x/%E2%80%AEgpj");
        assert_eq!(leads(&format!("http://x/{}", "a".repeat(100_000))), None);
        // Encoded, this one is too long.
        assert_eq!(leads(&format!("http://x/{}", "漢".repeat(600))), None);
    }

    #[test]
    fn the_same_address_is_the_same_link_and_old_ones_are_forgotten() {
        let links = Links::default();
        let mark = |n: usize| links.mark(Style::new(), &format!("https://example.com/{n}"));
        let first = mark(0);
        assert_eq!(first, mark(0));
        for n in 1..=MOST {
            mark(n);
        }
        assert_eq!(links.of(first), None);
        let last = links.of(mark(MOST)).unwrap();
        assert_eq!(&*last.address, format!("https://example.com/{MOST}"));
        assert_eq!(links.of(Style::new()), None);
        for n in 0..1000 {
            links.mark(
                Style::new(),
                &format!("https://example.com/{n}/{}", "x".repeat(1900)),
            );
        }
        let known = links.known();
        assert!(known.bytes <= MOST_BYTES);
        assert_eq!(known.numbers.len(), known.addresses.len());
    }
}
