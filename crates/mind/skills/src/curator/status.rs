//! How things are, in words.

use hermes_types::Finding;
use jiff::{SignedDuration, Timestamp};

use super::run::Finished;
use super::state::State;
use super::{Archived, Backup, Curator, Standing};

/// Skills shown one by one.
const SHOWN: usize = 10;

impl Curator {
    pub(super) fn status(&self) -> String {
        let (state, now) = (State::load(&self.home), Timestamp::now());
        let config = &self.config;
        let ago = |at: Timestamp| ago(now, at);
        let every = span(config.interval);
        let runs = match (config.enabled, state.is_paused()) {
            (false, _) => "off (curator.enabled)".to_owned(),
            (true, true) => "paused (`hermes curator resume`)".to_owned(),
            (true, false) => format!(
                "on: every {every}, when nobody has used Hermes for {}",
                span(config.min_idle)
            ),
        };
        let last = match (state.at("last_run_at"), state.runs()) {
            (Some(at), 0) => format!("never; first looked {}", ago(at)),
            (Some(at), runs) => format!("{} (run {runs})", ago(at)),
            (None, _) => "never".to_owned(),
        };
        let limit = |limit: Option<SignedDuration>| limit.map_or("never".to_owned(), span);
        let merging = match config.merges {
            true => "on",
            false => "off (curator.consolidate, or `run --consolidate`)",
        };
        let mut rows = vec![("Curator", runs), ("Last run", last)];
        let kept = |key: &str| state.text(key).map(str::to_owned);
        rows.extend(kept("last_run_summary").map(|text| ("Summary", text)));
        rows.extend(kept("last_report_path").map(|path| ("Report", path)));
        rows.extend([
            ("Stale after", limit(config.patience.stale_after)),
            ("Archived after", limit(config.patience.archive_after)),
            ("Merging", merging.to_owned()),
            ("Skills", self.counts()),
        ]);
        let rows = rows
            .iter()
            .map(|(label, value)| format!("{label:<15}{value}\n"));
        rows.collect::<String>() + &self.idlest(now)
    }

    /// For `hermes doctor`.
    pub fn findings(&self) -> Vec<Finding> {
        let library = &self.skills.library;
        let (count, troubles) = (library.skills().len(), library.troubles());
        let text = format!("{count} skills; {}", self.counts());
        match troubles.as_slice() {
            [] => vec![Finding::ok(text)],
            [first, ..] => vec![Finding::warning(
                format!(
                    "{count} skills, {} that cannot be read: {first}",
                    troubles.len()
                ),
                "nobody can use them",
                "`hermes skills validate DIR` says what is wrong with one",
            )],
        }
    }

    fn counts(&self) -> String {
        let all = self.managed();
        let count = |test: fn(&&Standing) -> bool| all.iter().filter(test).count();
        let stale = count(|one| one.state() == "stale");
        let pinned = count(|one| one.record.is_pinned());
        format!(
            "{} the agent's own ({stale} stale, {pinned} pinned), {} archived",
            all.len(),
            self.archived().len()
        )
    }

    /// The skills that would go first.
    fn idlest(&self, now: Timestamp) -> String {
        let mut all = self.managed();
        all.sort_by_key(|one| std::cmp::Reverse(one.idle_days(now)));
        let line = |one: &Standing| {
            let pinned = if one.record.is_pinned() {
                ", pinned"
            } else {
                ""
            };
            format!(
                "  {:<32} {}{pinned}, idle {} days, used {} times\n",
                one.skill.name(),
                one.state(),
                one.idle_days(now).unwrap_or_default().max(0),
                one.record.count("use_count")
            )
        };
        let lines: String = all.iter().take(SHOWN).map(line).collect();
        match all.len().checked_sub(SHOWN) {
            Some(more @ 1..) => format!("{lines}  … and {more} more"),
            _ => lines.trim_end().to_owned(),
        }
    }

    pub(super) fn archive_list(&self) -> String {
        let now = Timestamp::now();
        let line = |one: &Archived| {
            let when = one.at.map_or(String::new(), |at| ago(now, at));
            let folder = match one.folder == one.name {
                true => String::new(),
                false => format!("  ({})", one.folder),
            };
            format!("{:<32} {when}{folder}", one.name)
        };
        let lines: Vec<String> = self.archived().iter().map(line).collect();
        match lines.is_empty() {
            true => "The archive is empty.".to_owned(),
            false => lines.join("\n"),
        }
    }

    pub(super) fn backup_list(&self) -> String {
        let lines: Vec<String> = self.backups().iter().map(backup_line).collect();
        match lines.is_empty() {
            true => "There is no backup yet.".to_owned(),
            false => lines.join("\n"),
        }
    }
}

pub(super) fn backup_line(backup: &Backup) -> String {
    let kilobytes = backup.bytes.div_ceil(1024);
    format!(
        "{:<24} {:>4} skills {kilobytes:>6} KB  {}",
        backup.id, backup.skills, backup.reason
    )
}

impl Finished {
    pub fn told(&self) -> String {
        format!("{}\nreport: {}", self.summary, self.report.display())
    }
}

/// `7d`, `2h`, `20m`
fn span(time: SignedDuration) -> String {
    let minutes = time.as_mins();
    match minutes {
        0 => "0".to_owned(),
        _ if minutes % (24 * 60) == 0 => format!("{}d", minutes / (24 * 60)),
        _ if minutes % 60 == 0 => format!("{}h", minutes / 60),
        _ => format!("{minutes}m"),
    }
}

/// `3h ago`
fn ago(now: Timestamp, at: Timestamp) -> String {
    let minutes = now.duration_since(at).as_mins();
    match minutes {
        ..=0 => "just now".to_owned(),
        1..60 => format!("{minutes}m ago"),
        60..1440 => format!("{}h ago", minutes / 60),
        _ => format!("{}d ago", minutes / 1440),
    }
}
