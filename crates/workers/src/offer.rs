//! A worker's presence and its offer.

use std::{collections::BTreeMap, fmt::Write, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use switchboard_runtime::{RegisteredTool, rename};
use switchboard_toolcall::{
    Annotations, Normalize, Strictness, ToolOrigin, ToolSettings, ToolSpec,
};

use crate::Error;

/// How often a worker sends a heartbeat: a message with its id, which is stored nowhere.
pub(crate) const BEAT: Duration = Duration::from_millis(2_500);

/// A worker's presence and load. It is an entry of a bucket, which gateways read when they start, and of which they count
/// how many there are; and a message to all gateways when something of it changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Presence {
    /// Its group.
    pub group: String,
    /// Its id, which sorts by start time.
    pub worker: String,
    /// The hash of its [`WorkerOffer`].
    pub tools: String,
    /// How many calls it runs at once.
    pub capacity: usize,
    /// How many it runs now.
    pub running: usize,
    /// Whether it is stopping and takes no more calls.
    #[serde(default)]
    pub leaving: bool,
    /// Whether it sends heartbeats, and a message when something of this changes, and replies when it is asked whether it
    /// is there. Workers of earlier versions do nothing of that, and renew their entry every 2.5 s.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub notifies: bool,
    /// Its version of Switchboard.
    pub version: String,
    /// When it was started, in seconds since 1970.
    pub started: u64,
}

/// What a worker offers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerOffer {
    /// The hash of the tools.
    pub hash: String,
    /// The tools, in order.
    pub tools: Vec<OfferedTool>,
}

impl WorkerOffer {
    /// Creates an offer of these tools.
    ///
    /// # Errors
    /// They cannot be serialized.
    pub fn new(tools: Vec<OfferedTool>) -> Result<Self, Error> {
        let digest = Sha256::digest(crate::wire::write(&tools)?);
        let hash = digest.iter().take(16).fold(String::new(), |mut hash, byte| {
            // Writing to a string does not fail.
            _ = write!(hash, "{byte:02x}");
            hash
        });
        Ok(Self { hash, tools })
    }
}

/// A worker's tool, with what its callers need to know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OfferedTool {
    /// Its name at the worker.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
    /// The JSON Schema of its structured result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// What side effects it may have.
    #[serde(default)]
    pub annotations: Annotations,
    /// Its own timeout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Whether each progress update restarts the timeout.
    #[serde(default)]
    pub progress_extends_timeout: bool,
    /// How many characters of its result are shown before it is truncated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output: Option<usize>,
    /// How long a result may be cached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_ms: Option<u64>,
    /// Whether a call that is repeated with its key has no second effect.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub honours_keys: bool,
    /// How its arguments are validated.
    #[serde(default)]
    pub check: OfferedStrictness,
    /// How the names of its arguments are changed.
    #[serde(default = "never")]
    pub normalize: Normalize,
    /// Argument names that are mapped.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rename: BTreeMap<String, String>,
    /// Other fields of its server's definition.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

/// How a tool's arguments are validated before they are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OfferedStrictness {
    /// As the caller's settings say.
    #[default]
    Usual,
    /// Not at all: the tool validates.
    Nothing,
    /// By the schema, ignoring extra parameters.
    Lenient,
    /// By the schema exactly.
    Strict,
}

fn never() -> Normalize {
    Normalize::Never
}

impl From<&RegisteredTool> for OfferedTool {
    fn from(tool: &RegisteredTool) -> Self {
        let spec = tool.spec();
        let settings = &spec.settings;
        let (normalize, rename) = names_of(spec);
        Self {
            name: tool.name().to_string(),
            description: spec.description.clone(),
            parameters: spec.parameters.clone(),
            output_schema: spec.output_schema.clone(),
            annotations: spec.annotations,
            timeout_ms: settings.timeout.map(milliseconds),
            progress_extends_timeout: settings.progress_extends_timeout,
            max_output: settings.max_output,
            cache_ms: settings.cache.map(milliseconds),
            honours_keys: settings.honours_keys,
            check: match settings.strictness {
                Strictness::Inherit => OfferedStrictness::Usual,
                Strictness::Off => OfferedStrictness::Nothing,
                Strictness::Lenient => OfferedStrictness::Lenient,
                Strictness::Strict => OfferedStrictness::Strict,
            },
            normalize,
            rename,
            extra: spec.extra.clone(),
        }
    }
}

