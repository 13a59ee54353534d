//! One attempt to reach a server.

mod plan;

use std::{
    fmt::{self, Display},
    sync::{Arc, PoisonError},
};

use switchboard_mcp_wire::{Era, server_request::is_echoed_refusal};
use switchboard_sandbox::{Sandbox, SandboxedProgram};
use switchboard_toolcall::HumanDuration;
use tokio::time::timeout;

use super::{
    config::TransportKind,
    http,
    inbox::{NotificationRouter, PendingChanges},
    negotiate::{FirstMessage, Handshake},
    old_sse,
    server::Server,
    session::Session,
    stdio,
    transport::{Failure, Transport},
};
use plan::{AttemptFailureKind, AttemptPlan};

pub(super) use plan::FailedAttempts;

/// Why an attempt failed, and what the server said to that.
#[derive(Debug, Default)]
pub(super) struct AttemptFailure {
    pub(super) reason: String,
    pub(super) stderr: Vec<String>,
    /// Whether trying again cannot help: there is no such program, the address is not a URL, or a person has to sign in.
    pub(super) is_permanent: bool,
}

impl AttemptFailure {
    pub(super) fn because(reason: impl ToString) -> Self {
        Self { reason: reason.to_string(), ..Self::default() }
    }
}

type SessionAndChanges = (Session, Arc<PendingChanges>);

impl Server {
    /// Starts or calls the server, agrees on a protocol and does `further` with the session, within `connect_timeout`.
    pub(super) async fn attempt<T>(
        &self,
        further: impl AsyncFnOnce(SessionAndChanges) -> Result<T, Failure>,
    ) -> Result<T, AttemptFailure> {
        self.has_route().await;
        let plan = self.plan();
        let work = async {
            let (met, kind) = self.reach(plan).await?;
            self.remember(&met.0, kind).await;
            further(met).await.map_err(AttemptError::Failed)
        };
        let limit = self.connect_timeout();
        let error = match timeout(limit, work).await {
            Ok(Ok(done)) => return Ok(done),
            Ok(Err(error)) => error,
            Err(_) => {
                let text = format!("no answer within {}", HumanDuration(limit));
                AttemptError::Failed(Failure::Protocol(text))
            }
        };
        let is_lost = matches!(error, AttemptError::Failed(Failure::Lost(_)));
        self.note_failure(
            plan,
            if is_lost { AttemptFailureKind::Lost } else { AttemptFailureKind::Other },
        );
        let never_started = self.open_transport().is_some_and(|open| open.never_started());
        if let AttemptError::Failed(Failure::SignIn(needed)) = &error {
            self.want_sign_in(needed.clone());
        }
        let is_permanent = never_started
            || matches!(
                error,
                AttemptError::Unusable(_) | AttemptError::Failed(Failure::SignIn(_))
            );
        Err(AttemptFailure { is_permanent, ..AttemptFailure::because(error) })
    }

    /// Opens the transport and returns it with its kind. A `url` may be streamable HTTP or the old HTTP+SSE: if the server does
    /// not respond to one, the other is tried, as the MCP specification tells clients to.
    async fn reach(
        &self,
        plan: AttemptPlan,
    ) -> Result<(SessionAndChanges, TransportKind), AttemptError> {
        let first = match self.meet(plan, plan.kind, plan.first_message).await {
            Ok(met) => return Ok((met, plan.kind)),
            Err(error) => error,
        };
        let other = match (self.kind(), plan.kind, &first) {
            (TransportKind::Http, TransportKind::Http, AttemptError::Failed(failure))
                if may_be_sse(failure) && plan.first_message != FirstMessage::Discover =>
            {
                TransportKind::Sse
            }
            // The server spoke HTTP+SSE before, and has been replaced.
            (TransportKind::Http, TransportKind::Sse, AttemptError::Failed(failure))
                if !matches!(failure, Failure::Lost(_) | Failure::NoToken(_)) =>
            {
                TransportKind::Http
            }
            _ => return Err(first),
        };
        self.close().await;
        // HTTP+SSE is older than `server/discover`, so only `initialize` makes sense.
        let first_message = if other == TransportKind::Sse {
            FirstMessage::Initialize
        } else {
            FirstMessage::Probe
        };
        match self.meet(plan, other, first_message).await {
            Ok(met) => Ok((met, other)),
            Err(second) => {
                let (http, sse) =
                    if other == TransportKind::Sse { (first, second) } else { (second, first) };
                let text = format!("as streamable HTTP: {http}; as HTTP+SSE: {sse}");
                Err(AttemptError::Failed(Failure::Protocol(text)))
            }
        }
    }

