//! The gateway's side: discovers workers and registers their tools, with a group as a server of the `ToolManager`.
//!
//! `discovery.rs` follows the workers, `monitor.rs` notices those that die, `entries.rs` reads what they write, `group.rs` is one group, `members.rs` its workers,
//! `selection.rs` which groups are used.

mod members;
mod group;
mod entries;
mod selection;
mod discovery;
mod monitor;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use serde_json::Value;
use switchboard_runtime::{ServerLink, ServerSettings, ToolManager};
use switchboard_toolcall::{BoxFuture, ErrorKind, ToolError};
use tokio::{
    sync::watch,
    time::{Instant, timeout},
};
use tokio_util::task::AbortOnDropHandle;

use crate::{Cluster, Error, Jobs, offer::Presence, replies::Replies, worker::check_group};
pub use entries::present;
pub use group::{Group, GroupTotals};
pub(crate) use selection::GroupSelection;

/// How many calls of a group run at once: each worker has its own limit.
const MANY: usize = 100_000;

/// How long a call waits for the first discovery of workers.
const FIRST_LOOK: Duration = Duration::from_secs(5);

/// How long cancellations may take to reach the workers.
const GOODBYE: Duration = Duration::from_secs(1);

/// The groups of workers, kept up to date.
pub struct Groups {
    shared: Arc<GroupsInner>,
    _tasks: [AbortOnDropHandle<()>; 2],
}

/// What all groups share.
struct GroupDeps {
    cluster: Cluster,
    jobs: Jobs,
    replies: Replies,
}

struct GroupsInner {
    line: Arc<GroupDeps>,
    tools: Weak<ToolManager>,
    groups: Mutex<BTreeMap<Arc<str>, Arc<Group>>>,
    /// Groups that cannot be shown; each was logged once.
    refused: Mutex<BTreeSet<String>>,
    /// The keys of workers that have left or died, with when that was noticed, until `monitor.rs` erases their entries.
    departed: Mutex<Vec<(Instant, String)>>,
    /// Whether workers were discovered once.
    looked: watch::Sender<bool>,
}

impl Groups {
    /// Starts watching. Does not wait for the first discovery.
    ///
    /// # Errors
    /// The connection is closed.
    pub async fn start(cluster: Cluster, tools: &Arc<ToolManager>) -> Result<Self, Error> {
        let replies = Replies::start(&cluster).await?;
        let shared = Arc::new(GroupsInner {
            line: Arc::new(GroupDeps { jobs: cluster.jobs(), cluster, replies }),
            tools: Arc::downgrade(tools),
            groups: Mutex::default(),
            refused: Mutex::default(),
            departed: Mutex::default(),
            looked: watch::Sender::new(false),
        });
        tools.set_late_discovery(Arc::new(LateDiscovery(Arc::downgrade(&shared))));
        let discovers = AbortOnDropHandle::new(tokio::spawn(discovery::run(shared.clone())));
        let monitors = AbortOnDropHandle::new(tokio::spawn(monitor::run(shared.clone())));
        Ok(Self { shared, _tasks: [discovers, monitors] })
    }

    /// Returns the cluster.
    pub fn cluster(&self) -> &Cluster {
        &self.shared.line.cluster
    }

    /// Returns its durable calls.
    pub fn jobs(&self) -> &Jobs {
        &self.shared.line.jobs
    }

    /// Waits until the first discovery is complete.
    ///
    /// # Errors
    /// That took longer than `limit`.
    pub async fn wait_until_ready(&self, limit: Duration) -> Result<(), Error> {
        self.shared.wait_until_ready(limit).await
    }

    /// Returns the groups as servers, for callers that replace all servers.
    pub fn settings(&self) -> Vec<(Arc<str>, ServerSettings)> {
        let groups = self.shared.groups();
        groups.iter().map(|(name, group)| (name.clone(), settings(group))).collect()
    }

    /// Returns the known workers, by group.
    pub fn workers(&self) -> Vec<Presence> {
        self.shared.groups().values().flat_map(|group| group.workers()).collect()
    }

    /// Returns how many workers each group has, and how many calls they run. `None` until workers were discovered once.
    pub fn totals(&self) -> Option<BTreeMap<Arc<str>, GroupTotals>> {
        let is_known = *self.shared.looked.borrow();
        let groups = self.shared.groups();
        let totals = groups.iter().map(|(name, group)| (name.clone(), group.totals()));
        is_known.then(|| totals.collect())
    }

    /// Waits until cancellations have reached the workers.
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

/// Delays `unknown_server` errors until the first discovery is complete.
struct LateDiscovery(Weak<GroupsInner>);

impl ServerLink for LateDiscovery {
    fn ready(&self) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async {
            let Some(shared) = self.0.upgrade() else { return Ok(()) };
            let unknown = |error: Error| {
                let text = format!("Tools of workers are unavailable: {error}");
                ToolError::new(ErrorKind::Unavailable, text).caused_by(error)
            };
            shared.wait_until_ready(FIRST_LOOK).await.map_err(unknown)
        })
    }

    fn status(&self) -> Value {
        Value::Null
    }
}

impl GroupsInner {
    async fn wait_until_ready(&self, limit: Duration) -> Result<(), Error> {
        let mut looked = self.looked.subscribe();
        let known = timeout(limit, looked.wait_for(|looked| *looked)).await;
        match known {
            // We hold the sender, so the channel is open.
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

    /// Returns the group with this name, creating it if needed.
    fn group(&self, name: &str) -> Arc<Group> {
        let mut groups = self.groups();
        if let Some(group) = groups.get(name) {
            return group.clone();
        }
        let group = Arc::new(Group::new(name.into(), self.line.clone()));
        groups.insert(group.name().clone(), group.clone());
        group
    }

    /// Registers what the group offers now, unless its name is taken.
    fn show(&self, group: &Arc<Group>) {
        let Some(tools) = self.tools.upgrade() else { return };
        let link: Arc<dyn ServerLink> = group.clone();
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
