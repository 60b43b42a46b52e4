//! The nine skins that need no file: a few colours each, from which the others follow.

use std::collections::BTreeMap;

use super::{Branding, Colors, Rgb, Skin, Spinner};

struct Row {
    name: &'static str,
    description: &'static str,
    /// Border, title, accent, text, response, bar background.
    main: [u32; 6],
    /// Faint, good, warning, bad.
    signs: [u32; 4],
    agent: &'static str,
    symbol: &'static str,
    /// The sign and the name over an answer.
    label: &'static str,
    prefix: &'static str,
    verbs: &'static [&'static str],
    wings: &'static [(&'static str, &'static str)],
}

pub(super) fn names() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| row.name)
}

pub(super) fn skin(name: &str) -> Option<Skin> {
    ROWS.iter().find(|row| row.name == name).map(built)
}

pub(super) fn default() -> Skin {
    built(&ROWS[0])
}

/// What the default skin becomes where its own colours could not be read.
pub(super) fn on_light() -> Colors {
    colors(&ROWS[LIGHT])
}

fn built(row: &Row) -> Skin {
    let own = |words: &[&str]| words.iter().map(ToString::to_string).collect();
    let verbs = match row.verbs {
        [] => VERBS,
        own => own,
    };
    let wings = row.wings.iter();
    Skin {
        name: row.name.to_owned(),
        description: row.description.to_owned(),
        colors: colors(row),
        spinner: Spinner {
            waiting_faces: own(FACES),
            thinking_faces: own(FACES),
            thinking_verbs: own(verbs),
            wings: wings.map(|(l, r)| (l.to_string(), r.to_string())).collect(),
        },
        branding: Branding {
            agent_name: row.agent.to_owned(),
            welcome: format!("Welcome to {}. Type a message, or /help.", row.agent),
            goodbye: format!("Goodbye. {}", row.symbol_of_label()),
            response_label: format!(" {} ", row.label),
            prompt_symbol: row.symbol.to_owned(),
            help_header: "Commands".to_owned(),
        },
        tool_prefix: row.prefix.to_owned(),
        tool_emojis: BTreeMap::new(),
        banner_logo: String::new(),
        banner_hero: String::new(),
    }
}

impl Row {
    fn symbol_of_label(&self) -> &'static str {
        self.label.split(' ').next().unwrap_or_default()
    }
}

fn colors(row: &Row) -> Colors {
    let [border, title, accent, text, response, bar] = row.main.map(Rgb::hex);
    let [dim, good, warn, bad] = row.signs.map(Rgb::hex);
    let current = bar.mixed(accent, 25);
    Colors {
        banner_border: border,
        banner_title: title,
        banner_accent: accent,
        banner_dim: dim,
        banner_text: text,
        ui_accent: accent,
        ui_label: accent.mixed(title, 40),
        ui_ok: good,
        ui_error: bad,
        ui_warn: warn,
        prompt: text,
        input_rule: border,
        response_border: response,
        status_bar_bg: bar,
        status_bar_text: text.mixed(bar, 20),
        status_bar_strong: title,
        status_bar_dim: dim,
        status_bar_good: good,
        status_bar_warn: warn,
        status_bar_bad: warn.mixed(bad, 60),
        status_bar_critical: bad,
        session_label: accent,
        session_border: dim,
        voice_status_bg: bar,
        selection_bg: current,
        completion_menu_bg: bar,
        completion_menu_current_bg: current,
        completion_menu_meta_bg: bar,
        completion_menu_meta_current_bg: current,
    }
}

/// Where the skin stands in the table that serves the default one on light backgrounds.
const LIGHT: usize = 5;

/// On dark backgrounds, on light ones, and without much colour.
const BRIGHT: [u32; 4] = [0xb8_9b5e, 0x6f_cf6f, 0xff_b347, 0xff_5f5f];
const DARK: [u32; 4] = [0x64_748b, 0x15_803d, 0xb4_5309, 0xb9_1c1c];
const GREY: [u32; 4] = [0x80_8080, 0xa6_c3a6, 0xd0_c090, 0xd0_9090];

