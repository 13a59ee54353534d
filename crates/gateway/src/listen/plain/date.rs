//! The date of answers, written out once a second.

use std::{
    fmt::Write as _,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// The date that was said last.
#[derive(Default)]
pub(super) struct Date {
    second: u64,
    text: String,
}

impl Date {
    /// The date now.
    pub(super) fn now(&mut self) -> &str {
        // A clock before 1970 is wrong by any account.
        self.at(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
    }

    fn at(&mut self, time: Duration) -> &str {
        if self.text.is_empty() || self.second != time.as_secs() {
            self.second = time.as_secs();
            self.text.clear();
            let date = httpdate::HttpDate::from(UNIX_EPOCH + Duration::from_secs(self.second));
            // Nothing can go wrong with a `String`.
            _ = write!(self.text, "{date}");
        }
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_date_follows_the_clock() {
        let mut date = Date::default();
        assert_eq!(date.at(Duration::ZERO), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(
            date.at(Duration::from_millis(784_111_777_000)),
            "Sun, 06 Nov 1994 08:49:37 GMT"
        );
        assert_eq!(
            date.at(Duration::from_millis(784_111_777_999)),
            "Sun, 06 Nov 1994 08:49:37 GMT"
        );
        assert_eq!(
            date.at(Duration::from_millis(784_111_776_000)),
            "Sun, 06 Nov 1994 08:49:36 GMT"
        );
    }
}
