//! `switchboard zwave` behind `switchboard serve`: one household for programs over REST and for MCP clients over HTTP.

use serde_json::{Value, json};
use switchboard_testkit::{SimulatedZwave, ZwaveTransport};

use crate::serving::{Serving, part, program, wait_for};

const CLIENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real/home_client.py");

// HM-1, GW-1, AN-3
#[test]
fn a_household_is_served_over_http() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("zwave");
    let household =
        SimulatedZwave::start(part("zwave").parent().unwrap(), ZwaveTransport::Mqtt, &cache);
    let config = format!(
        "[servers.zwave]\ncommand = '{}'\nargs = ['zwave']\n[zwave]\nmqtt = '{}'\n",
        env!("CARGO_BIN_EXE_switchboard"),
        household.url()
    );
    let serving = Serving::start(folder.path(), &config);
    let call = |tool: &str, args: Value| {
        serving.post(&format!("/api/tools/zwave__{tool}/call"), &[], &args)
    };
    wait_for("the household's server", || {
        (call("list_devices", json!({}))["success"] == true).then_some(())
    });

    let done =
        call("control_zwave_device", json!({"deviceName": "demo/switch one", "action": "on"}));
    assert_eq!(done["result"]["structuredContent"]["confirmed"], true, "{done}");
    assert!(household.is_switch_on());
    let wrong = call("control_zwave_device", json!({"deviceName": "Switch Won", "action": "on"}));
    assert!(wrong["error"].as_str().unwrap().contains("Switch One"), "{wrong}");

    let mut client = program(part("mcp-python/venv/bin/python"), folder.path());
    let url = format!("http://{}/mcp", serving.address);
    let output = client.args([CLIENT, &url]).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let seen: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(seen["tools"].as_array().unwrap().len(), 6, "{seen}");
    assert!(seen["schema"].as_array().unwrap().contains(&json!("confirmed")), "{seen}");
    assert_eq!(seen["done"]["confirmed"], true, "{seen}");
    assert_eq!(seen["health"]["status"], "healthy", "{seen}");
    assert!(!household.is_switch_on());
    serving.stop();
}
