//! Everything there is to list: our tools, and what upstream servers have beside tools, merged in one order.

mod tools;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::future::join_all;
use serde_json::{Map, Value};
use switchboard_runtime::ToolExecutor;
use tokio::time::{Instant, timeout};
use tracing::debug;

use super::{Caller, template};
use crate::{
    client::{
        Server, Servers, Session, State,
        discover::{List, Listed},
        headers::ParameterHeader,
        session::Asking,
    },
    wire::Era,
};

/// How long one server may take to say what it has; the others do not wait longer for it.
const PATIENCE: Duration = Duration::from_secs(5);

/// What can be listed.
pub(crate) struct Catalog {
    tools: tools::Tools,
    upstreams: Option<Arc<Servers>>,
    lists: Mutex<HashMap<(Arc<str>, List), Cached>>,
}

/// A server's list, and when it was true.
struct Cached {
    session: Arc<Session>,
    edition: u64,
    until: Option<Instant>,
    listed: Arc<Listed>,
}

/// An entry of a merged list.
pub(crate) struct Entry {
    pub(crate) server: Arc<Server>,
    /// What clients know it by: its URI, or its name behind the server's.
    pub(crate) key: String,
    pub(crate) value: Value,
}

/// A merged list.
#[derive(Default)]
pub(crate) struct Merged {
    pub(crate) entries: Vec<Entry>,
    /// The shortest time for which a part of it stays true.
    pub(crate) ttl: Option<Duration>,
    /// Whether a part of it is for one caller only.
    pub(crate) private: bool,
}

impl Catalog {
    pub(crate) fn new(executor: &ToolExecutor, upstreams: Option<Arc<Servers>>) -> Self {
        let tools = tools::Tools::new(executor.tools());
        Self { tools, upstreams, lists: Mutex::default() }
    }

    /// The tools, each as it is listed.
    pub(crate) fn tools(&self) -> Arc<Vec<tools::ListedTool>> {
        self.tools.all()
    }

    /// The headers that repeat parameters of the tool, where it has any.
    pub(crate) fn parameter_headers(&self, name: &str) -> Option<Arc<Vec<ParameterHeader>>> {
        self.tools.parameter_headers(name)
    }

    /// Whether there is any server behind us.
    pub(crate) fn has_upstreams(&self) -> bool {
        !self.servers().is_empty()
    }

