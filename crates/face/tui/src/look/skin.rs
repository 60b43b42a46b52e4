//! A skin: the colours, words and signs of one appearance.

use std::collections::BTreeMap;

use super::{Rgb, builtin};

/// One appearance; nine are built in, others are files of the owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skin {
    pub name: String,
    pub description: String,
    pub colors: Colors,
    pub spinner: Spinner,
    pub branding: Branding,
    pub tool_prefix: String,
    pub tool_emojis: BTreeMap<String, String>,
    /// Art with `[bold #hex]…[/]` in it; empty: the usual one.
    pub banner_logo: String,
    pub banner_hero: String,
}

/// What moves while a model thinks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spinner {
    pub waiting_faces: Vec<String>,
    pub thinking_faces: Vec<String>,
    pub thinking_verbs: Vec<String>,
    /// Signs to the left and to the right of the face.
    pub wings: Vec<(String, String)>,
}

/// What it is called and what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branding {
    pub agent_name: String,
    pub welcome: String,
    pub goodbye: String,
    pub response_label: String,
    pub prompt_symbol: String,
    pub help_header: String,
}

impl Skin {
    /// One of those that need no file.
    pub fn builtin(name: &str) -> Option<Self> {
        builtin::skin(name)
    }

    /// The names of those that need no file.
    pub fn builtins() -> impl Iterator<Item = &'static str> {
        builtin::names()
    }
}

impl Default for Skin {
    fn default() -> Self {
        builtin::default()
    }
}

/// Makes the struct and the way a file sets its fields by name, so that neither can miss one.
macro_rules! colors {
    ($($name:ident),* $(,)?) => {
        /// Every colour a skin has; the names are those of its file.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct Colors {
            $(pub $name: Rgb,)*
        }

        impl Colors {
            /// The names, as files use them.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name)),*];

            /// The place of a colour; `None`: there is no such colour.
            pub fn of(&mut self, name: &str) -> Option<&mut Rgb> {
                match name {
                    $(stringify!($name) => Some(&mut self.$name),)*
                    _ => None,
                }
            }
        }
    };
}

colors! {
    banner_border,
    banner_title,
    banner_accent,
    banner_dim,
    banner_text,
    ui_accent,
    ui_label,
    ui_ok,
    ui_error,
    ui_warn,
    prompt,
    input_rule,
    response_border,
    status_bar_bg,
    status_bar_text,
    status_bar_strong,
    status_bar_dim,
    status_bar_good,
    status_bar_warn,
    status_bar_bad,
    status_bar_critical,
    session_label,
    session_border,
    voice_status_bg,
    selection_bg,
    completion_menu_bg,
    completion_menu_current_bg,
    completion_menu_meta_bg,
    completion_menu_meta_current_bg,
}
