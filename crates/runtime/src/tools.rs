//! The one ordered collection of tools (SPEC TL).

mod error;
mod registered;
mod servers;
mod skipped;

use std::sync::{
    Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
    atomic::{AtomicBool, Ordering},
};

use switchboard_toolcall::{Strictness, Tool, ToolError};
use tokio::sync::{Semaphore, watch};
use tracing::warn;

use crate::{
    config::Config,
    fixed,
    policy::Policy,
    profiles::Profiles,
    registry::{RegisteredServer, Registry, Tools},
    tool_index::ToolIndex,
    validate::{CheckSlots, SchemaBudget, SchemaCheck},
};

pub use error::AddError;
pub use registered::RegisteredTool;
use registered::bare_name;
pub use servers::{KnownServer, ServerLink, ServerSettings};

/// Holds local and server tools alike, in the order of the config.
pub struct ToolManager {
    pub(crate) separator: String,
    strict: bool,
    registry: RwLock<Registry>,
    check_slots: CheckSlots,
    wrap: Option<ToolWrapper>,
    /// Decides which tools are not listed.
    policy: Option<Arc<dyn Policy>>,
    /// Consulted before a server is reported as unknown.
    late_discovery: OnceLock<Arc<dyn ServerLink>>,
    /// Increments with each change.
    version: watch::Sender<u64>,
    /// Finds tools by what they do.
    pub(crate) index: ToolIndex,
    /// Whether any tool's definition fixes arguments.
    pub(crate) fixes: AtomicBool,
    /// The profiles of the config.
    pub(crate) profiles: Profiles,
}

/// Wraps a tool, given its full name; the result is called instead.
pub type ToolWrapper = Arc<dyn Fn(&str, Arc<dyn Tool>) -> Arc<dyn Tool> + Send + Sync>;

