//! Reports the state of the connection to the devices, and of the devices.

use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::{sync::Mutex, time::Instant};

use crate::{
    device::Device,
    list::ToolText,
    network::{Error, Hop, HopState, Network, NodeStatus, ZwaveNode},
};

/// How long a report is cached.
const KEPT: Duration = Duration::from_secs(60);

/// The last report.
#[derive(Default)]
pub(crate) struct HealthCache(Mutex<Option<HealthReport>>);

struct HealthReport {
    made: Instant,
    /// The hops to the devices, as they were then.
    hops: Vec<Hop>,
    latency: Duration,
    outcome: Result<Vec<(NodeStatus, usize)>, Error>,
}

impl HealthCache {
    /// Returns the report of the last minute, or a new one; also a new one if the hops have changed since.
    pub(crate) async fn check(&self, network: &dyn Network) -> ToolText {
        let mut last = self.0.lock().await;
        if let Some(report) = &*last
            && report.made.elapsed() < KEPT
            && report.hops == network.hops()
        {
            return report.text();
        }
        let began = Instant::now();
        let outcome = network.nodes().await.map(|nodes| counts(&nodes));
        let report = HealthReport {
            made: Instant::now(),
            latency: began.elapsed(),
            hops: network.hops(),
            outcome,
        };
        last.insert(report).text()
    }
}

fn counts(nodes: &[ZwaveNode]) -> Vec<(NodeStatus, usize)> {
    let devices: Vec<_> = nodes.iter().filter_map(Device::of).collect();
    let count =
        |status: NodeStatus| devices.iter().filter(|device| device.node().status == status).count();
    NodeStatus::ALL.map(|status| (status, count(status))).to_vec()
}

impl HealthReport {
    fn text(&self) -> ToolText {
        let age = self.made.elapsed().as_secs();
        let milliseconds = (self.latency.as_secs_f64() * 10_000.0).round() / 10.0;
        let mut way = Map::new();
        let mut lines = Vec::new();
        for Hop { name, state, detail } in &self.hops {
            lines.push(format!("- {name}: {} ({detail})", state.word()));
            way.insert((*name).to_owned(), json!({"state": state.word(), "detail": detail}));
        }
        let status = self.status();
        let mut structured = json!({
            "status": status, "healthy": status == "healthy", "available": self.outcome.is_ok(),
        });
        for (name, hop) in way {
            structured[name] = hop;
        }
        let first = match &self.outcome {
            Ok(counts) => {
                lines.push(format!("- nodes: {}", words(counts)));
                lines.push(format!("- latency: {milliseconds} ms"));
                let named = counts
                    .iter()
                    .map(|(status, count)| (status.word().to_owned(), (*count).into()));
                structured["nodes"] = Value::Object(named.collect());
                structured["nodes"]["total"] = total(counts).into();
                structured["latencyMs"] = json!(milliseconds);
                format!("Z-Wave is {status}.")
            }
            Err(error) => {
                structured["error"] = error.to_string().into();
                format!("Z-Wave is unavailable: {error}")
            }
        };
        structured["ageSeconds"] = age.into();
        lines.insert(0, first);
        if age > 0 {
            lines.push(format!("(checked {age} s ago)"));
        }
        ToolText { text: lines.join("\n"), structured }
    }

    fn status(&self) -> &'static str {
        let is_whole = self.hops.iter().all(|hop| hop.state != HopState::Down);
        match &self.outcome {
            Err(_) => "unavailable",
            Ok(counts) if is_whole && counts.contains(&(NodeStatus::Dead, 0)) => "healthy",
            Ok(_) => "degraded",
        }
    }
}

fn total(counts: &[(NodeStatus, usize)]) -> usize {
    counts.iter().map(|(_, count)| count).sum()
}

/// `3 (2 alive, 1 dead)`.
fn words(counts: &[(NodeStatus, usize)]) -> String {
    let some = counts.iter().filter(|(_, count)| *count > 0);
    let some: Vec<_> = some.map(|(status, count)| format!("{count} {}", status.word())).collect();
    match &some[..] {
        [] => "none".to_owned(),
        some => format!("{} ({})", total(counts), some.join(", ")),
    }
}
