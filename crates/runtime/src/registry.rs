//! Which tools there are, what each is called, and which tool a name finds.

mod prefixes;

use std::{collections::HashMap, sync::Arc};

use indexmap::IndexMap;
use tokio::sync::Semaphore;
use tracing::warn;

use crate::{
    tools::{Link, RegisteredTool, ServerSettings},
    validate::CheckSlots,
};
use prefixes::{Prefixes, Refused};

pub(crate) type Tools = IndexMap<Arc<str>, Arc<RegisteredTool>>;

/// What stands behind the manager's lock.
#[derive(Default)]
pub(crate) struct Registry {
    /// Local tools by name.
    pub(crate) locals: Tools,
    /// Servers by name, in the order of the config.
    pub(crate) servers: IndexMap<Arc<str>, Server>,
    /// Local tools that the config defines and that cannot be used, by name, with the reason.
    pub(crate) skipped: HashMap<Arc<str>, Arc<str>>,
    /// Every name that finds a tool.
    pub(crate) names: HashMap<Arc<str>, Named>,
    /// The names that servers do not get because they are another server's: a warning was logged for each.
    pub(crate) refused: Refused,
}

/// What a name finds.
pub(crate) struct Named {
    pub(crate) tool: Arc<RegisteredTool>,
    /// Other servers have a tool of this bare name too.
    pub(crate) ambiguous: bool,
}

/// A server that is known, connected or not.
#[derive(Clone)]
pub(crate) struct Server {
    settings: ServerSettings,
    pub(crate) slots: Arc<Semaphore>,
    pub(crate) check_slots: CheckSlots,
    /// Its tools by their names at the server.
    pub(crate) tools: Tools,
    /// Its methods by their names in MCP: found by their full names, and never listed.
    pub(crate) methods: Tools,
}

impl Server {
    pub(crate) fn new(settings: ServerSettings, check_slots: CheckSlots) -> Self {
        Self {
            check_slots,
            slots: Arc::new(Semaphore::new(settings.max_concurrent)),
            settings,
            tools: Tools::new(),
            methods: Tools::new(),
        }
    }

    /// The name under which a method of the server is found beside its full one: never the bare one.
    pub(crate) fn method_name(&self, server: &str, method: &str, separator: &str) -> Arc<str> {
        let prefix = self.settings.prefix.as_deref().filter(|prefix| !prefix.is_empty());
        format!("{}{separator}{method}", prefix.unwrap_or(server)).into()
    }

    pub(crate) fn link(&self) -> Option<&Arc<dyn Link>> {
        self.settings.link.as_ref()
    }

    /// Whether it is the very server that these settings mean.
    pub(crate) fn is_reached_as(&self, settings: &ServerSettings) -> bool {
        match (&self.settings.link, &settings.link) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }

    fn shows_bare_names(&self) -> bool {
        self.settings.prefix.as_deref() == Some("")
    }

    /// The prefix that it sets in the place of its name.
    fn prefix(&self) -> Option<&str> {
        self.settings.prefix.as_deref().filter(|prefix| !prefix.is_empty())
    }
}

impl Registry {
    /// Adds a local tool, and says whether it replaced one.
    pub(crate) fn add_local(
        &mut self,
        name: Arc<str>,
        tool: Arc<RegisteredTool>,
        separator: &str,
    ) -> bool {
        let replaced = self.locals.insert(name.clone(), tool.clone());
        let ambiguous = false;
        let found = self.names.insert(name, Named { tool, ambiguous });
        if found.is_some_and(|named| named.tool.spec().server().is_some()) {
            self.settle_names(separator);
        }
        replaced.is_some()
    }

    /// Names the local tools that are skipped, each with the reason, in the place of those that were.
    pub(crate) fn skip(&mut self, tools: &[(String, String)]) {
        let entry =
            |(name, reason): &(String, String)| (name.as_str().into(), reason.as_str().into());
        self.skipped = tools.iter().map(entry).collect();
    }

    pub(crate) fn set_server_tools(&mut self, server: &str, tools: Tools, separator: &str) {
        if let Some(entry) = self.servers.get_mut(server) {
            entry.tools = tools;
        }
        self.settle_names(separator);
    }

    /// Whether the server has just these tools, in this order.
    pub(crate) fn has_tools(&self, server: &str, tools: &Tools) -> bool {
        self.servers.get(server).is_some_and(|known| {
            let pairs = || known.tools.iter().zip(tools);
            known.tools.len() == tools.len()
                && pairs()
                    .all(|((one, old), (other, new))| one == other && old.spec() == new.spec())
        })
    }

    /// Whether `prefix` stands before the names of some server's tools, or of local ones.
    pub(crate) fn knows_prefix(&self, prefix: &str, separator: &str) -> bool {
        let prefixed = |server: &Server| server.settings.prefix.as_deref() == Some(prefix);
        let begins =
            |name: &Arc<str>| name.split_once(separator).map(|(own, _)| own) == Some(prefix);
        self.servers.contains_key(prefix)
            || self.servers.values().any(prefixed)
            || self.locals.keys().any(begins)
    }

