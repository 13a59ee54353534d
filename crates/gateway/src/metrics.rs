//! Counts and durations, as Prometheus reads them.

mod approvals;

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock, PoisonError, RwLock, atomic::Ordering},
};

use prometheus_client::{
    encoding::text::{encode_eof, encode_registry},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::Registry,
};
use switchboard_runtime::{CallEnd, ToolExecutor};
use switchboard_toolcall::ErrorKind;

use approvals::Approvals;

/// The label of calls of unknown tools: names that a model made up must not fill the memory.
const UNKNOWN: &str = "(unknown)";
/// Upper bounds in seconds, from a local tool's duration to the usual deadline.
const BOUNDS: [f64; 14] =
    [0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 2.5, 10.0, 30.0];

type Labels<const N: usize> = [(&'static str, String); N];

/// All metrics.
pub struct Metrics {
    registry: Registry,
    running: Gauge,
    calls: Family<Labels<2>, Counter>,
    durations: Family<Labels<1>, Histogram>,
    /// The metrics of a tool's calls, by the tool's name.
    by_tool: RwLock<HashMap<Arc<str>, Arc<ToolMetrics>>>,
    /// Open connections.
    pub connections: Gauge,
    requests: Family<Labels<1>, Counter>,
    /// The metrics of requests, by status.
    by_status: Vec<OnceLock<Counter>>,
    unrecorded: Counter,
    /// Calls that wait for a person.
    pub(crate) approvals: Approvals,
    looked_up: LookedUp,
    /// The registries of other parts.
    others: RwLock<Vec<Registry>>,
}

/// Further metrics, collected when they are read.
#[derive(Default)]
struct LookedUp {
    waiting: Gauge,
    sessions: Gauge,
    up: Family<Labels<1>, Gauge>,
    restarts: Family<Labels<1>, Counter>,
}

impl LookedUp {
    fn register(&self, registry: &mut Registry) {
        registry.register("tool_calls_waiting", "Calls that wait for a slot", self.waiting.clone());
        registry.register("mcp_sessions", "Open sessions of MCP clients", self.sessions.clone());
        registry.register("server_up", "Whether an MCP server is connected", self.up.clone());
        let help = "How often an MCP server was started or tried again";
        registry.register("server_restarts", help, self.restarts.clone());
    }

    fn look(&self, executor: &ToolExecutor, sessions: usize) {
        let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        self.waiting.set(count(executor.waiting()));
        self.sessions.set(count(sessions));
        for server in executor.tools().servers() {
            let Some(link) = &server.link else { continue };
            let labels = [("server", server.name.to_string())];
            let is_up = link.status()["state"] == "ready";
            self.up.get_or_create(&labels).set(i64::from(is_up));
            let restarts = link.starts().saturating_sub(1);
            self.restarts.get_or_create(&labels).inner().store(restarts, Ordering::Relaxed);
        }
    }
}

struct ToolMetrics {
    duration: Histogram,
    ok: Counter,
    failed: Vec<Counter>,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("switchboard");
        let running = Gauge::default();
        let calls = Family::<Labels<2>, Counter>::default();
        let durations =
            Family::<Labels<1>, Histogram>::new_with_constructor(|| Histogram::new(BOUNDS));
        let connections = Gauge::default();
        let requests = Family::<Labels<1>, Counter>::default();
        registry.register("tool_calls", "Calls that ended, by tool and outcome", calls.clone());
        let help = "How long calls took, in seconds";
        registry.register("tool_call_duration_seconds", help, durations.clone());
        registry.register("tool_calls_running", "Calls that run or wait now", running.clone());
        registry.register("connections", "Open connections", connections.clone());
        registry.register("http_requests", "Requests answered, by status", requests.clone());
        let (unrecorded, looked_up) = (Counter::default(), LookedUp::default());
        let help = "Calls that could not be written down before they ran";
        registry.register("unrecorded_calls", help, unrecorded.clone());
        looked_up.register(&mut registry);
        let approvals = Approvals::new(&mut registry);
        Self {
            registry,
            running,
            calls,
            durations,
            by_tool: RwLock::default(),
            connections,
            requests,
            by_status: (0..600).map(|_| OnceLock::new()).collect(),
            unrecorded,
            approvals,
            looked_up,
            others: RwLock::default(),
        }
    }
}

impl Metrics {
    pub(crate) fn began(&self) {
        self.running.inc();
    }

    pub(crate) fn ended(&self, end: &CallEnd<'_>) {
        self.running.dec();
        let tool = self.tool(end.tool);
        tool.duration.observe(end.duration.as_secs_f64());
        let index = |kind| ErrorKind::ALL.iter().position(|one| *one == kind);
        match end.error_kind.and_then(index) {
            Some(index) => tool.failed[index].inc(),
            None => tool.ok.inc(),
        };
    }

    /// Counts a call whose record could not be opened.
    pub(crate) fn was_not_recorded(&self) {
        self.unrecorded.inc();
    }

    /// Counts a request that was answered with this status.
    pub(crate) fn answered(&self, status: u16) {
        if let Some(counter) = self.by_status.get(usize::from(status)) {
            let new = || self.requests.get_or_create(&[("status", status.to_string())]).clone();
            counter.get_or_init(new).inc();
        }
    }

    fn tool(&self, name: Option<&Arc<str>>) -> Arc<ToolMetrics> {
        let key: &str = name.map_or(UNKNOWN, |name| name);
        let known = self.by_tool.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(tool) = known.get(key) {
            return tool.clone();
        }
        drop(known);
        let count = |outcome: &str| {
            let labels = [("tool", key.to_owned()), ("outcome", outcome.to_owned())];
            self.calls.get_or_create(&labels).clone()
        };
        let tool = Arc::new(ToolMetrics {
            duration: self.durations.get_or_create(&[("tool", key.to_owned())]).clone(),
            ok: count("ok"),
            failed: ErrorKind::ALL.iter().map(|kind| count(kind.code())).collect(),
        });
        let mut by_tool = self.by_tool.write().unwrap_or_else(PoisonError::into_inner);
        by_tool.entry(key.into()).or_insert(tool).clone()
    }

    /// Adds the metrics of another part.
    pub fn add(&self, registry: Registry) {
        self.others.write().unwrap_or_else(PoisonError::into_inner).push(registry);
    }

    /// Returns everything in Prometheus's text format, with the executor's and the MCP sessions' current figures.
    pub fn text(&self, executor: &ToolExecutor, sessions: usize) -> String {
        self.looked_up.look(executor, sessions);
        let mut text = String::new();
        // Cannot fail: it writes to a string.
        let _ = encode_registry(&mut text, &self.registry);
        for registry in &*self.others.read().unwrap_or_else(PoisonError::into_inner) {
            let _ = encode_registry(&mut text, registry);
        }
        let _ = encode_eof(&mut text);
        text
    }
}
