//! The wiring: settings → executor with its tools.

use std::sync::Arc;

use anyhow::anyhow;
use switchboard_local::{HandlerKind, Handlers, builtins};
use switchboard_mcp::client::{Answers, NoAnswers, ServerConfig};
use switchboard_runtime::{Recorder, RulePolicy, ToolExecutor, services};
use switchboard_telemetry::Telemetry;

use crate::{records::Records, settings::Loaded, telemetry::Sent};

/// Everything that runs.
pub(crate) struct House {
    pub(crate) executor: ToolExecutor,
    /// What defined tools may call.
    pub(crate) handlers: Handlers,
    /// Who answers what servers ask.
    pub(crate) answers: Arc<dyn Answers>,
    /// Sends the rest of the telemetry when it goes.
    _telemetry: Option<Sent>,
}

/// What surrounds the executor, where a command wants it to be something of its own.
pub(crate) struct Around {
    /// Keeps the records.
    pub(crate) records: Records,
    /// Who answers what servers ask.
    pub(crate) answers: Arc<dyn Answers>,
}

impl Around {
    /// As the settings say, with nobody to answer servers.
    fn usual(loaded: &Loaded) -> Self {
        Self { records: Records::of(loaded), answers: Arc::new(NoAnswers) }
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
            Some(house) if problems.is_empty() => Ok(house),
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
        let policy = match rules(loaded) {
            Ok(policy) => policy,
            Err(problem) => {
                problems.push(problem);
                return (None, problems);
            }
        };
        let config = loaded.settings.executor.clone();
        let executor = ToolExecutor::builder().config(config).policy(policy);
        let Records { recorder, artifacts, .. } = around.records;
        let (recorder, telemetry) = told(recorder, loaded, &mut problems);
        let executor = executor.recorder(recorder).artifacts(artifacts).build();
        let sent = telemetry.map(|(sent, telemetry)| {
            telemetry.know(executor.tools());
            sent
        });
        let (handlers, answers) = (Handlers::new(), around.answers);
        let house = Self { executor, handlers, answers, _telemetry: sent };
        house.add_own_tools(loaded, &mut problems);
        house.add_defined_tools(loaded, &mut problems);
        (Some(house), problems)
    }

    /// Adds the built-in tools and the runtime's own, as tools and as handlers for defined ones.
    fn add_own_tools(&self, loaded: &Loaded, problems: &mut Vec<String>) {
        let builtins = builtins::all(&loaded.settings.builtins);
        builtins::register(&builtins, &self.handlers);
        let services = services::all(&self.executor);
        for service in &services {
            self.handlers.register_tool(HandlerKind::Internal, service.clone());
        }
        for tool in builtins.into_iter().chain(services) {
            if let Err(error) = self.executor.tools().add_shared(tool) {
                problems.push(error.to_string());
            }
        }
    }

    fn add_defined_tools(&self, loaded: &Loaded, problems: &mut Vec<String>) {
        for (index, definition) in loaded.settings.tools.iter().enumerate() {
            let added = match definition.clone().into_tool(&self.handlers) {
                Ok(tool) => self.executor.tools().add_shared(tool).map_err(|e| e.to_string()),
                Err(error) => Err(error.to_string()),
            };
            if let Err(problem) = added {
                problems.push(format!("{}: {problem}", loaded.place_of_tool(index)));
            }
        }
    }
}

/// The recorder that tells OpenTelemetry of calls too, where somebody wants to hear of them.
fn told(
    recorder: Arc<dyn Recorder>,
    loaded: &Loaded,
    problems: &mut Vec<String>,
) -> (Arc<dyn Recorder>, Option<(Sent, Arc<Telemetry>)>) {
    match Sent::around(&recorder, &loaded.settings.telemetry) {
        Ok(Some((sent, telemetry))) => (telemetry.clone(), Some((sent, telemetry))),
        Ok(None) => (recorder, None),
        Err(error) => {
            let place = loaded.place_of_section("telemetry");
            problems.push(format!("{place}: [telemetry]: {error}"));
            (recorder, None)
        }
    }
}

/// What is wrong with the settings of `[mcp]` and the servers.
fn servers(loaded: &Loaded) -> Vec<String> {
    let mut problems = Vec::new();
    if loaded.settings.mcp.retry_attempts == 0 {
        let place = loaded.place_of_section("mcp");
        problems.push(format!("{place}: `mcp.retry_attempts`: nothing is tried with 0"));
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
    config.kind().err()
}

/// The rules of `[policy]`.
pub(crate) fn rules(loaded: &Loaded) -> Result<RulePolicy, String> {
    RulePolicy::new(loaded.settings.policy.clone())
        .map_err(|error| format!("{}: [policy]: {error}", loaded.place_of_section("policy")))
}
