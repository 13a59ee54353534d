//! Everything that can be listed: our tools, and the resources and prompts of upstream servers, merged in one order.

mod tools;
mod lists;

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
    time::Duration,
};

use futures_util::future::join_all;
use indexmap::IndexMap;
use serde_json::Value;
use switchboard_mcp_wire::headers::ParameterHeader;
use switchboard_mcp_wire::{List, Method, Upstream, Upstreams};
use switchboard_runtime::ToolExecutor;
use switchboard_toolcall::{LogLevel, Visibility};
use tracing::debug;

use super::{McpCaller, template};
use lists::{Lists, ServerList};
pub(crate) use tools::ListedTool;

/// The lists of tools, prompts and resources.
pub(crate) struct Catalog {
    tools: tools::ToolCatalog,
    upstreams: Option<Arc<dyn Upstreams>>,
    lists: Lists,
}

/// An entry of a merged list.
pub(crate) struct CatalogEntry {
    pub(crate) server: Arc<dyn Upstream>,
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
    /// Whether a part of it must not be cached for other callers.
    pub(crate) private: bool,
}

impl Catalog {
    pub(crate) fn new(executor: &ToolExecutor, upstreams: Option<Arc<dyn Upstreams>>) -> Self {
        let tools = tools::ToolCatalog::new(executor.tools());
        Self { tools, upstreams, lists: Lists::default() }
    }

    /// Returns the tools as they are listed in the profile, if there is one; the caller may see fewer.
    pub(crate) fn tools(&self, visibility: &Visibility) -> Arc<Vec<tools::ListedTool>> {
        self.tools.all(visibility)
    }

    /// Returns a digest of the tools that are listed to the caller.
    pub(crate) fn digest(&self, caller: &McpCaller) -> u64 {
        if !caller.is_restricted() {
            return 0;
        }
        let mut digest = DefaultHasher::new();
        let all = self.tools(&caller.visibility);
        for listed in all.iter().filter(|listed| caller.sees(&listed.tool)) {
            listed.entry.get().hash(&mut digest);
        }
        digest.finish()
    }

    /// Returns the headers that repeat parameters of the tool, if it has any.
    pub(crate) fn parameter_headers(
        &self,
        name: &str,
        visibility: &Visibility,
    ) -> Option<Arc<Vec<ParameterHeader>>> {
        self.tools.parameter_headers(name, visibility)
    }

    /// Returns whether there is any upstream server; if the caller has a profile, one whose resources or prompts are in it.
    pub(crate) fn has_upstreams_for(&self, caller: &McpCaller) -> bool {
        let methods = [Method::ReadResource, Method::GetPrompt];
        self.servers().iter().any(|server| {
            caller.profile().is_none()
                || methods.iter().any(|method| self.shows(&**server, *method, caller))
        })
    }

    /// Sets the lowest level of log messages at the servers.
    pub(crate) fn set_level(&self, level: LogLevel) {
        if let Some(upstreams) = &self.upstreams {
            upstreams.set_log_level(level);
        }
    }

    /// Releases what servers hold for a client's session.
    pub(crate) fn release(&self, session: &str) {
        if let Some(upstreams) = &self.upstreams {
            upstreams.release(session);
        }
    }

    fn servers(&self) -> Vec<Arc<dyn Upstream>> {
        self.upstreams.as_ref().map(|servers| servers.all()).unwrap_or_default()
    }

    /// Returns a list of all connected servers, merged in the order of the config. Does not wait for servers that are
    /// connecting. Entries that the policy denies for all arguments are left out (SPEC TL-7).
    pub(crate) async fn list(&self, list: List, caller: &McpCaller) -> MergedList {
        let mut servers = self.having(list, caller);
        servers.retain(|server| !self.tools.denies(method(list), server.name()));
        self.merge(list, &servers).await
    }

    async fn merge(&self, list: List, servers: &[Arc<dyn Upstream>]) -> MergedList {
        let mut merged = MergedList::default();
        for (server, list_of_server) in servers.iter().zip(self.current(servers, list).await) {
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

    async fn current(&self, servers: &[Arc<dyn Upstream>], list: List) -> Vec<Arc<ServerList>> {
        join_all(servers.iter().map(|server| self.lists.current(server, list))).await
    }

    /// Returns the connected servers that have the list and show it to the caller.
    fn having(&self, list: List, caller: &McpCaller) -> Vec<Arc<dyn Upstream>> {
        let mut servers = self.servers();
        servers.retain(|server| server.has(list) && self.shows(&**server, method(list), caller));
        servers
    }

    /// Returns whether the caller may use the server's `method`: only if it sees that call's name (SPEC GW-6).
    pub(crate) fn shows(&self, server: &dyn Upstream, method: Method, caller: &McpCaller) -> bool {
        !caller.is_restricted()
            || self.tools.method(method, server.name()).is_some_and(|tool| caller.sees(&tool))
    }

    /// Returns the server that has the resource: the first that lists it, or else whose template matches it.
    ///
    /// If every server's lists are known, no request is sent: even a list that may be outdated is good enough to tell which
    /// server a resource belongs to.
    pub(crate) async fn owner(&self, uri: &str, caller: &McpCaller) -> Option<Arc<dyn Upstream>> {
        let servers = self.having(List::Resources, caller);
        let known = |list| -> Option<Vec<_>> {
            servers.iter().map(|server| self.lists.known(server, list)).collect()
        };
        if let Some(resources) = known(List::Resources) {
            let templates = known(List::ResourceTemplates).unwrap_or_default();
            if let Some(owner) = find_owner(uri, &servers, &resources, &templates) {
                return Some(owner);
            }
        }
        let resources = self.current(&servers, List::Resources).await;
        if let Some(owner) = find_owner(uri, &servers, &resources, &[]) {
            return Some(owner);
        }
        let templates = self.current(&servers, List::ResourceTemplates).await;
        if let Some(owner) = find_owner(uri, &servers, &[], &templates) {
            return Some(owner);
        }
        // Servers may have more than they list; if only one has resources at all, it is the one to ask.
        match &*servers {
            [only] => Some(only.clone()),
            _ => None,
        }
    }

    /// Returns the server that has the prompt, and the prompt's name there.
    pub(crate) async fn prompt(
        &self,
        name: &str,
        caller: &McpCaller,
    ) -> Option<(Arc<dyn Upstream>, String)> {
        let prompts = self.merge(List::Prompts, &self.having(List::Prompts, caller)).await;
        let entry = prompts.entries.get(name)?;
        let own = entry.value()["name"].as_str()?.to_owned();
        Some((entry.server.clone(), own))
    }
}

/// Returns the method that reads an entry of the list.
fn method(list: List) -> Method {
    match list {
        List::Prompts => Method::GetPrompt,
        _ => Method::ReadResource,
    }
}

/// Returns the first server whose list has the resource, or else the first with a template for it.
fn find_owner(
    uri: &str,
    servers: &[Arc<dyn Upstream>],
    resources: &[Arc<ServerList>],
    templates: &[Arc<ServerList>],
) -> Option<Arc<dyn Upstream>> {
    let fits = |entry: &Value| {
        let template = entry["uriTemplate"].as_str();
        template.is_some_and(|template| template == uri || template::matches(template, uri))
    };
    let by_list = || resources.iter().position(|list| list.has_uri(uri));
    let by_template = || templates.iter().position(|list| list.listed.entries.iter().any(fits));
    let at = by_list().or_else(by_template)?;
    servers.get(at).cloned()
}

impl MergedList {
    /// Adds an entry, unless there is one with its name already.
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
        let mut key = match (list, server.prefix()) {
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
