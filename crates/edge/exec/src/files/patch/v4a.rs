//! The V4A patch format: several changes to several files in one text. Pure.

/// What a patch does to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Update { path: String, hunks: Vec<Hunk> },
    Add { path: String, content: String },
    Delete { path: String },
    Move { from: String, to: String },
}

/// Lines to find, and what they become.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Hunk {
    /// A text of the file near the change, from the `@@` line.
    pub hint: Option<String>,
    pub lines: Vec<Line>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    Context(String),
    Removed(String),
    Added(String),
}

impl Change {
    /// Every file this change touches.
    pub fn paths(&self) -> Vec<&str> {
        match self {
            Self::Update { path, .. } | Self::Add { path, .. } | Self::Delete { path } => {
                vec![path]
            }
            Self::Move { from, to } => vec![from, to],
        }
    }

    /// The same as [`paths`](Self::paths), to be renamed.
    pub fn paths_mut(&mut self) -> Vec<&mut String> {
        match self {
            Self::Update { path, .. } | Self::Add { path, .. } | Self::Delete { path } => {
                vec![path]
            }
            Self::Move { from, to } => vec![from, to],
        }
    }
}

impl Hunk {
    /// What stands in the file now, and what shall; both without the last line's end.
    pub fn sides(&self) -> (String, String) {
        let (mut old, mut new): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
        for line in &self.lines {
            match line {
                Line::Context(text) => {
                    old.push(text);
                    new.push(text);
                }
                Line::Removed(text) => old.push(text),
                Line::Added(text) => new.push(text),
            }
        }
        (old.join("\n"), new.join("\n"))
    }

    /// Nothing but context: a model's way to point at something.
    pub fn is_inert(&self) -> bool {
        let context = |line: &Line| matches!(line, Line::Context(_));
        self.lines.iter().all(context)
    }

    /// Nothing to look for.
    pub fn only_adds(&self) -> bool {
        let added = |line: &Line| matches!(line, Line::Added(_));
        self.lines.iter().all(added)
    }
}

/// Reads a patch. Markers at beginning and end may be missing; what stands before the first file is ignored.
pub(super) fn parse(patch: &str) -> Result<Vec<Change>, String> {
    let mut sections: Vec<(Head, Vec<&str>)> = Vec::new();
    let lines = patch.lines().map(|line| line.trim_end_matches('\r'));
    for line in lines {
        match marker(line) {
            Some(Marker::Begin) => sections.clear(),
            Some(Marker::End) => break,
            Some(Marker::File(head)) => sections.push((head, Vec::new())),
            Some(Marker::EndOfFile) => {}
            None => {
                if let Some((_, body)) = sections.last_mut() {
                    body.push(line);
                }
            }
        }
    }
    let mut changes = Vec::new();
    let mut errors = Vec::new();
    for (head, body) in &sections {
        match head.with(body) {
            Ok(change) => changes.push(change),
            Err(error) => errors.push(error),
        }
    }
    if !errors.is_empty() {
        return Err(errors.join("; "));
    }
    if changes.is_empty() {
        return Err("it names no file (`*** Update File: path`)".to_owned());
    }
    Ok(changes)
}

enum Marker<'p> {
    Begin,
    End,
    EndOfFile,
    File(Head<'p>),
}

/// The line that begins a file's part.
struct Head<'p> {
    verb: &'p str,
    path: &'p str,
}

fn marker(line: &str) -> Option<Marker<'_>> {
    let rest = line.strip_prefix("***")?.trim();
    match rest {
        "Begin Patch" => return Some(Marker::Begin),
        "End Patch" => return Some(Marker::End),
        "End of File" => return Some(Marker::EndOfFile),
        _ => {}
    }
    let (verb, rest) = rest.split_once(char::is_whitespace)?;
    let path = rest.trim_start().strip_prefix("File:")?.trim();
    ["Update", "Add", "Delete", "Move"]
        .contains(&verb)
        .then_some(Marker::File(Head { verb, path }))
}

impl Head<'_> {
    fn with(&self, body: &[&str]) -> Result<Change, String> {
        let path = self.path.to_owned();
        if path.is_empty() {
            return Err(format!("{} File without a path", self.verb));
        }
        match self.verb {
            "Delete" => Ok(Change::Delete { path }),
            "Move" => match path.split_once("->") {
                Some((from, to)) if !from.trim().is_empty() && !to.trim().is_empty() => {
                    Ok(Change::Move {
                        from: from.trim().to_owned(),
                        to: to.trim().to_owned(),
                    })
                }
                _ => Err(format!("Move File {path}: no destination (`old -> new`)")),
            },
            "Add" => added(body)
                .map(|content| Change::Add {
                    content,
                    path: path.clone(),
                })
                .ok_or_else(|| format!("Add File {path}: every line must begin with +")),
            _ => match hunks(body) {
                hunks if hunks.is_empty() => Err(format!("Update File {path}: no hunks")),
                hunks => Ok(Change::Update { path, hunks }),
            },
        }
    }
}

fn added(body: &[&str]) -> Option<String> {
    let mut content = String::new();
    for line in without_blank_end(body) {
        if line.starts_with("@@") || line.starts_with('\\') {
            continue;
        }
        // An editor or a model may have taken the + off an empty line.
        let text = if line.is_empty() {
            ""
        } else {
            line.strip_prefix('+')?
        };
        content.push_str(text);
        content.push('\n');
    }
    Some(content)
}

