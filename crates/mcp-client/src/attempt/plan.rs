//! How an attempt begins: as the settings say, else as the server was last connected, else with the probe.

use std::{sync::PoisonError, time::Duration};

use switchboard_mcp_wire::Era;
use tokio::task::spawn_blocking;
use tracing::debug;

use crate::{
    config::{Protocol, TransportKind},
    known_protocols::KnownProtocol,
    negotiate::{FirstMessage, SILENCE, SLOWNESS},
    server::Server,
    session::Session,
};

/// What earlier failed attempts mean for the next one; cleared when one succeeds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FailedAttempts {
    /// Whether an attempt failed that began with the remembered protocol: then that is ignored.
    with_memory: bool,
    /// Whether the server's process ended after the probe, as some do that do not know it: then `initialize` comes first.
    on_probe: bool,
}

/// How an attempt begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct AttemptPlan {
    /// The first message.
    pub(super) first_message: FirstMessage,
    /// The transport that is tried first.
    pub(super) kind: TransportKind,
    /// The remembered protocol, if it was used for this plan.
    remembered: Option<KnownProtocol>,
}

/// How an attempt failed, as far as it matters for the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AttemptFailureKind {
    /// The connection was lost: a process ended, or a URL could not be reached.
    Lost,
    /// The server responded with something else, or not in time.
    Other,
}

impl AttemptPlan {
    /// Returns how long to wait for the response to the probe.
    pub(super) fn patience(self, kind: TransportKind) -> Duration {
        let knows_probe = self.remembered.is_some_and(|known| known.protocol == Protocol::Modern);
        match kind {
            TransportKind::Http => SLOWNESS,
            TransportKind::Stdio | TransportKind::Sse if knows_probe => SLOWNESS,
            TransportKind::Stdio | TransportKind::Sse => SILENCE,
        }
    }
}

impl Server {
    /// Decides how the next attempt begins.
    pub(super) fn plan(&self) -> AttemptPlan {
        let asked = self.config().protocol;
        let failed = self.failed_attempts();
        let known = self.deps.protocols.get(&self.key);
        let remembered = known.filter(|_| asked == Protocol::Auto && !failed.with_memory);
        let first_message = match remembered.map(|known| known.protocol) {
            // It is this program again.
            _ if self.uses_program() => FirstMessage::Discover,
            _ if asked == Protocol::Auto && failed.on_probe => FirstMessage::InitializeFirst,
            Some(Protocol::Legacy) => FirstMessage::InitializeFirst,
            _ => asked.into(),
        };
        // Only a URL can turn out to be of another transport than the settings say.
        let kind = match (self.kind(), remembered) {
            _ if self.uses_program() => TransportKind::Stdio,
            (TransportKind::Http, Some(KnownProtocol { kind: TransportKind::Sse, .. })) => {
                TransportKind::Sse
            }
            (kind, _) => kind,
        };
        AttemptPlan { first_message, kind, remembered }
    }

    /// Stores what a failed attempt means for the next one.
    pub(super) fn note_failure(&self, plan: AttemptPlan, kind: AttemptFailureKind) {
        let has_died = kind == AttemptFailureKind::Lost && self.kind() == TransportKind::Stdio;
        let mut failed = self.failed_attempts();
        // A process that ended may be of another program than before; a URL that cannot be reached tells nothing.
        failed.with_memory |=
            plan.remembered.is_some() && (has_died || kind == AttemptFailureKind::Other);
        if has_died && plan.first_message == FirstMessage::Probe {
            debug!(server = &**self.name(), "it died of the probe; initialize comes next");
            failed.on_probe = true;
        } else if kind == AttemptFailureKind::Other {
            failed.on_probe = false;
        }
        self.set_failed_attempts(failed);
    }

    /// Stores how the server was reached, for its next start and for its copies.
    pub(super) async fn remember(&self, session: &Session, kind: TransportKind) {
        self.set_failed_attempts(FailedAttempts::default());
        let protocol = match session.era() {
            Era::Legacy(_) => Protocol::Legacy,
            Era::Modern => Protocol::Modern,
        };
        let known = KnownProtocol { protocol, kind };
        if self.deps.protocols.get(&self.key) == Some(known) {
            return;
        }
        let (protocols, key) = (self.deps.protocols.clone(), self.key.clone());
        // If the task panics, nothing is stored.
        _ = spawn_blocking(move || protocols.put(&key, known)).await;
    }

    fn failed_attempts(&self) -> FailedAttempts {
        *self.failed_attempts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_failed_attempts(&self, failed: FailedAttempts) {
        *self.failed_attempts.lock().unwrap_or_else(PoisonError::into_inner) = failed;
    }
}
