//! The settings of `[cluster]`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{jobs, sign::ClusterSecrets};

/// Where the cluster's NATS servers are, and how to get in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The addresses of one or more servers, separated by commas: `nats://one:4222,nats://two:4222`, or `tls://…`.
    /// `None`: there is no cluster.
    pub nats: Option<String>,
    /// The JetStream domain of the buckets and streams; by default that of the servers that we connect to.
    pub domain: Option<String>,
    /// The prefix of all subjects, buckets and streams: one for each tenant that shares the servers.
    pub prefix: String,
    /// A file with NATS credentials (`.creds`).
    pub credentials: Option<PathBuf>,
    /// A token, if the servers require one.
    pub token: Option<String>,
    /// A user; `password` goes with it.
    pub user: Option<String>,
    /// The user's password.
    pub password: Option<String>,
    /// The seed of an nkey, if the servers require one.
    pub nkey: Option<String>,
    /// A PEM file with the CAs that the servers' certificates are checked against; the system's by default.
    pub ca: Option<PathBuf>,
    /// A PEM file with our own certificate, if the servers require one.
    pub certificate: Option<PathBuf>,
    /// A PEM file with its key.
    pub certificate_key: Option<PathBuf>,
    /// The secret that all nodes share: messages between them are signed with it, and unsigned ones are rejected. To
    /// replace it, set a list: the first one signs, all of them verify.
    pub key: Option<ClusterSecrets>,
    /// On how many servers each bucket and stream is replicated: 1, 3 or 5.
    pub replicas: usize,
    /// Whether this node ships its records to the cluster (`switchboard calls --cluster`).
    pub ship_records: bool,
    /// Patterns of the groups of workers that this gateway uses; by default all. If they are names, not patterns, what it
    /// receives does not grow with other groups.
    pub groups: Vec<String>,
    /// Retries of durable calls.
    pub jobs: jobs::Config,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            nats: None,
            domain: None,
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
            groups: Vec::new(),
            jobs: jobs::Config::default(),
        }
    }
}

/// The settings of `[worker]`: what `switchboard worker` offers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct WorkerConfig {
    /// The worker's group: its tools are shown as `group__tool`, and calls are distributed among its workers.
    pub group: Option<String>,
    /// How many calls it runs at once; further ones are refused and go to another worker.
    pub concurrency: usize,
    /// Patterns of the tools that it offers; by default those that its own config defines and those of its servers.
    pub tools: Vec<String>,
}

impl Default for WorkerConfig {
    fn default() -> Self {
        Self { group: None, concurrency: 64, tools: Vec::new() }
    }
}
