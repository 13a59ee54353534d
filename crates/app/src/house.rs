//! The wiring: settings → executor with its tools.

mod replayed;

use std::sync::Arc;

use anyhow::anyhow;
use switchboard_local::{Handler, HandlerKind, Handlers, ProcessGuard, builtins, handler_fn};
use switchboard_mcp_client::{ServerConfig, ServerRequestHandler};
use switchboard_mcp_server::Bridge;
use switchboard_rules::RuleSet;
use switchboard_runtime::{Approver, Policy, RulePolicy, SwapPolicy, ToolExecutor, services};
use switchboard_toolcall::{ErrorKind, Tool, ToolError, ToolOutput};

use crate::{
    approvals, connections::Connections, records::Records, settings::Loaded, telemetry::Sent,
};

/// Everything that runs.
pub(crate) struct House {
    pub(crate) executor: ToolExecutor,
    /// What defined tools may call.
    pub(crate) handlers: Handlers,
    /// Who answers what servers ask.
    pub(crate) answers: Arc<dyn ServerRequestHandler>,
    /// What may run.
    policy: Arc<SwapPolicy>,
    /// Whether callers come from elsewhere.
    is_open: bool,
    /// Whether people read elsewhere what becomes of servers, so that nothing of it is written to stderr.
    pub(crate) is_quiet: bool,
    /// Sends the rest of the telemetry when it goes.
    _telemetry: Option<Sent>,
}

/// What surrounds the executor, where a command wants it to be something of its own.
pub(crate) struct Around {
    /// Keeps the records.
    pub(crate) records: Records,
    /// Who answers what servers ask.
    pub(crate) answers: Arc<dyn ServerRequestHandler>,
    /// Who is asked about calls that a person must allow.
    pub(crate) approver: Arc<dyn Approver>,
    /// Whether callers come from elsewhere, so that the rules of `[serve]` hold too.
    pub(crate) is_open: bool,
}

impl Around {
    /// As the settings say, with nobody but who is at this terminal to answer servers and to allow calls.
    pub(crate) fn usual(loaded: &Loaded) -> Self {
        Self {
            records: Records::of(loaded),
            answers: Arc::new(Bridge::to_people()),
            approver: approvals::here(loaded),
            is_open: false,
        }
    }
}

impl House {
    /// Puts the house together.
    ///
    /// # Errors
    /// Something in the config cannot be used; all such problems are told at once.
    pub(crate) fn build(loaded: &Loaded) -> anyhow::Result<Self> {
        Self::build_in(loaded, Around::usual(loaded))
    }

    /// As [`build`](Self::build), in other surroundings.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    pub(crate) fn build_in(loaded: &Loaded, around: Around) -> anyhow::Result<Self> {
        let (house, problems) = Self::try_build_in(loaded, around);
        match house {
            Some(house) if problems.is_empty() => {
                loaded.skipped.warn();
                Ok(house)
            }
            _ => Err(anyhow!(problems.join("\n       "))),
        }
    }

    /// Puts together what can be, and tells what cannot.
    pub(crate) fn try_build(loaded: &Loaded) -> (Option<Self>, Vec<String>) {
        Self::try_build_in(loaded, Around::usual(loaded))
    }

    fn try_build_in(loaded: &Loaded, around: Around) -> (Option<Self>, Vec<String>) {
        let mut problems = Vec::new();
        if loaded.settings.executor.max_concurrent == 0 {
            let place = loaded.place_of_section("executor");
            problems.push(format!("{place}: `executor.max_concurrent`: nothing could run with 0"));
        }
        problems.extend(servers(loaded));
        let policy = match policy(loaded, around.is_open) {
            Ok(policy) => policy,
            Err(problem) => {
                problems.push(problem);
                return (None, problems);
            }
        };
        let policy = Arc::new(SwapPolicy::new(policy));
        let config = loaded.settings.executor.clone();
        let mut executor = ToolExecutor::builder()
            .config(config)
            .policy(policy.clone())
            .approver(around.approver.clone());
        if let Some(faults) = loaded.faults.clone() {
            executor = executor.wrap_tools(Arc::new(move |name, tool| faults.wrap(name, tool)));
        }
        executor = around.records.install(executor);
        let telemetry = telemetry(loaded, &mut problems);
        if let Some(telemetry) = &telemetry {
            executor = telemetry.install(executor);
        }
        let executor = executor.build();
        if let Some(telemetry) = &telemetry {
            telemetry.know(executor.tools());
        }
        let Around { answers, is_open, .. } = around;
        let house = Self {
            executor,
            handlers: Handlers::new(),
            answers,
            policy,
            is_open,
            is_quiet: false,
            _telemetry: telemetry,
        };
        match &loaded.replay {
            Some(replay) => house.add_replayed_tools(replay, loaded, &mut problems),
            None => house.add_local_tools(loaded, &mut problems),
        }
        (Some(house), problems)
    }

    fn add_local_tools(&self, loaded: &Loaded, problems: &mut Vec<String>) {
        for local in local_tools(loaded, &self.executor, &self.handlers, problems) {
            if let Err(error) = self.executor.tools().add_shared(local.tool) {
                let place = local.place.map(|place| format!("{place}: ")).unwrap_or_default();
                problems.push(format!("{place}{error}"));
            }
        }
        self.executor.tools().skip(&loaded.skipped.tools());
    }

    /// Puts a new config in the place of the old one, all of it or nothing.
    ///
    /// # Errors
    /// Something in the config cannot be used; then all is as before.
    pub(crate) fn reload(&self, loaded: &Loaded, connections: &Connections) -> anyhow::Result<()> {
        let mut problems = servers(loaded);
        let policy = policy(loaded, self.is_open).map_err(|problem| problems.push(problem)).ok();
        let tools = local_tools(loaded, &self.executor, &Handlers::new(), &mut problems);
        let Some(policy) = policy.filter(|_| problems.is_empty()) else {
            return Err(anyhow!(problems.join("\n       ")));
        };
        let tools = tools.into_iter().map(|local| local.tool).collect();
        connections.exchange(self, loaded, |servers| {
            self.executor.tools().replace(tools, servers, &loaded.skipped.tools())?;
            loaded.skipped.warn();
            self.policy.swap(policy);
            // Lists that were made under the old policy are stale now.
            self.executor.tools().changed();
            self.executor.reconfigure(loaded.settings.executor.clone());
            Ok(())
        })
    }
}

