//! Servers are added, switched off and on and removed over REST, in the config that the gateway has.

use std::fs;

use serde_json::{Value, json};

use crate::{
    fixture::{misbehaving, wait_until},
    serve::Serving,
    test_folder::TestFolder,
};

const CONFIG: &str = "# mine\n[servers.off]\ncommand = \"x\"\nenabled = false\n";

/// A place with a home folder; `config` is named, or there is none.
fn start(config: Option<&str>) -> (TestFolder, Serving) {
    let place = match config {
        Some(config) => TestFolder::with_config(config),
        None => TestFolder::new().finding(),
    };
    let folder = place.path().display().to_string();
    let place =
        place.variable("HOME", &folder).variable("XDG_CONFIG_HOME", &format!("{folder}/config"));
    let serving = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
    (place, serving)
}

fn read(place: &TestFolder, file: &str) -> String {
    fs::read_to_string(place.path().join(file)).unwrap()
}

/// The state of each server.
fn states(serving: &Serving) -> Vec<(String, String)> {
    let (_, servers) = serving.ask("GET", "/api/servers", "", "");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let servers = servers.as_array().unwrap().iter();
    servers.map(|server| (text(&server["name"]), text(&server["state"]))).collect()
}

fn add(serving: &Serving, server: &Value) -> (u16, Value) {
    serving.ask("POST", "/api/servers", "", &server.to_string())
}

// GW-1
#[test]
fn a_server_is_tried_written_and_connected() {
    let (place, serving) = start(Some(CONFIG));
    assert_eq!(states(&serving), [("off".to_owned(), "disabled".to_owned())]);
    let secret = "s3cr3t-0123456789";
    let wanted = json!({"name": "lib", "command": [misbehaving()], "env": {"API_KEY": secret}});
    let (status, added) = add(&serving, &wanted);
    assert_eq!(status, 201, "{added}");
    assert!(added["tools"].as_array().unwrap().contains(&json!("lib__echo")), "{added}");
    assert!(!added.to_string().contains(secret), "{added}");
    // It applies before the answer.
    assert_eq!(states(&serving)[0].0, "lib");
    wait_until("the server is ready", || {
        states(&serving).contains(&("lib".to_owned(), "ready".to_owned()))
    });
    let config = read(&place, "switchboard.toml");
    assert!(config.starts_with(CONFIG) && config.contains("${secret:API_KEY}"), "{config}");
    assert!(place.run(&["secret", "list"]).stdout.contains("API_KEY"));

    assert_eq!(serving.ask("POST", "/api/servers/lib/disable", "", "").0, 204);
    assert!(states(&serving).contains(&("lib".to_owned(), "disabled".to_owned())));
    assert_eq!(serving.ask("POST", "/api/servers/lib/enable", "", "").0, 204);
    assert!(!states(&serving).contains(&("lib".to_owned(), "disabled".to_owned())));
    assert_eq!(serving.ask("DELETE", "/api/servers/lib", "", "").0, 204);
    assert_eq!(read(&place, "switchboard.toml"), CONFIG);
    assert_eq!(serving.ask("DELETE", "/api/servers/lib", "", "").0, 404);
}

// GW-1
#[test]
fn what_cannot_be_added_is_not_written() {
    let (place, serving) = start(Some(CONFIG));
    for (wanted, expected, says) in [
        (json!({"name": "x", "command": ["/nonexistent/program"]}), 400, "/nonexistent/program"),
        (json!({"command": ["y"]}), 400, "needs a name"),
        (json!({"name": "a__b", "command": ["y"]}), 400, "cannot be a server's name"),
        (json!({"name": "off", "command": ["y"]}), 409, "already"),
        (json!({"source": "https://a/mcp", "command": ["y"]}), 400, "not both"),
    ] {
        let (status, said) = add(&serving, &wanted);
        assert_eq!(status, expected, "{said}");
        assert!(said["error"].as_str().unwrap().contains(says), "{said}");
        assert_eq!(read(&place, "switchboard.toml"), CONFIG);
    }
    let (status, said) = serving.ask("POST", "/api/servers/of/enable", "", "");
    assert_eq!(status, 404);
    assert!(said["error"].as_str().unwrap().contains("did you mean `off`?"), "{said}");
    // A config that somebody is in the middle of editing is left alone.
    fs::write(place.path().join("switchboard.toml"), "[servers").unwrap();
    assert_eq!(serving.ask("POST", "/api/servers/off/enable", "", "").0, 409);
    assert_eq!(read(&place, "switchboard.toml"), "[servers");
}

// GW-1
#[test]
fn without_a_config_the_users_own_is_begun() {
    let (place, serving) = start(None);
    let (status, added) = add(&serving, &json!({"name": "lib", "command": [misbehaving()]}));
    assert_eq!(status, 201, "{added}");
    wait_until("the server is ready", || {
        states(&serving) == [("lib".to_owned(), "ready".to_owned())]
    });
    assert!(read(&place, "config/switchboard/switchboard.toml").contains("[servers.lib]"));
    // From now on its changes are seen.
    assert_eq!(serving.ask("DELETE", "/api/servers/lib", "", "").0, 204);
    assert_eq!(states(&serving), []);
}
