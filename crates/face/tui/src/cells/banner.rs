//! What is shown once, above everything: who this is, with which model, where.

use ratatui::text::Span;

use super::art;
use super::frame::Edge;
use crate::Row;
use crate::look::{Look, Role};
use crate::text::{clip, cut_front, one_line, pad};

/// Narrower screens get two lines.
const NARROW: u16 = 80;
/// Names that are shown of each kind of thing.
const NAMES: usize = 8;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Banner {
    pub size: Size,
    pub version: String,
    /// The day this version was made.
    pub date: Option<String>,
    pub model: String,
    pub provider: String,
    pub cwd: String,
    pub session: Option<String>,
    /// `None`: not known yet.
    pub tools: Option<usize>,
    pub skills: Option<usize>,
    /// Names of toolsets with those of their tools.
    pub toolsets: Vec<(String, Vec<String>)>,
    pub servers: Vec<Server>,
    /// That there is a newer version.
    pub update: Option<String>,
}

/// `display.banner`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Size {
    /// Five lines.
    #[default]
    Header,
    /// With the name in large letters and everything there is.
    Full,
    /// Two lines.
    Compact,
    None,
}

/// An MCP server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    pub name: String,
    /// `stdio`, `http`, …
    pub transport: String,
    pub state: ServerState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerState {
    Connecting,
    Tools(usize),
    Failed,
}

impl Banner {
    pub fn rows(&self, width: u16, look: &Look) -> Vec<Row> {
        match self.size {
            Size::None => Vec::new(),
            _ if width < NARROW => self.compact(width, look),
            Size::Compact => self.compact(width, look),
            Size::Header => self.header(width, look),
            Size::Full => self.full(width, look),
        }
    }

    fn name(&self, look: &Look) -> String {
        let date = self.date.as_deref().map(|date| format!(" ({date})"));
        let name = &look.branding().agent_name;
        one_line(&format!(
            "{name} v{}{}",
            self.version,
            date.unwrap_or_default()
        ))
    }

    fn compact(&self, width: u16, look: &Look) -> Vec<Row> {
        let columns = usize::from(width);
        let sign = sign(look);
        let first = Row::from(vec![
            Span::styled(
                format!("{sign} {}", self.name(look)),
                look.style(Role::Title),
            ),
            Span::styled(
                format!(" · {}", one_line(&self.model)),
                look.style(Role::Banner),
            ),
        ]);
        let room = columns.saturating_sub(12);
        let cwd = cut_front(&one_line(&self.cwd), room);
        let second = Span::styled(format!("  {cwd} · /help"), look.style(Role::Faint));
        let second = Row::from(second);
        vec![clip(first, columns), clip(second, columns)]
    }

    fn header(&self, width: u16, look: &Look) -> Vec<Row> {
        let mut rows = vec![self.top(width, look)];
        rows.extend(self.facts(width, look));
        rows.push(self.bottom(width, look));
        rows
    }

    fn full(&self, width: u16, look: &Look) -> Vec<Row> {
        let columns = usize::from(width);
        let mut rows = art::logo(look, columns);
        rows.extend(art::rows(&look.skin().banner_hero, look, columns));
        rows.push(self.top(width, look));
        rows.extend(self.facts(width, look));
        for (toolset, tools) in &self.toolsets {
            rows.push(fact(toolset, &some(tools), width, look));
        }
        for server in &self.servers {
            let state = match server.state {
                ServerState::Connecting => "connecting".to_owned(),
                ServerState::Tools(count) => format!("{count} tools"),
                ServerState::Failed => "failed".to_owned(),
            };
            let text = format!("{} ({}): {state}", server.name, server.transport);
            rows.push(fact("mcp", &text, width, look));
        }
        if let Some(update) = &self.update {
            let text = format!("  {}", one_line(update));
            let row = Row::from(Span::styled(text, look.style(Role::Warn)));
            rows.push(clip(row, columns));
        }
        rows.push(self.bottom(width, look));
        rows
    }

    fn top(&self, width: u16, look: &Look) -> Row {
        let title = format!(" {} {} ", sign(look), self.name(look));
        let edge = Edge {
            corners: ("╭", "╮"),
            title: Some(Span::styled(title, look.style(Role::Title))),
            end: None,
            line: look.style(Role::Border),
        };
        edge.row(width)
    }

    fn facts(&self, width: u16, look: &Look) -> Vec<Row> {
        let by = match self.provider.as_str() {
            "" => String::new(),
            provider => format!(" · {provider}"),
        };
        let mut rows = vec![
            fact("model", &format!("{}{by}", self.model), width, look),
            fact("folder", &self.cwd, width, look),
        ];
        if let Some(session) = &self.session {
            rows.push(fact("session", session, width, look));
        }
        rows
    }

    fn bottom(&self, width: u16, look: &Look) -> Row {
        let count = |count: Option<usize>, what: &str| count.map(|count| format!("{count} {what}"));
        let servers = self.servers.len();
        let parts = [
            count(self.tools, "tools"),
            count(self.skills, "skills"),
            (servers > 0).then(|| format!("{servers} MCP")),
            Some("/help".to_owned()),
        ];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        let edge = Edge {
            corners: ("╰", "╯"),
            title: Some(Span::styled(
                format!(" {} ", parts.join(" · ")),
                look.style(Role::Faint),
            )),
            end: None,
            line: look.style(Role::Border),
        };
        edge.row(width)
    }
}

/// The sign of the skin, which stands before its name; a name alone is none.
pub(super) fn sign(look: &Look) -> String {
    let label = look.branding().response_label.trim();
    let first = label.split(' ').next().unwrap_or_default();
    match first.is_ascii() {
        true => "⚕".to_owned(),
        false => one_line(first),
    }
}

fn fact(label: &str, text: &str, width: u16, look: &Look) -> Row {
    let row = Row::from(vec![
        Span::styled(
            format!("  {} ", pad(&one_line(label), 8)),
            look.style(Role::Faint),
        ),
        Span::styled(one_line(text), look.style(Role::Banner)),
    ]);
    clip(row, usize::from(width))
}

fn some(names: &[String]) -> String {
    let shown: Vec<_> = names.iter().take(NAMES).map(String::as_str).collect();
    match names.len().saturating_sub(NAMES) {
        0 => shown.join(", "),
        more => format!("{} (and {more} more)", shown.join(", ")),
    }
}
