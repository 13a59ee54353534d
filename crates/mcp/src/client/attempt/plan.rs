//! How an attempt begins: as the settings say, else as the server spoke before, else with the probe.

use std::{sync::PoisonError, time::Duration};

use tokio::task::spawn_blocking;
use tracing::debug;

use crate::{
    client::{
        config::{Kind, Protocol},
        known_protocols::Spoken,
        negotiate::{Opening, SILENCE, SLOWNESS},
        server::Server,
        session::Session,
    },
    wire::Era,
};

/// What failed attempts have taught about how to begin the next one; forgotten if one succeeds.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::client) struct Lessons {
    /// What is remembered of the server did not help.
    doubts_memory: bool,
    /// The server's process ended after the probe, as some do that do not know it.
    died_of_probe: bool,
}

/// How an attempt begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    /// The first message.
    pub(super) opening: Opening,
    /// The transport that is tried first.
    pub(super) kind: Kind,
    /// What is remembered of the server, if that decided.
    remembered: Option<Spoken>,
}

/// How an attempt failed, as far as it says something about the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Miss {
    /// The connection was lost: a process died, or an address could not be reached.
    Lost,
    /// The server answered something else, or not in time.
    Other,
}

impl Plan {
    /// How long the probe may be unanswered.
    pub(super) fn patience(self, kind: Kind) -> Duration {
        let knows_probe = self.remembered.is_some_and(|known| known.protocol == Protocol::Modern);
        match kind {
            Kind::Http => SLOWNESS,
            Kind::Stdio | Kind::Sse if knows_probe => SLOWNESS,
            Kind::Stdio | Kind::Sse => SILENCE,
        }
    }
}

impl Server {
    /// Decides how the next attempt begins.
    pub(super) fn plan(&self) -> Plan {
        let asked = self.config().protocol;
        let lessons = self.lessons();
        let known = self.around.protocols.get(&self.key);
        let remembered = known.filter(|_| asked == Protocol::Auto && !lessons.doubts_memory);
        let opening = match remembered.map(|known| known.protocol) {
            _ if asked == Protocol::Auto && lessons.died_of_probe => Opening::InitializeFirst,
            Some(Protocol::Legacy) => Opening::InitializeFirst,
            _ => asked.into(),
        };
        // Only an address can turn out to be of another kind than the settings say.
        let kind = match (self.kind(), remembered) {
            (Kind::Http, Some(Spoken { kind: Kind::Sse, .. })) => Kind::Sse,
            (kind, _) => kind,
        };
        Plan { opening, kind, remembered }
    }

    /// Notes what a failed attempt says about the next one.
    pub(super) fn learn_from(&self, plan: Plan, miss: Miss) {
        let has_died = miss == Miss::Lost && self.kind() == Kind::Stdio;
        let mut lessons = self.lessons();
        // A program that died may be another one than before; an address that cannot be reached says nothing.
        lessons.doubts_memory |= plan.remembered.is_some() && (has_died || miss == Miss::Other);
        if has_died && plan.opening == Opening::Probe {
            debug!(server = &**self.name(), "it died of the probe; initialize comes next");
            lessons.died_of_probe = true;
        } else if miss == Miss::Other {
            lessons.died_of_probe = false;
        }
        self.learn(lessons);
    }

    /// Remembers how the server was reached, for its next start and for its copies.
    pub(super) async fn remember(&self, session: &Session, kind: Kind) {
        self.learn(Lessons::default());
        let protocol = match session.era() {
            Era::Legacy(_) => Protocol::Legacy,
            Era::Modern => Protocol::Modern,
        };
        let spoken = Spoken { protocol, kind };
        if self.around.protocols.get(&self.key) == Some(spoken) {
            return;
        }
        let (known, key) = (self.around.protocols.clone(), self.key.clone());
        // If that panics, nothing is remembered.
        _ = spawn_blocking(move || known.put(&key, spoken)).await;
    }

    fn lessons(&self) -> Lessons {
        *self.lessons.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn learn(&self, lessons: Lessons) {
        *self.lessons.lock().unwrap_or_else(PoisonError::into_inner) = lessons;
    }
}
