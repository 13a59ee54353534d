//! Resources of the servers behind us, under the URIs that these gave them.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};
use switchboard_toolcall::WayBack;

use super::{ListParams, read, upstream_error};
use crate::{
    client::{Server, discover::List, session::Asking},
    server::{
        Inner,
        catalog::Merged,
        exchange::Exchange,
        page,
        reply::{ListReply, Reply},
        session::Session,
        subscriptions::{is_watchable, session_of},
    },
    wire::RpcError,
};

#[derive(Deserialize)]
struct UriParams {
    uri: String,
}

impl Inner {
    pub(super) async fn list_resources(
        &self,
        exchange: &Exchange,
        params: Option<&RawValue>,
    ) -> Result<Reply, RpcError> {
        let merged = self.catalog.list(List::Resources, &exchange.caller).await;
        self.show(List::Resources, &merged, exchange, params)
    }

    pub(super) async fn list_templates(
        &self,
        exchange: &Exchange,
        params: Option<&RawValue>,
    ) -> Result<Reply, RpcError> {
        let merged = self.catalog.list(List::ResourceTemplates, &exchange.caller).await;
        self.show(List::ResourceTemplates, &merged, exchange, params)
    }

    /// A page of a merged list.
    pub(super) fn show(
        &self,
        list: List,
        merged: &Merged,
        exchange: &Exchange,
        params: Option<&RawValue>,
    ) -> Result<Reply, RpcError> {
        let params: ListParams = read(params)?;
        let entries = &merged.entries;
        let key = |at: usize| entries[at].key.as_str();
        let size = self.config.page_size;
        let page = page::page(list.key(), entries.len(), key, params.cursor()?, size)?;
        let shown = entries[page.range].iter().map(|entry| {
            let mut value = entry.value.clone();
            if list == List::Prompts {
                value["name"] = entry.key.as_str().into();
            }
            serde_json::value::to_raw_value(&value)
        });
        let shown: Result<Vec<_>, _> = shown.collect();
        Ok(Reply::List(ListReply {
            key: list.key(),
            entries: shown.map_err(|error| RpcError::new(RpcError::INTERNAL, error.to_string()))?,
            next: page.next,
            ttl: merged.ttl.map_or(0, |ttl| u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX)),
            private: merged.private || exchange.caller.is_restricted(),
        }))
    }

    pub(super) async fn read_resource(
        &self,
        exchange: &Arc<Exchange>,
        params: Option<&RawValue>,
    ) -> Result<Reply, RpcError> {
        let UriParams { uri } = read(params)?;
        let server = self.owner(&uri, exchange).await?;
        let params = Map::from_iter([("uri".to_owned(), Value::from(uri.as_str()))]);
        let result = self.ask_named(&server, "resources/read", &uri, params, exchange).await;
        match result {
            Ok(result) => Ok(Reply::passed_on(result, true, exchange)),
            Err(error) => Err(in_era(error, &uri, exchange)),
        }
    }

    /// Asks a server for the client of this exchange.
    pub(super) async fn ask_named(
        &self,
        server: &Arc<Server>,
        method: &str,
        name: &str,
        params: Map<String, Value>,
        exchange: &Arc<Exchange>,
    ) -> Result<Value, RpcError> {
        let own = server.for_client(exchange.session());
        let own = own.map_err(|error| RpcError::new(RpcError::INTERNAL, error.for_model))?;
        let session = session_of(&own).await?;
        let _busy = session.usage().busy();
        let asking = Asking {
            headers: vec![("Mcp-Name".to_owned(), name.to_owned())],
            progress: exchange.progress_listener(),
            way_back: Some(exchange.clone()),
            trace: exchange.trace.clone(),
            ..Asking::new(method, params)
        };
        tokio::select! {
            result = session.ask(asking) => result.map_err(|failure| upstream_error(server, failure)),
            () = exchange.cancel.cancelled() => {
                Err(RpcError::new(RpcError::REFUSED, "the request was cancelled"))
            }
        }
    }

    async fn owner(&self, uri: &str, exchange: &Exchange) -> Result<Arc<Server>, RpcError> {
        let owner = self.catalog.owner(uri, &exchange.caller).await;
        owner.ok_or_else(|| not_found(uri, exchange))
    }

    pub(super) async fn subscribe(
        &self,
        exchange: &Exchange,
        session: &Session,
        params: Option<&RawValue>,
    ) -> Result<Reply, RpcError> {
        let UriParams { uri } = read(params)?;
        if session.is_subscribed(&uri) {
            return Ok(Reply::empty());
        }
        let server = self.owner(&uri, exchange).await?;
        self.watch(&server, &uri).await?;
        session.subscribe(&uri);
        Ok(Reply::empty())
    }

    /// Watches a resource for one client more.
    pub(super) async fn watch(&self, server: &Arc<Server>, uri: &str) -> Result<(), RpcError> {
        let upstream = session_of(server).await?;
        if !is_watchable(&upstream) {
            let text = format!("MCP server '{}' does not tell of changes", server.name());
            return Err(RpcError::new(RpcError::INVALID_PARAMS, text));
        }
        let added = self.subscriptions.add(uri, server, upstream).await;
        added.map_err(|failure| upstream_error(server, failure))
    }

    pub(super) fn unsubscribe(
        &self,
        session: &Session,
        params: Option<&RawValue>,
    ) -> Result<Reply, RpcError> {
        let UriParams { uri } = read(params)?;
        if session.unsubscribe(&uri) {
            self.subscriptions.remove(&uri);
        }
        Ok(Reply::empty())
    }
}

/// There is no such resource, as the client's era says it.
fn not_found(uri: &str, exchange: &Exchange) -> RpcError {
    let code = match exchange.is_modern() {
        true => RpcError::INVALID_PARAMS,
        false => RpcError::RESOURCE_NOT_FOUND,
    };
    RpcError::new(code, format!("Resource '{uri}' not found")).with_data(json!({"uri": uri}))
}

/// An upstream's error with the code that the client's era has for it.
fn in_era(error: RpcError, uri: &str, exchange: &Exchange) -> RpcError {
    let named = error.data.as_ref().is_some_and(|data| data["uri"] == uri);
    let code = match error.code {
        RpcError::RESOURCE_NOT_FOUND if exchange.is_modern() => RpcError::INVALID_PARAMS,
        RpcError::INVALID_PARAMS if named && !exchange.is_modern() => RpcError::RESOURCE_NOT_FOUND,
        code => code,
    };
    RpcError { code, ..error }
}
