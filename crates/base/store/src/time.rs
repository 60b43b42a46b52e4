//! Moments as the file stores them: seconds since 1970, with a fraction.

use jiff::Timestamp;

pub(crate) fn seconds(moment: Timestamp) -> f64 {
    // Exact to the microsecond for the next two centuries.
    moment.as_microsecond() as f64 / 1e6
}

/// Nonsense in the file reads as 1970 instead of failing a whole list.
pub(crate) fn moment(seconds: f64) -> Timestamp {
    Timestamp::from_microsecond((seconds * 1e6).round() as i64).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// The local time as a part of a file name.
pub(crate) fn stamp() -> String {
    jiff::Zoned::now().strftime("%Y%m%d_%H%M%S").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_survive_the_round_trip() {
        for value in [0.0, 1_700_000_000.25, 1_763_200_000.123_456, -1.5] {
            assert_eq!(seconds(moment(value)), value);
        }
        assert_eq!(moment(f64::NAN), Timestamp::UNIX_EPOCH);
        assert_eq!(moment(f64::INFINITY), Timestamp::UNIX_EPOCH);
    }
}
