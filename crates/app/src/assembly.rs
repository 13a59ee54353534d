//! The wiring: settings → executor with its tools.

mod replay;

use std::sync::Arc;

use anyhow::anyhow;
use switchboard_gateway::{CandidateRules, RuleCompiler};
use switchboard_local::{Handler, HandlerKind, Handlers, ProcessGuard, builtins, handler_fn};
use switchboard_lock::Locks;
use switchboard_mcp_client::ServerConfig;
use switchboard_mcp_server::Bridge;
use switchboard_mcp_wire::ServerRequestHandler;
use switchboard_rules::RuleSet;
use switchboard_runtime::{Approver, Policy, RulePolicy, SwapPolicy, ToolExecutor, services};
use switchboard_toolcall::{ErrorKind, Tool, ToolError, ToolOutput};

use crate::{
    approvals, cluster::ClusterConnection, connections::Connections, environment, lock_watch,
    profiles, records::RecordStores, sandboxes, settings::LoadedConfig, telemetry::TelemetryExport,
};

/// The executor with its tools, and the other parts that live as long as the process.
pub(crate) struct App {
    pub(crate) executor: ToolExecutor,
    /// The handlers that defined tools may name.
    pub(crate) handlers: Handlers,
    /// Answers requests of servers.
    pub(crate) answers: Arc<dyn ServerRequestHandler>,
    pub(crate) cluster: ClusterConnection,
    /// Decides which calls may run.
    policy: Arc<SwapPolicy>,
    /// Whether callers are remote, so that the rules of `[serve]` apply too.
    applies_serve_rules: bool,
    /// What servers may say of themselves.
    pub(crate) locks: Arc<Locks>,
    /// Whether the lock is not applied, because the command is about the lock.
    pub(crate) ignores_lock: bool,
    /// Whether failures of servers are reported elsewhere than on stderr.
    pub(crate) is_quiet: bool,
    /// Flushes on drop.
    _telemetry: Option<TelemetryExport>,
}

/// Dependencies that a command may replace.
pub(crate) struct Deps {
    /// Where calls are recorded.
    pub(crate) records: RecordStores,
    /// Answers requests of servers.
    pub(crate) answers: Arc<dyn ServerRequestHandler>,
    /// Asks a person about calls that need approval.
    pub(crate) approver: Arc<dyn Approver>,
    /// May be connected already.
    pub(crate) cluster: ClusterConnection,
    /// Whether callers are remote, so that the rules of `[serve]` apply too.
    pub(crate) applies_serve_rules: bool,
}

impl Deps {
    /// The defaults: everything as the settings say; questions of servers and approvals go to this terminal.
    pub(crate) fn for_terminal(loaded: &LoadedConfig) -> Self {
        Self {
            records: RecordStores::of(loaded),
            answers: Arc::new(Bridge::to_people()),
            approver: approvals::here(loaded),
            cluster: ClusterConnection::default(),
            applies_serve_rules: false,
        }
    }
}

impl App {
    /// Builds the executor and its tools.
    ///
    /// # Errors
    /// Something in the config cannot be used; the error lists all such problems.
    pub(crate) fn build(loaded: &LoadedConfig) -> anyhow::Result<Self> {
        Self::build_with(loaded, Deps::for_terminal(loaded))
    }

