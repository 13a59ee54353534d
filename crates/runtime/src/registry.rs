//! The registered tools, their names, and which tool a name finds.

mod prefixes;

use std::{collections::HashMap, sync::Arc};

use indexmap::IndexMap;
use tokio::sync::Semaphore;
use tracing::warn;

use crate::{
    tools::{RegisteredTool, ServerLink, ServerSettings, WithheldTool},
    validate::CheckSlots,
};
use prefixes::{Prefixes, Refused};

pub(crate) type Tools = IndexMap<Arc<str>, Arc<RegisteredTool>>;

/// The state behind the manager's lock.
#[derive(Default)]
pub(crate) struct Registry {
    /// Local tools by name.
    pub(crate) locals: Tools,
    /// Servers by name, in the order of the config.
    pub(crate) servers: IndexMap<Arc<str>, RegisteredServer>,
    /// Local tools that the config defines but that cannot be used, by name, with the reason.
    pub(crate) skipped: HashMap<Arc<str>, Arc<str>>,
    /// Every name that finds a tool.
    pub(crate) names: HashMap<Arc<str>, NameTarget>,
    /// The names that servers do not get because another server has them: each was logged.
    pub(crate) refused: Refused,
}

/// What a name finds.
pub(crate) struct NameTarget {
    pub(crate) tool: Arc<RegisteredTool>,
    /// Other servers have a tool of this bare name too.
    pub(crate) ambiguous: bool,
}

/// A known server, connected or not.
#[derive(Clone)]
pub(crate) struct RegisteredServer {
    settings: ServerSettings,
    pub(crate) slots: Arc<Semaphore>,
    pub(crate) check_slots: CheckSlots,
    /// Its tools by their names at the server.
    pub(crate) tools: Tools,
    /// Its tools that nobody has trusted yet.
    pub(crate) withheld: Vec<WithheldTool>,
    /// Its methods by their MCP names: found by full name only, and never listed.
    pub(crate) methods: Tools,
}

impl RegisteredServer {
    pub(crate) fn new(settings: ServerSettings, check_slots: CheckSlots) -> Self {
        Self {
            check_slots,
            slots: Arc::new(Semaphore::new(settings.max_concurrent)),
            settings,
            tools: Tools::new(),
            withheld: Vec::new(),
            methods: Tools::new(),
        }
    }

    /// Returns the name of a method besides its full one; never the bare one.
    pub(crate) fn method_name(&self, server: &str, method: &str, separator: &str) -> Arc<str> {
        let prefix = self.settings.prefix.as_deref().filter(|prefix| !prefix.is_empty());
        format!("{}{separator}{method}", prefix.unwrap_or(server)).into()
    }

    pub(crate) fn link(&self) -> Option<&Arc<dyn ServerLink>> {
        self.settings.link.as_ref()
    }

    /// Returns whether these settings mean the same server.
    pub(crate) fn is_reached_as(&self, settings: &ServerSettings) -> bool {
        match (&self.settings.link, &settings.link) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }

    fn shows_bare_names(&self) -> bool {
        self.settings.prefix.as_deref() == Some("")
    }

    /// Returns the prefix that replaces its name, if it has one.
    fn prefix(&self) -> Option<&str> {
        self.settings.prefix.as_deref().filter(|prefix| !prefix.is_empty())
    }
}

impl Registry {
    /// Adds a local tool. Returns whether it replaced one.
    pub(crate) fn add_local(
        &mut self,
        name: Arc<str>,
        tool: Arc<RegisteredTool>,
        separator: &str,
    ) -> bool {
        let replaced = self.locals.insert(name.clone(), tool.clone());
        let ambiguous = false;
        let found = self.names.insert(name, NameTarget { tool, ambiguous });
        if found.is_some_and(|named| named.tool.spec().server().is_some()) {
            self.settle_names(separator);
        }
        replaced.is_some()
    }

    /// Replaces the list of skipped local tools, each with the reason.
    pub(crate) fn skip(&mut self, tools: &[(String, String)]) {
        let entry =
            |(name, reason): &(String, String)| (name.as_str().into(), reason.as_str().into());
        self.skipped = tools.iter().map(entry).collect();
    }

    pub(crate) fn set_server_tools(
        &mut self,
        server: &str,
        tools: Tools,
        withheld: Vec<WithheldTool>,
        separator: &str,
    ) {
        if let Some(entry) = self.servers.get_mut(server) {
            entry.tools = tools;
            entry.withheld = withheld;
        }
        self.settle_names(separator);
    }

