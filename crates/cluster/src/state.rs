//! The state that a gateway shares with others, and the tasks that keep it up to date.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serde_json::{Value, json};
use switchboard_access::{Peers, Rate, RateVerdict, SlotVerdict, TokenChange, TokenEntry, Tokens};
use switchboard_approvals::ApprovalQueue;
use switchboard_mcp_server as mcp;
use switchboard_toolcall::{BoxError, BoxFuture};
use switchboard_workers::Cluster;
use tokio::{
    task::JoinSet,
    time::{Instant, interval, sleep, timeout},
};

use crate::{
    Error, approvals::ClusterApprovals, gateways::Gateways, mcp_sessions::ClusterSessions,
    rates::Rates, sign_ins::SignIns, slots::RequestSlots, tokens::ClusterTokens,
};

/// How long the start waits for NATS.
const START: Duration = Duration::from_secs(5);
/// How often the connection to NATS is checked.
const LOOK: Duration = Duration::from_millis(500);
/// How often expired entries are removed.
const SWEEP: Duration = Duration::from_secs(60 * 60);
/// How long leaving may take.
const LEAVE: Duration = Duration::from_secs(2);

/// One gateway among many.
pub struct ClusterState {
    cluster: Cluster,
    gateways: Arc<Gateways>,
    rates: Arc<Rates>,
    slots: Arc<RequestSlots>,
    sessions: Arc<SignIns>,
    tokens: Arc<ClusterTokens>,
    queue: ClusterApprovals,
    peers: Arc<ClusterSessions>,
    /// The background tasks; aborted when dropped.
    tasks: Mutex<JoinSet<()>>,
}

impl ClusterState {
    /// Joins a cluster. Waits a moment for NATS; if it is away, the shared state is read once it is back.
    ///
    /// `tokens` is kept in sync with the tokens of the cluster.
    pub async fn join(cluster: &Cluster, tokens: Arc<Tokens>) -> Arc<Self> {
        let gateways = Arc::new(Gateways::new(cluster));
        let rates = Arc::new(Rates::new(cluster));
        let slots = Arc::new(RequestSlots::new(cluster, gateways.clone()));
        let sessions = Arc::new(SignIns::new(cluster));
        let queue = ClusterApprovals::new(cluster, gateways.clone());
        let shared = Arc::new(ClusterTokens::new(cluster));
        let mirrors = [shared.mirror(), gateways.mirror(), sessions.mirror(), queue.mirror()];
        let mirrors = mirrors.map(Arc::clone);
        let peers = ClusterSessions::new(cluster, gateways.clone(), sessions.mirror().clone());
        let peers = Arc::new(peers);
        let mut tasks = JoinSet::new();
        for mirror in &mirrors {
            tasks.spawn(mirror.clone().follow());
        }
        tasks.spawn(shared.clone().keep_up(tokens));
        tasks.spawn(gateways.clone().stay());
        tasks.spawn(rates.clone().keep_tidy());
        tasks.spawn(slots.clone().keep_tidy());
        tasks.spawn(slots.clone().keep_counted());
        tasks.spawn(peers.clone().keep_seal());
        tasks.spawn(queue.clone().ring());
        tasks.spawn(sweep(queue.clone(), sessions.clone(), peers.clone()));
        let end = Instant::now() + START;
        for mirror in mirrors {
            // `watch` logs what it means if NATS is away.
            let _ = mirror.known(end.saturating_duration_since(Instant::now())).await;
        }
        tasks.spawn(watch(cluster.clone()));
        let (cluster, tasks) = (cluster.clone(), Mutex::new(tasks));
        let tokens = shared;
        Arc::new(Self { cluster, gateways, rates, slots, sessions, tokens, queue, peers, tasks })
    }

    /// Returns the queue of held calls of all gateways.
    pub fn queue(&self) -> ApprovalQueue {
        ApprovalQueue::new(Arc::new(self.queue.clone()))
    }