    /// What stands before the names of servers' tools: names of servers, and their own prefixes.
    pub(crate) fn prefixes(&self) -> impl Iterator<Item = &str> {
        let own = self.servers.values().filter_map(Server::prefix);
        self.servers.keys().map(|name| &**name).chain(own)
    }

    /// The connection of the server that `prefix` names.
    pub(crate) fn link(&self, prefix: &str) -> Option<&Arc<dyn Link>> {
        self.servers.get(self.server_of(prefix)?)?.link()
    }

    /// Returns the name of the server whose name or prefix this is.
    pub(crate) fn server_of(&self, prefix: &str) -> Option<&str> {
        let prefixed =
            |entry: &(&Arc<str>, &Server)| entry.1.settings.prefix.as_deref() == Some(prefix);
        let server = self.servers.get_key_value(prefix);
        server.or_else(|| self.servers.iter().find(prefixed)).map(|(name, _)| &**name)
    }

    /// Returns the method of a server that has this full name.
    pub(crate) fn method(&self, name: &str, separator: &str) -> Option<&Arc<RegisteredTool>> {
        let (prefix, method) = name.split_once(separator)?;
        self.servers.get(self.server_of(prefix)?)?.methods.get(method)
    }

    /// Settles the names of all server tools anew: which is shown, and which tool a name finds. Returns whether a tool is
    /// shown under another name than before.
    ///
    /// A local tool keeps its name against every server; among servers the last in the config wins a bare
    /// name. Who loses a name stays reachable, and is shown, by its full one. So does a tool whose other names begin with
    /// the prefix of another server, whether that one is connected or not: it must not get that server's calls.
    pub(crate) fn settle_names(&mut self, separator: &str) -> bool {
        let prefixes = Prefixes::new(&self.servers, separator);
        self.refused = prefixes.refuse(&self.servers, &self.refused);
        let winners = self.bare_winners();
        let mut has_changed = false;
        self.names.retain(|_, named| named.tool.spec().server().is_none());
        for (server, entry) in &mut self.servers {
            for (bare, tool) in &mut entry.tools {
                let full: Arc<str> = format!("{server}{separator}{bare}").into();
                let shown = match entry.settings.prefix.as_deref() {
                    Some("") if winners.get(bare) == Some(server) => bare.clone(),
                    Some("") | None => full.clone(),
                    Some(prefix) => format!("{prefix}{separator}{bare}").into(),
                };
                let is_others = prefixes.other_owner(&shown, server).is_some();
                let shown = if is_others { full.clone() } else { shown };
                if *tool.name() != shown {
                    *tool = Arc::new(tool.shown_as(shown.clone()));
                    has_changed = true;
                }
                for name in [full, shown] {
                    let ambiguous = false;
                    let tool = tool.clone();
                    self.names.entry(name).or_insert(Named { tool, ambiguous });
                }
            }
        }
        for (bare, named) in self.bare_names(&prefixes) {
            self.names.entry(bare).or_insert(named);
        }
        // No server's tool takes the calls that are meant for a method, its own or another server's, or for a local tool
        // that is skipped.
        let is_caught = |(name, named): &(&Arc<str>, &Named)| {
            named.tool.spec().server().is_some()
                && (self.skipped.contains_key(*name) || self.method(name, separator).is_some())
        };
        let caught: Vec<_> =
            self.names.iter().filter(is_caught).map(|(name, _)| name.clone()).collect();
        for name in caught {
            self.names.remove(&name);
        }
        has_changed
    }

    /// Which server shows a bare name, where servers show theirs without a prefix.
    fn bare_winners(&self) -> HashMap<Arc<str>, Arc<str>> {
        let mut winners: HashMap<Arc<str>, Arc<str>> = HashMap::new();
        let servers = self.servers.iter().filter(|(_, entry)| entry.shows_bare_names());
        for (server, bare) in
            servers.flat_map(|(server, entry)| entry.tools.keys().map(move |bare| (server, bare)))
        {
            if self.locals.contains_key(bare) || self.skipped.contains_key(bare) {
                warn!(
                    tool = &**bare,
                    "'{bare}' of server '{server}' does not replace the local tool '{bare}'"
                );
            } else if let Some(loser) = winners.insert(bare.clone(), server.clone()) {
                warn!(
                    tool = &**bare,
                    "servers '{loser}' and '{server}' both show '{bare}'; '{server}' wins"
                );
            }
        }
        winners
    }

    /// Which server's tool a bare name finds: the last one's in the config.
    fn bare_names(&self, prefixes: &Prefixes<'_>) -> HashMap<Arc<str>, Named> {
        let mut names: HashMap<Arc<str>, Named> = HashMap::new();
        for (server, entry) in &self.servers {
            let tools = entry.tools.iter();
            for (bare, tool) in
                tools.filter(|(bare, _)| prefixes.other_owner(bare, server).is_none())
            {
                let ambiguous = names.contains_key(bare);
                let tool = tool.clone();
                names.insert(bare.clone(), Named { tool, ambiguous });
            }
        }
        names
    }
}
