//! Resources of upstream servers, under the servers' own URIs.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{ListParams, read};
use crate::{
    ServerInner,
    catalog::MergedList,
    exchange::Exchange,
    page,
    reply::{ListReply, MethodReply},
    session::Session,
};
use switchboard_mcp_wire::{List, Method, RpcError, Upstream};

#[derive(Deserialize)]
struct UriParams {
    uri: String,
}

impl ServerInner {
    pub(super) async fn list_resources(
        &self,
        exchange: &Exchange,
        params: Map<String, Value>,
    ) -> Result<MethodReply, RpcError> {
        let merged = self.catalog.list(List::Resources, &exchange.caller).await;
        self.show(List::Resources, &merged, exchange, params)
    }

    pub(super) async fn list_templates(
        &self,
        exchange: &Exchange,
        params: Map<String, Value>,
    ) -> Result<MethodReply, RpcError> {
        let merged = self.catalog.list(List::ResourceTemplates, &exchange.caller).await;
        self.show(List::ResourceTemplates, &merged, exchange, params)
    }

    /// Returns a page of a merged list.
    pub(super) fn show(
        &self,
        list: List,
        merged: &MergedList,
        exchange: &Exchange,
        params: Map<String, Value>,
    ) -> Result<MethodReply, RpcError> {
        let params: ListParams = read(params)?;
        let entries = &merged.entries;
        let key = |at: usize| entries.get_index(at).map_or("", |(key, _)| key.as_str());
        let size = self.config.page_size;
        let page = page::page(list.key(), entries.len(), key, params.cursor()?, size)?;
        let shown = entries.iter().skip(page.range.start).take(page.range.len());
        let shown = shown.map(|(key, entry)| {
            if list != List::Prompts {
                return serde_json::value::to_raw_value(entry.value());
            }
            let mut value = entry.value().clone();
            value["name"] = key.as_str().into();
            serde_json::value::to_raw_value(&value)
        });
        let shown: Result<Vec<_>, _> = shown.collect();
        Ok(MethodReply::List(ListReply {
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
        params: Map<String, Value>,
    ) -> Result<MethodReply, RpcError> {
        let UriParams { uri } = read(params)?;
        let server = self.owner(&uri, exchange).await?;
        let result = self.forward(&*server, Method::ReadResource, uri_params(&uri), exchange).await;
        match result {
            Ok(result) => Ok(MethodReply::passed_on(result, true, exchange)),
            Err(error) => Err(in_era(error, &uri, exchange)),
        }
    }

    async fn owner(&self, uri: &str, exchange: &Exchange) -> Result<Arc<dyn Upstream>, RpcError> {
        let owner = self.catalog.owner(uri, &exchange.caller).await;
        owner.ok_or_else(|| not_found(uri, exchange))
    }

    pub(super) async fn subscribe(
        &self,
        exchange: &Arc<Exchange>,
        session: &Session,
        params: Map<String, Value>,
    ) -> Result<MethodReply, RpcError> {
        let UriParams { uri } = read(params)?;
        if session.is_subscribed(&uri) {
            return Ok(MethodReply::empty());
        }
        let server = self.owner(&uri, exchange).await?;
        self.watch(&server, &uri, exchange).await?;
        session.subscribe(&uri);
        Ok(MethodReply::empty())
    }

    /// Subscribes one more client to a resource. Each subscription is a separate call; the server gets one request.
    pub(super) async fn watch(
        &self,
        server: &Arc<dyn Upstream>,
        uri: &str,
        exchange: &Arc<Exchange>,
    ) -> Result<(), RpcError> {
        if !self.catalog.shows(&**server, Method::Subscribe, &exchange.caller) {
            return Err(not_found(uri, exchange));
        }
        self.forward(&**server, Method::Subscribe, uri_params(uri), exchange).await?;
        self.subscriptions.add(uri, server);
        Ok(())
    }

    pub(super) fn unsubscribe(
        &self,
        session: &Session,
        params: Map<String, Value>,
    ) -> Result<MethodReply, RpcError> {
        let UriParams { uri } = read(params)?;
        if session.unsubscribe(&uri) {
            self.subscriptions.remove(&uri);
        }
        Ok(MethodReply::empty())
    }
}

fn uri_params(uri: &str) -> Map<String, Value> {
    Map::from_iter([("uri".to_owned(), Value::from(uri))])
}

/// Returns the error for an unknown resource, in the client's era.
fn not_found(uri: &str, exchange: &Exchange) -> RpcError {
    let code = match exchange.is_modern() {
        true => RpcError::INVALID_PARAMS,
        false => RpcError::RESOURCE_NOT_FOUND,
    };
    RpcError::new(code, format!("Resource '{uri}' not found")).with_data(json!({"uri": uri}))
}

/// Converts an upstream's error to the code that the client's era has for it.
fn in_era(error: RpcError, uri: &str, exchange: &Exchange) -> RpcError {
    let named = error.data.as_ref().is_some_and(|data| data["uri"] == uri);
    let code = match error.code {
        RpcError::RESOURCE_NOT_FOUND if exchange.is_modern() => RpcError::INVALID_PARAMS,
        RpcError::INVALID_PARAMS if named && !exchange.is_modern() => RpcError::RESOURCE_NOT_FOUND,
        code => code,
    };
    RpcError { code, ..error }
}
