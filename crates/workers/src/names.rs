//! Names of subjects, buckets and streams.
//!
//! Everything has a prefix, so that tenants of one NATS do not collide by accident. To isolate them, give each its own
//! NATS account: permissions cannot cover all buckets and streams of a prefix, since NATS has no wildcard within a
//! token.

use std::{fmt::Write, time::Duration};

use crate::Error;

/// The names of one tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterNames {
    prefix: String,
}

impl ClusterNames {
    /// Creates names with this prefix.
    ///
    /// # Errors
    /// The prefix is invalid in a bucket's name.
    pub fn new(prefix: &str) -> Result<Self, Error> {
        if prefix.is_empty() || !prefix.chars().all(is_plain) {
            let reason = format!("{prefix:?} must be letters, digits, `-` and `_` only");
            return Err(Error::Setting { key: "prefix", reason });
        }
        Ok(Self { prefix: prefix.to_owned() })
    }

    /// Returns the prefix.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Returns the prefix of reply subjects.
    pub fn inbox(&self) -> String {
        format!("_INBOX_{}", self.prefix)
    }

    /// Returns the subject of a tool's calls; the workers of the group subscribe as a queue group.
    pub fn calls(&self, group: &str, tool: &str) -> String {
        format!("{}.call.{}.{}", self.prefix, token(group), token(tool))
    }

    /// Returns the subject of notices to one worker, such as cancellations.
    pub fn worker(&self, worker: &str) -> String {
        format!("{}.worker.{}", self.prefix, token(worker))
    }

    /// Returns the subject of calls to one worker, used after another has refused them.
    pub fn calls_to(&self, worker: &str) -> String {
        format!("{}.worker.{}.call", self.prefix, token(worker))
    }

    /// Returns the subject of notices to all workers of a group, used while it is unknown which of them runs a call.
    pub fn group(&self, group: &str) -> String {
        format!("{}.group.{}", self.prefix, token(group))
    }

    /// Returns the subject on which the workers of a group say what changes of their presence.
    pub(crate) fn presence(&self, group: &str) -> String {
        format!("{}.presence.{}", self.prefix, token(group))
    }

    /// Returns the subjects on which the workers of all groups say what changes of their presence.
    pub(crate) fn presences(&self) -> String {
        format!("{}.presence.*", self.prefix)
    }

    /// Returns the subject of the heartbeats of a group's workers.
    pub fn beats(&self, group: &str) -> String {
        format!("{}.beat.{}", self.prefix, token(group))
    }

    /// Returns the subject of the heartbeats of all workers.
    pub(crate) fn all_beats(&self) -> String {
        format!("{}.beat.*", self.prefix)
    }

    /// Returns the subject on which gateways that use the same groups agree who of them monitors their workers.
    pub(crate) fn monitors(&self, selection: &str) -> String {
        format!("{}.monitor.{}", self.prefix, token(selection))
    }

    /// Returns the subject of a tool's durable calls.
    pub fn jobs(&self, group: &str, tool: &str) -> String {
        format!("{}.job.{}.{}", self.prefix, token(group), token(tool))
    }

    /// Returns the subjects of durable calls of all tools of a group.
    pub(crate) fn jobs_of(&self, group: &str) -> String {
        format!("{}.job.{}.>", self.prefix, token(group))
    }

    /// Returns a worker's key in the buckets of workers and offers.
    pub fn member(&self, group: &str, worker: &str) -> String {
        format!("{}.{}", token(group), token(worker))
    }

    /// Returns a pattern of the keys of a group's workers.
    pub(crate) fn members(&self, group: &str) -> String {
        format!("{}.>", token(group))
    }

    /// Returns the subject `PREFIX.WORD.…`, with each part escaped.
    pub fn subject(&self, parts: &[&str]) -> String {
        let mut subject = self.prefix.clone();
        for part in parts {
            subject.push('.');
            subject.push_str(&token(part));
        }
        subject
    }

    /// Returns the name of a stream: `PREFIX_WORD`.
    pub fn stream(&self, word: &str) -> String {
        format!("{}_{word}", self.prefix)
    }

    /// Returns the name of a bucket.
    pub fn bucket(&self, bucket: Bucket) -> String {
        format!("{}_{}", self.prefix, bucket.word())
    }
}

/// The key-value buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bucket {
    /// Live workers: a small entry that is renewed now and then, and expires.
    Workers,
    /// What workers offer: the tools of each.
    Tools,
    /// The state and outcome of durable calls.
    Calls,
    /// Used idempotency keys.
    Keys,
    /// Tokens.
    Tokens,
    /// How much of their rate callers have used.
    Rates,
    /// Held calls, decisions, and rules that people left.
    Approvals,
    /// Keys to seal MCP sessions with, and sessions that ended.
    Sessions,
    /// Live gateways: a small entry that is renewed all the time, and expires.
    Gateways,
    /// Sign-ins to servers and APIs, encrypted, and the pages on which callers sign in.
    Credentials,
}

impl Bucket {
    /// Every bucket.
    pub const ALL: [Self; 10] = [
        Self::Workers,
        Self::Tools,
        Self::Calls,
        Self::Keys,
        Self::Tokens,
        Self::Rates,
        Self::Approvals,
        Self::Sessions,
        Self::Gateways,
        Self::Credentials,
    ];

    /// Returns its index.
    pub(crate) fn number(self) -> usize {
        Self::ALL.iter().position(|one| *one == self).unwrap_or_default()
    }

    /// Returns its name.
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
            Self::Credentials => "credentials",
        }
    }

    /// Returns how long an entry is kept without being renewed. `None`: forever.
    pub fn max_age(self) -> Option<Duration> {
        const DAY: u64 = 24 * 60 * 60;
        match self {
            Self::Workers => Some(Duration::from_secs(75)),
            Self::Gateways => Some(Duration::from_secs(10)),
            Self::Tools | Self::Rates => Some(Duration::from_secs(2 * DAY)),
            Self::Calls | Self::Keys => Some(Duration::from_secs(7 * DAY)),
            // Rules stay until they are removed; gateways sweep the rest.
            Self::Tokens | Self::Approvals | Self::Sessions | Self::Credentials => None,
        }
    }

    /// Returns whether it may be lost if all servers restart: its entries are renewed at once.
    pub(crate) fn is_fleeting(self) -> bool {
        matches!(self, Self::Workers)
    }
}

/// Escapes a name as one token of a subject or key: characters other than letters, digits, `-` and `_` become `=XX`.
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
        let names = ClusterNames::new("home-1").unwrap();
        assert_eq!(names.calls("gpu", "resize"), "home-1.call.gpu.resize");
        assert_eq!(names.calls("g.p", "re size>"), "home-1.call.g=2Ep.re=20size=3E");
        assert_eq!(names.jobs_of("gpu"), "home-1.job.gpu.>");
        assert_eq!(names.bucket(Bucket::Workers), "home-1_workers");
        assert_ne!(token("a=2E"), token("a."));
    }

    #[test]
    fn a_prefix_that_cannot_be_is_refused() {
        for prefix in ["", "a.b", "a b", "ä", "a>"] {
            let error = ClusterNames::new(prefix).unwrap_err().to_string();
            assert!(error.starts_with("`cluster.prefix`: "), "{error}");
        }
    }
}
