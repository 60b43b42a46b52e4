//! How things look: roles with a style each, taken from a skin and cut down to what the terminal can show.

mod builtin;
mod colour;
mod depth;
mod file;
mod links;
mod skin;
mod style;
mod tools;

pub use colour::Rgb;
pub use depth::{Background, Depth, Target};
pub(crate) use depth::{shows_links, tells_background};
pub use file::load;
pub use links::{Link, Links};
pub use skin::{Branding, Colors, Skin, Spinner};

use std::borrow::Cow;

use hermes_home::Env;
use ratatui::style::{Color, Style};

/// What a piece of text is; a skin says how that looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    Text,
    Strong,
    Faint,
    Accent,
    Label,
    Border,
    Title,
    Good,
    Warn,
    Bad,
    /// The sign before what is typed.
    Prompt,
    /// The lines above and below what is typed.
    Rule,
    /// The frame of an answer.
    Response,
    /// What the owner said, in the transcript.
    Said,
    Heading,
    Code,
    Quote,
    Link,
    Added,
    Removed,
    /// The part of an added line that is new.
    AddedPart,
    /// The part of a removed line that is gone.
    RemovedPart,
    /// Words of the banner.
    Banner,
    /// What is told about a session: its name, …
    Session,
    /// … and the lines around it.
    SessionBorder,
    /// What listens or speaks.
    Voice,
    Bar,
    BarStrong,
    BarDim,
    BarGood,
    BarWarn,
    BarBad,
    BarCritical,
    Menu,
    MenuCurrent,
    MenuAbout,
    MenuAboutCurrent,
    Selection,
}

/// A skin as this terminal can show it.
#[derive(Clone, Debug)]
pub struct Look {
    skin: Skin,
    /// The skin's colours, or others that can be read on a light background.
    colors: Colors,
    depth: Depth,
    background: Background,
    /// `None`: the terminal is not known to show text that leads somewhere.
    links: Option<Links>,
}

impl Look {
    pub fn new(skin: Skin, depth: Depth) -> Self {
        Self {
            colors: skin.colors.clone(),
            skin,
            depth,
            background: Background::Unknown,
            links: None,
        }
    }

    /// As far as the terminal that `env` tells of can show it.
    pub fn on_terminal(skin: Skin, env: &Env) -> Self {
        let look = Self::new(skin, Depth::detect(env, Target::Terminal));
        look.on(Background::detect(env))
    }

    /// The same with text that leads somewhere.
    #[must_use]
    pub fn linked(mut self, links: Links) -> Self {
        self.links = Some(links);
        self
    }

    /// Another skin on the same terminal.
    #[must_use]
    pub fn dressed(&self, skin: Skin) -> Self {
        let look = Self::new(skin, self.depth).on(self.background);
        Self {
            links: self.links.clone(),
            ..look
        }
    }

    /// The style of text that leads to an address.
    pub fn leading(&self, style: Style, address: &str) -> Style {
        match &self.links {
            Some(links) => links.mark(style, address),
            None => style,
        }
    }

    pub fn links(&self) -> Links {
        self.links.clone().unwrap_or_default()
    }

    /// Without a colour: for tests and for terminals that have none.
    pub fn plain() -> Self {
        Self::new(Skin::default(), Depth::None)
    }

    /// The same on a known background: the default skin, made for a dark one, changes its colours on a light one.
    #[must_use]
    pub fn on(mut self, background: Background) -> Self {
        let light = background == Background::Light && self.skin.name == Skin::default().name;
        self.colors = match light {
            true => builtin::on_light(),
            false => self.skin.colors.clone(),
        };
        self.background = background;
        self
    }

    pub fn style(&self, role: Role) -> Style {
        match self.depth {
            Depth::None => style::without_colour(role),
            _ => style::coloured(role, &self.colors, self),
        }
    }

    /// A colour as this terminal can show it; `None`: not at all.
    pub fn paint(&self, rgb: Rgb) -> Option<Color> {
        colour::degrade(rgb, self.depth)
    }

    pub fn depth(&self) -> Depth {
        self.depth
    }

    pub fn background(&self) -> Background {
        self.background
    }

    pub fn skin(&self) -> &Skin {
        &self.skin
    }

    pub fn branding(&self) -> &Branding {
        &self.skin.branding
    }

    pub fn spinner(&self) -> &Spinner {
        &self.skin.spinner
    }

    /// The sign that begins a line about a tool.
    pub fn tool_prefix(&self) -> &str {
        &self.skin.tool_prefix
    }

    /// The skin's picture for a tool, else the usual one, else a flash.
    pub fn emoji<'a>(&'a self, tool: &str) -> &'a str {
        match self.skin.tool_emojis.get(tool) {
            Some(own) => own,
            None => tools::named(tool).map_or("⚡", |named| named.emoji),
        }
    }

    /// What a tool does: one short word, or what others call theirs.
    pub fn verb<'a>(&self, tool: &'a str) -> Cow<'a, str> {
        if let Some(named) = tools::named(tool) {
            return named.verb.into();
        }
        let remote = tool.strip_prefix("mcp__");
        match remote.and_then(|name| name.split_once("__")) {
            Some((server, tool)) => format!("{server} {tool}").into(),
            None => tool.into(),
        }
    }
}

impl Default for Look {
    fn default() -> Self {
        Self::plain()
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use ratatui::style::Modifier;

    use super::*;

    #[test]
    fn without_colour_there_is_none() {
        let look = Look::plain();
        for role in [Role::Bad, Role::Bar, Role::Menu, Role::AddedPart] {
            let style = look.style(role);
            assert_eq!((style.fg, style.bg), (None, None), "{role:?}");
        }
        let current = look.style(Role::MenuCurrent);
        assert!(current.add_modifier.contains(Modifier::REVERSED));
    }

    #[test]
    fn a_light_background_changes_the_default_skin_only() {
        let border = |skin: &str, background| {
            let look = Look::new(Skin::builtin(skin).unwrap(), Depth::True).on(background);
            look.style(Role::Border).fg
        };
        let dark = border("default", Background::Dark);
        assert_eq!(dark, border("default", Background::Unknown));
        assert!(dark != border("default", Background::Light));
        let mono = border("mono", Background::Dark);
        assert_eq!(mono, border("mono", Background::Light));
    }

    #[test]
    fn pictures_come_from_the_skin_first() {
        let mut skin = Skin::default();
        let own = ("terminal".to_owned(), "T".to_owned());
        skin.tool_emojis.extend([own]);
        let look = Look::new(skin, Depth::None);
        assert_eq!(look.emoji("terminal"), "T");
        assert_eq!(look.emoji("read_file"), "📖");
        assert_eq!(look.emoji("mcp_x_y"), "⚡");
        assert_eq!(look.verb("terminal"), "$");
        assert_eq!(look.verb("mcp_x_y"), "mcp_x_y");
        assert_eq!(look.verb("mcp__team__list_notes"), "team list_notes");
    }
}
