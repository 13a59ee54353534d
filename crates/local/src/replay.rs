//! Recorded calls as tools that give the recorded answers again.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use serde_json::{Map, Value, json};
use switchboard_sandbox::{SandboxAllow, SandboxLimits, SandboxMode};
use switchboard_toolcall::{Normalize, Tool, ToolOrigin, ToolSpec};

use crate::{
    definition::{
        DefinitionError, Implementation, ImplementationType, MockError, MockResponse,
        ToolDefinition,
    },
    mock::MockTool,
    responses::{Responses, canonical},
};

/// A recorded call that ended.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplayRecord {
    /// The tool's name.
    pub tool: String,
    /// The arguments.
    pub args: Map<String, Value>,
    /// Its outcome.
    pub outcome: ReplayOutcome,
}

/// The outcome of a call, as a mock returns it.
pub type ReplayOutcome = Result<Value, MockError>;

/// The calls of one tool, by their arguments.
#[derive(Default)]
struct ReplayCalls {
    groups: Vec<(Map<String, Value>, Vec<ReplayOutcome>)>,
    found: HashMap<String, usize>,
}

/// Creates mock tools from recorded calls, which must be in the order in which they were made. `known` returns what is known
/// of a tool now; an unknown one accepts any object.
pub fn definitions(
    recorded: impl IntoIterator<Item = ReplayRecord>,
    known: impl Fn(&str) -> Option<ToolSpec>,
) -> Vec<ToolDefinition> {
    let mut names = Vec::new();
    let mut tools = HashMap::<String, ReplayCalls>::new();
    for call in recorded {
        if !tools.contains_key(&call.tool) {
            names.push(call.tool.clone());
        }
        tools.entry(call.tool).or_default().add(call.args, call.outcome);
    }
    let define = |name: String| {
        let calls = tools.remove(&name).unwrap_or_default();
        let spec = known(&name);
        calls.definition(name, spec)
    };
    names.into_iter().map(define).collect()
}

/// The tool of a definition as if `server` offered it, under the name `tool`: what callers see of it is as it was.
///
/// # Errors
/// The definition contradicts itself.
pub fn of_server(
    definition: &ToolDefinition,
    server: &str,
    tool: &str,
) -> Result<Arc<dyn Tool>, DefinitionError> {
    definition.check()?;
    let mut spec = definition.spec();
    spec.origin = ToolOrigin::Server { server: server.into(), tool: tool.into() };
    // Records have the arguments as callers gave them.
    spec.settings.normalize = Normalize::Never;
    let implementation = &definition.implementation;
    let responses = Responses::new(&implementation.mock_responses);
    Ok(Arc::new(MockTool::new(spec, responses, implementation.mock_response.clone())))
}

impl ReplayCalls {
    fn add(&mut self, args: Map<String, Value>, outcome: ReplayOutcome) {
        let key = canonical(&args).to_string();
        let index = *self.found.entry(key).or_insert_with(|| {
            self.groups.push((args, Vec::new()));
            self.groups.len() - 1
        });
        self.groups[index].1.push(outcome);
    }

    fn definition(mut self, name: String, spec: Option<ToolSpec>) -> ToolDefinition {
        for (args, outcomes) in &mut self.groups {
            // Records have what was sent, and callers do not send fixed arguments.
            let is_fixed = |name: &str| {
                spec.as_ref().is_some_and(|spec| spec.settings.fixed.contains_key(name))
            };
            args.retain(|name, _| !is_fixed(name));
            // The last answer is given again and again, so once is enough.
            while outcomes.len() > 1 && outcomes[outcomes.len() - 1] == outcomes[outcomes.len() - 2]
            {
                outcomes.pop();
            }
        }
        let parameters = match &spec {
            Some(spec) => self.fitting(spec.parameters.clone()),
            None => json!({"type": "object"}),
        };
        let description = spec.as_ref().map(|spec| spec.description.clone());
        let unknown = || format!("Gives the recorded answers of {name}");
        let description = description.filter(|text| !text.trim().is_empty());
        ToolDefinition {
            description: description.unwrap_or_else(unknown),
            parameters,
            annotations: spec.map(|spec| spec.annotations).unwrap_or_default(),
            implementation: Implementation {
                kind: ImplementationType::Mock,
                mock_responses: self.responses(),
                ..Implementation::default()
            },
            arguments: BTreeMap::new(),
            timeout: None,
            max_output: None,
            max_concurrent: None,
            cache: None,
            honours_keys: false,
            sandbox: SandboxMode::Off,
            sandbox_allow: SandboxAllow::default(),
            sandbox_limits: SandboxLimits::default(),
            name,
        }
    }