    /// Returns whether the server has exactly these tools, in this order.
    pub(crate) fn has_tools(&self, server: &str, tools: &Tools) -> bool {
        self.servers.get(server).is_some_and(|known| {
            let pairs = || known.tools.iter().zip(tools);
            known.tools.len() == tools.len()
                && pairs()
                    .all(|((one, old), (other, new))| one == other && old.spec() == new.spec())
        })
    }

    /// Returns whether some server's tools, or local ones, have this prefix.
    pub(crate) fn knows_prefix(&self, prefix: &str, separator: &str) -> bool {
        let prefixed =
            |server: &RegisteredServer| server.settings.prefix.as_deref() == Some(prefix);
        let begins =
            |name: &Arc<str>| name.split_once(separator).map(|(own, _)| own) == Some(prefix);
        self.servers.contains_key(prefix)
            || self.servers.values().any(prefixed)
            || self.locals.keys().any(begins)
    }

    /// Returns the prefixes of servers' tools: their names, or what they set instead.
    pub(crate) fn prefixes(&self) -> impl Iterator<Item = &str> {
        let own = self.servers.values().filter_map(RegisteredServer::prefix);
        self.servers.keys().map(|name| &**name).chain(own)
    }

    /// Returns the connection of the server with this prefix.
    pub(crate) fn link(&self, prefix: &str) -> Option<&Arc<dyn ServerLink>> {
        self.servers.get(self.server_of(prefix)?)?.link()
    }

    /// Returns the name of the server with this name or prefix.
    pub(crate) fn server_of(&self, prefix: &str) -> Option<&str> {
        let prefixed = |entry: &(&Arc<str>, &RegisteredServer)| {
            entry.1.settings.prefix.as_deref() == Some(prefix)
        };
        let server = self.servers.get_key_value(prefix);
        server.or_else(|| self.servers.iter().find(prefixed)).map(|(name, _)| &**name)
    }

    /// Returns the tool that nobody has trusted yet and that this name, full or bare, means.
    pub(crate) fn withheld(&self, name: &str, separator: &str) -> Option<&WithheldTool> {
        let of = |server: &'_ RegisteredServer, own: &str| {
            server.withheld.iter().position(|tool| tool.name == own)
        };
        let full = name.split_once(separator).and_then(|(prefix, own)| {
            let server = self.servers.get(self.server_of(prefix)?)?;
            server.withheld.get(of(server, own)?)
        });
        let bare = || {
            let mut servers = self.servers.values();
            servers.find_map(|server| server.withheld.get(of(server, name)?))
        };
        full.or_else(bare)
    }

    /// Returns the server's method with this full name.
    pub(crate) fn method(&self, name: &str, separator: &str) -> Option<&Arc<RegisteredTool>> {
        let (prefix, method) = name.split_once(separator)?;
        self.servers.get(self.server_of(prefix)?)?.methods.get(method)
    }

    /// Assigns the names of all server tools: which one is shown, and which tool a name finds. Returns whether a shown
    /// name changed.
    ///
    /// A local tool always keeps its name; among servers, the last in the config wins a bare name. The losers stay
    /// reachable, and are shown, by their full names. So is a tool whose other names begin with the prefix of another
    /// server, connected or not: it must not get that server's calls.
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
                    self.names.entry(name).or_insert(NameTarget { tool, ambiguous });
                }
            }
        }
        for (bare, named) in self.bare_names(&prefixes) {
            self.names.entry(bare).or_insert(named);
        }
        // No server's tool may get calls that are meant for a method, its own or another server's, or for a skipped
        // local tool.
        let is_caught = |(name, named): &(&Arc<str>, &NameTarget)| {
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

    /// Returns which server shows a bare name, for servers without a prefix.
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

    /// Returns which server's tool a bare name finds: the last one in the config.
    fn bare_names(&self, prefixes: &Prefixes<'_>) -> HashMap<Arc<str>, NameTarget> {
        let mut names: HashMap<Arc<str>, NameTarget> = HashMap::new();
        for (server, entry) in &self.servers {
            let tools = entry.tools.iter();
            for (bare, tool) in
                tools.filter(|(bare, _)| prefixes.other_owner(bare, server).is_none())
            {
                let ambiguous = names.contains_key(bare);
                let tool = tool.clone();
                names.insert(bare.clone(), NameTarget { tool, ambiguous });
            }
        }
        names
    }
}