    /// As [`build`](Self::build), with other dependencies.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    pub(crate) fn build_with(loaded: &LoadedConfig, deps: Deps) -> anyhow::Result<Self> {
        let (app, problems) = Self::try_build_with(loaded, deps);
        match app {
            Some(app) if problems.is_empty() => {
                loaded.skipped.warn();
                Ok(app)
            }
            _ => Err(anyhow!(problems.join("\n       "))),
        }
    }

    /// Builds what can be built, and returns the problems of the rest.
    pub(crate) fn try_build(loaded: &LoadedConfig) -> (Option<Self>, Vec<String>) {
        Self::try_build_with(loaded, Deps::for_terminal(loaded))
    }

    fn try_build_with(loaded: &LoadedConfig, deps: Deps) -> (Option<Self>, Vec<String>) {
        let mut problems = Vec::new();
        if loaded.settings.executor.max_concurrent == 0 {
            let place = loaded.place_of_section("executor");
            problems.push(format!("{place}: `executor.max_concurrent`: nothing could run with 0"));
        }
        problems.extend(servers(loaded));
        let policy = match policy(loaded, deps.applies_serve_rules) {
            Ok(policy) => policy,
            Err(problem) => {
                problems.push(problem);
                return (None, problems);
            }
        };
        let policy = Arc::new(SwapPolicy::new(policy));
        let config = loaded.settings.executor.clone();
        let separator = config.separator.clone();
        let mut executor = ToolExecutor::builder()
            .config(config)
            .policy(policy.clone())
            .approver(deps.approver.clone());
        if let Some(faults) = loaded.faults.clone() {
            executor = executor.wrap_tools(Arc::new(move |name, tool| faults.wrap(name, tool)));
        }
        executor = deps.records.install(executor);
        let telemetry = telemetry(loaded, &mut problems);
        if let Some(telemetry) = &telemetry {
            executor = telemetry.install(executor);
        }
        let executor = executor.build();
        if let Some(telemetry) = &telemetry {
            telemetry.know(executor.tools());
        }
        let Deps { answers, cluster, applies_serve_rules, .. } = deps;
        let app = Self {
            executor,
            handlers: Handlers::new(),
            answers,
            cluster,
            policy,
            applies_serve_rules,
            locks: Arc::new(Locks::new(environment::user(), separator)),
            ignores_lock: false,
            is_quiet: false,
            _telemetry: telemetry,
        };
        if !loaded.is_attached {
            match profiles::rules(loaded) {
                Ok(profiles) => app.executor.tools().set_profiles(profiles),
                Err(wrong) => problems.extend(wrong),
            }
        }
        match &loaded.replay {
            Some(replay) => app.add_replayed_tools(replay, loaded, &mut problems),
            None if loaded.is_attached => {}
            None => app.add_local_tools(loaded, &mut problems),
        }
        (Some(app), problems)
    }

    fn add_local_tools(&self, loaded: &LoadedConfig, problems: &mut Vec<String>) {
        for local in local_tools(loaded, &self.executor, &self.handlers, problems) {
            if let Err(error) = self.executor.tools().add_shared(local.tool) {
                let place = local.place.map(|place| format!("{place}: ")).unwrap_or_default();
                problems.push(format!("{place}{error}"));
            }
        }
        self.executor.tools().skip(&loaded.skipped.tools());
    }

    /// Applies a new config completely, or not at all.
    ///
    /// # Errors
    /// Something in the config cannot be used; then nothing changes.
    pub(crate) fn reload(
        &self,
        loaded: &LoadedConfig,
        connections: &Connections,
    ) -> anyhow::Result<()> {
        let mut problems = servers(loaded);
        let policy =
            policy(loaded, self.applies_serve_rules).map_err(|problem| problems.push(problem)).ok();
        let tools = local_tools(loaded, &self.executor, &Handlers::new(), &mut problems);
        let profiles = profiles::rules(loaded).map_err(|wrong| problems.extend(wrong)).ok();
        let Some((policy, profiles)) = policy.zip(profiles).filter(|_| problems.is_empty()) else {
            return Err(anyhow!(problems.join("\n       ")));
        };
        let tools = tools.into_iter().map(|local| local.tool).collect();
        let is_relocked = lock_watch::load(self, loaded)?;
        connections.exchange(self, loaded, |servers| {
            self.executor.tools().replace(tools, servers, &loaded.skipped.tools())?;
            loaded.skipped.warn();
            self.policy.swap(policy);
            // Lists that were made under the old policy are stale now.
            self.executor.tools().set_profiles(profiles);
            self.executor.reconfigure(loaded.settings.executor.clone());
            Ok(())
        })?;
        if is_relocked {
            connections.all().iter().for_each(|server| server.lock_changed());
        }
        Ok(())
    }
}

