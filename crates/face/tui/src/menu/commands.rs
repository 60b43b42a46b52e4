//! The commands of the table, with skills and the owner's own ones.

use hermes_session::slash::{Slash, TABLE};

use super::rank::{self, Item};
use super::{Candidate, Kind, Takes};

/// Those that fit what was typed, with its slash. A command is listed by its name, or by an alias if that fits
/// better.
pub fn matching(typed: &str, more: &[Candidate]) -> Vec<Item> {
    let typed = typed.to_lowercase().replace('_', "-");
    let commands = TABLE.iter().map(|slash| best_name(slash, &typed));
    let known = |candidate: &&Candidate| {
        let name = candidate.label.trim_start_matches('/');
        !TABLE
            .iter()
            .any(|slash| names(slash).any(|other| other == name))
    };
    let more = more.iter().filter(known).cloned();
    let (quick, skills): (Vec<_>, Vec<_>) = more.partition(|extra| extra.kind != Kind::Skill);
    rank::ranked(commands.chain(quick).chain(skills).collect(), &typed)
}

/// The name of a command that was given by its name or an alias; others as they are.
pub fn name_of(word: &str) -> String {
    let word = word.to_lowercase().replace('_', "-");
    let known = TABLE
        .iter()
        .find(|slash| names(slash).any(|name| name == word));
    known.map_or(word, |slash| slash.name.to_owned())
}

fn best_name(slash: &Slash, typed: &str) -> Candidate {
    let fit = |name: &&str| rank::fit(&format!("/{name}"), typed).map(|(fit, _)| fit);
    // The first of equally good ones; without any fit the name, which then drops out.
    let best = names(slash)
        .filter(|name| fit(name).is_some())
        .min_by_key(fit)
        .unwrap_or(slash.name);
    let about = match slash.args {
        "" => slash.about.to_owned(),
        args => format!("{} {args}", slash.about),
    };
    Candidate {
        takes: match slash.args.chars().next() {
            None => Takes::Nothing,
            Some('[') => Takes::Perhaps,
            Some(_) => Takes::Something,
        },
        ..Candidate::word(format!("/{best}"), about)
    }
}

fn names(slash: &Slash) -> impl Iterator<Item = &'static str> + use<> {
    std::iter::once(slash.name).chain(slash.aliases.iter().copied())
}
