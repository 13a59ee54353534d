//! Tools as the config defines them: `[[tools]]` (SPEC §7, §13).

mod error;
mod fixed;
mod implementation;
mod reading;
mod response;

use std::{collections::BTreeMap, num::NonZeroUsize, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use switchboard_sandbox::{SandboxAllow, SandboxConfig, SandboxLimits, SandboxMode};
use switchboard_toolcall::{Annotations, HumanDuration, HumanSize, Tool, ToolSettings, ToolSpec};

use crate::{
    HandlerKind, Handlers,
    command::{CommandTemplate, CommandTool},
    handler_tool::HandlerTool,
    http::{HttpTool, RequestTemplate},
    mock::MockTool,
    responses::Responses,
    template::Parameters,
};

pub use error::DefinitionError;
pub(crate) use error::DefinitionProblem;
pub use fixed::ArgumentSettings;
pub use implementation::{CommandOutput, Implementation, ImplementationType};
use reading::json_value;
pub use response::{MockError, MockResponse};

#[cfg(test)]
mod tests;

/// A tool as the config defines it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolDefinition {
    /// The name that models call.
    pub name: String,
    /// What it does, for models and people.
    pub description: String,
    /// The JSON Schema of its arguments; none are declared by default.
    #[serde(default = "no_parameters", deserialize_with = "json_value")]
    pub parameters: Value,
    /// What a call of it does.
    pub implementation: Implementation,
    /// What the config says of single arguments.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub arguments: BTreeMap<String, ArgumentSettings>,
    /// What it may do to the world.
    #[serde(default)]
    pub annotations: Annotations,
    /// Its own time limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<HumanDuration>,
    /// How many characters of its result are shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output: Option<HumanSize>,
    /// How many calls of it may run at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_concurrent: Option<NonZeroUsize>,
    /// How long an answer may be given again without running the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<HumanDuration>,
    /// Whether a call that is repeated with its key has no second effect: the header `Idempotency-Key` of a request, the
    /// variable `SWITCHBOARD_IDEMPOTENCY_KEY` of a program.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub honours_keys: bool,
    /// Whether the program of a `command` tool is confined.
    #[serde(default, skip_serializing_if = "SandboxMode::is_off")]
    pub sandbox: SandboxMode,
    /// What it may do all the same.
    #[serde(default, skip_serializing_if = "SandboxAllow::is_empty")]
    pub sandbox_allow: SandboxAllow,
    /// How much it may take.
    #[serde(default, skip_serializing_if = "SandboxLimits::is_default")]
    pub sandbox_limits: SandboxLimits,
}

