//! `control_speaker_volume` on mixers that misbehave.

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use serde_json::{Value, json};
use switchboard_local::builtins::control_speaker_volume::{self, Config, MixerChoice};
use switchboard_toolcall::{CallContext, ErrorKind, Tool};

use crate::responder::call;

/// The tool with one of the programs in `mixers/` in the place of `wpctl`.
fn tool(mixer: &str, pid_file: &Path) -> Arc<dyn Tool> {
    let programs = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/mixers");
    let env = BTreeMap::from([
        ("PATH".to_owned(), format!("{programs}/{mixer}:/usr/bin:/bin")),
        ("PID_FILE".to_owned(), pid_file.to_str().unwrap().to_owned()),
    ]);
    control_speaker_volume::tool(Config { mixer: MixerChoice::PipeWire, env })
}

async fn failure(mixer: &str, args: Value) -> (ErrorKind, String) {
    let directory = tempfile::tempdir().unwrap();
    let tool = tool(mixer, &directory.path().join("pid"));
    let error = call(&tool, args).await.unwrap_err();
    (error.kind, error.for_model)
}

#[tokio::test]
async fn a_change_that_is_refused() {
    // LT-3
    let (kind, text) = failure("refusing", json!({"action": "mute"})).await;
    assert_eq!(kind, ErrorKind::ToolError);
    assert_eq!(text, "pipewire did not change the volume: wpctl failed: Permission denied");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_hangs() {
    // LT-3
    let (kind, text) = failure("hanging", json!({"action": "get"})).await;
    assert_eq!(kind, ErrorKind::Unavailable);
    assert!(text.contains("(pipewire: wpctl does not answer)"), "{text}");
}

#[tokio::test]
async fn a_dropped_call_ends_its_command() {
    // EX-3
    let directory = tempfile::tempdir().unwrap();
    let pid_file = directory.path().join("pid");
    let tool = tool("hanging", &pid_file);
    let cx = CallContext::default();
    let mut get = tool.call(json!({"action": "get"}), &cx);
    let started = until(|| std::fs::read_to_string(&pid_file).is_ok_and(|pid| pid.ends_with('\n')));
    tokio::select! {
        _ = &mut get => panic!("nobody answered"),
        () = started => drop(get),
    }
    let pid = std::fs::read_to_string(&pid_file).unwrap();
    let process = format!("/proc/{}", pid.trim());
    until(|| !Path::new(&process).exists()).await;
}

/// Waits for something that happens outside of us.
async fn until(happened: impl Fn() -> bool) {
    let waiting = async {
        while !happened() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waiting).await.expect("it comes within a minute");
}
