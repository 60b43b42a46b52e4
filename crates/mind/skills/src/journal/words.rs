//! The journal in words: the same for `hermes journey` and `/journey`.

use hermes_home::clock;

use super::{By, Entry, Journal, Undo};
use crate::{Error, Result};

/// What somebody wants to know of the journal, or done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// So many of the last entries.
    Last(usize),
    Show(u64),
    Undo(u64),
}

impl Wanted {
    /// How many entries are shown if nobody says so.
    pub const USUAL: usize = 20;

    /// `[N | show N | undo N]`
    pub fn read(words: &str) -> Option<Self> {
        let words: Vec<&str> = words.split_whitespace().collect();
        let number = |word: &str| word.trim_start_matches('#').parse().ok();
        match words.as_slice() {
            [] => Some(Self::Last(Self::USUAL)),
            ["show", word] => number(word).map(Self::Show),
            ["undo", word] => number(word).map(Self::Undo),
            [word] => word.parse().ok().map(Self::Last),
            _ => None,
        }
    }
}

impl Journal {
    /// The last entries as text, without what was there before the journal.
    pub fn listed(&self, most: usize) -> Result<String> {
        let mut entries = self.entries()?;
        entries.retain(|entry| !entry.is_first_sight());
        let skipped = entries.len().saturating_sub(most);
        if entries.is_empty() {
            return Ok(NOTHING.to_owned());
        }
        let lines = entries[skipped..].iter().map(|entry| {
            let (title, change) = (entry.subject.title(), entry.change());
            let (when, who) = (entry.when(), entry.by.who());
            format!("#{:<4} {when}  {title} {change} by {who}", entry.number)
        });
        Ok(lines.collect::<Vec<_>>().join("\n"))
    }

    /// One entry with what it changed.
    pub fn shown(&self, number: u64) -> Result<String> {
        let entry = self.entry(number)?;
        let mut text = format!(
            "{} {}  {}, by {}\n",
            entry.subject.title(),
            entry.change(),
            entry.when(),
            entry.by.who()
        );
        if let Some(session) = &entry.session {
            text.push_str(&format!("in {session}\n"));
        }
        text.push_str(&self.diff(&entry)?);
        Ok(text.trim_end().to_owned())
    }

    /// Takes one entry back and says so; `Err` also for what cannot be taken back.
    pub fn take_back(&self, number: u64) -> Result<String> {
        match self.undo(number)? {
            Undo::Unknown => Err(Error::NoEntry(number)),
            Undo::ChangedSince(later) => Err(Error::ChangedSince {
                what: later.subject.title(),
                later: later.number,
            }),
            Undo::Done(done) => {
                let title = done.entry.subject.title();
                let back = done.noted.map(|noted| {
                    let number = noted.number;
                    format!("\n`hermes journey undo {number}` takes that back")
                });
                let back = back.unwrap_or_default();
                Ok(format!(
                    "{title} is what it was before entry {number}{back}"
                ))
            }
        }
    }

    pub fn entry(&self, number: u64) -> Result<Entry> {
        let mut entries = self.entries()?.into_iter();
        let found = entries.find(|entry| entry.number == number);
        found.ok_or(Error::NoEntry(number))
    }
}

/// What an empty journal says.
pub const NOTHING: &str = "Nothing has been learned yet.";

impl Entry {
    /// What was there before the journal, or came with the program.
    pub fn is_first_sight(&self) -> bool {
        self.by == By::Outside && self.before.is_none()
    }

    pub fn change(&self) -> &'static str {
        match (&self.before, &self.after, self.undoes) {
            (_, _, Some(_)) => "taken back",
            (None, _, _) => "new",
            (_, None, _) => "gone",
            _ => "changed",
        }
    }

    pub fn when(&self) -> String {
        clock::local(self.at).strftime("%m-%d %H:%M").to_string()
    }
}

impl By {
    pub fn who(self) -> &'static str {
        match self {
            Self::Agent => "the agent",
            Self::Review => "looking back",
            Self::Curator => "the curator",
            Self::Owner => "you",
            Self::Outside => "somebody else",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wanted() {
        let check = |words: &str, wanted: Option<Wanted>| assert_eq!(Wanted::read(words), wanted);
        check("", Some(Wanted::Last(20)));
        check("5", Some(Wanted::Last(5)));
        check("show 3", Some(Wanted::Show(3)));
        check(" undo  #12 ", Some(Wanted::Undo(12)));
        check("undo", None);
        check("show x", None);
        check("-1", None);
    }
}