    async fn meet(
        &self,
        plan: AttemptPlan,
        kind: TransportKind,
        first_message: FirstMessage,
    ) -> Result<SessionAndChanges, AttemptError> {
        let (router, changes) = NotificationRouter::new(self.name(), self.deps.answers.clone());
        let OpenTransport { transport, tell } =
            self.way(kind, &router).map_err(AttemptError::Unusable)?;
        router.attach(&transport);
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = Some(transport.clone());
        let (answers, patience) = (self.deps.answers.clone(), plan.patience(kind));
        let gate = Some(self.gate.clone());
        let handshake = Handshake { transport, router, answers, gate, patience, tell };
        let session = handshake.meet(first_message).await;
        let session = session.map_err(|failure| AttemptError::Failed(unless_echoed(failure)))?;
        Ok((session, changes))
    }

    fn way(
        &self,
        kind: TransportKind,
        router: &Arc<NotificationRouter>,
    ) -> Result<OpenTransport, String> {
        let (name, inbox) = (self.name(), router.clone());
        Ok(match kind {
            TransportKind::Stdio => {
                let transport = stdio::StdioTransport::start(name, &self.child()?, inbox)
                    .map_err(|error| error.to_string())?;
                OpenTransport { transport, tell: Box::new(|_| {}) }
            }
            TransportKind::Http => {
                let transport = http::HttpTransport::new(name, &self.http(), inbox)
                    .map_err(|error| error.to_string())?;
                let told = transport.clone();
                OpenTransport { transport, tell: Box::new(move |era| told.set_era(era.clone())) }
            }
            TransportKind::Sse => {
                let transport = old_sse::OldSseTransport::new(name, &self.http(), inbox)
                    .map_err(|error| error.to_string())?;
                OpenTransport { transport, tell: Box::new(|_| {}) }
            }
        })
    }

    fn child(&self) -> Result<stdio::StdioConfig, String> {
        let config = self.config();
        let sandbox = self.make_sandbox().map_err(|reason| {
            format!("cannot start '{}': {reason}", config.command.as_deref().unwrap_or_default())
        })?;
        Ok(stdio::StdioConfig {
            args: config.args.clone(),
            env: config.env.clone(),
            inherit_env: config.inherit_env,
            cwd: config.cwd.clone(),
            guard: self.deps.guard.clone(),
            log: Some(self.stderr.clone()),
            sandbox: sandbox.map(Arc::new),
            ..stdio::StdioConfig::new(config.command.clone().unwrap_or_default())
        })
    }

    /// Makes what confines the server's program, if its settings demand that.
    fn make_sandbox(&self) -> Result<Option<Sandbox>, String> {
        let config = self.config();
        let sandbox = config.sandbox();
        let deps = match &self.deps.sandbox {
            _ if sandbox.mode.is_off() => return Ok(None),
            Some(deps) => deps,
            None => return Err("it cannot be confined: this program confines none".to_owned()),
        };
        let program = SandboxedProgram {
            owner: self.name(),
            command: config.command.as_deref().unwrap_or_default(),
            args: &config.args,
            env: &config.env,
            cwd: config.cwd.as_deref(),
        };
        Sandbox::open(&program, &sandbox, deps)
    }

    fn http(&self) -> http::HttpConfig {
        let usual = http::HttpConfig::default();
        http::HttpConfig {
            url: self.config().url.clone().unwrap_or_default(),
            socket: self.config().socket.clone(),
            headers: self.config().headers.clone().into_iter().collect(),
            connect_timeout: usual.connect_timeout.min(self.connect_timeout()),
            authorizer: self.authorizer().cloned(),
            ..usual
        }
    }
}

/// Whether the failure of a POST looks like that of a server of the old HTTP+SSE.
fn may_be_sse(failure: &Failure) -> bool {
    matches!(failure, Failure::Http { status: 400 | 404 | 405, .. })
}

/// Says so if a program such as `cat` sent back our request, and then our response to it.
fn unless_echoed(failure: Failure) -> Failure {
    match failure {
        Failure::Rpc(error) if is_echoed_refusal(&error) => Failure::Protocol(
            "it sends back what it is sent, so it is not an MCP server".to_owned(),
        ),
        other => other,
    }
}

/// Why a server could not be connected to.
enum AttemptError {
    /// Nothing was tried: the settings name neither a program that can be started nor a URL.
    Unusable(String),
    /// The server was tried.
    Failed(Failure),
}

impl Display for AttemptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unusable(reason) => f.write_str(reason),
            Self::Failed(failure) => failure.fmt(f),
        }
    }
}

/// An open transport, and how it learns which era was agreed on.
struct OpenTransport {
    transport: Arc<dyn Transport>,
    tell: Box<dyn Fn(&Era) + Send + Sync>,
}
