//! The one ordered collection of tools (SPEC TL).

mod error;
mod registered;
mod servers;
mod skipped;

use std::sync::{
    Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
    atomic::{AtomicBool, Ordering},
};

use switchboard_toolcall::{Strictness, Tool};
use tokio::sync::{Semaphore, watch};
use tracing::warn;

use crate::{
    config::Config,
    fixed,
    policy::Policy,
    registry::{Registry, Server, Tools},
    validate::{Budget, Check, CheckSlots},
};

pub use error::AddError;
pub use registered::RegisteredTool;
use registered::bare_name;
pub use servers::{KnownServer, Link, ServerSettings};

/// Holds local and server tools alike, in the order of the config.
pub struct ToolManager {
    pub(crate) separator: String,
    strict: bool,
    registry: RwLock<Registry>,
    check_slots: CheckSlots,
    wrap: Option<Wrap>,
    /// Says which tools are not listed.
    policy: Option<Arc<dyn Policy>>,
    /// Consulted before a server is reported as unknown.
    late_discovery: OnceLock<Arc<dyn Link>>,
    /// Counts the changes.
    version: watch::Sender<u64>,
    /// Whether any tool has arguments that its definition fixes.
    pub(crate) fixes: AtomicBool,
}

/// Makes of a tool, known by its full name, what is called instead of it.
pub type Wrap = Arc<dyn Fn(&str, Arc<dyn Tool>) -> Arc<dyn Tool> + Send + Sync>;

impl ToolManager {
    /// An empty collection.
    pub fn new(config: &Config) -> Self {
        Self {
            separator: config.separator.clone(),
            strict: config.strict,
            registry: RwLock::default(),
            check_slots: CheckSlots::default(),
            wrap: None,
            policy: None,
            late_discovery: OnceLock::new(),
            version: watch::Sender::new(0),
            fixes: AtomicBool::new(false),
        }
    }

    /// The same collection, in which every tool that is added is wrapped.
    #[must_use]
    pub fn wrapped(mut self, wrap: Option<Wrap>) -> Self {
        self.wrap = wrap;
        self
    }

    /// The same collection, which does not list what `policy` denies.
    #[must_use]
    pub(crate) fn under(mut self, policy: Arc<dyn Policy>) -> Self {
        self.policy = Some(policy);
        self
    }

    /// Consults `discovery` before reporting an unknown server: it is ready when it has added the servers that it knows of.
    /// At most one; later ones are ignored.
    pub fn set_late_discovery(&self, discovery: Arc<dyn Link>) {
        let _ = self.late_discovery.set(discovery);
    }

    pub(crate) fn late_discovery(&self) -> Option<&Arc<dyn Link>> {
        self.late_discovery.get()
    }

    /// A number that grows with each change of the collection.
    pub fn version(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    /// Makes known that the collection, or what the policy says of it, is another.
    pub fn changed(&self) {
        self.version.send_modify(|version| *version += 1);
    }

    /// Adds a local tool; one of the same name is replaced, with a warning.
    ///
    /// # Errors
    /// The name, description or schema is unusable; the collection is as before.
    pub fn add(&self, tool: impl Tool + 'static) -> Result<(), AddError> {
        self.add_shared(Arc::new(tool))
    }

    /// Adds a local tool that is shared with others.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn add_shared(&self, tool: Arc<dyn Tool>) -> Result<(), AddError> {
        let tool = Arc::new(self.local(tool)?);
        let name = tool.name().clone();
        if self.write().add_local(name.clone(), tool, &self.separator) {
            warn!(tool = &*name, "tool '{name}' was there already and is replaced");
        }
        self.changed();
        Ok(())
    }

    /// A local tool with what is needed to run it.
    fn local(&self, tool: Arc<dyn Tool>) -> Result<RegisteredTool, AddError> {
        if tool.spec().description.trim().is_empty() {
            return Err(AddError::Description(tool.spec().name.clone()));
        }
        let name = tool.spec().name.as_str().into();
        let check = self.check(&name, &tool, None, &mut Budget::default())?;
        fixed::check(tool.spec())?;
        Ok(self.register(name, tool, check, None))
    }

    /// Makes a server known, so that its place in the order and its prefix are settled before it connects.
    ///
    /// # Errors
    /// The name contains the separator.
    pub fn add_server(&self, name: &str, settings: ServerSettings) -> Result<(), AddError> {
        if name.is_empty() || name.contains(&self.separator) {
            return Err(AddError::ServerName(name.to_owned(), self.separator.clone()));
        }
        let server = self.server(name, settings);
        let mut registry = self.write();
        registry.servers.insert(name.into(), server);
        // Names that begin with its prefix are its own from now on.
        let has_changed = registry.settle_names(&self.separator);
        drop(registry);
        if has_changed {
            self.changed();
        }
        Ok(())
    }