/// Returns how argument names are changed before validation: only those of MCP servers are.
fn names_of(spec: &ToolSpec) -> (Normalize, BTreeMap<String, String>) {
    if spec.origin == ToolOrigin::Local {
        return (Normalize::Never, BTreeMap::new());
    }
    let mapped = spec.settings.rename.keys();
    let renamed = mapped.filter_map(|name| Some((name.clone(), rename::new_name(spec, name)?)));
    (spec.settings.normalize, renamed.collect())
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl OfferedTool {
    /// Returns the definition as a tool of its group, with the full name `name`.
    pub fn spec(&self, group: &Arc<str>, name: String) -> ToolSpec {
        ToolSpec {
            name,
            description: self.description.clone(),
            parameters: self.parameters.clone(),
            output_schema: self.output_schema.clone(),
            annotations: self.annotations,
            origin: ToolOrigin::Server { server: group.clone(), tool: self.name.as_str().into() },
            settings: ToolSettings {
                timeout: self.timeout_ms.map(Duration::from_millis),
                progress_extends_timeout: self.progress_extends_timeout,
                max_output: self.max_output,
                // Each worker limits its own concurrency.
                max_concurrent: None,
                cache: self.cache_ms.map(Duration::from_millis),
                // A worker does not know who calls, so it has nobody's own sign-in.
                per_caller: false,
                durable: true,
                honours_keys: self.honours_keys,
                keys_kept: None,
                strictness: match self.check {
                    OfferedStrictness::Usual => Strictness::Inherit,
                    OfferedStrictness::Nothing => Strictness::Off,
                    OfferedStrictness::Lenient => Strictness::Lenient,
                    OfferedStrictness::Strict => Strictness::Strict,
                },
                normalize: self.normalize,
                rename: self.rename.clone(),
                // The worker's own executor sets the fixed arguments.
                fixed: BTreeMap::new(),
                hidden: Default::default(),
            },
            extra: self.extra.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use switchboard_runtime::{ServerSettings, ToolExecutor};
    use switchboard_testkit::Fake;

    use super::*;

    /// The only tool, as a gateway has it.
    fn offered(executor: &ToolExecutor) -> ToolSpec {
        let tool = OfferedTool::from(&*executor.tools().all()[0]);
        let bytes = crate::wire::write(&WorkerOffer::new(vec![tool]).unwrap()).unwrap();
        let offer: WorkerOffer = crate::wire::read("an offer", &bytes).unwrap();
        offer.tools[0].spec(&"gpu".into(), format!("gpu__{}", offer.tools[0].name))
    }

    #[test]
    fn what_is_known_of_a_tool_goes_along() {
        let executor = ToolExecutor::default();
        let schema = json!({"type": "object", "properties": {"n": {"const": 1.0}}});
        let tool = Fake::echoes("do").parameters(schema.clone()).read_only().with(|spec| {
            spec.settings = ToolSettings {
                timeout: Some(Duration::from_millis(1500)),
                progress_extends_timeout: true,
                max_output: Some(7),
                cache: Some(Duration::from_secs(9)),
                honours_keys: true,
                strictness: Strictness::Off,
                ..ToolSettings::default()
            };
            spec.extra.insert("title".to_owned(), json!("Do"));
            spec.output_schema = Some(json!({"type": "object"}));
        });
        executor.tools().add(tool).unwrap();
        let here = executor.tools().all()[0].spec().clone();
        let there = offered(&executor);
        assert_eq!(there.settings.normalize, Normalize::Never);
        let expected = ToolSpec {
            name: "gpu__do".to_owned(),
            origin: ToolOrigin::Server { server: "gpu".into(), tool: "do".into() },
            settings: ToolSettings {
                normalize: Normalize::Never,
                durable: true,
                ..here.settings.clone()
            },
            ..here
        };
        assert_eq!(there, expected);
        assert_eq!(there.parameters.to_string(), schema.to_string());
    }

    // AN-2, AN-3
    #[test]
    fn argument_names_of_servers_are_fixed_before_they_are_sent() {
        let executor = ToolExecutor::default();
        executor.tools().add_server("zwave", ServerSettings::default()).unwrap();
        let schema = json!({"type": "object", "properties": {"deviceName": {}, "action": {}, "maxLevel": {}}});
        let tool = Fake::echoes("control_zwave_device").of_server("zwave").parameters(schema);
        let tool = tool.normalize(Normalize::Auto, &[("command", "action")]);
        executor.tools().set_server_tools("zwave", vec![tool.shared()]);
        let spec = offered(&executor);
        let given = json!({"device_name": 1, "command": 2, "max_level": 3});
        let fixed = rename::for_server(&spec, given.as_object().unwrap().clone());
        assert_eq!(Value::Object(fixed), json!({"deviceName": 1, "action": 2, "maxLevel": 3}));
    }

    #[test]
    fn the_hash_stands_for_the_tools() {
        let offer = |names: &[&str]| {
            let executor = ToolExecutor::default();
            for name in names {
                executor.tools().add(Fake::echoes(name)).unwrap();
            }
            let tools = executor.tools().all();
            WorkerOffer::new(tools.iter().map(|tool| OfferedTool::from(&**tool)).collect())
                .unwrap()
                .hash
        };
        assert_eq!(offer(&["a", "b"]), offer(&["a", "b"]));
        assert_ne!(offer(&["a", "b"]), offer(&["b", "a"]));
        assert_ne!(offer(&[]), offer(&["a"]));
    }
}
