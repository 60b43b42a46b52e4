//! From roles to styles: which colour of a skin a role takes.

use ratatui::style::{Modifier, Style};

use super::{Background, Colors, Depth, Look, Rgb, Role};

/// What is left of a role where there are no colours.
pub(super) fn without_colour(role: Role) -> Style {
    let style = Style::new();
    match role {
        Role::Strong | Role::Heading | Role::Title | Role::Said | Role::BarStrong => style.bold(),
        Role::Faint | Role::Quote | Role::BarDim | Role::MenuAbout => style.dim(),
        Role::AddedPart | Role::RemovedPart | Role::BarCritical => style.bold(),
        Role::Link => style.underlined(),
        Role::MenuCurrent | Role::MenuAboutCurrent | Role::Selection => {
            style.add_modifier(Modifier::REVERSED)
        }
        _ => style,
    }
}

pub(super) fn coloured(role: Role, colors: &Colors, look: &Look) -> Style {
    let ink = Ink { look };
    match role {
        // The terminal's own colour can be read on its own background.
        Role::Text => Style::new(),
        Role::Strong | Role::Said => Style::new().bold(),
        Role::Faint => ink.on(colors.banner_dim),
        Role::Quote => ink.on(colors.banner_dim).italic(),
        Role::Accent => ink.on(colors.ui_accent),
        Role::Label | Role::Code => ink.on(colors.ui_label),
        Role::Link => ink.on(colors.ui_label).underlined(),
        Role::Border => ink.on(colors.banner_border),
        Role::Title => ink.on(colors.banner_title).bold(),
        Role::Heading => ink.on(colors.banner_accent).bold(),
        Role::Banner => ink.on(colors.banner_text),
        Role::Good | Role::Added => ink.on(colors.ui_ok),
        Role::Warn => ink.on(colors.ui_warn),
        Role::Bad | Role::Removed => ink.on(colors.ui_error),
        Role::AddedPart => ink.tinted(colors.ui_ok),
        Role::RemovedPart => ink.tinted(colors.ui_error),
        Role::Prompt => ink.on(colors.prompt),
        Role::Rule => ink.on(colors.input_rule),
        Role::Response => ink.on(colors.response_border),
        Role::Session => ink.on(colors.session_label),
        Role::SessionBorder => ink.on(colors.session_border),
        Role::Voice => ink.both(colors.status_bar_text, colors.voice_status_bg),
        Role::Selection => ink.under(colors.selection_bg),
        _ => of_bars(role, colors, &ink),
    }
}

/// The status bar and the menu: text on a background of their own.
fn of_bars(role: Role, colors: &Colors, ink: &Ink<'_>) -> Style {
    let bar = |text| ink.both(text, colors.status_bar_bg);
    match role {
        Role::BarStrong => bar(colors.status_bar_strong).bold(),
        Role::BarDim => bar(colors.status_bar_dim),
        Role::BarGood => bar(colors.status_bar_good),
        Role::BarWarn => bar(colors.status_bar_warn),
        Role::BarBad => bar(colors.status_bar_bad),
        Role::BarCritical => bar(colors.status_bar_critical).bold(),
        Role::Menu => ink.both(colors.banner_text, colors.completion_menu_bg),
        Role::MenuCurrent => {
            let style = ink.both(colors.banner_title, colors.completion_menu_current_bg);
            style.bold()
        }
        Role::MenuAbout => ink.both(colors.banner_dim, colors.completion_menu_meta_bg),
        Role::MenuAboutCurrent => {
            ink.both(colors.banner_text, colors.completion_menu_meta_current_bg)
        }
        _ => bar(colors.status_bar_text),
    }
}

struct Ink<'a> {
    look: &'a Look,
}

impl Ink<'_> {
    /// On the terminal's own background.
    fn on(&self, text: Rgb) -> Style {
        match self.look.paint(text) {
            Some(colour) => Style::new().fg(colour),
            None => Style::new(),
        }
    }

    fn under(&self, background: Rgb) -> Style {
        match self.look.paint(background) {
            Some(colour) => Style::new().bg(colour),
            None => Style::new(),
        }
    }

    /// With few colours two different ones can become the same: then the background goes.
    fn both(&self, text: Rgb, background: Rgb) -> Style {
        let (over, under) = (self.on(text), self.under(background));
        match over.fg == under.bg {
            true => Style::new(),
            false => over.patch(under),
        }
    }

    /// On a hint of its own colour, where there are enough of them.
    fn tinted(&self, text: Rgb) -> Style {
        if self.look.depth < Depth::TwoHundred {
            return self.on(text).add_modifier(Modifier::REVERSED);
        }
        let ground = match self.look.background {
            Background::Light => Rgb(255, 255, 255),
            _ => Rgb(0, 0, 0),
        };
        self.both(text, ground.mixed(text, 28)).bold()
    }
}
