//! The servers whose lists a command reads: started by this process, or those of the running gateway.

use std::{future::Future, sync::Arc, time::Duration};

use anyhow::anyhow;
use futures_util::future::join_all;
use serde_json::{Map, Value};
use switchboard_mcp_client::{Failure, ServerState, Session};
use switchboard_mcp_wire::{List, Method};
use switchboard_runtime::ToolExecutor;
use switchboard_toolcall::{CallContext, HumanDuration, ToolCall, ToolResult};
use tokio::time::timeout;

use super::lists::ListEntry;
use crate::{
    assembly::App,
    cli::Cli,
    connections::{Connections, Needs, with_servers},
    interrupt::unless_interrupted,
    own_gateway::{CallWatch, GatewayCall, GatewayCallOutcome, OwnGateway, path},
    questions::{self, Sampler},
    runtime::on_runtime,
    settings::LoadedConfig,
    terminal::{self, CommandFailed, progress::ProgressLabel, text},
};

/// The servers that a command asks.
pub(super) enum ServerSource<'a> {
    Here {
        executor: &'a ToolExecutor,
        connections: &'a Connections,
        /// How long a server may take to send a list.
        limit: Duration,
    },
    Gateway {
        gateway: &'a OwnGateway,
        loaded: &'a LoadedConfig,
        /// The only server that is asked, if one was named.
        only: Option<&'a str>,
    },
}

/// Does `work` with the servers that it needs: those of the running gateway, or else servers that are started for it.
///
/// # Errors
/// As `work`; or the servers cannot be started.
pub(super) fn with_source<T>(
    cli: &Cli,
    loaded: &LoadedConfig,
    needs: Needs<'_>,
    is_watched: bool,
    work: impl AsyncFnOnce(&ServerSource<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    if let Some(gateway) = OwnGateway::find(cli, loaded) {
        let only = match needs {
            Needs::One(server) => Some(server),
            _ => None,
        };
        let source = ServerSource::Gateway { gateway: &gateway, loaded, only };
        return on_runtime(unless_interrupted(async {
            gateway.wait_for_servers(loaded, only).await?;
            work(&source).await
        }));
    }
    let app = App::build(loaded)?;
    let limit = loaded.settings.executor.timeout.0;
    with_servers(&app, loaded, needs, async |connections| {
        unless_interrupted(async {
            connections.wait_until_ready(is_watched).await;
            work(&ServerSource::Here { executor: &app.executor, connections, limit }).await
        })
        .await
    })
}

/// A server's response to a request such as `resources/read`, which runs as a call.
pub(super) struct MethodResult {
    /// The result, as MCP has it.
    pub(super) result: Value,
    /// Whether its text was cut.
    pub(super) is_cut: bool,
}

impl ServerSource<'_> {
    /// Reads a list from all servers at once; a server that fails is reported on stderr, and the others are used.
    pub(super) async fn gather(&self, list: List) -> anyhow::Result<Vec<ListEntry>> {
        Ok(match self {
            Self::Here { connections, limit, .. } => {
                let lists = connected(connections).into_iter().map(async |(server, session)| {
                    let listed = within(*limit, &server, session.list(list)).await;
                    entries(&server, listed.map(|listed| listed.entries))
                });
                join_all(lists).await.into_iter().flatten().collect()
            }
            Self::Gateway { gateway, .. } => {
                let lists = self.of_gateway("").await?.into_iter().map(async |server| {
                    let listed = gateway_list(gateway, &server, list).await;
                    entries(&server, listed)
                });
                join_all(lists).await.into_iter().flatten().collect()
            }
        })
    }

    /// The connected servers that declare this capability.
    ///
    /// # Errors
    /// The gateway went away.
    pub(super) async fn offering(&self, capability: &str) -> anyhow::Result<Vec<Arc<str>>> {
        match self {
            Self::Here { connections, .. } => {
                let has = |session: &Session| session.capabilities().get(capability).is_some();
                let connected = connected(connections).into_iter();
                Ok(connected
                    .filter(|(_, session)| has(session))
                    .map(|(server, _)| server)
                    .collect())
            }
            Self::Gateway { .. } => self.of_gateway(capability).await,
        }
    }

    /// The connected servers of the gateway, with this capability if it is not empty.
    async fn of_gateway(&self, capability: &str) -> anyhow::Result<Vec<Arc<str>>> {
        let Self::Gateway { gateway, only, .. } = self else { return Ok(Vec::new()) };
        let servers = gateway.servers().await?;
        let is_meant = |server: &&Value| {
            let has = |offered: &Value| offered == capability;
            server["state"] == "ready"
                && only.is_none_or(|only| server["name"] == only)
                && (capability.is_empty()
                    || server["capabilities"].as_array().is_some_and(|all| all.iter().any(has)))
        };
        let named = servers.iter().filter(is_meant).filter_map(|server| server["name"].as_str());
        Ok(named.map(Into::into).collect())
    }

    /// Asks `method` of a server through the executor, here or in the gateway.
    ///
    /// # Errors
    /// The call failed: it was denied, or the server returned an error or did not answer.
    pub(super) async fn ask(
        &self,
        server: &str,
        method: Method,
        params: Map<String, Value>,
        whole: bool,
    ) -> anyhow::Result<MethodResult> {
        let result = self.call(server, method, params, whole).await?;
        let answer = result.outcome.as_ref().ok().and_then(|answer| method.result(&answer.output));
        match answer {
            Some(answer) => {
                Ok(MethodResult { result: Value::Object(answer), is_cut: result.truncated })
            }
            None => Err(anyhow!(CommandFailed(format!("server `{server}`: {}", result.text())))),
        }
    }

    async fn call(
        &self,
        server: &str,
        method: Method,
        params: Map<String, Value>,
        whole: bool,
    ) -> anyhow::Result<ToolResult> {
        let caller_channel = questions::here(Sampler::None);
        match self {
            Self::Here { executor, .. } => {
                let name = method.call_name(server, executor.tools().separator());
                let cx =
                    CallContext { whole, caller_channel, ..CallContext::for_owner("command line") };
                Ok(executor.execute(ToolCall::new(name, params), &cx).await)
            }
            Self::Gateway { gateway, loaded, .. } => {
                let name = method.call_name(server, &loaded.settings.executor.separator);
                let mut watch = CallWatch::new(loaded, caller_channel, ProgressLabel::new(&name));
                let request = GatewayCall {
                    name: &name,
                    args: &params,
                    timeout: None,
                    idempotency_key: None,
                    no_wait: false,
                    whole,
                    profile: None,
                };
                match gateway.call(&request, &mut watch).await? {
                    GatewayCallOutcome::Ended(result) => Ok(*result),
                    GatewayCallOutcome::Queued { .. } => {
                        Err(anyhow!("the gateway queued the call"))
                    }
                }
            }
        }
    }

    /// The separator between a server's name and a prompt's.
    pub(super) fn separator(&self) -> &str {
        match self {
            Self::Here { executor, .. } => executor.tools().separator(),
            Self::Gateway { loaded, .. } => &loaded.settings.executor.separator,
        }
    }
}

