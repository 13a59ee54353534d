//! A household of simulated Z-Wave devices: zwave-js with its simulated stick, behind mosquitto or zwave-js-server.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};

use crate::{
    Mosquitto,
    process::{Process, free_port},
};

/// Where the part is declared: the programs.
const DECLARED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../parts/zwave");

/// The file that lets the device that is held back be interviewed.
const INTERVIEW: &str = "interview";

/// The two ways to the devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZwaveTransport {
    /// zwave-js-ui's MQTT topics.
    Mqtt,
    /// zwave-js-server's WebSocket.
    Server,
}

/// Which devices there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SimulatedDevices {
    /// A switch (node 2), a dimmer (3) and a sensor (4), which do as they are told.
    #[default]
    Obedient,
    /// Those of `stubborn.cjs`, which ignore commands or take their time.
    Stubborn,
    /// The same, served before they are interviewed; node 7 is not until [`SimulatedZwave::interview`].
    Unknown,
}

impl SimulatedDevices {
    fn file(self) -> &'static str {
        match self {
            Self::Obedient => "nodes.cjs",
            Self::Stubborn | Self::Unknown => "stubborn.cjs",
        }
    }

    /// When they are served.
    fn served(self) -> &'static str {
        match self {
            Self::Obedient | Self::Stubborn => "interviewed",
            Self::Unknown => "driver",
        }
    }
}

/// Devices, and all that leads to them.
#[derive(Debug)]
pub struct SimulatedZwave {
    parts: PathBuf,
    way: ZwaveTransport,
    devices: SimulatedDevices,
    /// What zwave-js remembers.
    cache: PathBuf,
    stick_port: u16,
    server_port: u16,
    /// The stick.
    pub stick: Process,
    /// The broker if there is one.
    pub broker: Option<Mosquitto>,
    /// The gateway, or the server.
    pub network: Process,
}

impl SimulatedZwave {
    /// Starts everything from the folder of installed parts, and waits until all devices are known.
    ///
    /// # Panics
    /// The part is not installed, or something does not start.
    pub fn start(parts: &Path, way: ZwaveTransport, cache: &Path) -> Self {
        let broker = (way == ZwaveTransport::Mqtt).then(Mosquitto::start);
        Self::around(parts, way, cache, broker, SimulatedDevices::default())
    }

    /// The same with this broker and these devices.
    ///
    /// # Panics
    /// The part is not installed, or something does not start.
    pub fn around(
        parts: &Path,
        way: ZwaveTransport,
        cache: &Path,
        broker: Option<Mosquitto>,
        devices: SimulatedDevices,
    ) -> Self {
        let (stick_port, server_port) = (free_port(), free_port());
        fs::create_dir_all(cache).expect("there is a folder for what zwave-js remembers");
        let stick = stick(parts, stick_port, devices, cache);
        let port = broker.as_ref().map_or(server_port, Mosquitto::port);
        let network = network(parts, (way, devices), stick_port, port, cache);
        let (parts, cache) = (parts.to_owned(), cache.to_owned());
        Self { parts, way, devices, cache, stick_port, server_port, stick, broker, network }
    }

    /// Lets the device that is held back be interviewed.
    ///
    /// # Panics
    /// The folder is gone.
    pub fn interview(&self) {
        fs::write(self.cache.join(INTERVIEW), "").expect("the folder is there");
    }

    /// The address of the broker or of the server.
    pub fn url(&self) -> String {
        match &self.broker {
            Some(broker) => broker.url(),
            None => format!("ws://127.0.0.1:{}", self.server_port),
        }
    }

    /// Starts the broker again, at the same address.
    pub fn restart_broker(&mut self) {
        if let Some(broker) = &self.broker {
            self.broker = Some(Mosquitto::on(broker.port()));
        }
    }

    /// Starts the gateway or the server again.
    pub fn restart_network(&mut self) {
        let port = self.broker.as_ref().map_or(self.server_port, Mosquitto::port);
        let what = (self.way, self.devices);
        self.network = network(&self.parts, what, self.stick_port, port, &self.cache);
    }

    /// Starts the stick again.
    pub fn restart_stick(&mut self) {
        self.stick = stick(&self.parts, self.stick_port, self.devices, &self.cache);
    }

    /// Names a device, as people do in zwave-js-ui.
    ///
    /// # Panics
    /// There is no gateway, or it refuses.
    pub fn name(&self, node: u64, name: &str, location: &str) {
        self.ask_gateway("setNodeName", json!([node, name]));
        self.ask_gateway("setNodeLocation", json!([node, location]));
    }

    /// Whether the switch is on: the gateway asks the simulated device itself.
    ///
    /// # Panics
    /// There is no gateway, or it does not know.
    pub fn is_switch_on(&self) -> bool {
        let value =
            json!({"nodeId": 2, "commandClass": 37, "endpoint": 0, "property": "currentValue"});
        self.ask_gateway("pollValue", json!([value])).as_bool().expect("a switch is on or off")
    }

    fn ask_gateway(&self, api: &str, args: Value) -> Value {
        let topic = format!("zwave/_CLIENTS/ZWAVE_GATEWAY-our_home/api/{api}");
        let broker = self.broker.as_ref().expect("there is a broker");
        let gateway = broker.listen(&topic);
        gateway.say(&format!("{topic}/set"), &json!({"args": args}));
        let reply = gateway.hear(&topic);
        assert_eq!(reply["success"], true, "{reply}");
        reply["result"].clone()
    }
}

fn stick(parts: &Path, port: u16, devices: SimulatedDevices, cache: &Path) -> Process {
    let mut node = node(parts, "stick.cjs");
    node.arg(port.to_string()).arg(devices.file());
    if devices == SimulatedDevices::Unknown {
        node.env("SWITCHBOARD_INTERVIEW", cache.join(INTERVIEW));
    }
    Process::saying(node, "listening")
}

fn network(
    parts: &Path,
    (way, devices): (ZwaveTransport, SimulatedDevices),
    stick_port: u16,
    port: u16,
    cache: &Path,
) -> Process {
    let mut node = node(parts, "network.cjs");
    node.arg(stick_port.to_string()).arg(cache).arg(devices.served());
    match way {
        ZwaveTransport::Mqtt => {
            node.args(["mqtt", &format!("mqtt://127.0.0.1:{port}"), "zwave", "our home"])
        }
        ZwaveTransport::Server => node.args(["server", &port.to_string()]),
    };
    Process::saying(node, "ready")
}

/// A script of `parts/zwave`, with the packages of the installed part.
fn node(parts: &Path, script: &str) -> Command {
    let mut node = Command::new("node");
    node.arg(Path::new(DECLARED).join(script)).current_dir(parts.join("zwave"));
    node
}
