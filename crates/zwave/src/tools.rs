//! The six tools (SPEC HM-1).

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serde::Deserialize;
use serde_json::{Map, Value, json};
use switchboard_toolcall::{
    Annotations, BoxFuture, CallContext, Content, Part, Tool, ToolError, ToolOutput, ToolSpec,
};
use tokio::time::{Instant, sleep};

use crate::{
    config::Config,
    control::{self, ControlAction, ControlOrder, DeviceHabits},
    device::Device,
    find,
    health::HealthCache,
    list::{self, ToolText},
    network::{Error, Network, ZwaveNode},
    schemas, sensors,
};

/// Names that models use for arguments of our tools: (tool, used, expected). Gateways rename these without any config (SPEC
/// AN-3), unless the tool declares an argument with the used name.
pub const ARGUMENT_ALIASES: [(&str, &str, &str); 3] = [
    ("control_zwave_device", "device_name", "deviceName"),
    ("control_zwave_device", "command", "action"),
    ("control_zwave_device", "brightness", "level"),
];

/// How often it is checked whether a device has been interviewed.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// The tools over a network, in the order of the contract.
pub fn tools(network: Arc<dyn Network>, config: &Config) -> Vec<Arc<dyn Tool>> {
    let home = Arc::new(ToolDeps {
        network,
        confirm_within: config.confirm_within.0,
        health: HealthCache::default(),
        remembered: Mutex::default(),
        levels: Mutex::default(),
    });
    let tool = |what: ZwaveToolKind| -> Arc<dyn Tool> {
        Arc::new(ZwaveTool { spec: what.spec(), what, home: home.clone() })
    };
    ZwaveToolKind::ALL.into_iter().map(tool).collect()
}

/// Which of the tools.
#[derive(Clone, Copy)]
enum ZwaveToolKind {
    Page,
    List,
    Verify,
    Control,
    Sensors,
    Health,
}

impl ZwaveToolKind {
    const ALL: [Self; 6] =
        [Self::Page, Self::List, Self::Verify, Self::Control, Self::Sensors, Self::Health];

    fn spec(self) -> ToolSpec {
        let (name, description, properties, required) = match self {
            Self::Page => (
                "list_devices",
                "Lists all Z-Wave devices, page by page, with their type, state and what they can do.",
                json!({
                    "limit": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 50,
                        "description": "How many devices at most"},
                    "offset": {"type": "integer", "minimum": 0, "default": 0,
                        "description": "How many devices to skip"},
                }),
                json!([]),
            ),
            Self::List => (
                "list_zwave_devices",
                "Lists the Z-Wave devices that work and whose name or location contains a text.",
                json!({
                    "includeInactive": {"type": "boolean", "default": false,
                        "description": "Whether dead and failed devices are listed too"},
                    "filter": {"type": "string",
                        "description": "Text that the name or the location contains; upper and lower case are the same"},
                }),
                json!([]),
            ),
            Self::Verify => (
                "verify_device",
                "Checks that a Z-Wave device exists, and tells what it is, how it is and what it can do.",
                json!({"deviceName": device_name()}),
                json!(["deviceName"]),
            ),
            Self::Control => (
                "control_zwave_device",
                "Switches a Z-Wave device on or off, or dims it, and tells whether the device has confirmed it.",
                json!({
                    "deviceName": device_name(),
                    "action": {"type": "string", "enum": ["on", "off", "dim"],
                        "description": "on, off, or dim to a level"},
                    "level": {"type": "integer", "minimum": 0, "maximum": 100,
                        "description": "How bright, in percent; needed for dim"},
                }),
                json!(["deviceName", "action"]),
            ),
            Self::Sensors => (
                "get_device_sensor_data",
                "Reads all that a Z-Wave device measures, with units and how old each value is.",
                json!({"deviceName": device_name()}),
                json!(["deviceName"]),
            ),
            Self::Health => (
                "check_zwave_health",
                "Checks the way to the Z-Wave devices and how many of them answer. A report is kept for a minute.",
                json!({}),
                json!([]),
            ),
        };
        let mut parameters = json!({"type": "object", "properties": properties});
        if required != json!([]) {
            parameters["required"] = required;
        }
        let mut spec = ToolSpec::new(name, description, parameters);
        spec.output_schema = Some(self.answer());
        spec.annotations = match self {
            // A light can be switched back as easily.
            Self::Control => Annotations {
                read_only: Some(false),
                idempotent: Some(true),
                destructive: Some(false),
                open_world: Some(false),
            },
            _ => Annotations { open_world: Some(false), ..Annotations::READ_ONLY },
        };
        spec
    }

    /// Returns its output schema.
    fn answer(self) -> Value {
        match self {
            Self::Page => schemas::page(),
            Self::List => schemas::list(),
            Self::Verify => schemas::verified(),
            Self::Control => schemas::control(),
            Self::Sensors => schemas::sensors(),
            Self::Health => schemas::health(),
        }
    }
}

fn device_name() -> Value {
    json!({"type": "string", "description": "The device's name, Location/Name or id"})
}

struct ZwaveTool {
    spec: ToolSpec,
    what: ZwaveToolKind,
    home: Arc<ToolDeps>,
}