const ROWS: [Row; 9] = [
    Row {
        name: "default",
        description: "Gold on night",
        main: [
            0xcd_7f32, 0xff_d700, 0xff_bf00, 0xff_f8dc, 0xff_d700, 0x1a_1a2e,
        ],
        signs: BRIGHT,
        agent: "Hermes Agent",
        symbol: "❯",
        label: "⚕ Hermes",
        prefix: "┊",
        verbs: &[],
        wings: &[],
    },
    Row {
        name: "ares",
        description: "Blood and bronze",
        main: [
            0x9f_1c1c, 0xc7_a96b, 0xdd_4a3a, 0xf1_e6cf, 0xc7_a96b, 0x2a_1212,
        ],
        signs: [0x9a_7b62, 0x9f_b86a, 0xe0_a050, 0xff_5a4a],
        agent: "Ares Agent",
        symbol: "⚔",
        label: "⚔ Ares",
        prefix: "╎",
        verbs: &[
            "marching",
            "flanking",
            "holding the line",
            "sharpening",
            "scouting",
        ],
        wings: &[("⟪⚔", "⚔⟫"), ("⟪▲", "▲⟫")],
    },
    Row {
        name: "mono",
        description: "Greys only",
        main: [
            0x55_5555, 0xe6_edf3, 0xaa_aaaa, 0xc9_d1d9, 0xaa_aaaa, 0x1f_1f1f,
        ],
        signs: GREY,
        agent: "Hermes Agent",
        symbol: "❯",
        label: "⚕ Hermes",
        prefix: "┊",
        verbs: &[],
        wings: &[],
    },
    Row {
        name: "slate",
        description: "Cool blues",
        main: [
            0x41_69e1, 0x7e_b8f6, 0x8e_a8ff, 0xc9_d1d9, 0x7e_b8f6, 0x15_1c2f,
        ],
        signs: [0x6b_7a99, 0x7f_c8a0, 0xe6_b673, 0xf0_7178],
        agent: "Hermes Agent",
        symbol: "❯",
        label: "⚕ Hermes",
        prefix: "┊",
        verbs: &[],
        wings: &[],
    },
    Row {
        name: "daylight",
        description: "For light backgrounds, blue",
        main: [
            0x25_63eb, 0x0f_172a, 0x1d_4ed8, 0x11_1827, 0x25_63eb, 0xe5_edf8,
        ],
        signs: DARK,
        agent: "Hermes Agent",
        symbol: "❯",
        label: "⚕ Hermes",
        prefix: "│",
        verbs: &[],
        wings: &[],
    },
    Row {
        name: "warm-lightmode",
        description: "For light backgrounds, brown",
        main: [
            0x8b_6914, 0x5c_3d11, 0x8b_4513, 0x2c_1810, 0x8b_6914, 0xf5_f0e8,
        ],
        signs: [0x80_6a4a, 0x2e_7d32, 0xa1_5c00, 0xb7_1c1c],
        agent: "Hermes Agent",
        symbol: "❯",
        label: "⚕ Hermes",
        prefix: "┊",
        verbs: &[],
        wings: &[],
    },
    Row {
        name: "poseidon",
        description: "Deep water",
        main: [
            0x2a_6fb9, 0xa9_dfff, 0x5d_b8f5, 0xea_f7ff, 0x5d_b8f5, 0x0f_2440,
        ],
        signs: [0x5f_86a8, 0x6f_e0b8, 0xf0_c674, 0xff_7a7a],
        agent: "Poseidon Agent",
        symbol: "Ψ",
        label: "Ψ Poseidon",
        prefix: "│",
        verbs: &[
            "sounding the depths",
            "riding the current",
            "charting",
            "surfacing",
            "drifting",
        ],
        wings: &[("⟪≈", "≈⟫"), ("⟪Ψ", "Ψ⟫")],
    },
    Row {
        name: "sisyphus",
        description: "Stone",
        main: [
            0xb7_b7b7, 0xf5_f5f5, 0xe7_e7e7, 0xd3_d3d3, 0xb7_b7b7, 0x20_2020,
        ],
        signs: GREY,
        agent: "Sisyphus Agent",
        symbol: "◉",
        label: "◉ Sisyphus",
        prefix: "│",
        verbs: &[
            "pushing",
            "bracing",
            "trying again",
            "nearly there",
            "rolling",
        ],
        wings: &[("⟪◉", "◉⟫"), ("⟪·", "·⟫")],
    },
    Row {
        name: "charizard",
        description: "Embers",
        main: [
            0xc7_5b1d, 0xff_d39a, 0xf2_9c38, 0xff_f0d4, 0xf2_9c38, 0x2b_160e,
        ],
        signs: [0xa8_7a55, 0x9c_cf6f, 0xff_c145, 0xff_6a3d],
        agent: "Charizard Agent",
        symbol: "✦",
        label: "✦ Charizard",
        prefix: "│",
        verbs: &[
            "kindling",
            "circling",
            "gathering heat",
            "diving",
            "glowing",
        ],
        wings: &[("⟪✦", "✦⟫"), ("⟪▲", "▲⟫")],
    },
];

const FACES: &[&str] = &[
    "(•‿•)",
    "(・ω・)",
    "(^‿^)",
    "(˘‿˘)",
    "(◕‿◕)",
    "(°▽°)",
    "(¬‿¬)",
    "(~‿~)",
    "(⌐■_■)",
    "(o_o)",
    "(O.O)",
    "(>‿<)",
    "(-‿-)",
    "(=^‿^=)",
    "(*‿*)",
];

const VERBS: &[&str] = &[
    "thinking",
    "pondering",
    "reading",
    "weighing",
    "sorting",
    "connecting",
    "musing",
    "untangling",
    "considering",
    "looking closely",
    "working it out",
    "sketching",
    "checking",
    "gathering",
    "finding words",
];

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn nine_skins_with_the_documented_signs() {
        let signs = |name: &str| {
            let skin = skin(name).unwrap();
            let branding = skin.branding;
            (
                branding.prompt_symbol,
                branding.response_label,
                skin.tool_prefix,
            )
        };
        let check = |name: &str, symbol: &str, label: &str, prefix: &str| {
            let expected = (symbol.to_owned(), label.to_owned(), prefix.to_owned());
            assert_eq!(signs(name), expected, "{name}");
        };
        check("default", "❯", " ⚕ Hermes ", "┊");
        check("ares", "⚔", " ⚔ Ares ", "╎");
        check("daylight", "❯", " ⚕ Hermes ", "│");
        check("poseidon", "Ψ", " Ψ Poseidon ", "│");
        check("charizard", "✦", " ✦ Charizard ", "│");
        assert_eq!(names().count(), 9);
        assert_eq!(ROWS[LIGHT].name, "warm-lightmode");
        assert_eq!((FACES.len(), VERBS.len()), (15, 15));
    }

    #[test]
    fn text_can_be_read_on_its_bar() {
        for name in names() {
            let colors = skin(name).unwrap().colors;
            let bar = colors.status_bar_bg.is_light();
            assert!(colors.status_bar_text.is_light() != bar, "{name}");
            assert!(colors.banner_text.is_light() != bar, "{name}");
        }
    }
}
