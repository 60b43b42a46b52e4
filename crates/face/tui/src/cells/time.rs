//! Lengths of time in the few characters there is room for.

use std::time::Duration;

/// `4.2s`, `1m05s`, `2h03m`.
pub fn short(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        ..60 => format!("{:.1}s", time.as_millis().min(59_949) as f64 / 1000.0),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3600, seconds % 3600 / 60),
    }
}

/// `(  2.8s)`, `(01m05s)`, `(02h03m)`: always as wide, so that nothing beside it moves.
pub fn timer(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        ..60 => format!("({:>5.1}s)", time.as_millis().min(59_949) as f64 / 1000.0),
        60..3600 => format!("({:02}m{:02}s)", seconds / 60, seconds % 60),
        _ => format!("({:02}h{:02}m)", seconds / 3600, seconds % 3600 / 60),
    }
}

/// `12s`, `4m`, `1h05m`, `3d4h`: for what is looked at now and then.
pub fn rough(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        ..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86_400 => format!("{}h{:02}m", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{}d{}h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn times_are_short() {
        let check = |millis, expected: [&str; 3]| {
            let time = Duration::from_millis(millis);
            assert_eq!([short(time), timer(time), rough(time)], expected);
        };
        check(0, ["0.0s", "(  0.0s)", "0s"]);
        check(2_849, ["2.8s", "(  2.8s)", "2s"]);
        check(12_300, ["12.3s", "( 12.3s)", "12s"]);
        check(59_999, ["59.9s", "( 59.9s)", "59s"]);
        check(65_000, ["1m05s", "(01m05s)", "1m"]);
        check(7_380_000, ["2h03m", "(02h03m)", "2h03m"]);
        check(273_600_000, ["76h00m", "(76h00m)", "3d4h"]);
    }
}
