//! Everything that can be listed: our tools, and the resources and prompts of upstream servers, merged in one order.

mod tools;
mod lists;

use std::{sync::Arc, time::Duration};

use futures_util::future::join_all;
use indexmap::IndexMap;
use serde_json::{Map, Value};
use switchboard_mcp_client::{OutgoingRequest, Server, ServerState, Servers};
use switchboard_mcp_wire::headers::ParameterHeader;
use switchboard_mcp_wire::{Era, List, Method};
use switchboard_runtime::ToolExecutor;
use tracing::debug;

use super::{Caller, template};
use lists::{Lists, ReadyServer, ServerList};

/// What can be listed.
pub(crate) struct Catalog {
    tools: tools::ToolCatalog,
    upstreams: Option<Arc<Servers>>,
    lists: Lists,
}

/// An entry of a merged list.
pub(crate) struct CatalogEntry {
    pub(crate) server: Arc<Server>,
    list: Arc<ServerList>,
    at: usize,
}

/// A merged list.
#[derive(Default)]
pub(crate) struct MergedList {
    /// The entries by the key that clients see: a URI, or a name prefixed with the server's.
    pub(crate) entries: IndexMap<String, CatalogEntry>,
    /// The shortest cache time of its parts.
    pub(crate) ttl: Option<Duration>,
    /// Whether a part of it is for one caller only.
    pub(crate) private: bool,
}

impl Catalog {
    pub(crate) fn new(executor: &ToolExecutor, upstreams: Option<Arc<Servers>>) -> Self {
        let tools = tools::ToolCatalog::new(executor.tools());
        Self { tools, upstreams, lists: Lists::default() }
    }

    /// The tools, each as it is listed.
    pub(crate) fn tools(&self) -> Arc<Vec<tools::ListedTool>> {
        self.tools.all()
    }

    /// Returns the headers that repeat parameters of the tool, if it has any.
    pub(crate) fn parameter_headers(&self, name: &str) -> Option<Arc<Vec<ParameterHeader>>> {
        self.tools.parameter_headers(name)
    }

    /// Returns whether there is any upstream server.
    pub(crate) fn has_upstreams(&self) -> bool {
        !self.servers().is_empty()
    }

    /// Tells old servers from which level on they are to send log messages; modern ones are told with each call.
    pub(crate) fn set_level(&self, level: &'static str) {
        for server in self.servers() {
            let ServerState::Ready(session) = server.state() else { continue };
            let logs = session.capabilities().get("logging").is_some();
            if logs && matches!(session.era(), Era::Legacy(_)) {
                let params = Map::from_iter([("level".to_owned(), Value::from(level))]);
                // Nobody waits for that.
                tokio::spawn(async move {
                    session.ask(OutgoingRequest::new("logging/setLevel", params)).await
                });
            }
        }
    }

    /// Lets go of what servers hold for a client's session.
    pub(crate) fn release(&self, session: &str) {
        for server in self.servers() {
            server.release(session);
        }
    }

    pub(crate) fn upstreams(&self) -> Option<&Arc<Servers>> {
        self.upstreams.as_ref()
    }

    fn servers(&self) -> Vec<Arc<Server>> {
        self.upstreams.as_ref().map(|servers| servers.all()).unwrap_or_default()
    }

    /// A list of all servers that are there, merged in the order of the config. Waits for none that is not. What the policy
    /// denies whatever the arguments is not listed (SPEC TL-7).
    pub(crate) async fn list(&self, list: List, caller: &Caller) -> MergedList {
        let method = match list {
            List::Prompts => Method::GetPrompt,
            _ => Method::ReadResource,
        };
        let mut ready = self.ready(method, caller);
        ready.retain(|(server, _)| !self.tools.denies(method, server.name()));
        self.merge(list, &ready).await
    }

    async fn merge(&self, list: List, ready: &[ReadyServer]) -> MergedList {
        let mut merged = MergedList::default();
        for ((server, _), list_of_server) in ready.iter().zip(self.current(ready, list).await) {
            let listed = &list_of_server.listed;
            merged.ttl = [merged.ttl, listed.ttl].into_iter().flatten().min();
            merged.private |= listed.private;
            for at in 0..listed.entries.len() {
                let entry =
                    CatalogEntry { server: server.clone(), list: list_of_server.clone(), at };
                merged.add(list, entry, self.tools.separator());
            }
        }
        merged
    }

    async fn current(&self, ready: &[ReadyServer], list: List) -> Vec<Arc<ServerList>> {
        join_all(ready.iter().map(|ready| self.lists.current(ready, list))).await
    }