impl ToolManager {
    /// Creates an empty collection.
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
            index: ToolIndex::default(),
            fixes: AtomicBool::new(false),
            profiles: Profiles::default(),
        }
    }

    /// Wraps every tool that is added.
    #[must_use]
    pub fn wrapped(mut self, wrap: Option<ToolWrapper>) -> Self {
        self.wrap = wrap;
        self
    }

    /// Does not list tools that `policy` denies.
    #[must_use]
    pub(crate) fn under(mut self, policy: Arc<dyn Policy>) -> Self {
        self.policy = Some(policy);
        self
    }

    /// Waits for `discovery` before reporting an unknown server: it is ready once it has added the servers that it
    /// found. The first one set is used; later ones are ignored.
    pub fn set_late_discovery(&self, discovery: Arc<dyn ServerLink>) {
        let _ = self.late_discovery.set(discovery);
    }

    /// Waits until late discovery has added the servers that it found.
    ///
    /// # Errors
    /// It could not find out which there are.
    pub async fn discovered(&self) -> Result<(), ToolError> {
        match self.late_discovery() {
            Some(discovery) => discovery.ready().await,
            None => Ok(()),
        }
    }

    pub(crate) fn late_discovery(&self) -> Option<&Arc<dyn ServerLink>> {
        self.late_discovery.get()
    }

    /// Returns a number that increments with each change.
    pub fn version(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    /// Reports that the collection, or what the policy says of it, has changed.
    pub fn changed(&self) {
        self.version.send_modify(|version| *version += 1);
    }

    /// Adds a local tool; one with the same name is replaced, which is logged as a warning.
    ///
    /// # Errors
    /// The name, description or schema is invalid; nothing is changed.
    pub fn add(&self, tool: impl Tool + 'static) -> Result<(), AddError> {
        self.add_shared(Arc::new(tool))
    }

    /// Adds a local tool that others share.
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

    /// Prepares a local tool.
    fn local(&self, tool: Arc<dyn Tool>) -> Result<RegisteredTool, AddError> {
        if tool.spec().description.trim().is_empty() {
            return Err(AddError::Description(tool.spec().name.clone()));
        }
        let name = tool.spec().name.as_str().into();
        let check = self.check(&name, &tool, None, &mut SchemaBudget::default())?;
        fixed::check(tool.spec())?;
        Ok(self.register(name, tool, check, None))
    }

    /// Adds a server, so that its position and prefix are settled before it connects.
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
        // Names that begin with its prefix belong to it from now on.
        let has_changed = registry.settle_names(&self.separator);
        drop(registry);
        if has_changed {
            self.changed();
        }
        Ok(())
    }

    /// Prepares a server, which has methods but no tools yet.
    fn server(&self, name: &str, settings: ServerSettings) -> RegisteredServer {
        let methods = settings.methods.clone();
        let mut server = RegisteredServer::new(settings, self.check_slots.of_server());
        for method in methods {
            let bare: Arc<str> = bare_name(method.spec()).into();
            let full = format!("{name}{}{bare}", self.separator).into();
            match self.check(&full, &method, None, &mut SchemaBudget::default()) {
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

    /// Replaces all tools of a known server. Returns those skipped, with the reason.
    pub fn set_server_tools(&self, server: &str, tools: Vec<Arc<dyn Tool>>) -> Vec<AddError> {
        self.put_server_tools(self.check_server_tools(server, tools))
    }

    /// Checks the names and schemas of a server's tools. May take long: must not run on a serving thread.
    pub fn check_server_tools(&self, server: &str, tools: Vec<Arc<dyn Tool>>) -> CheckedTools {
        let mut checked = CheckedTools { server: server.into(), ..CheckedTools::default() };
        let Some(known) = self.read().servers.get(server).cloned() else { return checked };
        let mut budget = SchemaBudget::default();
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
                Err(error) => checked.skipped_tools.push(error),
            }
        }
        checked
    }

    /// Replaces a server's tools with checked ones. Returns those skipped, with the reason.
    pub fn put_server_tools(&self, checked: CheckedTools) -> Vec<AddError> {
        let CheckedTools { server, tools, repeated, skipped_tools, withheld } = checked;
        let server = &*server;
        for tool in repeated {
            warn!(
                server,
                tool = &*tool,
                "server '{server}' lists '{tool}' twice; the last one stays"
            );
        }
        for error in &skipped_tools {
            warn!(server, %error, "a tool of server '{server}' is skipped: {error}");
        }
        if !self.read().servers.contains_key(server) {
            return skipped_tools;
        }
        // A server that reconnects mostly has the same tools.
        let same = self.read().has_tools(server, &tools);
        self.write().set_server_tools(server, tools, withheld, &self.separator);
        if !same {
            self.changed();
        }
        skipped_tools
    }

    /// Replaces all local tools and servers at once. A server whose connection is the same keeps its tools. `skipped`
    /// is as in [`skip`](Self::skip).
    ///
    /// # Errors
    /// A tool or a server's name is invalid; nothing is changed.
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

    /// Returns all tools, in order: local ones first, then each server's.
    pub fn all(&self) -> Vec<Arc<RegisteredTool>> {
        let registry = self.read();
        let servers = registry.servers.values().flat_map(|server| server.tools.values());
        registry.locals.values().chain(servers).cloned().collect()
    }

    /// Returns the tools that are listed to clients and offered to models, in order: all but those that the policy
    /// denies.
    pub fn listed(&self) -> Vec<Arc<RegisteredTool>> {
        let mut tools = self.all();
        tools.retain(|tool| !self.is_denied(tool));
        tools
    }

    /// Returns whether the policy denies every call of the tool, for all callers and arguments.
    pub fn is_denied(&self, tool: &RegisteredTool) -> bool {
        self.policy.as_ref().is_some_and(|policy| policy.denial(tool).is_some())
    }

    /// Returns the policy, if there is one.
    pub fn policy(&self) -> Option<&Arc<dyn Policy>> {
        self.policy.as_ref()
    }

    /// Returns the known servers, in order.
    pub fn servers(&self) -> Vec<KnownServer> {
        let registry = self.read();
        let known = |(name, server): (&Arc<str>, &RegisteredServer)| KnownServer {
            name: name.clone(),
            tools: server.tools.len(),
            link: server.link().cloned(),
        };
        registry.servers.iter().map(known).collect()
    }

    /// Returns whether `link` is the connection of the server with this name.
    pub fn is_linked(&self, server: &str, link: &Arc<dyn ServerLink>) -> bool {
        let registry = self.read();
        let known = registry.servers.get(server).and_then(RegisteredServer::link);
        known.is_some_and(|known| Arc::ptr_eq(known, link))
    }

    /// Returns what separates a server's name from its tool's.
    pub fn separator(&self) -> &str {
        &self.separator
    }

    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Registry> {
        // Nothing panics while it holds the lock for writing; if it did, the tools would still be intact.
        self.registry.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Registry> {
        self.registry.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks the name and the schema of a tool. `before` is the tool that it replaces: if the schema is the same, it
    /// is not compiled again.
    fn check(
        &self,
        name: &Arc<str>,
        tool: &Arc<dyn Tool>,
        before: Option<&Arc<RegisteredTool>>,
        budget: &mut SchemaBudget,
    ) -> Result<Arc<SchemaCheck>, AddError> {
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
        let check = SchemaCheck::within(budget, &spec.parameters, strictness)
            .map_err(|reason| AddError::Schema { tool: name.to_string(), reason })?;
        Ok(Arc::new(check))
    }

    /// Prepares a tool.
    fn register(
        &self,
        name: Arc<str>,
        tool: Arc<dyn Tool>,
        check: Arc<SchemaCheck>,
        server: Option<&RegisteredServer>,
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
        let definition_bytes = Arc::default();
        let original = None;
        RegisteredTool {
            name,
            full,
            check,
            slots,
            check_slots,
            tool,
            definition,
            definition_bytes,
            original,
        }
    }
}

/// The checked tools of a server, not yet in use.
#[derive(Default)]
pub struct CheckedTools {
    server: Arc<str>,
    tools: Tools,
    /// Names that the server lists more than once.
    repeated: Vec<Arc<str>>,
    skipped_tools: Vec<AddError>,
    /// Tools that nobody has trusted yet.
    withheld: Vec<WithheldTool>,
}

impl CheckedTools {
    /// Returns whether a tool of this name, at the server, is among them.
    pub fn contains(&self, name: &str) -> bool {
        self.tools.contains_key(name)
    }

    /// Denies calls of these tools, which are not listed.
    #[must_use]
    pub fn withhold(mut self, tools: Vec<WithheldTool>) -> Self {
        self.withheld = tools;
        self
    }
}

/// A tool of a server that nobody has trusted yet: it is not listed, and calls of it are denied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WithheldTool {
    /// Its name at the server.
    pub name: String,
    /// Why, as the rest of a sentence that begins with its name.
    pub reason: String,
    /// What a person types to trust it.
    pub hint: String,
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