/// A tool of this process, and where the config defines it.
struct LocalTool {
    tool: Arc<dyn Tool>,
    place: Option<String>,
}

/// The built-in tools, the runtime's own and those that the config defines, in order.
fn local_tools(
    loaded: &LoadedConfig,
    executor: &ToolExecutor,
    handlers: &Handlers,
    problems: &mut Vec<String>,
) -> Vec<LocalTool> {
    let mut builtins = builtins::all(&loaded.settings.builtins);
    builtins::register(&builtins, handlers);
    // Without a guard programs still end with us, unless we are killed with -9.
    match ProcessGuard::this_program() {
        Ok(guard) => handlers.set_guard(guard),
        Err(error) => tracing::warn!(%error, "programs run without a guard"),
    }
    if let Some(sandbox) = sandboxes::deps(loaded) {
        handlers.set_sandbox(sandbox);
    }
    builtins.retain(|tool| match loaded.skipped.tool(&tool.spec().name) {
        Some(text) => {
            handlers.register_builtin(&tool.spec().name, skipped_handler(text));
            false
        }
        None => true,
    });
    let services = services::all(executor);
    for service in &services {
        handlers.register_tool(HandlerKind::Internal, service.clone());
    }
    let own = builtins.into_iter().chain(services).map(|tool| LocalTool { tool, place: None });
    let mut tools: Vec<_> = own.collect();
    for (index, definition) in loaded.settings.tools.iter().enumerate() {
        let place = loaded.place_of_tool(index);
        match definition.clone().into_tool(handlers) {
            Ok(tool) => tools.push(LocalTool { tool, place: Some(place) }),
            Err(error) => problems.push(format!("{place}: {error}")),
        }
    }
    tools
}

/// Answers the calls of defined tools whose built-in handler is skipped.
fn skipped_handler(text: String) -> Handler {
    handler_fn(move |_, _| {
        let error = ToolError::new(ErrorKind::Unavailable, text.clone());
        std::future::ready(Err::<ToolOutput, _>(error))
    })
}

/// Exports calls to OpenTelemetry, if an endpoint is configured.
fn telemetry(loaded: &LoadedConfig, problems: &mut Vec<String>) -> Option<TelemetryExport> {
    TelemetryExport::new(&loaded.settings.telemetry).unwrap_or_else(|error| {
        let place = loaded.place_of_section("telemetry");
        problems.push(format!("{place}: [telemetry]: {error}"));
        None
    })
}

/// Returns the problems of `[mcp]` and of the servers' and APIs' settings.
fn servers(loaded: &LoadedConfig) -> Vec<String> {
    let mut problems = Vec::new();
    if loaded.settings.mcp.retry_attempts == 0 {
        let place = loaded.place_of_section("mcp");
        problems.push(format!("{place}: `mcp.retry_attempts`: nothing is tried with 0"));
    }
    if loaded.settings.mcp.connect_timeout.0.is_zero() {
        let place = loaded.place_of_section("mcp");
        problems.push(format!("{place}: `mcp.connect_timeout`: nothing connects within 0s"));
    }
    problems.extend(apis(loaded));
    let separator = &loaded.settings.executor.separator;
    for (name, config) in loaded.enabled_servers() {
        let problem = server_problem(name, config, separator);
        problems.extend(problem.map(|problem| {
            format!("{}: server `{name}`: {problem}", loaded.place_of_server(name))
        }));
    }
    problems
}

