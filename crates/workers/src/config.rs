//! The settings of `[cluster]`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{jobs, sign::Secrets};

/// Where the cluster's NATS servers are, and how to get in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The addresses of one or more of its servers, with commas between them: `nats://one:4222,nats://two:4222`, or
    /// `tls://…`. None: there is no cluster.
    pub nats: Option<String>,
    /// What all subjects, buckets and streams begin with: one for each tenant that shares the servers.
    pub prefix: String,
    /// A file with NATS credentials (`.creds`).
    pub credentials: Option<PathBuf>,
    /// A token, where the servers ask for one.
    pub token: Option<String>,
    /// A user; `password` goes with it.
    pub user: Option<String>,
    /// The user's password.
    pub password: Option<String>,
    /// The seed of an nkey, where the servers ask for one.
    pub nkey: Option<String>,
    /// A PEM file with those who may vouch for the servers; by default whom the machine trusts.
    pub ca: Option<PathBuf>,
    /// A PEM file with our own certificate, where the servers ask for one.
    pub certificate: Option<PathBuf>,
    /// A PEM file with its key.
    pub certificate_key: Option<PathBuf>,
    /// The secret that all nodes share: what they say to each other is signed with it, and nothing else is believed. While it is
    /// replaced it is a list; the first one signs, all of them verify.
    pub key: Option<Secrets>,
    /// On how many servers each bucket and stream is kept: 1, 3 or 5.
    pub replicas: usize,
    /// Whether this node ships its records to the fleet (`switchboard calls --fleet`).
    pub ship_records: bool,
    /// How durable calls are tried.
    pub jobs: jobs::Config,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            nats: None,
            prefix: "switchboard".to_owned(),
            credentials: None,
            token: None,
            user: None,
            password: None,
            nkey: None,
            ca: None,
            certificate: None,
            certificate_key: None,
            key: None,
            replicas: 1,
            ship_records: true,
            jobs: jobs::Config::default(),
        }
    }
}

/// The settings of `[worker]`: what `switchboard worker` offers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WorkerConfig {
    /// The group that it belongs to: its tools are shown as `group__tool`, and calls are shared among its workers.
    pub group: Option<String>,
    /// How many calls it runs at once; one more is refused, and another worker is asked.
    pub concurrency: usize,
    /// Which of its tools it offers, as globs; by default those that its own config defines and those of its servers.
    pub tools: Vec<String>,
}

impl Default for WorkerConfig {
    fn default() -> Self {
        Self { group: None, concurrency: 64, tools: Vec::new() }
    }
}