fn hunks(body: &[&str]) -> Vec<Hunk> {
    let mut hunks = Vec::new();
    for part in body.chunk_by(|_, next| !next.starts_with("@@")) {
        let (hint, lines) = match part.split_first() {
            Some((first, rest)) if first.starts_with("@@") => (hint(first), rest),
            _ => (None, part),
        };
        let lines: Vec<Line> = without_blank_end(lines)
            .iter()
            .filter_map(|line| Line::parse(line))
            .collect();
        if !lines.is_empty() {
            hunks.push(Hunk { hint, lines });
        }
    }
    hunks
}

/// Blank lines between two parts belong to neither.
fn without_blank_end<'b, 'p>(body: &'b [&'p str]) -> &'b [&'p str] {
    let end = body.iter().rposition(|line| !line.is_empty());
    &body[..end.map_or(0, |last| last + 1)]
}

/// The text of `@@ text @@`. Line numbers, as `diff` writes them there, are no text of the file.
fn hint(line: &str) -> Option<String> {
    let inner = line.trim_start_matches('@').trim();
    let text = match inner.split_once("@@") {
        Some((before, after)) if is_range(before) => after,
        Some((before, _)) => before,
        None if is_range(inner) => "",
        None => inner,
    };
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn is_range(text: &str) -> bool {
    let text = text.trim();
    text.starts_with('-')
        && text
            .chars()
            .all(|c| c.is_ascii_digit() || "-+, ".contains(c))
}

impl Line {
    fn parse(line: &str) -> Option<Self> {
        let rest = || line[1..].to_owned();
        match line.as_bytes().first() {
            Some(b'+') => Some(Self::Added(rest())),
            Some(b'-') => Some(Self::Removed(rest())),
            Some(b' ') => Some(Self::Context(rest())),
            Some(b'\\') => None, // "\ No newline at end of file"
            _ => Some(Self::Context(line.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    fn check(patch: &str, expected: Result<Vec<Change>, &str>) {
        match (parse(patch), expected) {
            (Err(found), Err(part)) => assert!(found.contains(part), "{found}"),
            (found, expected) => assert_eq!(found, expected.map_err(str::to_owned), "{patch}"),
        }
    }

    fn update(path: &str, hunks: &[(Option<&str>, &[&str])]) -> Change {
        Change::Update {
            path: path.to_owned(),
            hunks: hunks
                .iter()
                .map(|(hint, lines)| Hunk {
                    hint: hint.map(str::to_owned),
                    lines: lines.iter().filter_map(|line| Line::parse(line)).collect(),
                })
                .collect(),
        }
    }

    #[test]
    fn a_whole_patch() {
        check(
            "Here it is:\n*** Begin Patch\n*** Update File: a b.py\n@@ def f @@\n x\n-old\n+new\n\n y\n@@\n-1\n\
             *** Add File: n/new.txt\n+one\n\n+two\n\n*** Delete File: gone\n*** Move File: a -> b\n\
             *** End Patch\nDone.",
            Ok(vec![
                update(
                    "a b.py",
                    &[
                        (Some("def f"), &[" x", "-old", "+new", "", " y"]),
                        (None, &["-1"]),
                    ],
                ),
                Change::Add {
                    path: "n/new.txt".to_owned(),
                    content: "one\n\ntwo\n".to_owned(),
                },
                Change::Delete {
                    path: "gone".to_owned(),
                },
                Change::Move {
                    from: "a".to_owned(),
                    to: "b".to_owned(),
                },
            ]),
        );
    }

    #[test]
    fn sloppy_patches() {
        let one = |hint, lines: &[&str]| Ok(vec![update("f", &[(hint, lines)])]);
        check("***Update File:f\r\n-a\r\n+b\r\n", one(None, &["-a", "+b"]));
        check(
            "*** Update File: f\nplain\n-a\n\\ No newline\n*** End of File\n\n\n",
            one(None, &[" plain", "-a"]),
        );
        check(
            "*** Update File: f\n@@ -1,2 +1,3 @@\n-a",
            one(None, &["-a"]),
        );
        check(
            "*** Update File: f\n@@ -1 +1 @@ fn x\n-a",
            one(Some("fn x"), &["-a"]),
        );
        check(
            "*** Update File: f\n@@ class C:\n-a",
            one(Some("class C:"), &["-a"]),
        );
        check(
            "*** Update File: f\n-*** End Patch\n",
            one(None, &["-*** End Patch"]),
        );
    }

    #[test]
    fn broken_patches() {
        check("", Err("names no file"));
        check("*** Update File: f\n", Err("Update File f: no hunks"));
        check("*** Update File:\n-a", Err("without a path"));
        check("*** Move File: a", Err("no destination"));
        check("*** Move File: a -> ", Err("no destination"));
        check("*** Add File: f\nforgot the plus", Err("begin with +"));
        check(
            "*** Update File: f\n*** Move File: x\n",
            Err("no hunks; Move"),
        );
    }

    proptest! {
        #[test]
        fn any_text_is_taken(patch in "(\\*\\*\\* ?(Begin Patch|End Patch|(Add|Move|Update) File: ?)|@@|[-+ \\\\]|\\PC{0,3}|->|\r?\n){0,40}") {
            let _ = parse(&patch);
        }
    }
}