impl Tool for ZwaveTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        args: Value,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            // The schema accepts it and we cannot convert it: 3.0, or numbers out of range.
            let args = ZwaveArguments::of(&args).map_err(ToolError::invalid)?;
            self.home.run(self.what, args, &self.spec.name).await.map(output)
        })
    }
}

/// The arguments of all tools.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ZwaveArguments {
    limit: usize,
    offset: usize,
    include_inactive: bool,
    filter: String,
    device_name: String,
    action: ControlAction,
    level: Option<u8>,
}

impl Default for ZwaveArguments {
    fn default() -> Self {
        Self {
            limit: 50,
            offset: 0,
            include_inactive: false,
            filter: String::new(),
            device_name: String::new(),
            action: ControlAction::On,
            level: None,
        }
    }
}

impl ZwaveArguments {
    fn of(args: &Value) -> Result<Self, serde_json::Error> {
        Self::deserialize(args)
            .or_else(|_| Self::deserialize(switchboard_toolcall::numbers::whole_numbers(args)))
    }
}

/// Returns text for people, and JSON for programs.
fn output(listed: ToolText) -> ToolOutput {
    let parts = vec![Part::text(listed.text)];
    let fields = Map::from_iter([("structuredContent".to_owned(), listed.structured)]);
    ToolOutput::Content(Content { parts, fields })
}

/// What the tools share.
struct ToolDeps {
    network: Arc<dyn Network>,
    confirm_within: Duration,
    health: HealthCache,
    /// The nodes as they were last seen.
    remembered: Mutex<Vec<ZwaveNode>>,
    /// The levels at which dimmers were last seen when they were on, by node.
    levels: Mutex<HashMap<u64, u64>>,
}

impl ToolDeps {
    async fn run(
        &self,
        what: ZwaveToolKind,
        args: ZwaveArguments,
        tool: &str,
    ) -> Result<ToolText, ToolError> {
        let network = &*self.network;
        let nodes = async || {
            let nodes = self.nodes().await;
            nodes.map_err(|error| self.unavailable(what, &args, error, tool))
        };
        match what {
            ZwaveToolKind::Page => Ok(list::page(&nodes().await?, args.limit, args.offset)),
            ZwaveToolKind::List => {
                Ok(list::matching(&nodes().await?, &args.filter, args.include_inactive))
            }
            ZwaveToolKind::Verify => {
                Ok(list::verified(find::device(&nodes().await?, &args.device_name)?))
            }
            ZwaveToolKind::Control => {
                let order = ControlOrder::of(args.action, args.level)?;
                let nodes = self.interviewed(&args.device_name).await;
                let nodes = nodes.map_err(|error| error.of_tool(tool))?;
                let device = find::device(&nodes, &args.device_name)?;
                let last_level = self.level_of(device.node().id);
                let habits = DeviceHabits { within: self.confirm_within, last_level };
                let done = control::run(network, device, order, habits).await;
                done.map_err(|failure| failure.of_tool(tool))
            }
            ZwaveToolKind::Sensors => {
                let nodes = nodes().await?;
                Ok(sensors::read(network, find::device(&nodes, &args.device_name)?).await)
            }
            ZwaveToolKind::Health => Ok(self.health.check(network).await),
        }
    }

    async fn nodes(&self) -> Result<Vec<ZwaveNode>, Error> {
        let nodes = self.network.nodes().await?;
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&nodes);
        let mut levels = self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        for device in nodes.iter().filter_map(Device::of) {
            let level = device.control().and_then(|control| control.value.as_ref()?.as_u64());
            if let Some(level) = level.filter(|level| *level > 0) {
                levels.insert(device.node().id, level);
            }
        }
        drop(levels);
        Ok(nodes)
    }

    /// Returns the nodes as soon as the capabilities of the device with this name are known, at the latest when the time for a
    /// write is over: right after its start, a gateway knows only the names of devices.
    async fn interviewed(&self, device_name: &str) -> Result<Vec<ZwaveNode>, Error> {
        let end = Instant::now() + self.confirm_within;
        loop {
            let nodes = self.nodes().await?;
            let device = find::device(&nodes, device_name);
            if !device.is_ok_and(|device| device.is_being_interviewed()) || Instant::now() >= end {
                return Ok(nodes);
            }
            sleep(LOOK_EVERY).await;
        }
    }

    fn level_of(&self, node: u64) -> Option<u64> {
        self.levels.lock().unwrap_or_else(PoisonError::into_inner).get(&node).copied()
    }

    /// Returns the error, with the last known values if they were requested.
    fn unavailable(
        &self,
        what: ZwaveToolKind,
        args: &ZwaveArguments,
        error: Error,
        tool: &str,
    ) -> ToolError {
        let mut error = error.of_tool(tool);
        if let ZwaveToolKind::Sensors = what {
            let nodes = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
            if let Ok(device) = find::device(&nodes, &args.device_name) {
                let old =
                    sensors::remembered(device, "they were read before the connection was lost");
                error.for_model += &format!("\nWhat was last known of {}", old.text);
            }
        }
        error
    }
}
