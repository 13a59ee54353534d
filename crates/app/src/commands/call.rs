//! `switchboard call`: one call through the executor; prints the result as text for people, or its envelope as JSON.

mod output;
mod queued;
mod through_gateway;
mod unknown;
mod unknown_name;

use std::{
    cell::Cell,
    io::{self, IsTerminal},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use serde_json::{Map, Value};
use switchboard_toolcall::{
    CallContext, CancellationToken, ErrorKind, HumanDuration, ToolCall, ToolError, ToolResult,
    Visibility,
};
use tokio::time::{Instant, sleep};

use crate::{
    arguments,
    assembly::App,
    cli::{CallArgs, Cli},
    connections::{Connections, Needs, with_servers},
    overrides,
    own_gateway::OwnGateway,
    profiles,
    questions::{self, Sampler},
    settings::LoadedConfig,
    terminal::is_watched,
    terminal::{self, progress::ProgressLabel, spinner},
};
use queued::SubmittedCall;

pub(super) fn run(call: &CallArgs, cli: &Cli) -> anyhow::Result<ExitCode> {
    let started_at = Instant::now();
    let loaded = Arc::new(overrides::load(cli)?);
    profiles::check(&loaded, call.profile.as_deref())?;
    match OwnGateway::find(cli, &loaded) {
        Some(gateway) => through_gateway::run(call, &loaded, &gateway)?.print(call, cli, &loaded),
        None => run_alone(call, cli, &loaded, started_at),
    }
}

/// Runs the call in this process.
fn run_alone(
    call: &CallArgs,
    cli: &Cli,
    loaded: &Arc<LoadedConfig>,
    started_at: Instant,
) -> anyhow::Result<ExitCode> {
    let app = App::build(loaded)?;
    let seen = app.visibility(loaded, call.profile.as_deref());
    // A name that the profile does not have needs no server.
    let original = seen.resolve(&call.name);
    let needs = match &original {
        Some(name) => Needs::of_tool(name, app.executor.tools(), loaded),
        None => Needs::Nothing,
    };
    // Invalid JSON is reported before any server is started; values and pairs have to wait for the server's schema.
    let is_early = needs == Needs::Nothing || !arguments::need_schema(&call.arguments);
    let args = is_early.then(|| read_arguments(call, &app, &seen)).transpose()?;
    let has_cluster = loaded.settings.cluster.nats.is_some();
    if needs == Needs::All && call.profile.is_none() && io::stderr().is_terminal() {
        unknown_name::print_suggestion(&call.name, app.executor.tools(), loaded, cli.color);
    }
    with_servers(&app, loaded, needs, async |connections| {
        let label = ProgressLabel::new(&call.name);
        let calling = CallCommand {
            app: &app,
            loaded,
            call,
            seen: &seen,
            started_at,
            needs,
            has_cluster,
            connections,
            label: &label,
            is_waiting: Cell::new(false),
        };
        let work = calling.execute(args);
        let report = match is_watched(call.json) {
            true => spinner::watch(|| calling.spinner_text(), work).await?,
            false => work.await?,
        };
        // Printed before the servers are stopped, which may take a while.
        report.print(call, cli, loaded)
    })
}

fn read_arguments(
    call: &CallArgs,
    app: &App,
    seen: &Visibility,
) -> anyhow::Result<Map<String, Value>> {
    // Silent, because the executor looks the name up again, and logs it then.
    let silent = tracing::subscriber::NoSubscriber::default();
    let lookup = || app.executor.tools().get_for(&call.name, seen);
    let tool = tracing::subscriber::with_default(silent, lookup);
    let schema = tool.as_ref().map(|tool| &tool.spec().parameters);
    let args = arguments::read(&call.arguments, schema, &mut io::stdin().lock())?;
    if let Some(tool) = tool.filter(|_| io::stderr().is_terminal()) {
        unknown::print_suggestion(tool.spec(), &args);
    }
    Ok(args)
}

/// What the command prints about its call.
enum CallReport {
    Ended(Box<ToolResult>),
    Queued(SubmittedCall),
}

impl CallReport {
    fn print(&self, call: &CallArgs, cli: &Cli, loaded: &LoadedConfig) -> anyhow::Result<ExitCode> {
        match self {
            Self::Ended(result) => {
                output::print(result, call, cli, loaded)?;
                Ok(if result.is_success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
            }
            Self::Queued(accepted) => {
                terminal::print(&accepted.text(call.json))?;
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

struct CallCommand<'a> {
    app: &'a App,
    loaded: &'a Arc<LoadedConfig>,
    call: &'a CallArgs,
    /// What its caller sees of the tools.
    seen: &'a Visibility,
    /// When the command began: waiting for servers is part of the call's time (EX-7).
    started_at: Instant,
    needs: Needs<'a>,
    /// Whether the config names a cluster.
    has_cluster: bool,
    connections: &'a Connections,
    label: &'a ProgressLabel,
    /// Whether all servers are waited for.
    is_waiting: Cell<bool>,
}

impl CallCommand<'_> {
    /// Runs the call; its arguments are read as soon as the tool's schema is known.
    async fn execute(&self, args: Option<Map<String, Value>>) -> anyhow::Result<CallReport> {
        let (executor, name) = (&self.app.executor, &self.call.name);
        let mut cx = CallContext::for_owner("command line").with_client("cli");
        cx.visibility = self.seen.clone();
        cx.asked = Some(self.started_at);
        cx.caller_channel = questions::here(Sampler::Usual(self.loaded.clone()));
        cx.progress = self.label.listener();
        cx.timeout = self.call.timeout.map(|timeout| timeout.0);
        cx.idempotency_key = self.call.idempotency_key.as_deref().map(Into::into);
        tokio::spawn(cancel_on_interrupt(cx.cancel.clone()));
        if let Err(error) = self.servers_ready(args.is_none(), &cx.cancel).await {
            let call = ToolCall::new(name, args.unwrap_or_default());
            return Ok(CallReport::Ended(Box::new(executor.refuse(call, error, &cx).await)));
        }
        let args = args.map_or_else(|| read_arguments(self.call, self.app, self.seen), Ok)?;
        let call = ToolCall::new(name, args);
        if self.call.no_wait {
            return Ok(self.queue(call, &cx).await);
        }
        Ok(CallReport::Ended(Box::new(executor.execute(call, &cx).await)))
    }

    /// Waits for servers that the executor does not wait for itself: all of them for a bare name (TL-6), or the one whose
    /// schema is needed.
    async fn servers_ready(
        &self,
        schema: bool,
        cancel: &CancellationToken,
    ) -> Result<(), ToolError> {
        let name = &self.call.name;
        let limit = self.limit();
        let work = async {
            match self.needs {
                Needs::All => {
                    self.is_waiting.set(true);
                    self.connections.wait_until_ready(false).await;
                    self.is_waiting.set(false);
                }
                Needs::One(_) if schema => {
                    _ = self.app.executor.tools().find_visible(name, self.seen).await
                }
                Needs::Groups => self.connections.wait_for_groups().await.map_err(|error| {
                    let text = format!("Tool '{name}' is unavailable: {error}");
                    ToolError::new(ErrorKind::Unavailable, text).caused_by(error)
                })?,
                Needs::One(_) | Needs::Nothing | Needs::AsSet | Needs::Servers => {}
            }
            Ok(())
        };
        tokio::select! {
            biased;
            outcome = work => outcome,
            () = cancel.cancelled() => {
                Err(ToolError::new(ErrorKind::Cancelled, format!("Tool '{name}' was cancelled")))
            }
            () = sleep(limit.saturating_sub(self.started_at.elapsed())) => {
                let text = format!("Tool '{name}' timed out after {}", HumanDuration(limit));
                Err(ToolError::new(ErrorKind::Timeout, text))
            }
        }
    }

    /// The servers that are waited for, then the call with its progress.
    fn spinner_text(&self) -> String {
        if self.is_waiting.get() { self.connections.waiting() } else { self.label.text() }
    }

    /// Returns how long the call may take, connecting included: `--timeout`, else the tool's own limit, else the executor's.
    fn limit(&self) -> Duration {
        let executor = &self.app.executor;
        let asked = self.call.timeout.map(|timeout| timeout.0);
        let own = || executor.tools().timeout_of(&self.seen.resolve(&self.call.name)?);
        asked.or_else(own).unwrap_or(executor.config().timeout.0)
    }
}

/// Cancels the call at the first Ctrl-C, and exits at the second without waiting for it.
async fn cancel_on_interrupt(cancel: CancellationToken) {
    while tokio::signal::ctrl_c().await.is_ok() {
        if cancel.is_cancelled() {
            std::process::exit(1);
        }
        cancel.cancel();
    }
}