    /// Tells old servers from which level on they are to send log messages; modern ones are told with each call.
    pub(crate) fn set_level(&self, level: &'static str) {
        for server in self.servers() {
            let State::Ready(session) = server.state() else { continue };
            let logs = session.capabilities().get("logging").is_some();
            if logs && matches!(session.era(), Era::Legacy(_)) {
                let params = Map::from_iter([("level".to_owned(), Value::from(level))]);
                // Nobody waits for that.
                tokio::spawn(
                    async move { session.ask(Asking::new("logging/setLevel", params)).await },
                );
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

    /// A list of all servers that are there, merged in the order of the config. Waits for none that is not.
    pub(crate) async fn list(&self, list: List, caller: &Caller) -> Merged {
        let servers = self.servers();
        let visible = servers.iter().filter(|server| self.is_visible(server, caller));
        let asked = visible.filter_map(|server| match server.state() {
            State::Ready(session) => Some(self.of_server(server, session, list)),
            _ => None,
        });
        let mut merged = Merged::default();
        for (server, listed) in join_all(asked).await {
            merged.ttl = [merged.ttl, listed.ttl].into_iter().flatten().min();
            merged.private |= listed.private;
            for value in &listed.entries {
                merged.add(list, server, value, self.tools.separator());
            }
        }
        if list == List::Prompts {
            merged.entries.retain(|entry| entry.is_seen_by(caller, self.tools.separator()));
        }
        merged
    }

    async fn of_server<'a>(
        &self,
        server: &'a Arc<Server>,
        session: Arc<Session>,
        list: List,
    ) -> (&'a Arc<Server>, Arc<Listed>) {
        let key = (server.name().clone(), list);
        let edition = server.edition();
        if let Some(cached) =
            self.lists().get(&key).filter(|cached| cached.holds(&session, edition))
        {
            return (server, cached.listed.clone());
        }
        let listed = match timeout(PATIENCE, session.list(list)).await {
            Ok(Ok(listed)) => listed,
            Ok(Err(failure)) => {
                debug!(server = &**server.name(), %failure, list = list.key(), "not listed");
                return (server, Arc::default());
            }
            Err(_) => {
                debug!(server = &**server.name(), list = list.key(), "too slow to be listed");
                return (server, Arc::default());
            }
        };
        let listed = Arc::new(listed);
        if let Some(until) = lasts(&session, list, listed.ttl) {
            let cached = Cached { session, edition, until: until.end, listed: listed.clone() };
            self.lists().insert(key, cached);
        }
        (server, listed)
    }

    /// Whether the caller sees anything of the server: at least one of its tools.
    fn is_visible(&self, server: &Server, caller: &Caller) -> bool {
        let of_server =
            |tool: &&tools::ListedTool| tool.tool.spec().server() == Some(server.name());
        !caller.is_restricted()
            || self.tools().iter().filter(of_server).any(|tool| caller.sees(&tool.tool))
    }

    /// The server that has the resource: the first that lists it, or else whose template it fits.
    pub(crate) async fn owner(&self, uri: &str, caller: &Caller) -> Option<Arc<Server>> {
        let listed = self.list(List::Resources, caller).await;
        if let Some(entry) = listed.entries.iter().find(|entry| entry.key == uri) {
            return Some(entry.server.clone());
        }
        let templates = self.list(List::ResourceTemplates, caller).await;
        let fits = |entry: &&Entry| entry.key == uri || template::matches(&entry.key, uri);
        if let Some(entry) = templates.entries.iter().find(fits) {
            return Some(entry.server.clone());
        }
        // Servers may have more than they list; where only one has resources at all, it is the one to ask.
        let servers = self.servers();
        let mut holders = servers.iter().filter(|server| {
            let has = |session: &Session| session.capabilities().get("resources").is_some();
            let ready = matches!(server.state(), State::Ready(session) if has(&session));
            ready && self.is_visible(server, caller)
        });
        match (holders.next(), holders.next()) {
            (Some(only), None) => Some(only.clone()),
            _ => None,
        }
    }

    /// The server that has the prompt, and what the prompt is called there.
    pub(crate) async fn prompt(
        &self,
        name: &str,
        caller: &Caller,
    ) -> Option<(Arc<Server>, String)> {
        let prompts = self.list(List::Prompts, caller).await;
        let entry = prompts.entries.into_iter().find(|entry| entry.key == name)?;
        let own = entry.value["name"].as_str()?.to_owned();
        Some((entry.server, own))
    }

    fn lists(&self) -> MutexGuard<'_, HashMap<(Arc<str>, List), Cached>> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cached {
    fn holds(&self, session: &Arc<Session>, edition: u64) -> bool {
        Arc::ptr_eq(&self.session, session)
            && self.edition == edition
            && self.until.is_none_or(|until| Instant::now() < until)
    }
}

/// How long a list may be kept.
struct Lasting {
    end: Option<Instant>,
}

/// For the time that the server says, or until it says that it has changed; not at all where it says neither.
fn lasts(session: &Session, list: List, ttl: Option<Duration>) -> Option<Lasting> {
    let capability = match list {
        List::Prompts => "prompts",
        _ => "resources",
    };
    match ttl {
        Some(ttl) => (!ttl.is_zero()).then(|| Lasting { end: Some(Instant::now() + ttl) }),
        None => {
            let told = session.capabilities()[capability]["listChanged"] == true;
            told.then_some(Lasting { end: None })
        }
    }
}

impl Merged {
    /// Adds an entry, unless one before it has its name already.
    fn add(&mut self, list: List, server: &Arc<Server>, value: &Value, separator: &str) {
        let name = match list {
            List::Resources => value["uri"].as_str(),
            List::ResourceTemplates => value["uriTemplate"].as_str(),
            List::Tools | List::Prompts => value["name"].as_str(),
        };
        let Some(name) = name else {
            debug!(server = &**server.name(), list = list.key(), "an entry without a name");
            return;
        };
        let is_taken = |key: &str| self.entries.iter().any(|entry| entry.key == key);
        let mut key = match (list, server.config().prefix.as_deref()) {
            (List::Prompts, Some("")) | (List::Resources | List::ResourceTemplates, _) => {
                name.to_owned()
            }
            (_, Some(prefix)) => format!("{prefix}{separator}{name}"),
            (_, None) => format!("{}{separator}{name}", server.name()),
        };
        if is_taken(&key) && list == List::Prompts {
            key = format!("{}{separator}{name}", server.name());
        }
        if is_taken(&key) {
            return;
        }
        self.entries.push(Entry { server: server.clone(), key, value: value.clone() });
    }
}

impl Entry {
    fn is_seen_by(&self, caller: &Caller, separator: &str) -> bool {
        let full = || {
            let own = self.value["name"].as_str().unwrap_or("");
            format!("{}{separator}{own}", self.server.name())
        };
        caller.sees_name(&self.key) || caller.sees_name(&full())
    }
}
