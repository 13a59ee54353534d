//! `subscriptions/listen`: a request that stays open and notifies of changes.

use std::{future::pending, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json, value::RawValue};
use switchboard_runtime::QueuedCall;
use tokio::sync::broadcast::error::RecvError;

use super::read;
use crate::{
    ServerInner,
    exchange::Exchange,
    list_changes::AnnouncedChange,
    reply::MethodReply,
    tasks::{EXTENSION, TaskFollower, not_known},
};
use switchboard_mcp_wire::{RpcError, ServerChange};

/// How many tasks one request may follow.
const MOST_TASKS: usize = 256;

#[derive(Deserialize)]
struct ListenParams {
    notifications: ListenFilter,
}

/// The changes that a client wants to be notified of.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
struct ListenFilter {
    #[serde(skip_serializing_if = "is_false")]
    tools_list_changed: bool,
    #[serde(skip_serializing_if = "is_false")]
    prompts_list_changed: bool,
    #[serde(skip_serializing_if = "is_false")]
    resources_list_changed: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    resource_subscriptions: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    task_ids: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands in references")]
fn is_false(value: &bool) -> bool {
    !*value
}

impl ListenFilter {
    fn wants(&self, changed: &ServerChange) -> bool {
        match changed {
            ServerChange::Tools => self.tools_list_changed,
            ServerChange::Prompts => self.prompts_list_changed,
            ServerChange::Resources => self.resources_list_changed,
            ServerChange::Resource(uri) => self.resource_subscriptions.contains(uri),
        }
    }
}

impl ServerInner {
    /// Notifies of changes until the request is cancelled or the server drains.
    pub(super) async fn listen(
        &self,
        exchange: &Arc<Exchange>,
        id: &RawValue,
        params: Map<String, Value>,
    ) -> Result<MethodReply, RpcError> {
        let ListenParams { notifications: mut filter } = read(params)?;
        // Subscribes first, so that no change is missed.
        let mut changes = self.changes.subscribe();
        let caller = &exchange.caller;
        let mut listed = self.catalog.digest(caller);
        let mut following = self.follow_tasks(&mut filter, exchange).await?;
        let watching = self.watch_all(&mut filter, exchange).await;
        if !self.catalog.has_upstreams_for(caller) {
            filter.prompts_list_changed = false;
            filter.resources_list_changed = false;
        }
        tell(
            exchange,
            id,
            "notifications/subscriptions/acknowledged",
            json!({"notifications": filter}),
        );
        loop {
            let changed = tokio::select! {
                changed = changes.recv() => changed,
                call = next(&mut following) => {
                    self.tell_task(call, exchange, id)?;
                    continue;
                }
                () = exchange.cancel.cancelled() => break,
                () = self.draining.cancelled() => break,
            };
            let changed = match changed {
                Ok(changed) => vec![changed],
                Err(RecvError::Lagged(_)) => {
                    let all = [ServerChange::Tools, ServerChange::Resources, ServerChange::Prompts];
                    all.map(AnnouncedChange::of_any).to_vec()
                }
                Err(RecvError::Closed) => break,
            };
            for change in changed.iter().filter(|change| filter.wants(&change.changed)) {
                let lists = |now| std::mem::replace(&mut listed, now) != now;
                if !self.concerns(change, caller, lists) {
                    continue;
                }
                let (method, params) = change.changed.notification();
                let params = params.and_then(|params| serde_json::from_str(params.get()).ok());
                tell(exchange, id, method, params.unwrap_or_else(|| json!({})));
            }
        }
        drop(watching);
        let subscription = serde_json::from_str(id.get()).unwrap_or(Value::Null);
        let meta = json!({"io.modelcontextprotocol/subscriptionId": subscription});
        Ok(MethodReply::Fields(Map::from_iter([("_meta".to_owned(), meta)])))
    }

    /// Follows the caller's own tasks, up to the limit; the others are removed from the filter.
    async fn follow_tasks(
        &self,
        filter: &mut ListenFilter,
        exchange: &Exchange,
    ) -> Result<Option<TaskFollower>, RpcError> {
        let asked = std::mem::take(&mut filter.task_ids);
        let Some(tasks) = self.tasks.as_ref().filter(|_| !asked.is_empty()) else {
            return Ok(None);
        };
        if !exchange.knows(EXTENSION) {
            return Err(not_known());
        }
        let mut following = TaskFollower::new(tasks);
        for id in asked.into_iter().take(MOST_TASKS) {
            match tasks.find(&id, &exchange.caller).await {
                Ok(call) => following.add(call),
                Err(error) if error.code == RpcError::INTERNAL => return Err(error),
                Err(_) => continue,
            }
            filter.task_ids.push(id);
        }
        Ok(Some(following))
    }

    fn tell_task(
        &self,
        call: QueuedCall,
        exchange: &Exchange,
        id: &RawValue,
    ) -> Result<(), RpcError> {
        if let Some(tasks) = &self.tasks {
            let detail = self.detail(tasks, call, exchange)?;
            tell(exchange, id, "notifications/tasks", Value::Object(detail));
        }
        Ok(())
    }

    /// Subscribes to the resources that allow it; the others are removed from the filter.
    async fn watch_all(
        &self,
        filter: &mut ListenFilter,
        exchange: &Arc<Exchange>,
    ) -> WatchGuard<'_> {
        let mut watching = WatchGuard { inner: self, uris: Vec::new() };
        for uri in std::mem::take(&mut filter.resource_subscriptions) {
            let Some(server) = self.catalog.owner(&uri, &exchange.caller).await else {
                continue;
            };
            if self.watch(&server, &uri, exchange).await.is_ok() {
                watching.uris.push(uri.clone());
                filter.resource_subscriptions.push(uri);
            }
        }
        watching
    }
}

/// Returns the next task that changed.
async fn next(following: &mut Option<TaskFollower>) -> QueuedCall {
    match following {
        Some(following) => following.next().await,
        None => pending().await,
    }
}

/// Resources watched for as long as the request is open.
struct WatchGuard<'a> {
    inner: &'a ServerInner,
    uris: Vec<String>,
}

impl Drop for WatchGuard<'_> {
    fn drop(&mut self) {
        for uri in &self.uris {
            self.inner.subscriptions.remove(uri);
        }
    }
}

/// Sends a notification that says which request it belongs to.
fn tell(exchange: &Exchange, id: &RawValue, method: &str, mut params: Value) {
    let subscription: Value = serde_json::from_str(id.get()).unwrap_or_default();
    params["_meta"] = json!({"io.modelcontextprotocol/subscriptionId": subscription});
    if let Ok(params) = serde_json::value::to_raw_value(&params) {
        exchange.notify(method, &params);
    }
}