/// A checked implementation.
enum CheckedImplementation<'a> {
    Mocked(&'a Implementation),
    By(HandlerKind, &'a str),
    Runs(CommandTemplate),
    Sends(RequestTemplate),
}

impl ToolDefinition {
    /// Makes the tool.
    ///
    /// The handler is looked up at each call, so it may be registered later; one that does not exist is
    /// the call's error (SPEC LT-2).
    ///
    /// # Errors
    /// The definition contradicts itself, as [`check`](Self::check) says.
    pub fn into_tool(self, handlers: &Handlers) -> Result<Arc<dyn Tool>, DefinitionError> {
        let spec = self.spec();
        Ok(match self.answer()? {
            CheckedImplementation::Mocked(Implementation {
                mock_response, mock_responses, ..
            }) => {
                let responses = Responses::new(mock_responses);
                Arc::new(MockTool::new(spec, responses, mock_response.clone()))
            }
            CheckedImplementation::By(kind, name) => {
                Arc::new(HandlerTool::new(spec, kind, name, handlers.clone()))
            }
            CheckedImplementation::Runs(command) => {
                Arc::new(CommandTool::new(spec, command, handlers.clone()))
            }
            CheckedImplementation::Sends(request) => Arc::new(HttpTool::new(spec, request)),
        })
    }

    /// Checks that type, handler and response fit each other, and that `{name}` stands for a parameter everywhere.
    ///
    /// # Errors
    /// Says which of them is missing, too many or wrong.
    pub fn check(&self) -> Result<(), DefinitionError> {
        self.answer().map(drop)
    }

    /// The handler that the definition asks for and that is not registered, if so.
    pub fn missing_handler(&self, handlers: &Handlers) -> Option<(HandlerKind, &str)> {
        match self.answer() {
            Ok(CheckedImplementation::By(kind, name)) if handlers.lookup(kind, name).is_none() => {
                Some((kind, name))
            }
            _ => None,
        }
    }

    /// The program that a `command` tool runs and that is not there, if so.
    pub fn missing_program(&self) -> Option<&str> {
        match self.answer() {
            Ok(CheckedImplementation::Runs(command)) if !command.is_there() => {
                self.implementation.program.as_deref()
            }
            _ => None,
        }
    }

    fn answer(&self) -> Result<CheckedImplementation<'_>, DefinitionError> {
        let tool = || self.name.clone();
        let implementation = &self.implementation;
        self.check_fixed()?;
        if let Some((key, kinds)) = implementation.misplaced() {
            return Err(DefinitionError::OnlyFor { tool: tool(), key, kinds });
        }
        let kind = implementation.kind;
        self.check_sandbox()?;
        let needs = |key| DefinitionError::Needs { tool: tool(), kind, key };
        let handled = |by| match &implementation.handler {
            Some(name) => Ok(CheckedImplementation::By(by, name)),
            None => Err(needs("handler")),
        };
        match kind {
            ImplementationType::Mock => self.mocked(),
            ImplementationType::Builtin => handled(HandlerKind::Builtin),
            ImplementationType::Internal => handled(HandlerKind::Internal),
            ImplementationType::Command => {
                let program = implementation.program.as_deref();
                let program = program.ok_or_else(|| needs("program"))?;
                let command = CommandTemplate::new(implementation, program, &self.names())
                    .and_then(|command| command.confined(self.sandbox()));
                command.map(CheckedImplementation::Runs).map_err(|wrong| wrong.of(&self.name))
            }
            ImplementationType::Http => {
                let url = implementation.url.as_deref().ok_or_else(|| needs("url"))?;
                let request = RequestTemplate::new(implementation, url, &self.names());
                request.map(CheckedImplementation::Sends).map_err(|wrong| wrong.of(&self.name))
            }
        }
    }

    /// What confines its program.
    pub fn sandbox(&self) -> SandboxConfig {
        SandboxConfig {
            mode: self.sandbox,
            allow: self.sandbox_allow.with_presets(),
            limits: self.sandbox_limits.clone(),
        }
    }

    /// Checks that there is a program to confine, and that its sandbox can be meant.
    fn check_sandbox(&self) -> Result<(), DefinitionError> {
        let command = ImplementationType::Command;
        let keys = [
            ("sandbox", !self.sandbox.is_off()),
            ("sandbox_allow", !self.sandbox_allow.is_empty()),
            ("sandbox_limits", !self.sandbox_limits.is_default()),
        ];
        let set = keys.iter().find(|(_, is_set)| *is_set).map(|(key, _)| *key);
        if let Some(key) = set.filter(|_| self.implementation.kind != command) {
            let kinds = command.to_string();
            return Err(DefinitionError::OnlyFor { tool: self.name.clone(), key, kinds });
        }
        let problem = |problem| DefinitionProblem::new("sandbox", problem).of(&self.name);
        self.sandbox().check().map_err(problem)
    }

    fn mocked(&self) -> Result<CheckedImplementation<'_>, DefinitionError> {
        let Implementation { mock_response, mock_responses, .. } = &self.implementation;
        for (number, response) in mock_responses.iter().enumerate() {
            response.check(&self.name, number)?;
        }
        if mock_response.is_none() && mock_responses.is_empty() {
            return Err(DefinitionError::NoResponse { tool: self.name.clone() });
        }
        Ok(CheckedImplementation::Mocked(&self.implementation))
    }

    /// The names that may stand in braces.
    fn names(&self) -> Parameters {
        Parameters::of(&self.parameters).with(self.arguments.keys())
    }

    pub(crate) fn spec(&self) -> ToolSpec {
        let (parameters, fixed) = self.split_fixed();
        let as_usize = |HumanSize(size)| usize::try_from(size).unwrap_or(usize::MAX);
        ToolSpec {
            annotations: self.annotations,
            settings: ToolSettings {
                timeout: self.timeout.map(|HumanDuration(timeout)| timeout),
                max_output: self.max_output.map(as_usize),
                max_concurrent: self.max_concurrent.map(NonZeroUsize::get),
                cache: self.cache.map(|HumanDuration(time)| time),
                honours_keys: self.honours_keys,
                fixed: fixed.into_iter().collect(),
                ..ToolSettings::default()
            },
            ..ToolSpec::new(&self.name, &self.description, parameters)
        }
    }
}

fn no_parameters() -> Value {
    json!({"type": "object", "properties": {}})
}
