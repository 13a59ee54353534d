//! Metrics of held calls and of people's decisions.

use prometheus_client::{
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::Registry,
};
use switchboard_runtime::{Approval, Ruling};

use super::Labels;

/// Upper bounds in seconds, from a person who watches the console to one who has to be called.
const BOUNDS: [f64; 8] = [1.0, 2.5, 5.0, 15.0, 30.0, 60.0, 300.0, 1800.0];

/// The metrics of approvals.
pub(crate) struct Approvals {
    held: Gauge,
    decided: Family<Labels<1>, Counter>,
    wait: Histogram,
}

impl Approvals {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let approvals = Self {
            held: Gauge::default(),
            decided: Family::default(),
            wait: Histogram::new(BOUNDS),
        };
        let help = "Calls that wait for a person now";
        registry.register("tool_calls_held", help, approvals.held.clone());
        let help = "Held calls that were decided, by decision";
        registry.register("approvals", help, approvals.decided.clone());
        let help = "How long held calls waited, in seconds";
        registry.register("approval_wait_seconds", help, approvals.wait.clone());
        for ruling in Ruling::ALL {
            approvals.count(ruling);
        }
        approvals
    }

    pub(crate) fn held(&self) {
        self.held.inc();
    }

    pub(crate) fn decided(&self, approval: &Approval) {
        self.held.dec();
        self.wait.observe(approval.held.as_secs_f64());
        self.count(approval.decision).inc();
    }

    fn count(&self, ruling: Ruling) -> Counter {
        self.decided.get_or_create(&[("decision", ruling.code().to_owned())]).clone()
    }
}
