//! When conversations begin: weekdays, hours, days in a row.

use std::collections::BTreeMap;

use jiff::{civil::Date, tz::TimeZone};
use serde::Serialize;

use super::rows::Held;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Activity {
    /// Sessions by weekday, Monday first.
    pub weekdays: [usize; 7],
    /// Sessions by hour of the day.
    pub hours: [usize; 24],
    /// Days with sessions, the oldest first.
    pub days: Vec<(Date, usize)>,
    pub longest_streak: usize,
}

impl Activity {
    pub(crate) fn of(held: &[Held], zone: &TimeZone) -> Self {
        let mut found = Self::default();
        let mut days: BTreeMap<Date, usize> = BTreeMap::new();
        for one in held {
            let began = one.began().to_zoned(zone.clone());
            let weekday = began.weekday().to_monday_zero_offset();
            if let Some(count) = found.weekdays.get_mut(weekday as usize) {
                *count += 1;
            }
            if let Some(count) = found.hours.get_mut(began.hour() as usize) {
                *count += 1;
            }
            *days.entry(began.date()).or_default() += 1;
        }
        found.longest_streak = streak(days.keys());
        found.days = days.into_iter().collect();
        found
    }

    /// The busiest hours with their sessions, five at most.
    pub fn peak_hours(&self) -> Vec<(usize, usize)> {
        let busy = self.hours.iter().copied().enumerate();
        let mut busy: Vec<(usize, usize)> = busy.filter(|(_, count)| *count > 0).collect();
        busy.sort_by_key(|(hour, count)| (std::cmp::Reverse(*count), *hour));
        busy.truncate(5);
        busy
    }
}

/// The longest run of days that follow each other.
fn streak<'d>(days: impl Iterator<Item = &'d Date>) -> usize {
    let (mut longest, mut run, mut next) = (0, 0, None);
    for day in days {
        run = if next == Some(*day) { run + 1 } else { 1 };
        longest = longest.max(run);
        next = day.tomorrow().ok();
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_streak_is_days_in_a_row() {
        let check = |days: &[&str], expected: usize| {
            let days: Vec<Date> = days.iter().map(|day| day.parse().unwrap()).collect();
            assert_eq!(streak(days.iter()), expected);
        };
        check(&[], 0);
        check(&["2026-01-01"], 1);
        check(&["2026-01-31", "2026-02-01", "2026-02-03"], 2);
        check(&["2026-01-01", "2026-01-03", "2026-01-04", "2026-01-05"], 3);
    }

    #[test]
    fn the_busiest_hours_come_first() {
        let mut activity = Activity::default();
        for (hour, count) in [(3, 1), (9, 4), (10, 4), (11, 2), (20, 1), (21, 7)] {
            activity.hours[hour] = count;
        }
        let peaks = [(21, 7), (9, 4), (10, 4), (11, 2), (3, 1)];
        assert_eq!(activity.peak_hours(), peaks);
    }
}
