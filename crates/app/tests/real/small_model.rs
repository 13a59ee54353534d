//! `switchboard ask` with SmolLM2 under llama.cpp: a real model, the real binary and a tool in a process of its own.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};
use switchboard_testkit::{Cassette, Scrub, SmallModel};

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real/light_server.py");

/// A config with the model over both wires, and a tool that leaves a trace. Its prose would take all tokens there are.
fn config(url: &str, witness: &Path) -> String {
    let model = |provider: &str, url: &str| {
        format!(
            "[models.{provider}]\nprovider = '{provider}'\nmodel = '{}'\nbase_url = '{url}'\napi_key = 'none'\n\
             temperature = 0\nmax_tokens = 64\nidle_timeout = '2m'\n",
            SmallModel::NAME
        )
    };
    format!(
        "{}{}[servers.lights]\ncommand = 'python3'\nargs = ['{SERVER}', '{}']\nprefix = ''\n",
        model("openai", &format!("{url}/v1")),
        model("anthropic", url),
        witness.display()
    )
}

/// Asks once; returns what was printed and what the model was sent for its second turn.
async fn ask(model: &SmallModel, provider: &str, stream: &str) -> (Value, Value) {
    let folder = tempfile::tempdir().unwrap();
    let tape = folder.path().join("tape.json");
    let cassette = Cassette::record(model.url(), tape, Scrub::default()).await.unwrap();
    let witness = folder.path().join("witness");
    let settings = config(&cassette.url(), &witness);
    fs::write(folder.path().join("switchboard.toml"), settings).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_switchboard"));
    command.current_dir(folder.path()).env_clear().env("PATH", "/usr/bin:/bin");
    command.env("XDG_STATE_HOME", folder.path().join("state"));
    command.args([
        "--config",
        "switchboard.toml",
        "ask",
        "-m",
        provider,
        "--json",
        stream,
        "--max-iterations",
        "2",
    ]);
    command.args(["--tools", "set_light", "turn on the kitchen light"]);
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let (stdout, stderr) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let printed: Value =
        serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("{stdout}\n{stderr}"));
    // The tool really ran, once, in its own process.
    let ran = fs::read_to_string(&witness).unwrap_or_default();
    assert_eq!(ran, "{\"room\": \"kitchen\", \"state\": \"on\"}\n", "{stdout}\n{stderr}");
    let mut exchanges = cassette.settled().await;
    // Before a server is started, the provider is asked whether it has the model.
    let check = exchanges.remove(0).request;
    assert!(check.method == "GET" && check.path.contains("/models"), "{check:?}");
    assert_eq!(exchanges.len(), 2, "{stdout}");
    assert_eq!(exchanges[0].request.body["stream"], json!(stream == "--stream"));
    (printed, exchanges[1].request.body.clone())
}

// ML-1, ML-4, ML-8
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_model_turns_on_a_light() {
    let parts = std::env::var_os("SWITCHBOARD_PARTS").map(PathBuf::from);
    let parts = parts.expect("SWITCHBOARD_PARTS is not set: run `cargo xtask test`");
    let model = SmallModel::start(&parts);
    for stream in ["--stream", "--no-stream"] {
        for provider in ["openai", "anthropic"] {
            let (printed, sent) = ask(&model, provider, stream).await;
            let messages = &printed["messages"];
            let call = &messages[1]["tool_calls"][0];
            assert_eq!(call["name"], "set_light", "{printed}");
            assert_eq!(call["args"], json!({"room": "kitchen", "state": "on"}), "{printed}");
            let result = "kitchen light 7f3a is on";
            let reply = json!({"role": "tool", "content": result, "tool_call_id": call["id"], "is_error": false});
            assert_eq!(messages[2], reply, "{printed}");
            assert!(printed["usage"]["output_tokens"].as_u64() > Some(20), "{printed}");
            // The result went back to the model, under the call's id.
            let told = match provider {
                "openai" => json!({"role": "tool", "tool_call_id": call["id"], "content": result}),
                _ => json!({"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": call["id"], "content": result}]}),
            };
            assert_eq!(sent["messages"][2], told, "{sent}");
        }
    }
}