    /// What lets gateways adopt each other's MCP sessions. If NATS is unreachable, sessions stay at this gateway until it restarts.
    pub async fn mcp(&self) -> mcp::ClusterServices {
        match self.peers.seal().await {
            Ok(seal) => mcp::ClusterServices {
                seal: Some(seal),
                peers: Some(self.peers.clone()),
                ..mcp::ClusterServices::default()
            },
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, "MCP sessions stay at this gateway: there is no secret yet");
                mcp::ClusterServices::default()
            }
        }
    }

    /// Lets the server receive messages of other gateways.
    ///
    /// # Errors
    /// Fails if NATS does not allow the subscription.
    pub async fn attend(&self, server: &mcp::Server) -> Result<(), Error> {
        let attending = self.peers.attend(server.clone()).await?;
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).spawn(attending);
        Ok(())
    }

    /// Returns the live gateways.
    pub fn gateways(&self) -> &Gateways {
        &self.gateways
    }

    /// Returns unused rate slices, and removes the entry of this gateway.
    pub async fn leave(&self) {
        let leave = async {
            self.rates.tidy(Duration::ZERO).await;
            self.slots.tidy(true).await;
            self.gateways.leave().await;
        };
        // If NATS is away, other gateways notice by the missing refresh.
        let _ = timeout(LEAVE, leave).await;
    }

    fn is_away(&self) -> bool {
        !self.cluster.is_connected()
    }
}

impl Peers for ClusterState {
    fn name(&self) -> &str {
        self.cluster.names().prefix()
    }

    fn count<'a>(&'a self, caller: &'a str, rate: Rate) -> BoxFuture<'a, RateVerdict> {
        Box::pin(self.rates.count(caller, rate))
    }

    fn take_slot<'a>(&'a self, caller: &'a str, most: usize) -> BoxFuture<'a, SlotVerdict> {
        Box::pin(self.slots.take(caller, most))
    }

    fn keep_session<'a>(
        &'a self,
        key: &'a str,
        session: Value,
        life: Duration,
    ) -> BoxFuture<'a, Result<(), BoxError>> {
        Box::pin(async move { Ok(self.sessions.keep(key, session, life).await?) })
    }

    fn find_session<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Option<Value>> {
        Box::pin(self.sessions.find(key))
    }

    fn end_session<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), BoxError>> {
        Box::pin(async move { Ok(self.sessions.end(key).await?) })
    }

    fn create_token(&self, entry: TokenEntry) -> BoxFuture<'_, Result<bool, BoxError>> {
        Box::pin(async move { Ok(self.tokens.insert(&entry).await?) })
    }

    fn find_token<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Option<TokenEntry>> {
        Box::pin(self.tokens.find(name))
    }

    fn change_token<'a>(
        &'a self,
        name: &'a str,
        change: TokenChange,
    ) -> BoxFuture<'a, Result<(), BoxError>> {
        Box::pin(async move { Ok(self.tokens.change(name, &change).await?) })
    }

    fn outage(&self) -> Option<Value> {
        self.is_away().then(|| json!({"state": "away", "address": self.cluster.address()}))
    }
}

/// Logs when NATS goes away, what that means, and when it is back.
async fn watch(cluster: Cluster) {
    let mut was_away = false;
    loop {
        let is_away = !cluster.is_connected();
        let address = cluster.address();
        match (was_away, is_away) {
            (false, true) => tracing::warn!(
                "NATS at {address} is away: tokens and rules stay as they were last known, rates are counted by this \
                 gateway alone, and held calls can be decided when it is back"
            ),
            (true, false) => tracing::info!("NATS at {address} is back"),
            _ => {}
        }
        was_away = is_away;
        sleep(LOOK).await;
    }
}

async fn sweep(queue: ClusterApprovals, sessions: Arc<SignIns>, peers: Arc<ClusterSessions>) {
    let mut ticks = interval(SWEEP);
    loop {
        ticks.tick().await;
        let swept = async {
            queue.tidy().await?;
            sessions.sweep().await?;
            peers.sweep().await
        };
        if let Err(error) = swept.await {
            tracing::debug!(error = &error as &dyn std::error::Error, "nothing is swept now");
        }
    }
}