/// A tool of this process, and where the config defines it.
struct Local {
    tool: Arc<dyn Tool>,
    place: Option<String>,
}

/// The built-in tools, the runtime's own and those that the config defines, in order.
fn local_tools(
    loaded: &Loaded,
    executor: &ToolExecutor,
    handlers: &Handlers,
    problems: &mut Vec<String>,
) -> Vec<Local> {
    let mut builtins = builtins::all(&loaded.settings.builtins);
    builtins::register(&builtins, handlers);
    // Without a guard programs still end with us, unless we are killed with -9.
    match ProcessGuard::this_program() {
        Ok(guard) => handlers.set_guard(guard),
        Err(error) => tracing::warn!(%error, "programs run without a guard"),
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
    let own = builtins.into_iter().chain(services).map(|tool| Local { tool, place: None });
    let mut tools: Vec<_> = own.collect();
    for (index, definition) in loaded.settings.tools.iter().enumerate() {
        let place = loaded.place_of_tool(index);
        match definition.clone().into_tool(handlers) {
            Ok(tool) => tools.push(Local { tool, place: Some(place) }),
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

/// What tells OpenTelemetry of calls too, where somebody wants to hear of them.
fn telemetry(loaded: &Loaded, problems: &mut Vec<String>) -> Option<Sent> {
    Sent::new(&loaded.settings.telemetry).unwrap_or_else(|error| {
        let place = loaded.place_of_section("telemetry");
        problems.push(format!("{place}: [telemetry]: {error}"));
        None
    })
}

/// What is wrong with the settings of `[mcp]` and the servers.
fn servers(loaded: &Loaded) -> Vec<String> {
    let mut problems = Vec::new();
    if loaded.settings.mcp.retry_attempts == 0 {
        let place = loaded.place_of_section("mcp");
        problems.push(format!("{place}: `mcp.retry_attempts`: nothing is tried with 0"));
    }
    if loaded.settings.mcp.connect_timeout.0.is_zero() {
        let place = loaded.place_of_section("mcp");
        problems.push(format!("{place}: `mcp.connect_timeout`: nothing connects within 0s"));
    }
    let separator = &loaded.settings.executor.separator;
    for (name, config) in loaded.enabled_servers() {
        let problem = server_problem(name, config, separator);
        problems.extend(problem.map(|problem| {
            format!("{}: server `{name}`: {problem}", loaded.place_of_server(name))
        }));
    }
    problems
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

/// What may run: the rules of `[policy]`, and for callers from elsewhere those of `[serve]` too.
pub(crate) fn policy(loaded: &Loaded, is_open: bool) -> Result<Box<dyn Policy>, String> {
    let rules = rules(loaded)?;
    let (serve, policy) = (&loaded.settings.serve, &loaded.settings.policy);
    let (allow_if, deny_if): (&[String], &[String]) = match is_open {
        true => (&serve.allow_if, &serve.deny_if),
        false => (&[], &[]),
    };
    if allow_if.is_empty() && deny_if.is_empty() && policy.ask_if.is_empty() {
        return Ok(Box::new(rules));
    }
    let wrong = |section, error| format!("{}: {error}", loaded.place_of_section(section));
    let rules = RuleSet::new(allow_if, deny_if, rules).map_err(|error| wrong("serve", error))?;
    let rules = rules.asking(&policy.ask_if, policy.ask_timeout.0);
    Ok(Box::new(rules.map_err(|error| wrong("policy", error))?))
}

/// The rules of `[policy]`.
pub(crate) fn rules(loaded: &Loaded) -> Result<RulePolicy, String> {
    RulePolicy::new(loaded.settings.policy.clone())
        .map_err(|error| format!("{}: [policy]: {error}", loaded.place_of_section("policy")))
}
