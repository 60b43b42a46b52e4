//! Colours as a skin writes them, and the nearest a terminal with fewer can show.

use ratatui::style::Color;

use super::Depth;

/// Red, green, blue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rgb(pub u8, pub u8, pub u8);

impl Rgb {
    /// `#RRGGBB`, as a constant.
    pub const fn hex(value: u32) -> Self {
        Self((value >> 16) as u8, (value >> 8) as u8, value as u8)
    }

    /// Reads `#RRGGBB` or `#RGB`; words around it (`bold #RRGGBB`) don't count.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text
            .split_whitespace()
            .find_map(|word| word.strip_prefix('#'))?;
        let value = u32::from_str_radix(digits, 16).ok()?;
        match digits.len() {
            6 => Some(Self::hex(value)),
            3 => {
                let wide = |shift: u32| ((value >> shift & 0xf) * 0x11) as u8;
                Some(Self(wide(8), wide(4), wide(0)))
            }
            _ => None,
        }
    }

    /// This colour with `percent` of another in it.
    #[must_use]
    pub fn mixed(self, other: Self, percent: u16) -> Self {
        let mix = |a: u8, b: u8| {
            let sum = u32::from(a) * u32::from(100 - percent) + u32::from(b) * u32::from(percent);
            (sum / 100) as u8
        };
        Self(
            mix(self.0, other.0),
            mix(self.1, other.1),
            mix(self.2, other.2),
        )
    }

    /// Whether dark text can be read on it.
    pub fn is_light(self) -> bool {
        u32::from(self.0) * 299 + u32::from(self.1) * 587 + u32::from(self.2) * 114 > 140_000
    }
}

/// The nearest colour of what there is.
pub(super) fn degrade(rgb: Rgb, depth: Depth) -> Option<Color> {
    match depth {
        Depth::None => None,
        Depth::Sixteen => Some(sixteen(rgb)),
        Depth::TwoHundred => Some(Color::Indexed(cube(rgb))),
        Depth::True => Some(Color::Rgb(rgb.0, rgb.1, rgb.2)),
    }
}

/// Steps of the 6×6×6 cube of the 256 colours.
const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];

fn cube(rgb: Rgb) -> u8 {
    let step = |value: u8| {
        let near = |index: &usize| STEPS[*index].abs_diff(value);
        (0..STEPS.len()).min_by_key(near).unwrap_or_default()
    };
    let (r, g, b) = (step(rgb.0), step(rgb.1), step(rgb.2));
    let coloured = Rgb(STEPS[r], STEPS[g], STEPS[b]);
    let mean = (u16::from(rgb.0) + u16::from(rgb.1) + u16::from(rgb.2)) / 3;
    let shade = (mean.saturating_sub(3) / 10).min(23) as u8;
    let level = 8 + shade * 10;
    match distance(rgb, Rgb(level, level, level)) < distance(rgb, coloured) {
        true => 232 + shade,
        false => (16 + 36 * r + 6 * g + b) as u8,
    }
}

fn sixteen(rgb: Rgb) -> Color {
    const TABLE: [(Color, u32); 16] = [
        (Color::Black, 0x00_0000),
        (Color::Red, 0xaa_0000),
        (Color::Green, 0x00_aa00),
        (Color::Yellow, 0xaa_7700),
        (Color::Blue, 0x00_00aa),
        (Color::Magenta, 0xaa_00aa),
        (Color::Cyan, 0x00_aaaa),
        (Color::Gray, 0xaa_aaaa),
        (Color::DarkGray, 0x66_6666),
        (Color::LightRed, 0xff_5555),
        (Color::LightGreen, 0x55_ff55),
        (Color::LightYellow, 0xff_ff55),
        (Color::LightBlue, 0x55_55ff),
        (Color::LightMagenta, 0xff_55ff),
        (Color::LightCyan, 0x55_ffff),
        (Color::White, 0xff_ffff),
    ];
    TABLE
        .into_iter()
        .min_by_key(|(_, value)| distance(rgb, Rgb::hex(*value)))
        .map_or(Color::Reset, |(colour, _)| colour)
}

/// How different two colours look, roughly: eyes see green best.
fn distance(a: Rgb, b: Rgb) -> u32 {
    let square = |a: u8, b: u8| u32::from(a.abs_diff(b)).pow(2);
    3 * square(a.0, b.0) + 6 * square(a.1, b.1) + 2 * square(a.2, b.2)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn colours_are_read() {
        let check = |text: &str, expected| assert_eq!(Rgb::parse(text), expected, "{text:?}");
        check("#FFD700", Some(Rgb(255, 215, 0)));
        check("#fd0", Some(Rgb(255, 221, 0)));
        check("bold #102030", Some(Rgb(16, 32, 48)));
        check("gold", None);
        check("#12345", None);
        check("#zzzzzz", None);
        check("", None);
    }

    #[test]
    fn fewer_colours_are_near_ones() {
        let check = |value, depth, expected| {
            assert_eq!(degrade(Rgb::hex(value), depth), expected, "{value:06x}");
        };
        check(0xff_d700, Depth::True, Some(Color::Rgb(255, 215, 0)));
        check(0xff_d700, Depth::TwoHundred, Some(Color::Indexed(220)));
        check(0x80_8080, Depth::TwoHundred, Some(Color::Indexed(244)));
        check(0x00_0000, Depth::TwoHundred, Some(Color::Indexed(16)));
        check(0xff_ffff, Depth::TwoHundred, Some(Color::Indexed(231)));
        check(0xdd_4a3a, Depth::Sixteen, Some(Color::LightRed));
        check(0x1a_1a2e, Depth::Sixteen, Some(Color::Black));
        check(0xe5_edf8, Depth::Sixteen, Some(Color::White));
        check(0xff_d700, Depth::None, None);
    }
}