async fn gateway_list(
    gateway: &OwnGateway,
    server: &str,
    list: List,
) -> anyhow::Result<Vec<Value>> {
    let (route, key) = match list {
        List::Resources => ("resources", "resources"),
        List::ResourceTemplates => ("resources", "templates"),
        List::Prompts => ("prompts", "prompts"),
        List::Tools => return Ok(Vec::new()),
    };
    let mut listed = gateway.get(&format!("/api/servers/{}/{route}", path(server))).await?;
    match listed[key].take() {
        Value::Array(entries) => Ok(entries),
        _ => Ok(Vec::new()),
    }
}

/// Returns the entries of a server's list; an error is reported on stderr.
fn entries(server: &Arc<str>, listed: anyhow::Result<Vec<Value>>) -> Vec<ListEntry> {
    let listed = listed.unwrap_or_else(|error| {
        terminal::tell(&text::lines(&format!("{error:#}")));
        Vec::new()
    });
    let entry = |value| ListEntry { server: server.clone(), value };
    listed.into_iter().map(entry).collect()
}

/// The servers that are connected.
fn connected(connections: &Connections) -> Vec<(Arc<str>, Arc<Session>)> {
    let ready = connections.all().into_iter().filter_map(|server| match server.state() {
        ServerState::Ready(session) => Some((server.name().clone(), session)),
        _ => None,
    });
    ready.collect()
}

/// Waits for a server's list, at most for `limit`.
///
/// # Errors
/// The server returns an error, or does not answer in time.
async fn within<T>(
    limit: Duration,
    server: &str,
    work: impl Future<Output = Result<T, Failure>>,
) -> anyhow::Result<T> {
    let failed = |text: String| anyhow!(CommandFailed(format!("server `{server}`: {text}")));
    match timeout(limit, work).await {
        Ok(answer) => answer.map_err(|failure| failed(failure.to_string())),
        Err(_) => Err(failed(format!("no answer within {}", HumanDuration(limit)))),
    }
}