    /// The servers that are there and of which the caller may ask `method`.
    fn ready(&self, method: Method, caller: &Caller) -> Vec<ReadyServer> {
        let shown = self.servers().into_iter().filter(|server| self.shows(server, method, caller));
        let ready = shown.filter_map(|server| match server.state() {
            ServerState::Ready(session) => Some((server, session)),
            _ => None,
        });
        ready.collect()
    }

    /// Whether the caller may know what the server has for `method`: only if it sees that call's name (SPEC GW-6).
    pub(crate) fn shows(&self, server: &Server, method: Method, caller: &Caller) -> bool {
        !caller.is_restricted()
            || self.tools.method(method, server.name()).is_some_and(|tool| caller.sees(&tool))
    }

    /// The server that has the resource: the first that lists it, or else whose template it fits.
    ///
    /// Where every server's lists are known, nobody is asked: a list that may have changed without a word is still good
    /// for saying whose a resource is.
    pub(crate) async fn owner(&self, uri: &str, caller: &Caller) -> Option<Arc<Server>> {
        let ready = self.ready(Method::ReadResource, caller);
        let known = |list| -> Option<Vec<_>> {
            ready.iter().map(|ready| self.lists.known(ready, list)).collect()
        };
        if let Some(resources) = known(List::Resources) {
            let templates = known(List::ResourceTemplates).unwrap_or_default();
            if let Some(owner) = find_owner(uri, &ready, &resources, &templates) {
                return Some(owner);
            }
        }
        let resources = self.current(&ready, List::Resources).await;
        if let Some(owner) = find_owner(uri, &ready, &resources, &[]) {
            return Some(owner);
        }
        let templates = self.current(&ready, List::ResourceTemplates).await;
        if let Some(owner) = find_owner(uri, &ready, &[], &templates) {
            return Some(owner);
        }
        // Servers may have more than they list; if only one has resources at all, it is the one to ask.
        let has_resources =
            |(_, session): &&ReadyServer| session.capabilities().get("resources").is_some();
        let mut holders = ready.iter().filter(has_resources);
        match (holders.next(), holders.next()) {
            (Some((only, _)), None) => Some(only.clone()),
            _ => None,
        }
    }

    /// The server that has the prompt, and what the prompt is called there.
    pub(crate) async fn prompt(
        &self,
        name: &str,
        caller: &Caller,
    ) -> Option<(Arc<Server>, String)> {
        let prompts = self.merge(List::Prompts, &self.ready(Method::GetPrompt, caller)).await;
        let entry = prompts.entries.get(name)?;
        let own = entry.value()["name"].as_str()?.to_owned();
        Some((entry.server.clone(), own))
    }
}

/// The first server whose list has the resource, or else the first with a template for it.
fn find_owner(
    uri: &str,
    ready: &[ReadyServer],
    resources: &[Arc<ServerList>],
    templates: &[Arc<ServerList>],
) -> Option<Arc<Server>> {
    let fits = |entry: &Value| {
        let template = entry["uriTemplate"].as_str();
        template.is_some_and(|template| template == uri || template::matches(template, uri))
    };
    let by_list = || resources.iter().position(|list| list.has_uri(uri));
    let by_template = || templates.iter().position(|list| list.listed.entries.iter().any(fits));
    let at = by_list().or_else(by_template)?;
    ready.get(at).map(|(server, _)| server.clone())
}

impl MergedList {
    /// Adds an entry, unless one before it has its name already.
    fn add(&mut self, list: List, entry: CatalogEntry, separator: &str) {
        let server = &entry.server;
        let name = match list {
            List::Resources => entry.value()["uri"].as_str(),
            List::ResourceTemplates => entry.value()["uriTemplate"].as_str(),
            List::Tools | List::Prompts => entry.value()["name"].as_str(),
        };
        let Some(name) = name else {
            debug!(server = &**server.name(), list = list.key(), "an entry without a name");
            return;
        };
        let mut key = match (list, server.config().prefix.as_deref()) {
            (List::Prompts, Some("")) | (List::Resources | List::ResourceTemplates, _) => {
                name.to_owned()
            }
            (_, Some(prefix)) => format!("{prefix}{separator}{name}"),
            (_, None) => format!("{}{separator}{name}", server.name()),
        };
        if list == List::Prompts && self.entries.contains_key(&key) {
            key = format!("{}{separator}{name}", server.name());
        }
        self.entries.entry(key).or_insert(entry);
    }
}

impl CatalogEntry {
    /// Returns the entry as the server gave it.
    pub(crate) fn value(&self) -> &Value {
        &self.list.listed.entries[self.at]
    }
}
