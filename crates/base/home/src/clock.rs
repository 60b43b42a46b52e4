//! Local time, without looking through the whole zone database first.
//!
//! The time library finds a zone by its name in a listing of every zone there is, which costs more than the
//! rest of a short command. The one file that matters is known from the start.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

static ZONE: LazyLock<TimeZone> = LazyLock::new(find);

/// Now, as the owner's clock shows it.
pub fn now() -> Zoned {
    local(Timestamp::now())
}

/// A moment as the owner's clock showed it.
pub fn local(time: Timestamp) -> Zoned {
    time.to_zoned(ZONE.clone())
}

/// `TZ` if it names a zone, else what the machine is set to.
fn find() -> TimeZone {
    #[expect(
        clippy::disallowed_methods,
        reason = "the zone belongs to the machine, not to a home"
    )]
    let named = std::env::var_os("TZ").filter(|name| !name.is_empty());
    match named {
        None => read(Path::new("/etc/localtime")).unwrap_or(TimeZone::UTC),
        Some(name) => {
            let name = name.to_string_lossy();
            let relative = Path::new(name.trim_start_matches(':'));
            let inside = relative
                .components()
                .all(|part| matches!(part, std::path::Component::Normal(_)));
            let file = inside
                .then(|| read(&Path::new("/usr/share/zoneinfo").join(relative)))
                .flatten();
            // Rules written out (`CET-1CEST`) and other databases are the library's business.
            file.unwrap_or_else(TimeZone::system)
        }
    }
}

fn read(path: &Path) -> Option<TimeZone> {
    TimeZone::tzif("local", &fs::read(path).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_way_gives_the_same_time() {
        let at = Timestamp::from_second(1_780_000_000).unwrap();
        assert_eq!(
            local(at).datetime(),
            at.to_zoned(TimeZone::system()).datetime()
        );
    }
}
