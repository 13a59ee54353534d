//! The gateway's side: which workers are there, and what they offer, as servers of the `ToolManager`.
//!
//! `discovery.rs` watches the bucket of workers, `group.rs` is one group.

mod group;
mod discovery;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use serde_json::Value;
use switchboard_runtime::{Link, ServerSettings, ToolManager};
use switchboard_toolcall::{BoxFuture, ErrorKind, ToolError};
use tokio::{sync::watch, time::timeout};
use tokio_util::task::AbortOnDropHandle;

use crate::{Cluster, Error, Jobs, offer::Presence, replies::Replies, worker::check_group};
pub use discovery::present;
pub use group::Group;

/// How many calls of a group run at once: each worker bounds its own.
const MANY: usize = 100_000;

/// How long a call waits until it is known which workers are there.
const FIRST_LOOK: Duration = Duration::from_secs(5);

/// How long calls that were given up may take to tell their workers.
const GOODBYE: Duration = Duration::from_secs(1);

/// The groups of workers that are there, kept up to date.
pub struct Groups {
    shared: Arc<Shared>,
    _task: AbortOnDropHandle<()>,
}

/// The line to all workers.
struct Line {
    cluster: Cluster,
    jobs: Jobs,
    replies: Replies,
}

struct Shared {
    line: Arc<Line>,
    tools: Weak<ToolManager>,
    groups: Mutex<BTreeMap<Arc<str>, Arc<Group>>>,
    /// Groups that cannot be shown, which was said once.
    refused: Mutex<BTreeSet<String>>,
    /// Whether somebody has looked once who is there.
    looked: watch::Sender<bool>,
}

impl Groups {
    /// Begins to watch. Waits for nothing.
    ///
    /// # Errors
    /// The connection is closed.
    pub async fn start(cluster: Cluster, tools: &Arc<ToolManager>) -> Result<Self, Error> {
        let replies = Replies::start(&cluster).await?;
        let shared = Arc::new(Shared {
            line: Arc::new(Line { jobs: cluster.jobs(), cluster, replies }),
            tools: Arc::downgrade(tools),
            groups: Mutex::default(),
            refused: Mutex::default(),
            looked: watch::Sender::new(false),
        });
        tools.set_late_discovery(Arc::new(LateDiscovery(Arc::downgrade(&shared))));
        let task = AbortOnDropHandle::new(tokio::spawn(discovery::run(shared.clone())));
        Ok(Self { shared, _task: task })
    }

    /// The cluster that they belong to.
    pub fn cluster(&self) -> &Cluster {
        &self.shared.line.cluster
    }

    /// Its durable calls.
    pub fn jobs(&self) -> &Jobs {
        &self.shared.line.jobs
    }

    /// Waits until it is known who is there.
    ///
    /// # Errors
    /// That could not be found out within `limit`.
    pub async fn settled(&self, limit: Duration) -> Result<(), Error> {
        self.shared.settled(limit).await
    }

    /// The groups as servers, for who puts other servers in place.
    pub fn settings(&self) -> Vec<(Arc<str>, ServerSettings)> {
        let groups = self.shared.groups();
        groups.iter().map(|(name, group)| (name.clone(), settings(group))).collect()
    }

    /// The workers that are there, by group.
    pub fn workers(&self) -> Vec<Presence> {
        self.shared.groups().values().flat_map(|group| group.workers()).collect()
    }

    /// Sees to it that workers hear of calls that were given up.
    pub async fn close(&self) {
        let told = async {
            self.shared.line.replies.idle().await;
            self.cluster().flush().await;
        };
        if self.cluster().is_connected() {
            _ = timeout(GOODBYE, told).await;
        }
    }
}

/// Lets nobody say that a group is unknown before somebody has looked.
struct LateDiscovery(Weak<Shared>);

impl Link for LateDiscovery {
    fn ready(&self) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async {
            let Some(shared) = self.0.upgrade() else { return Ok(()) };
            let unknown = |error: Error| {
                let text = format!("Tools of workers are unavailable: {error}");
                ToolError::new(ErrorKind::Unavailable, text).caused_by(error)
            };
            shared.settled(FIRST_LOOK).await.map_err(unknown)
        })
    }

    fn status(&self) -> Value {
        Value::Null
    }
}

impl Shared {
    async fn settled(&self, limit: Duration) -> Result<(), Error> {
        let mut looked = self.looked.subscribe();
        let known = timeout(limit, looked.wait_for(|looked| *looked)).await;
        match known {
            // The sender is ours, so it is there.
            Ok(_) => Ok(()),
            Err(reason) => Err(Error::Unreachable {
                address: self.line.cluster.address().to_owned(),
                reason: reason.into(),
            }),
        }
    }

    fn groups(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, Arc<Group>>> {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The group of this name, which may be new.
    fn group(&self, name: &str) -> Arc<Group> {
        let mut groups = self.groups();
        if let Some(group) = groups.get(name) {
            return group.clone();
        }
        let group = Arc::new(Group::new(name.into(), self.line.clone()));
        groups.insert(group.name().clone(), group.clone());
        group
    }

    /// Shows what the group offers now, unless its name is somebody else's.
    fn show(&self, group: &Arc<Group>) {
        let Some(tools) = self.tools.upgrade() else { return };
        let link: Arc<dyn Link> = group.clone();
        let name = group.name();
        let is_new = !tools.is_linked(name, &link);
        if is_new {
            let is_taken = tools.servers().iter().any(|server| server.name == *name);
            let added = match is_taken {
                true => Err("a server of the config is called so".to_owned()),
                false => check_group(name).map_err(|error| error.to_string()).and_then(|()| {
                    tools.add_server(name, settings(group)).map_err(|error| error.to_string())
                }),
            };
            if let Err(reason) = added {
                let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
                if refused.insert(name.to_string()) {
                    tracing::warn!("the workers of group '{name}' are not used: {reason}");
                }
                return;
            }
        }
        if let Some(offered) = group.offered(tools.separator(), is_new) {
            tools.set_server_tools(name, offered);
        }
    }
}

fn settings(group: &Arc<Group>) -> ServerSettings {
    ServerSettings { max_concurrent: MANY, link: Some(group.clone()), ..ServerSettings::default() }
}
