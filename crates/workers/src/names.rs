//! What is called how: subjects, buckets, streams.
//!
//! Everything begins with the prefix, so that tenants of one NATS do not meet by accident. What keeps them apart is an account of
//! NATS for each: permissions cannot name all buckets and streams of a prefix, for NATS has no wildcard within a word.

use std::{fmt::Write, time::Duration};

use crate::Error;

/// The names of one tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    prefix: String,
}

impl Names {
    /// Names with this prefix.
    ///
    /// # Errors
    /// The prefix cannot be part of a bucket's name.
    pub fn new(prefix: &str) -> Result<Self, Error> {
        if prefix.is_empty() || !prefix.chars().all(is_plain) {
            let reason = format!("{prefix:?} must be letters, digits, `-` and `_` only");
            return Err(Error::Setting { key: "prefix", reason });
        }
        Ok(Self { prefix: prefix.to_owned() })
    }

    /// The prefix itself.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// What the subjects of answers begin with.
    pub fn inbox(&self) -> String {
        format!("_INBOX_{}", self.prefix)
    }

    /// Where calls of a tool are sent; the workers of the group share it as a queue.
    pub fn calls(&self, group: &str, tool: &str) -> String {
        format!("{}.call.{}.{}", self.prefix, token(group), token(tool))
    }

    /// Where a worker is told what concerns it alone: that a call is cancelled.
    pub fn worker(&self, worker: &str) -> String {
        format!("{}.worker.{}", self.prefix, token(worker))
    }

    /// Where calls are sent that one worker is asked to run, after another has refused them.
    pub fn calls_to(&self, worker: &str) -> String {
        format!("{}.worker.{}.call", self.prefix, token(worker))
    }

    /// Where all workers of a group are told that a call is cancelled, as long as nobody knows who has it.
    pub fn group(&self, group: &str) -> String {
        format!("{}.group.{}", self.prefix, token(group))
    }

    /// Where durable calls of a tool are queued.
    pub fn jobs(&self, group: &str, tool: &str) -> String {
        format!("{}.job.{}.{}", self.prefix, token(group), token(tool))
    }

    /// The durable calls of all tools of a group.
    pub fn jobs_of(&self, group: &str) -> String {
        format!("{}.job.{}.>", self.prefix, token(group))
    }

    /// The key of what a worker says of itself, in the buckets of workers and of tools.
    pub fn member(&self, group: &str, worker: &str) -> String {
        format!("{}.{}", token(group), token(worker))
    }

    /// Any other subject of ours: `PREFIX.WORD.…`, each part made fit for a subject.
    pub fn subject(&self, parts: &[&str]) -> String {
        let mut subject = self.prefix.clone();
        for part in parts {
            subject.push('.');
            subject.push_str(&token(part));
        }
        subject
    }

    /// The name of a stream: `PREFIX_WORD`.
    pub fn stream(&self, word: &str) -> String {
        format!("{}_{word}", self.prefix)
    }

    /// The name of a bucket.
    pub fn bucket(&self, bucket: Bucket) -> String {
        format!("{}_{}", self.prefix, bucket.word())
    }
}

/// The buckets that are kept at the servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bucket {
    /// Which worker is there: a small entry that is renewed all the time, and lapses.
    Workers,
    /// What the workers offer: the tools of each, once.
    Tools,
    /// How durable calls are, and what came of them.
    Calls,
    /// Which idempotency keys were used, and for what.
    Keys,
    /// Who may call what.
    Tokens,
    /// How much of their rate callers have used.
    Rates,
    /// Calls that wait for a person, the answers, and rules that people left.
    Approvals,
    /// What gateways know together of sessions: keys to seal them with, and those that ended.
    Sessions,
    /// Which gateway is there: a small entry that is renewed all the time, and lapses.
    Gateways,
}

impl Bucket {
    /// Every bucket.
    pub const ALL: [Self; 9] = [
        Self::Workers,
        Self::Tools,
        Self::Calls,
        Self::Keys,
        Self::Tokens,
        Self::Rates,
        Self::Approvals,
        Self::Sessions,
        Self::Gateways,
    ];

    /// Its place among all buckets.
    pub(crate) fn number(self) -> usize {
        Self::ALL.iter().position(|one| *one == self).unwrap_or_default()
    }

    /// What it is called.
    pub fn word(self) -> &'static str {
        match self {
            Self::Workers => "workers",
            Self::Tools => "tools",
            Self::Calls => "calls",
            Self::Keys => "keys",
            Self::Tokens => "tokens",
            Self::Rates => "rates",
            Self::Approvals => "approvals",
            Self::Sessions => "sessions",
            Self::Gateways => "gateways",
        }
    }

    /// How long an entry stays that nobody renews; none: for ever.
    pub fn max_age(self) -> Option<Duration> {
        const DAY: u64 = 24 * 60 * 60;
        match self {
            Self::Workers | Self::Gateways => Some(Duration::from_secs(10)),
            Self::Tools | Self::Rates => Some(Duration::from_secs(2 * DAY)),
            Self::Calls | Self::Keys => Some(Duration::from_secs(7 * DAY)),
            // Rules of people hold until they are forgotten; gateways sweep the rest.
            Self::Tokens | Self::Approvals | Self::Sessions => None,
        }
    }

    /// Whether it may be lost when all servers end: it is made anew at once.
    pub fn is_fleeting(self) -> bool {
        matches!(self, Self::Workers)
    }
}

/// A name as one part of a subject, or of a key: other characters than letters, digits, `-` and `_` as `=XX`.
pub fn token(name: &str) -> String {
    let mut token = String::with_capacity(name.len());
    for byte in name.bytes() {
        match char::from(byte) {
            plain if is_plain(plain) => token.push(plain),
            // Writing to a string does not fail.
            _ => _ = write!(token, "={byte:02X}"),
        }
    }
    token
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_fit_for_subjects_and_stay_apart() {
        let names = Names::new("home-1").unwrap();
        assert_eq!(names.calls("gpu", "resize"), "home-1.call.gpu.resize");
        assert_eq!(names.calls("g.p", "re size>"), "home-1.call.g=2Ep.re=20size=3E");
        assert_eq!(names.jobs_of("gpu"), "home-1.job.gpu.>");
        assert_eq!(names.bucket(Bucket::Workers), "home-1_workers");
        assert_ne!(token("a=2E"), token("a."));
    }

    #[test]
    fn a_prefix_that_cannot_be_is_refused() {
        for prefix in ["", "a.b", "a b", "ä", "a>"] {
            let error = Names::new(prefix).unwrap_err().to_string();
            assert!(error.starts_with("`cluster.prefix`: "), "{error}");
        }
    }
}
