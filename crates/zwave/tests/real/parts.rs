//! The household of the tests, and its tools.

use std::{
    ops::{Deref, DerefMut},
    path::PathBuf,
    time::Duration,
};

use serde_json::{Value, json};
use switchboard_runtime::ToolExecutor;
use switchboard_testkit::{Broker, Household};
pub(crate) use switchboard_testkit::{Devices, Way};
use switchboard_zwave::{Config, connect, tools};
use tempfile::TempDir;

/// A household of simulated devices.
pub(crate) struct House {
    household: Household,
    way: Way,
    _folder: TempDir,
}

impl House {
    pub(crate) fn start(way: Way) -> Self {
        Self::with(way, Devices::default())
    }

    pub(crate) fn with(way: Way, devices: Devices) -> Self {
        Self::around(way, (way == Way::Mqtt).then(Broker::start), devices)
    }

    pub(crate) fn around(way: Way, broker: Option<Broker>, devices: Devices) -> Self {
        #[expect(
            clippy::disallowed_methods,
            reason = "`cargo xtask test` says where the parts are"
        )]
        let parts = std::env::var("SWITCHBOARD_PARTS").expect("`cargo xtask test` sets it");
        let folder = tempfile::tempdir().unwrap();
        let parts = PathBuf::from(parts);
        let household = Household::around(&parts, way, folder.path(), broker, devices);
        Self { household, way, _folder: folder }
    }

    /// An executor with the tools over this household.
    pub(crate) fn executor(&self) -> ToolExecutor {
        let mut config = Config::default();
        match self.way {
            Way::Mqtt => config.mqtt = Some(self.url()),
            Way::Server => config.server = Some(self.url()),
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

impl Deref for House {
    type Target = Household;

    fn deref(&self) -> &Household {
        &self.household
    }
}

impl DerefMut for House {
    fn deref_mut(&mut self) -> &mut Household {
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
