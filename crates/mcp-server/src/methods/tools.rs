//! `tools/list` and `tools/call`.

use std::{error::Error, sync::Arc};

use serde_json::{Map, Value};
use switchboard_toolcall::{CallContext, ErrorKind, ToolCall, ToolResult};

use super::{ListParams, read, unusable};
use crate::{
    DiscoveryMode, McpCaller, ServerInner,
    discovery::RequestedCall,
    exchange::Exchange,
    page,
    reply::{ListReply, MethodReply},
    tasks::{EXTENSION, SubmitOutcome, is_required, not_known},
};
use switchboard_mcp_wire::RpcError;

impl ServerInner {
    pub(super) fn list_tools(
        &self,
        exchange: &Exchange,
        params: Map<String, Value>,
    ) -> Result<MethodReply, RpcError> {
        let params: ListParams = read(params)?;
        let caller = &exchange.caller;
        let all = self.catalog.tools(&caller.visibility);
        let (cursor, size) = (params.cursor()?, self.config.page_size);
        let (entries, next) = match self.discovery(caller) {
            DiscoveryMode::List => {
                let seen: Vec<_> = all.iter().filter(|listed| caller.sees(&listed.tool)).collect();
                let key = |at: usize| &**seen[at].tool.name();
                let page = page::page("tools", seen.len(), key, cursor, size)?;
                let entries = seen[page.range].iter().map(|listed| listed.entry.clone());
                (entries.collect(), page.next)
            }
            DiscoveryMode::Search => {
                let listed = self.listed_for_search(&all, caller);
                let page = page::page("tools", listed.len(), |at| &listed[at].0, cursor, size)?;
                let entries = listed[page.range].iter().map(|(_, entry)| entry.clone());
                (entries.collect(), page.next)
            }
        };
        let private = caller.is_restricted();
        Ok(MethodReply::List(ListReply { key: "tools", entries, next, ttl: 0, private }))
    }

    /// Returns which tools the caller lists: all, or those of the search view.
    pub(crate) fn discovery(&self, caller: &McpCaller) -> DiscoveryMode {
        let of_profile = || caller.visibility.rules()?.config().discovery;
        caller.discovery.or_else(of_profile).unwrap_or(self.config.discovery)
    }

    pub(super) async fn call_tool(
        &self,
        exchange: &Arc<Exchange>,
        params: Map<String, Value>,
    ) -> Result<MethodReply, RpcError> {
        let mut cx = exchange.context();
        let call = tool_call(params)?;
        let requested = match self.discovery(&exchange.caller) {
            DiscoveryMode::List => RequestedCall::Direct(call),
            DiscoveryMode::Search => RequestedCall::read(call, &mut cx),
        };
        let is_through = matches!(requested, RequestedCall::Through(_));
        let call = match requested {
            RequestedCall::Direct(call) | RequestedCall::Through(call) => call,
            RequestedCall::Invalid(call, error) => {
                let result = self.executor.refuse(call, error, &cx).await;
                return Ok(MethodReply::Tool(Box::new(result)));
            }
        };
        let result = match self.tasks.is_some() {
            true => {
                // Boxed, so that the future of a call that is not queued stays small.
                match Box::pin(self.call_or_queue(call, cx, exchange)).await? {
                    SubmitOutcome::Ended(result) => *result,
                    SubmitOutcome::Task(call) => {
                        let outline = self.tasks.as_ref().map(|tasks| tasks.outline(&call));
                        return Ok(MethodReply::Task(outline.unwrap_or_default()));
                    }
                }
            }
            false => self.executor.execute(call, &cx).await,
        };
        match protocol_error(&result) {
            // The tool that the client called exists: what it says of another one is a result.
            _ if is_through => {
                let result = self.with_schema(result, &exchange.caller.visibility);
                Ok(MethodReply::Tool(Box::new(result)))
            }
            Some(error) => Err(error),
            None => Ok(MethodReply::Tool(Box::new(result))),
        }
    }

    /// Runs a call, or queues it if the tool can be queued and the client declares tasks.
    async fn call_or_queue(
        &self,
        call: ToolCall,
        cx: CallContext,
        exchange: &Exchange,
    ) -> Result<SubmitOutcome, RpcError> {
        // An unknown tool may belong to a server that is still connecting, and then cannot be queued.
        // Hidden tools are not queued; the executor reports them as unknown.
        let tool = self.executor.tools().get_for(&call.name, &exchange.caller.visibility);
        let tasks = self.tasks.as_ref();
        let tasks = tasks.filter(|tasks| tool.as_ref().is_some_and(|tool| tasks.takes(tool, &cx)));
        match tasks {
            Some(tasks) if exchange.knows(EXTENSION) => tasks.submit(call, &cx).await,
            Some(_)
                if exchange.is_modern() && tool.is_some_and(|tool| is_required(tool.spec())) =>
            {
                Err(not_known())
            }
            _ => Ok(SubmitOutcome::Ended(Box::new(self.executor.execute(call, &cx).await))),
        }
    }
}

/// Parses the call from the parameters of a request.
fn tool_call(mut params: Map<String, Value>) -> Result<ToolCall, RpcError> {
    let name = match params.remove("name") {
        Some(Value::String(name)) => name,
        Some(_) => return Err(unusable("`name` must be a string")),
        None => return Err(unusable("missing field `name`")),
    };
    match params.remove("arguments") {
        Some(Value::Object(args)) => Ok(ToolCall::new(name, args)),
        None | Some(Value::Null) => Ok(ToolCall::new(name, Map::new())),
        Some(_) => Err(unusable("`arguments` must be an object")),
    }
}

/// Returns the JSON-RPC error for a result: the tool is unknown, or its server returned a protocol error, which is passed
/// on unchanged.
pub(crate) fn protocol_error(result: &ToolResult) -> Option<RpcError> {
    let error = result.outcome.as_ref().err()?;
    match error.kind {
        ErrorKind::NotFound | ErrorKind::UnknownServer => {
            Some(RpcError::new(RpcError::INVALID_PARAMS, error.for_model.clone()))
        }
        ErrorKind::ToolError => {
            let theirs = error.source()?.downcast_ref::<RpcError>()?;
            let ours = matches!(
                theirs.code,
                RpcError::HEADER_MISMATCH | RpcError::UNSUPPORTED_VERSION | RpcError::REFUSED
            );
            // A protocol error between us and that server is not the client's fault.
            (!ours).then(|| theirs.clone())
        }
        _ => None,
    }
}