    /// A server without tools yet, whose methods can be called.
    fn server(&self, name: &str, settings: ServerSettings) -> Server {
        let methods = settings.methods.clone();
        let mut server = Server::new(settings, self.check_slots.of_server());
        for method in methods {
            let bare: Arc<str> = bare_name(method.spec()).into();
            let full = format!("{name}{}{bare}", self.separator).into();
            match self.check(&full, &method, None, &mut Budget::default()) {
                Ok(check) => {
                    let shown = server.method_name(name, &bare, &self.separator);
                    let method = self.register(full, method, check, Some(&server)).shown_as(shown);
                    server.methods.insert(bare, Arc::new(method));
                }
                Err(error) => warn!(server = name, %error, "{error}"),
            }
        }
        server
    }

    /// Replaces all tools of a server that is known, and returns those skipped, with the reason.
    pub fn set_server_tools(&self, server: &str, tools: Vec<Arc<dyn Tool>>) -> Vec<AddError> {
        self.put_server_tools(self.check_server_tools(server, tools))
    }

    /// Checks the names and schemas of a server's tools. May take long: must not run on a serving thread.
    pub fn check_server_tools(&self, server: &str, tools: Vec<Arc<dyn Tool>>) -> CheckedTools {
        let mut checked = CheckedTools { server: server.into(), ..CheckedTools::default() };
        let Some(known) = self.read().servers.get(server).cloned() else { return checked };
        let mut budget = Budget::default();
        for tool in tools {
            let bare: Arc<str> = bare_name(tool.spec()).into();
            let name: Arc<str> = format!("{server}{}{bare}", self.separator).into();
            let check = match known.methods.contains_key(&bare) {
                true => Err(AddError::Name(name.to_string(), "it is the name of an MCP method")),
                false => self.check(&name, &tool, known.tools.get(&bare), &mut budget),
            };
            match check {
                Ok(check) => {
                    let tool = Arc::new(self.register(name, tool, check, Some(&known)));
                    if checked.tools.insert(bare.clone(), tool).is_some() {
                        checked.repeated.push(bare);
                    }
                }
                Err(error) => checked.set_aside.push(error),
            }
        }
        checked
    }

    /// Puts tools in place of those that their server had, and returns those skipped, with the reason.
    pub fn put_server_tools(&self, checked: CheckedTools) -> Vec<AddError> {
        let CheckedTools { server, tools, repeated, set_aside } = checked;
        let server = &*server;
        for tool in repeated {
            warn!(
                server,
                tool = &*tool,
                "server '{server}' lists '{tool}' twice; the last one stays"
            );
        }
        for error in &set_aside {
            warn!(server, %error, "a tool of server '{server}' is skipped: {error}");
        }
        if !self.read().servers.contains_key(server) {
            return set_aside;
        }
        // A server that comes back mostly has what it had before.
        let same = self.read().has_tools(server, &tools);
        self.write().set_server_tools(server, tools, &self.separator);
        if !same {
            self.changed();
        }
        set_aside
    }

    /// Puts other local tools and servers in the place of all that are there, at once. A server whose connection is
    /// the same as before keeps its tools. `skipped` is as in [`skip`](Self::skip).
    ///
    /// # Errors
    /// A tool or a server's name is unusable; the collection is as before.
    pub fn replace(
        &self,
        locals: Vec<Arc<dyn Tool>>,
        servers: Vec<(Arc<str>, ServerSettings)>,
        skipped: &[(String, String)],
    ) -> Result<(), AddError> {
        let mut registry = Registry::default();
        registry.skip(skipped);
        for tool in locals {
            let tool = self.local(tool)?;
            registry.add_local(tool.name().clone(), Arc::new(tool), &self.separator);
        }
        let mut current = self.write();
        for (name, settings) in servers {
            if name.is_empty() || name.contains(&self.separator) {
                return Err(AddError::ServerName(name.to_string(), self.separator.clone()));
            }
            let same = current.servers.get(&name).filter(|server| server.is_reached_as(&settings));
            let server = same.cloned().unwrap_or_else(|| self.server(&name, settings));
            registry.servers.insert(name, server);
        }
        registry.refused = std::mem::take(&mut current.refused);
        registry.settle_names(&self.separator);
        *current = registry;
        drop(current);
        self.changed();
        Ok(())
    }

