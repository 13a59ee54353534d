//! Names of subjects, buckets and streams.
//!
//! Everything has a prefix, so that tenants of one NATS do not collide by accident. To isolate them, give each its own
//! NATS account: permissions cannot cover all buckets and streams of a prefix, since NATS has no wildcard within a
//! token.

mod partitions;

use std::{fmt::Write, time::Duration};

use crate::Error;
pub use partitions::Partitions;

/// The names of one tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterNames {
    prefix: String,
    partitions: Partitions,
}

impl ClusterNames {
    /// Creates names with this prefix, for so many partitions of queued calls.
    ///
    /// # Errors
    /// The prefix is invalid in a bucket's name, or the number of partitions is.
    pub fn new(prefix: &str, partitions: u32) -> Result<Self, Error> {
        if prefix.is_empty() || !prefix.chars().all(is_plain) {
            let reason = format!("{prefix:?} must be letters, digits, `-` and `_` only");
            return Err(Error::Setting { key: "prefix", reason });
        }
        Ok(Self { prefix: prefix.to_owned(), partitions: Partitions::new(partitions)? })
    }

    /// Returns the prefix.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Returns into how many partitions queued calls are divided.
    pub fn partitions(&self) -> Partitions {
        self.partitions
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
        let subjects = self.subjects_of_jobs(self.partition_of_jobs(group));
        format!("{subjects}.{}.{}", token(group), token(tool))
    }

    /// Returns the subjects of durable calls of all tools of a group.
    pub(crate) fn jobs_of(&self, group: &str) -> String {
        let subjects = self.subjects_of_jobs(self.partition_of_jobs(group));
        format!("{subjects}.{}.>", token(group))
    }

    /// Returns what the subjects of a partition's durable calls begin with. Those of several partitions are not those of
    /// 0.1.0: its nodes find no stream for their calls, and say so, instead of storing them where no worker looks.
    pub(crate) fn subjects_of_jobs(&self, partition: usize) -> String {
        match self.partitions.word(partition) {
            None => format!("{}.job", self.prefix),
            Some(word) => format!("{}.jobs.{word}", self.prefix),
        }
    }

    /// Returns the stream of a partition's durable calls.
    pub(crate) fn stream_of_jobs(&self, partition: usize) -> String {
        self.divided("jobs", partition)
    }

    /// Returns the streams of durable calls.
    pub fn streams_of_jobs(&self) -> Vec<String> {
        self.partitions.indices().map(|partition| self.stream_of_jobs(partition)).collect()
    }

    /// Returns the partition of a group's durable calls.
    pub(crate) fn partition_of_jobs(&self, group: &str) -> usize {
        self.partitions.index_of(group)
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

    /// Returns the name of a bucket; of its first partition, if it is divided.
    pub fn bucket(&self, bucket: Bucket) -> String {
        self.bucket_names(bucket).swap_remove(0)
    }

    /// Returns the names of a bucket's partitions; one, unless it is divided.
    pub fn bucket_names(&self, bucket: Bucket) -> Vec<String> {
        match bucket.is_divided() {
            true => self.partitions.indices().map(|at| self.divided(bucket.word(), at)).collect(),
            false => vec![self.stream(bucket.word())],
        }
    }

    /// Returns the partition of a bucket that has this key.
    pub(crate) fn partition_of(&self, bucket: Bucket, key: &str) -> usize {
        if bucket.is_divided() { self.partitions.index_of(key) } else { 0 }
    }

    fn divided(&self, word: &str, partition: usize) -> String {
        match self.partitions.word(partition) {
            None => self.stream(word),
            Some(part) => self.stream(&format!("{word}_{part}")),
        }
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

    /// Returns whether it is divided if queued calls are: it is written with each of them.
    pub(crate) fn is_divided(self) -> bool {
        matches!(self, Self::Calls | Self::Keys)
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
        let names = ClusterNames::new("home-1", 1).unwrap();
        assert_eq!(names.calls("gpu", "resize"), "home-1.call.gpu.resize");
        assert_eq!(names.calls("g.p", "re size>"), "home-1.call.g=2Ep.re=20size=3E");
        assert_eq!(names.jobs_of("gpu"), "home-1.job.gpu.>");
        assert_eq!(names.bucket(Bucket::Workers), "home-1_workers");
        assert_ne!(token("a=2E"), token("a."));
    }

    #[test]
    fn partitions_have_names_of_their_own_and_one_has_those_of_0_1_0() {
        let names = ClusterNames::new("home", 1).unwrap();
        assert_eq!(names.jobs("gpu", "resize"), "home.job.gpu.resize");
        assert_eq!(names.streams_of_jobs(), ["home_jobs"]);
        assert_eq!(names.bucket_names(Bucket::Calls), ["home_calls"]);
        let names = ClusterNames::new("home", 2).unwrap();
        assert_eq!(names.jobs("gpu", "resize"), "home.jobs.1of2.gpu.resize");
        assert_eq!(names.jobs_of("tools"), "home.jobs.2of2.tools.>");
        assert_eq!(names.streams_of_jobs(), ["home_jobs_1of2", "home_jobs_2of2"]);
        assert_eq!(names.bucket_names(Bucket::Calls), ["home_calls_1of2", "home_calls_2of2"]);
        assert_eq!(names.bucket_names(Bucket::Keys), ["home_keys_1of2", "home_keys_2of2"]);
        assert_eq!(names.bucket_names(Bucket::Tokens), ["home_tokens"]);
    }

    #[test]
    fn a_prefix_that_cannot_be_is_refused() {
        for prefix in ["", "a.b", "a b", "ä", "a>"] {
            let error = ClusterNames::new(prefix, 1).unwrap_err().to_string();
            assert!(error.starts_with("`cluster.prefix`: "), "{error}");
        }
    }
}
