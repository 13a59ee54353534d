//! How old something is, for people.

/// Seconds from `then` to `now`; a clock that is ahead of ours counts as now.
pub(crate) fn age(then: u64, now: u64) -> u64 {
    now.saturating_sub(then) / 1000
}

/// `12 s ago`, `3 min ago`, `5 h ago`, `2 days ago`.
pub(crate) fn ago(seconds: u64) -> String {
    match seconds {
        0..=119 => format!("{seconds} s ago"),
        120..=7_199 => format!("{} min ago", seconds / 60),
        7_200..=172_799 => format!("{} h ago", seconds / 3_600),
        _ => format!("{} days ago", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_told_in_the_unit_that_fits() {
        let cases = [
            (0, "0 s ago"),
            (119, "119 s ago"),
            (120, "2 min ago"),
            (7_200, "2 h ago"),
            (200_000, "2 days ago"),
        ];
        for (seconds, text) in cases {
            assert_eq!(ago(seconds), text);
        }
        assert_eq!(age(5_000, 1_000), 0);
        assert_eq!(age(1_000, 5_999), 4);
    }
}
