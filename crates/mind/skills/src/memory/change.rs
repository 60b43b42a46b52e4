//! What can be done with entries, and when it is refused. Pure.

use super::entries::length;

/// How much of an entry is shown where several fit.
const PREVIEW: usize = 80;

/// One wish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    Add(String),
    /// The entry with this in it becomes another one.
    Replace {
        old: String,
        new: String,
    },
    Remove {
        old: String,
    },
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    Added,
    Replaced,
    Removed,
    /// It was there already.
    Known,
}

/// Why nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It would be this many characters.
    TooLong {
        would_be: usize,
    },
    NoMatch {
        old: String,
    },
    /// Beginnings of the entries that fit.
    Several {
        matches: Vec<String>,
    },
}

impl Wish {
    /// Does it to `entries`. The limit is not looked at.
    pub fn apply(&self, entries: &mut Vec<String>) -> Result<Done, Refused> {
        match self {
            Self::Add(new) if entries.contains(new) => Ok(Done::Known),
            Self::Add(new) => {
                entries.push(new.clone());
                Ok(Done::Added)
            }
            Self::Replace { old, new } => {
                let place = find(entries, old)?;
                let is_known = entries.iter().position(|entry| entry == new);
                match is_known.filter(|known| *known != place) {
                    Some(_) => drop(entries.remove(place)),
                    None => entries[place].clone_from(new),
                }
                Ok(Done::Replaced)
            }
            Self::Remove { old } => {
                let place = find(entries, old)?;
                entries.remove(place);
                Ok(Done::Removed)
            }
        }
    }
}

/// All of them or none; only the outcome must keep within the limit. One that got shorter may still be too long.
pub fn apply_all(
    entries: &[String],
    wishes: &[Wish],
    limit: usize,
) -> Result<(Vec<String>, Vec<Done>), Refused> {
    let mut after = entries.to_vec();
    let done = wishes.iter().map(|wish| wish.apply(&mut after));
    let done = done.collect::<Result<Vec<_>, _>>()?;
    let would_be = length(&after);
    match would_be > limit && would_be > length(entries) {
        true => Err(Refused::TooLong { would_be }),
        false => Ok((after, done)),
    }
}

/// The one entry with this text in it.
fn find(entries: &[String], part: &str) -> Result<usize, Refused> {
    let fit: Vec<usize> = (0..entries.len())
        .filter(|place| entries[*place].contains(part))
        .collect();
    match fit.as_slice() {
        [] => Err(Refused::NoMatch {
            old: part.to_owned(),
        }),
        [one] => Ok(*one),
        // The whole of one entry may be a part of another: then it is meant.
        several => match several.iter().find(|place| entries[**place] == part) {
            Some(whole) => Ok(*whole),
            None => Err(Refused::Several {
                matches: several
                    .iter()
                    .map(|place| entries[*place].chars().take(PREVIEW).collect())
                    .collect(),
            }),
        },
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn entries(text: &[&str]) -> Vec<String> {
        text.iter().map(|entry| (*entry).to_owned()).collect()
    }

    fn replace(old: &str, new: &str) -> Wish {
        Wish::Replace {
            old: old.to_owned(),
            new: new.to_owned(),
        }
    }

    fn remove(old: &str) -> Wish {
        Wish::Remove {
            old: old.to_owned(),
        }
    }

    #[test]
    fn an_entry_is_meant_by_a_part_of_it() {
        let check = |before: &[&str], wish: Wish, after: &[&str]| {
            let (now, _) = apply_all(&entries(before), std::slice::from_ref(&wish), 100).unwrap();
            assert_eq!(now, after, "{wish:?}");
        };
        check(&["a"], Wish::Add("b".to_owned()), &["a", "b"]);
        check(&["a"], Wish::Add("a".to_owned()), &["a"]);
        check(
            &["name: Ada", "tz"],
            replace("Ada", "name: Bo"),
            &["name: Bo", "tz"],
        );
        check(&["x1", "x2"], replace("x2", "x1"), &["x1"]);
        check(&["a", "ab"], remove("a"), &["ab"]);
        let refused =
            |before: &[&str], wish: Wish| apply_all(&entries(before), &[wish], 100).unwrap_err();
        assert!(matches!(
            refused(&["a"], remove("z")),
            Refused::NoMatch { .. }
        ));
        // spec: learning §13.3
        let several = refused(&["ax", "ay"], remove("a"));
        assert_eq!(
            several,
            Refused::Several {
                matches: entries(&["ax", "ay"])
            }
        );
    }

    #[test]
    fn only_the_outcome_must_fit() {
        let full = entries(&["12345", "67890"]);
        let add = || Wish::Add("abcd".to_owned());
        let over = apply_all(&full, &[add()], 13).unwrap_err();
        assert_eq!(over, Refused::TooLong { would_be: 20 });
        let (after, done) = apply_all(&full, &[add(), remove("123")], 13).unwrap();
        assert_eq!(
            (after, done),
            (
                entries(&["67890", "abcd"]),
                vec![Done::Added, Done::Removed]
            )
        );
        // What is too long already can be made shorter bit by bit.
        assert!(apply_all(&full, &[remove("123")], 3).is_ok());
    }
}
