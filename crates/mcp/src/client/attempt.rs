//! One attempt to reach a server.

use std::sync::{Arc, PoisonError};

use tracing::debug;

use super::{
    config::{Kind, Protocol},
    http,
    inbox::{Changes, Desk},
    negotiate::{SILENCE, SLOWNESS, Stranger},
    old_sse,
    server::Server,
    session::Session,
    stdio,
    transport::{Failure, Transport},
};
use crate::wire::Era;

/// Why an attempt failed, and what the server said to that.
#[derive(Debug, Default)]
pub(super) struct Trouble {
    pub(super) reason: String,
    pub(super) stderr: Vec<String>,
}

impl Trouble {
    pub(super) fn because(reason: impl ToString) -> Self {
        Self { reason: reason.to_string(), stderr: Vec::new() }
    }
}

type Met = (Session, Arc<Changes>);

impl Server {
    /// Starts or calls the server and agrees on a protocol.
    pub(super) async fn attempt(&self) -> Result<Met, Trouble> {
        let remembered = *self.era.lock().unwrap_or_else(PoisonError::into_inner);
        let asked = self.config().protocol;
        let protocol = match asked {
            Protocol::Auto => remembered.unwrap_or(asked),
            asked => asked,
        };
        let met = match self.meet(protocol).await {
            // An old server may die of a question that it does not know: that costs no attempt.
            Err(Failure::Lost(reason))
                if protocol == Protocol::Auto && self.kind() == Kind::Stdio =>
            {
                debug!(
                    server = &**self.name(),
                    reason, "it died on the probe; initialize comes next"
                );
                self.close().await;
                self.meet(Protocol::Legacy).await
            }
            met => met,
        };
        // After a failure the server may be replaced by another one: ask it anew next time.
        let era = met.as_ref().ok().map(|(session, _)| match session.era() {
            Era::Legacy(_) => Protocol::Legacy,
            Era::Modern => Protocol::Modern,
        });
        *self.era.lock().unwrap_or_else(PoisonError::into_inner) = era;
        met.map_err(|failure| Trouble::because(&failure))
    }

    async fn meet(&self, protocol: Protocol) -> Result<Met, Failure> {
        let (desk, changes) = Desk::new(self.name(), self.around.answers.clone());
        let stranger = self.start(desk).map_err(Failure::Lost)?;
        let transport = stranger.transport.clone();
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = Some(transport);
        Ok((stranger.meet(protocol).await?, changes))
    }

    fn start(&self, desk: Arc<Desk>) -> Result<Stranger, String> {
        let Way { transport, tell } = match self.kind() {
            Kind::Stdio => self.start_child(&desk)?,
            Kind::Http => {
                let transport = http::HttpTransport::new(self.name(), &self.http(), desk.clone())
                    .map_err(|error| error.to_string())?;
                let told = transport.clone();
                Way { transport, tell: Box::new(move |era| told.set_era(era.clone())) }
            }
            Kind::Sse => {
                let config = self.http();
                let transport = old_sse::OldSseTransport::new(self.name(), &config, desk.clone())
                    .map_err(|error| error.to_string())?;
                Way { transport, tell: Box::new(|_| {}) }
            }
        };
        desk.attach(&transport);
        let patience = match self.kind() {
            Kind::Http => SLOWNESS,
            Kind::Stdio | Kind::Sse => SILENCE,
        };
        Ok(Stranger { transport, desk, answers: self.around.answers.clone(), patience, tell })
    }

    fn start_child(&self, desk: &Arc<Desk>) -> Result<Way, String> {
        let config = self.config();
        let settings = stdio::Config {
            args: config.args.clone(),
            env: config.env.clone(),
            inherit_env: config.inherit_env,
            cwd: config.cwd.clone(),
            guard: self.around.guard.clone(),
            log: Some(self.stderr.clone()),
            ..stdio::Config::new(config.command.clone().unwrap_or_default())
        };
        let transport = stdio::StdioTransport::start(self.name(), &settings, desk.clone())
            .map_err(|error| error.to_string())?;
        Ok(Way { transport, tell: Box::new(|_| {}) })
    }

    fn http(&self) -> http::Config {
        http::Config {
            url: self.config().url.clone().unwrap_or_default(),
            headers: self.config().headers.clone().into_iter().collect(),
            ..http::Config::default()
        }
    }
}

/// A way to a server, and how it is told which era was agreed on.
struct Way {
    transport: Arc<dyn Transport>,
    tell: Box<dyn Fn(&Era) + Send + Sync>,
}
