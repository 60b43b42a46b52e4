//! What a server's tool is called: `mcp__<server>__<tool>`, and what older texts call it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use ring::digest::{SHA256, digest};

/// The longest name every provider takes.
const LONGEST: usize = 64;
/// What is kept of a longer one: a mark and eight digits follow.
const KEPT: usize = LONGEST - 9;

/// The name a tool is advertised under.
pub fn canonical(server: &str, tool: &str) -> String {
    let name = format!("mcp__{}__{}", sanitised(server), sanitised(tool));
    match name.len() > LONGEST {
        true => marked(&name, &name),
        false => name,
    }
}

/// The toolset that holds a server's tools.
pub fn toolset_name(server: &str) -> String {
    format!("mcp-{server}")
}

/// A name nobody has yet: the second tool of a name is told apart by its raw name.
pub(crate) fn distinct(server: &str, tool: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let name = canonical(server, tool);
    let raw = format!("{server}\0{tool}");
    let again = (0..).map(|n| format!("{raw}\0{n}"));
    let sources = [tool.to_owned(), raw.clone()].into_iter().chain(again);
    let mut names =
        std::iter::once(name.clone()).chain(sources.map(|source| marked(&name, &source)));
    // The series has no end, so there is always a name.
    names.find(|name| !is_taken(name)).unwrap_or(name)
}

/// Everything outside `[A-Za-z0-9_]` becomes `_`.
fn sanitised(part: &str) -> String {
    let safe = |c: char| match c.is_ascii_alphanumeric() {
        true => c,
        false => '_',
    };
    part.chars().map(safe).collect()
}

/// The beginning of a name and eight digits that stand for `source`.
fn marked(name: &str, source: &str) -> String {
    let mut short: String = name.chars().take(KEPT).collect();
    short.push('_');
    for byte in &digest(&SHA256, source.as_bytes()).as_ref()[..4] {
        // Writing to a text cannot fail.
        let _ = write!(short, "{byte:02x}");
    }
    short
}

/// Other spellings of advertised names: those of version 0.13, and those with the raw names in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Aliases(BTreeMap<String, String>);

impl Aliases {
    /// `tools`: server, raw tool and advertised name of each. A spelling that could mean two tools means none.
    pub fn of<'t>(tools: impl IntoIterator<Item = (&'t str, &'t str, &'t str)>) -> Self {
        let mut found: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        let mut advertised = BTreeSet::new();
        for (server, tool, name) in tools {
            advertised.insert(name);
            for spelling in spellings(server, tool) {
                found.entry(spelling).or_default().insert(name);
            }
        }
        let only = |(spelling, names): (String, BTreeSet<&str>)| match names.first() {
            Some(name) if names.len() == 1 && !advertised.contains(&*spelling) => {
                Some((spelling, (*name).to_owned()))
            }
            _ => None,
        };
        Self(found.into_iter().filter_map(only).collect())
    }

    pub fn get(&self, spelling: &str) -> Option<&str> {
        self.0.get(spelling).map(String::as_str)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(alias, name)| (alias.as_str(), name.as_str()))
    }
}

fn spellings(server: &str, tool: &str) -> BTreeSet<String> {
    let servers = [server.to_owned(), sanitised(server)];
    let tools = [tool.to_owned(), sanitised(tool)];
    let mut all = BTreeSet::new();
    for server in &servers {
        for tool in &tools {
            all.insert(format!("mcp__{server}__{tool}"));
            all.insert(format!("mcp_{server}_{tool}"));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_safe_and_short() {
        let check = |server: &str, tool: &str, expected: &str| {
            assert_eq!(canonical(server, tool), expected);
        };
        check("files", "read", "mcp__files__read");
        check("my-server", "get.it now", "mcp__my_server__get_it_now");
        check("ö", "日本", "mcp_______");
        let tool = "t".repeat(64 - "mcp__s__".len());
        check("s", &tool, &format!("mcp__s__{tool}"));
        let long = canonical("s", &"x".repeat(80));
        assert_eq!(long.len(), 64);
        // The digits are those of the whole name.
        let whole = format!("mcp__s__{}", "x".repeat(80));
        assert_eq!(long, marked(&whole, &whole));
        assert_ne!(long, canonical("s", &"x".repeat(81)));
        assert!(marked("a", "").ends_with("_e3b0c442"));
    }

    #[test]
    fn a_taken_name_is_told_apart() {
        let first = distinct("s", "x-y", |_| false);
        let second = distinct("s", "x_y", |name| name == first);
        assert_eq!(first, "mcp__s__x_y");
        assert_eq!(second, marked(&first, "x_y"));
        let third = distinct("s", "x_y", |name| name == first || name == second);
        assert!(third != first && third != second);
    }

    #[test]
    fn older_spellings_lead_to_one_tool_or_to_none() {
        let aliases = Aliases::of([
            ("my-s", "a-b", "mcp__my_s__a_b"),
            ("x", "y_z", "mcp__x__y_z"),
            ("x_y", "z", "mcp__x_y__z"),
        ]);
        let check = |spelling: &str, expected: Option<&str>| {
            assert_eq!(aliases.get(spelling), expected, "{spelling}");
        };
        let first = Some("mcp__my_s__a_b");
        check("mcp_my_s_a_b", first);
        check("mcp__my-s__a-b", first);
        check("mcp__my_s__a-b", first);
        check("mcp_my-s_a-b", first);
        check("mcp__my_s__a_b", None);
        check("mcp_x_y_z", None);
        check("a-b", None);
    }

    proptest! {
        #[test]
        fn any_name_suits_every_provider(server in ".{0,80}", tool in ".{0,140}") {
            let name = distinct(&server, &tool, |name| name == canonical(&server, &tool));
            for name in [name, canonical(&server, &tool)] {
                prop_assert!(name.len() <= LONGEST);
                prop_assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'));
            }
        }
    }
}