    /// All tools, in order: local ones first, then each server's.
    pub fn all(&self) -> Vec<Arc<RegisteredTool>> {
        let registry = self.read();
        let servers = registry.servers.values().flat_map(|server| server.tools.values());
        registry.locals.values().chain(servers).cloned().collect()
    }

    /// The tools that are listed to clients and offered to models, in order: all but those that the policy denies.
    pub fn listed(&self) -> Vec<Arc<RegisteredTool>> {
        let mut tools = self.all();
        tools.retain(|tool| !self.is_denied(tool));
        tools
    }

    /// Whether the policy denies every call of the tool, whoever calls it and with whatever arguments.
    pub fn is_denied(&self, tool: &RegisteredTool) -> bool {
        self.policy.as_ref().is_some_and(|policy| policy.denial(tool).is_some())
    }

    /// The policy of calls, if there is one.
    pub fn policy(&self) -> Option<&Arc<dyn Policy>> {
        self.policy.as_ref()
    }

    /// The servers that are known, in order.
    pub fn servers(&self) -> Vec<KnownServer> {
        let registry = self.read();
        let known = |(name, server): (&Arc<str>, &Server)| KnownServer {
            name: name.clone(),
            tools: server.tools.len(),
            link: server.link().cloned(),
        };
        registry.servers.iter().map(known).collect()
    }

    /// Whether `link` is the connection of the server of this name.
    pub fn is_linked(&self, server: &str, link: &Arc<dyn Link>) -> bool {
        let registry = self.read();
        let known = registry.servers.get(server).and_then(Server::link);
        known.is_some_and(|known| Arc::ptr_eq(known, link))
    }

    /// What stands between a server's name and its tool's.
    pub fn separator(&self) -> &str {
        &self.separator
    }

    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Registry> {
        // Nothing panics while it holds the lock for writing; if it ever did, the tools are still there.
        self.registry.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Registry> {
        self.registry.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks the name and the schema of a tool. `before` is the one that it replaces: if the schema is the same, so is
    /// the check.
    fn check(
        &self,
        name: &Arc<str>,
        tool: &Arc<dyn Tool>,
        before: Option<&Arc<RegisteredTool>>,
        budget: &mut Budget,
    ) -> Result<Arc<Check>, AddError> {
        let spec = tool.spec();
        if let Some(problem) = name_problem(name) {
            return Err(AddError::Name(name.to_string(), problem));
        }
        let strictness = match spec.settings.strictness {
            Strictness::Inherit if self.strict => Strictness::Strict,
            Strictness::Inherit => Strictness::Lenient,
            own => own,
        };
        let same = before.filter(|before| {
            before.check.strictness() == strictness && before.spec().parameters == spec.parameters
        });
        if let Some(same) = same
            && same.check.fits(budget)
        {
            return Ok(same.check.clone());
        }
        let check = Check::within(budget, &spec.parameters, strictness)
            .map_err(|reason| AddError::Schema { tool: name.to_string(), reason })?;
        Ok(Arc::new(check))
    }

    /// A tool with what is needed to run it.
    fn register(
        &self,
        name: Arc<str>,
        tool: Arc<dyn Tool>,
        check: Arc<Check>,
        server: Option<&Server>,
    ) -> RegisteredTool {
        if !tool.spec().settings.fixed.is_empty() {
            self.fixes.store(true, Ordering::Relaxed);
        }
        let own = tool.spec().settings.max_concurrent;
        let own = own.map(|slots| Arc::new(Semaphore::new(slots)));
        let slots = own.into_iter().chain(server.map(|server| server.slots.clone())).collect();
        let check_slots = server.map_or(&self.check_slots, |server| &server.check_slots).clone();
        let tool = match &self.wrap {
            Some(wrap) => wrap(&name, tool),
            None => tool,
        };
        let full = match tool.spec().server() {
            Some(server) => format!("{server}{}{}", self.separator, bare_name(tool.spec())).into(),
            None => name.clone(),
        };
        let definition = Arc::default();
        RegisteredTool { name, full, check, slots, check_slots, tool, definition }
    }
}

/// The tools of a server, checked and not yet put in place.
#[derive(Default)]
pub struct CheckedTools {
    server: Arc<str>,
    tools: Tools,
    /// Names that the server lists more than once.
    repeated: Vec<Arc<str>>,
    set_aside: Vec<AddError>,
}

fn name_problem(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        Some("it is empty")
    } else if name.len() > 256 {
        Some("it is longer than 256 bytes")
    } else if name.chars().any(|c| c.is_whitespace() || c.is_control()) {
        Some("it has white space or control characters in it")
    } else {
        None
    }
}
