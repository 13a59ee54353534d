//! What servers have beside tools: lists gathered from all of them, and rows for people.

use std::{
    future::Future,
    io::{self, IsTerminal},
    sync::Arc,
    time::Duration,
};

use anyhow::anyhow;
use futures_util::future::join_all;
use serde_json::{Map, Value};
use switchboard_mcp_client::{Failure, ServerState, Session};
use switchboard_mcp_wire::{List, Method};
use switchboard_runtime::ToolExecutor;
use switchboard_toolcall::{CallContext, HumanDuration, ToolCall};
use tokio::time::timeout;
use unicode_width::UnicodeWidthStr;

use crate::{
    connections::Connections,
    questions::{self, Sampler},
    terminal::{self, CommandFailed, Paint, text},
};

/// An entry of a server's list.
pub(super) struct ListEntry {
    pub(super) server: Arc<str>,
    pub(super) value: Value,
}

impl ListEntry {
    /// What the entry says under `key`.
    pub(super) fn text(&self, key: &str) -> &str {
        self.value[key].as_str().unwrap_or_default()
    }

    /// The entry as programs read it.
    pub(super) fn described(&self) -> Value {
        with_server(&self.server, &self.value)
    }
}

/// An object of a server's, which says whose it is.
pub(super) fn with_server(server: &str, value: &Value) -> Value {
    let mut described = Map::from_iter([("server".to_owned(), Value::from(server))]);
    described.extend(value.as_object().cloned().unwrap_or_default());
    Value::Object(described)
}

/// The servers that are connected.
pub(super) fn connected(connections: &Connections) -> Vec<(Arc<str>, Arc<Session>)> {
    let ready = connections.all().into_iter().filter_map(|server| match server.state() {
        ServerState::Ready(session) => Some((server.name().clone(), session)),
        _ => None,
    });
    ready.collect()
}

/// Reads a list from all servers at once; a server that does not give it is told, and the others count.
pub(super) async fn gather(
    connections: &Connections,
    list: List,
    limit: Duration,
) -> Vec<ListEntry> {
    let lists = connected(connections).into_iter().map(|(server, session)| async move {
        let listed = within(limit, &server, session.list(list)).await;
        let entries = listed.map(|listed| listed.entries).unwrap_or_else(|error| {
            terminal::tell(&text::lines(&format!("{error:#}")));
            Vec::new()
        });
        let entry = |value| ListEntry { server: server.clone(), value };
        entries.into_iter().map(entry).collect::<Vec<_>>()
    });
    join_all(lists).await.into_iter().flatten().collect()
}

/// What a server answered to a request that is a call like any other.
pub(super) struct MethodResult {
    /// The result, as MCP has it.
    pub(super) result: Value,
    /// Whether its text was cut.
    pub(super) is_cut: bool,
}

/// Asks `method` of a server through the executor.
///
/// # Errors
/// The call failed: it was denied, or the server says no, or nothing.
pub(super) async fn ask(
    executor: &ToolExecutor,
    server: &str,
    method: Method,
    params: Map<String, Value>,
    whole: bool,
) -> anyhow::Result<MethodResult> {
    let name = method.call_name(server, executor.tools().separator());
    let way_back = questions::here(Sampler::None);
    let cx = CallContext { whole, way_back, ..CallContext::for_caller("command line") };
    let result = executor.execute(ToolCall::new(name, params), &cx).await;
    let answer = result.outcome.as_ref().ok().and_then(|answer| method.result(&answer.output));
    match answer {
        Some(answer) => {
            Ok(MethodResult { result: Value::Object(answer), is_cut: result.truncated })
        }
        None => Err(anyhow!(CommandFailed(format!("server `{server}`: {}", result.text())))),
    }
}

/// Waits for a server's list, but not for ever.
///
/// # Errors
/// The server says no, or nothing.
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

/// Rows as columns on a terminal, the last one cut to fit; in a pipe whole texts between tabs.
pub(super) fn table<const N: usize>(rows: &[[String; N]], paint: Paint) -> String {
    if !io::stdout().is_terminal() {
        let line = |row: &[String; N]| row.each_ref().map(|cell| text::one_line(cell)).join("\t");
        return rows.iter().map(line).collect::<Vec<_>>().join("\n");
    }
    let widths: Vec<usize> = (0..N)
        .map(|column| rows.iter().map(|row| row[column].width()).max().unwrap_or(0))
        .collect();
    let lines = rows.iter().map(|row| {
        let mut room = terminal::width();
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
            let shown = text::pad(&text::shorten(cell, room.max(8)), (*width).min(room));
            room = room.saturating_sub(width + 2);
            if column == 0 { paint.bold(&shown) } else { shown }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}