/// Returns the problems of the APIs' settings; those of skipped ones are not complete yet.
fn apis(loaded: &LoadedConfig) -> impl Iterator<Item = String> {
    let used = loaded.settings.apis.iter();
    let used = used.filter(|(name, _)| !loaded.skipped.apis.contains_key(*name));
    used.filter_map(|(name, config)| {
        let problem = match loaded.settings.servers.contains_key(name) {
            true => Err("a server has this name".to_owned()),
            false => config.check(name, &loaded.settings.executor.separator),
        };
        problem
            .err()
            .map(|problem| format!("{}: API `{name}`: {problem}", loaded.place_of_api(name)))
    })
}

fn server_problem(name: &str, config: &ServerConfig, separator: &str) -> Option<String> {
    let has_space = |text: &str| text.chars().any(|c| c.is_whitespace() || c.is_control());
    let prefix = config.prefix.as_deref().unwrap_or_default();
    if name.is_empty() || name.contains(separator) || has_space(name) {
        return Some(format!(
            "its name must not be empty, nor have white space or `{separator}` in it"
        ));
    }
    if prefix.contains(separator) || has_space(prefix) {
        return Some(format!("its prefix must not have white space or `{separator}` in it"));
    }
    let tools = config.tools.values().map(|tool| tool.max_concurrent);
    if tools.chain([config.max_concurrent]).any(|most| most == Some(0)) {
        return Some("nothing could run with `max_concurrent = 0`".to_owned());
    }
    if config.connect_timeout.is_some_and(|limit| limit.0.is_zero()) {
        return Some("nothing connects with `connect_timeout = \"0s\"`".to_owned());
    }
    config.kind().err()
}

/// Builds the policy: the rules of `[policy]`, and for remote callers those of `[serve]`, too.
pub(crate) fn policy(
    loaded: &LoadedConfig,
    applies_serve_rules: bool,
) -> Result<Arc<dyn Policy>, String> {
    let rules = rules(loaded)?;
    let (serve, policy) = (&loaded.settings.serve, &loaded.settings.policy);
    let (allow_if, deny_if): (&[String], &[String]) = match applies_serve_rules {
        true => (&serve.allow_if, &serve.deny_if),
        false => (&[], &[]),
    };
    if allow_if.is_empty() && deny_if.is_empty() && policy.ask_if.is_empty() {
        return Ok(Arc::new(rules));
    }
    let wrong = |section, error| format!("{}: {error}", loaded.place_of_section(section));
    let rules = RuleSet::new(allow_if, deny_if, rules).map_err(|error| wrong("serve", error))?;
    let rules = rules.ask_if(&policy.ask_if, policy.ask_timeout.0);
    Ok(Arc::new(rules.map_err(|error| wrong("policy", error))?))
}

/// Compiles rules that are tried before they are in a config.
pub(crate) struct ConfigRules;

impl RuleCompiler for ConfigRules {
    fn compile(&self, rules: CandidateRules) -> Result<Arc<dyn Policy>, String> {
        let CandidateRules { policy, allow_if, deny_if } = rules;
        let (ask_if, within) = (policy.ask_if.clone(), policy.ask_timeout.0);
        let names = RulePolicy::new(policy).map_err(|error| error.to_string())?;
        let rules = RuleSet::new(&allow_if, &deny_if, names);
        let rules = rules.and_then(|rules| rules.ask_if(&ask_if, within));
        Ok(Arc::new(rules.map_err(|error| error.to_string())?))
    }
}

/// The rules of `[policy]`.
pub(crate) fn rules(loaded: &LoadedConfig) -> Result<RulePolicy, String> {
    let rules = RulePolicy::new(loaded.settings.policy.clone())
        .map_err(|error| format!("{}: [policy]: {error}", loaded.place_of_section("policy")))?;
    let servers = loaded.settings.servers.iter();
    let mut limited =
        servers.filter_map(|(name, config)| Some((name, config.enabled_tools.as_deref()?)));
    limited.try_fold(rules, |rules, (name, patterns)| {
        rules.with_enabled_tools(name, patterns).map_err(|error| {
            format!("{}: server `{name}`: enabled_tools: {error}", loaded.place_of_server(name))
        })
    })
}