    /// Returns the schema, without `required` parameters that a successful call lacked: its server knew an argument by
    /// another name.
    fn fitting(&self, mut schema: Value) -> Value {
        let succeeded =
            self.groups.iter().filter(|(_, outcomes)| outcomes.iter().any(Result::is_ok));
        let required = schema["required"].as_array().into_iter().flatten();
        let mut required = required.filter_map(Value::as_str);
        let lacks = |key: &str| succeeded.clone().any(|(args, _)| !args.contains_key(key));
        if required.any(lacks) {
            schema.as_object_mut().map(|schema| schema.shift_remove("required"));
        }
        schema
    }

    fn responses(self) -> Vec<MockResponse> {
        let responses = self.groups.into_iter().flat_map(|(args, outcomes)| {
            outcomes.into_iter().map(move |outcome| {
                let args = args.clone();
                match outcome {
                    Ok(response) => MockResponse { args, response: Some(response), error: None },
                    Err(error) => MockResponse { args, response: None, error: Some(error) },
                }
            })
        });
        responses.collect()
    }
}

#[cfg(test)]
mod tests {
    use switchboard_toolcall::ErrorKind;

    use super::*;

    fn call(tool: &str, args: Value, outcome: Result<Value, &str>) -> ReplayRecord {
        let error =
            |text: &str| MockError { kind: ErrorKind::Timeout, text: text.to_owned(), hint: None };
        let args = args.as_object().unwrap().clone();
        ReplayRecord { tool: tool.to_owned(), args, outcome: outcome.map_err(error) }
    }

    // RC-2
    #[test]
    fn records_become_mocks_and_read_back() {
        let recorded = [
            call("weather", json!({"city": "Rome"}), Ok(json!({"temp": 21.0}))),
            call("gone", json!({}), Err("too late")),
            call("weather", json!({"city": "Oslo"}), Ok(Value::Null)),
            call("weather", json!({"city": "Rome"}), Ok(json!(22))),
            call("weather", json!({"city": "Rome"}), Ok(json!(22))),
        ];
        let known = |name: &str| {
            let schema = json!({"type": "object", "required": ["city"]});
            (name == "weather").then(|| ToolSpec::new(name, "Weather of a city", schema))
        };
        let made = definitions(recorded, known);
        let [weather, gone] = &made[..] else { panic!("{made:?}") };
        assert_eq!(weather.description, "Weather of a city");
        assert_eq!(weather.parameters["required"], json!(["city"]));
        assert_eq!(weather.implementation.mock_responses.len(), 3, "the last one repeats anyway");
        assert_eq!(gone.parameters, json!({"type": "object"}));
        for definition in &made {
            definition.check().unwrap();
            let text = serde_json::to_string(definition).unwrap();
            let read: ToolDefinition = serde_json::from_str(&text).unwrap();
            assert_eq!(read, *definition, "{text}");
        }
    }

    #[test]
    fn a_schema_that_refused_what_succeeded_is_loosened() {
        let known = |name: &str| {
            let schema = json!({"type": "object", "required": ["deviceName"]});
            Some(ToolSpec::new(name, "d", schema))
        };
        let recorded = [call("zwave__control", json!({"device_name": "Lamp"}), Ok(json!("on")))];
        assert_eq!(definitions(recorded, known)[0].parameters, json!({"type": "object"}));
        let failed = [call("zwave__control", json!({}), Err("missing"))];
        assert!(definitions(failed, known)[0].parameters.get("required").is_some());
    }
}
