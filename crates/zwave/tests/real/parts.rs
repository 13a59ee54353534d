//! The household of the tests, and its tools.

use std::{
    ops::{Deref, DerefMut},
    path::PathBuf,
    time::Duration,
};

use serde_json::{Value, json};
use switchboard_runtime::ToolExecutor;
use switchboard_testkit::{Mosquitto, SimulatedZwave};
pub(crate) use switchboard_testkit::{SimulatedDevices, ZwaveTransport};
use switchboard_zwave::{Config, connect, tools};
use tempfile::TempDir;

/// A household of simulated devices.
pub(crate) struct TestNetwork {
    household: SimulatedZwave,
    way: ZwaveTransport,
    _folder: TempDir,
}

impl TestNetwork {
    pub(crate) fn start(way: ZwaveTransport) -> Self {
        Self::with(way, SimulatedDevices::default())
    }

    pub(crate) fn with(way: ZwaveTransport, devices: SimulatedDevices) -> Self {
        Self::around(way, (way == ZwaveTransport::Mqtt).then(Mosquitto::start), devices)
    }

    pub(crate) fn around(
        way: ZwaveTransport,
        broker: Option<Mosquitto>,
        devices: SimulatedDevices,
    ) -> Self {
        #[expect(
            clippy::disallowed_methods,
            reason = "`cargo xtask test` says where the parts are"
        )]
        let parts = std::env::var("SWITCHBOARD_PARTS").expect("`cargo xtask test` sets it");
        let folder = tempfile::tempdir().unwrap();
        let parts = PathBuf::from(parts);
        let household = SimulatedZwave::around(&parts, way, folder.path(), broker, devices);
        Self { household, way, _folder: folder }
    }

    /// An executor with the tools over this household.
    pub(crate) fn executor(&self) -> ToolExecutor {
        let mut config = Config::default();
        match self.way {
            ZwaveTransport::Mqtt => config.mqtt = Some(self.url()),
            ZwaveTransport::Server => config.server = Some(self.url()),
        }
        executor(&config)
    }
}

/// An executor with the tools over what the settings name.
pub(crate) fn executor(config: &Config) -> ToolExecutor {
    let executor = ToolExecutor::default();
    for tool in tools(connect(config).unwrap(), config) {
        executor.tools().add_shared(tool).unwrap();
    }
    executor
}

impl Deref for TestNetwork {
    type Target = SimulatedZwave;

    fn deref(&self) -> &SimulatedZwave {
        &self.household
    }
}

impl DerefMut for TestNetwork {
    fn deref_mut(&mut self) -> &mut SimulatedZwave {
        &mut self.household
    }
}

/// Calls a tool and returns the envelope.
pub(crate) async fn call(executor: &ToolExecutor, tool: &str, args: Value) -> Value {
    serde_json::to_value(executor.call(tool, args).await).unwrap()
}

/// Calls until it works again; it must, soon.
pub(crate) async fn call_until_it_works(executor: &ToolExecutor, tool: &str, args: Value) -> Value {
    for _ in 0..200 {
        let envelope = call(executor, tool, args.clone()).await;
        if envelope["success"] == true {
            return envelope;
        }
        assert_eq!(envelope["error_kind"], "unavailable", "{envelope}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    panic!("{tool} does not work again");
}

pub(crate) fn order(device: &str, action: &str) -> Value {
    json!({"deviceName": device, "action": action})
}
