//! What a server is started with, and commands that cannot be started.

use std::{collections::BTreeMap, env, path::PathBuf, sync::Arc};

use serde_json::{Value, json};
use switchboard_mcp_client::{StdioConfig, StdioTransport, Transport};
use switchboard_process::environment;
use switchboard_process::guard::ProcessGuard;

use super::support::{Directory, RecordingInbox, Server, bounded, config, unguarded};

/// What the server says about its environment.
async fn environment(config: &StdioConfig) -> Value {
    let server = Server::start_with(config);
    let result = bounded(server.call("environment", json!({}))).await.unwrap();
    server.close().await;
    serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap()
}

// MC-7: a minimal environment plus what the config names.
#[tokio::test]
async fn the_environment_is_minimal() {
    let here = env::vars().filter(|(name, _)| environment::is_inherited(name));
    let mut expected: BTreeMap<String, Value> =
        here.map(|(name, value)| (name, json!(value))).collect();
    // Cargo sets variables of its own for tests.
    assert!(
        env::var_os("CARGO_MANIFEST_DIR").is_some() && !expected.contains_key("CARGO_MANIFEST_DIR")
    );
    expected.insert("API_KEY".to_owned(), json!("secret"));
    expected.insert("LANG".to_owned(), json!("eo"));
    for start in [config, unguarded] {
        let mut config = start("env");
        config.env.insert("API_KEY".to_owned(), "secret".to_owned());
        config.env.insert("LANG".to_owned(), "eo".to_owned());
        assert_eq!(environment(&config).await["variables"], json!(expected));
        assert!(!format!("{config:?}").contains("secret"));
    }
}

// MC-7: `inherit_env = true` opts out.
#[tokio::test]
async fn all_of_the_environment_on_demand() {
    let mut config = config("env");
    config.inherit_env = true;
    let inherited = environment(&config).await;
    for (name, value) in env::vars() {
        assert_eq!(inherited["variables"][&name], json!(value), "{name}");
    }
}

#[tokio::test]
async fn a_working_directory_is_used() {
    let directory = Directory::new("working-directory");
    let path = directory.file("here");
    std::fs::create_dir(&path).unwrap();
    let mut config = config("env");
    config.cwd = Some(path.clone());
    assert_eq!(environment(&config).await["directory"], json!(path.canonicalize().unwrap()));
    config.cwd = Some(PathBuf::from("/nonexistent/place"));
    assert_eq!(start_error(&config), "the working directory '/nonexistent/place' does not exist");
}

fn start_error(config: &StdioConfig) -> String {
    let heard = Arc::new(RecordingInbox::default());
    match StdioTransport::start("test", config, heard) {
        Ok(_) => panic!("it started"),
        Err(error) => error.to_string(),
    }
}

// MC-2: the reason names the command.
#[tokio::test]
async fn a_command_that_cannot_be_started_is_named() {
    let mut config = StdioConfig::new("no-such-command");
    let expected = "cannot start 'no-such-command': No such file or directory";
    assert_eq!(start_error(&config), expected);

    config.guard = Some(super::support::guard());
    let server = Server::start_with(&config);
    let failure = bounded(server.request("initialize", &json!({}))).await.unwrap_err();
    assert_eq!(failure.to_string(), expected);
    assert_eq!(bounded(server.transport.lost()).await, expected);
    server.close().await;

    config.guard = Some(ProcessGuard { program: "/nonexistent/guard".into(), args: Vec::new() });
    let expected = "cannot start '/nonexistent/guard': No such file or directory";
    assert_eq!(start_error(&config), expected);
}

// MC-7: arguments reach the command as they are, also those that look like ours.
#[tokio::test]
async fn arguments_are_passed_on_as_they_are() {
    for start in [config, unguarded] {
        let mut config = start("");
        "/bin/sh".clone_into(&mut config.command);
        let script = "for argument; do echo \"[$argument]\" >&2; done";
        config.args =
            ["-c", script, "sh", "--", "__guard", "a b", "", "$HOME"].map(str::to_owned).into();
        let server = Server::start_with(&config);
        assert_eq!(bounded(server.transport.lost()).await, "the server exited with status 0");
        let expected = ["[--]", "[__guard]", "[a b]", "[]", "[$HOME]"];
        assert_eq!(server.transport.stderr_tail(), expected);
    }
}

// MC-3: a slow server is waited for by those who call it; starting it takes no time.
#[tokio::test]
async fn a_slow_start_holds_up_its_callers_only() {
    let server = Server::start("slow-start=300");
    assert_eq!(server.echo("finally").await, "finally");
    server.close().await;
}
