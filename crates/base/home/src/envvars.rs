//! The environment variables Hermes recognises, as data.

use std::sync::LazyLock;

/// What part of Hermes a variable is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    Provider,
    Tool,
    Skill,
    Messaging,
    Setting,
    /// A switch of one run; never written to `.env`.
    Process,
}

#[derive(Debug)]
pub struct Var {
    pub name: &'static str,
    pub category: Category,
    /// Whether its value must not be shown.
    pub secret: bool,
    /// Tools that need it.
    pub tools: Vec<&'static str>,
}

static TABLE: LazyLock<Vec<Var>> = LazyLock::new(|| {
    include_str!("envvars.tsv")
        .lines()
        .filter_map(row)
        .collect()
});

/// All of them, grouped by category.
pub fn all() -> &'static [Var] {
    &TABLE
}

pub fn find(name: &str) -> Option<&'static Var> {
    TABLE.iter().find(|var| var.name == name)
}

/// Names that may stand in `.env`.
pub fn storable() -> impl Iterator<Item = &'static Var> {
    TABLE.iter().filter(|var| var.category != Category::Process)
}

/// Whether `config set NAME` means the `.env` file: a known name, or one that looks like a credential.
pub fn belongs_in_env_file(name: &str) -> bool {
    find(name).is_some_and(|var| var.category != Category::Process)
        || name.ends_with("_API_KEY")
        || name.ends_with("_TOKEN")
        || name.starts_with("TERMINAL_SSH")
}

/// Whether a value under this name must be masked wherever it is shown.
pub fn is_secret(name: &str) -> bool {
    find(name).is_some_and(|var| var.secret) || is_credential(name)
}

/// Whether the name alone says that the value is a credential.
pub fn is_credential(name: &str) -> bool {
    ["_API_KEY", "_TOKEN", "_SECRET", "_KEY", "_PASSWORD"]
        .iter()
        .any(|end| name.ends_with(end))
}

fn row(line: &'static str) -> Option<Var> {
    let mut fields = line.split('\t');
    let category = match fields.next()? {
        "provider" => Category::Provider,
        "tool" => Category::Tool,
        "skill" => Category::Skill,
        "messaging" => Category::Messaging,
        "setting" => Category::Setting,
        "process" => Category::Process,
        _ => return None,
    };
    let name = fields.next()?;
    let secret = fields.next() == Some("secret");
    let tools = fields
        .next()
        .map(|tools| tools.split(',').collect())
        .unwrap_or_default();
    Some(Var {
        name,
        category,
        secret,
        tools,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_table_is_read() {
        let rows = include_str!("envvars.tsv")
            .lines()
            .filter(|line| !line.starts_with('#'))
            .count();
        assert_eq!(all().len(), rows);
        assert!(rows > 300);
    }

    #[test]
    fn where_config_set_puts_a_name() {
        let check =
            |name: &str, expected: bool| assert_eq!(belongs_in_env_file(name), expected, "{name}");
        check("OPENROUTER_API_KEY", true);
        check("FOO_API_KEY", true);
        check("MY_TOKEN", true);
        check("TERMINAL_SSH_HOST", true);
        check("FAL_KEY", true);
        check("SUDO_PASSWORD", true);
        check("TOOL_GATEWAY_DOMAIN", true);
        check("HERMES_HOME", false);
        check("AGENT.MAX_TURNS", false);
        check("TIMEZONE", false);
    }
}
