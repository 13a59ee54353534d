//! `doctor`: what it finds, and its exit status.

use serde_json::Value;

use crate::{
    fixture::{NO_DELAY, library, section},
    test_folder::TestFolder,
};

/// The checks of one name, as `status: message`.
fn check(place: &TestFolder, name: &str) -> (i32, Vec<String>) {
    let ran = place.run(&["doctor", "--json"]);
    let report = ran.json();
    assert_eq!(report["ok"], ran.status == 0, "{ran:?}");
    let checks = report["checks"].as_array().unwrap().iter().filter(|check| check["name"] == name);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (
        ran.status,
        checks
            .map(|check| format!("{}: {}", text(&check["status"]), text(&check["message"])))
            .collect(),
    )
}

#[test]
fn an_empty_place_is_well() {
    let place = TestFolder::new();
    let (status, config) = check(&place, "config");
    let says = "info: no config file; built-in tools only (see --config in `switchboard --help`)";
    assert_eq!((status, config), (0, vec![says.to_owned()]));
    let says = "info: not configured; set [builtins.search_web] provider to use it";
    assert_eq!(check(&place, "search_web").1, [says]);
    assert_eq!(check(&place, "mixer").1.len(), 1);
    let state = place.path().join("state/switchboard");
    let says = format!("ok: {}, no calls yet, 0 B of 1 GB, 30 days", state.display());
    assert_eq!(check(&place, "records").1, [says]);
    let text = place.run(&["doctor"]);
    assert!(text.stdout.contains("✓ tools") && text.stdout.ends_with("all is well\n"), "{text:?}");
}

#[test]
fn a_handler_that_does_not_exist_is_broken() {
    // LT-2
    let config = "[[tools]]\nname = \"x\"\ndescription = \"d\"\n\
                  implementation = { type = \"builtin\", handler = \"math_evil\" }\n";
    let place = TestFolder::with_config(config);
    let says = "broken: switchboard.toml:1: tool `x`: Builtin handler 'math_evil' not found; \
                did you mean `math_eval`?";
    assert_eq!(check(&place, "handlers"), (1, vec![says.to_owned()]));
    let (_, read) = check(&place, "config");
    let (read, _) = read[0].split_once(", changed ").unwrap();
    assert_eq!(read, format!("ok: switchboard.toml was read, {} B", config.len()));
    assert!(place.run(&["doctor"]).stdout.ends_with("1 thing is broken\n"));
}

#[test]
fn policy_and_search_are_told() {
    let place = TestFolder::with_config(
        "[policy]\ndeny = [\"echo\"]\n[builtins.search_web]\nprovider = \"duckduckgo\"\n",
    );
    assert_eq!(
        check(&place, "policy"),
        (0, vec!["info: echo is denied by deny \"echo\"".to_owned()])
    );
    assert_eq!(check(&place, "search_web").1, ["ok: searches with DuckDuckGo"]);
    let place = TestFolder::with_config("[policy]\ndeny = [\"search_web\", \"control_*\"]\n");
    assert!(check(&place, "search_web").1.is_empty() && check(&place, "mixer").1.is_empty());
}

#[test]
fn a_broken_config_is_a_finding() {
    let place = TestFolder::with_config("[executor]\ntimeot = 1");
    let (status, config) = check(&place, "config");
    let says =
        "broken: switchboard.toml:2: unknown key `timeot` in [executor]; did you mean `timeout`?";
    assert_eq!((status, config), (1, vec![says.to_owned()]));
    let place = TestFolder::with_config(
        "[[tools]]\nname = \"x\"\ndescription = \"d\"\nimplementation = { type = \"mock\" }\n",
    );
    let (status, config) = check(&place, "config");
    assert_eq!((status, config.len()), (1, 2), "{config:?}");
    assert!(config[1].contains("tool `x`: a mock needs `mock_response`"), "{config:?}");
}

#[test]
fn servers_are_probed() {
    // MC-4, TL-6
    let long = format!("[servers.{}]\n", "x".repeat(70));
    let config = [
        NO_DELAY.to_owned(),
        section("good", "refuses-snake-case,bad-tools,stderr-lines=2,slow-start=300"),
        section("modern", "modern"),
        section("dead", "dies-at-start"),
        section("ignored", "").replace("[servers.ignored]\n", &long),
        section("off", "").replace("[servers.off]\n", "[servers.off]\nenabled = false\n"),
    ];
    let place = TestFolder::with_config(&config.concat());
    let ran = place.run(&["doctor", "--json"]);
    let report = ran.json();
    assert_eq!((ran.status, &report["ok"]), (1, &Value::Bool(false)), "{ran:?}");
    let [good, modern, dead, long] = &report["servers"].as_array().unwrap()[..] else {
        panic!("{report}")
    };
    assert_eq!((&good["state"], &good["type"]), (&"ready".into(), &"stdio".into()), "{good}");
    assert_eq!(
        (&good["protocol"], &good["info"]["version"]),
        (&"2025-11-25".into(), &"1.0.0".into())
    );
    assert_eq!((&good["attempts"], &good["tools"]), (&1.into(), &3.into()), "{good}");
    assert!(good["connect_ms"].as_u64().unwrap() >= 300, "{good}");
    assert!(!good["skipped_tools"].as_array().unwrap().is_empty(), "{good}");
    assert_eq!(good["renames"]["good__set_level"]["device_name"], "deviceName", "{good}");
    assert_eq!(modern["protocol"], "2026-07-28", "{modern}");
    assert_eq!((&dead["state"], &dead["attempts"]), (&"failed".into(), &3.into()), "{dead}");
    let failure = "MCP connection failed after 3 attempts: Connection to stdio server 'dead' failed: \
                   the server exited with status 1; it gets only some environment variables \
                   (`inherit_env = true` gives all)";
    assert_eq!(dead["error"], failure);
    assert!(dead["stderr"].to_string().contains("the device is not there"), "{dead}");
    assert_eq!(long["rejected_names"].as_array().unwrap().len(), 2, "{long}");
    // What becomes of servers stands in their rows, and nowhere else.
    assert!(!ran.stderr.contains('❌') && !ran.stderr.contains("MCP connection failed"), "{ran:?}");
    assert_eq!(check(&place, "servers").1, ["info: switched off in the config: off"]);
    let says = format!("broken: {failure}\nstderr: fatal: the device is not there");
    assert_eq!(check(&place, "server dead").1, [says]);
}

#[test]
fn healthy_servers_are_well() {
    let place = library("books", "");
    let text = place.run(&["doctor"]);
    assert_eq!(text.status, 0, "{text:?}");
    let line = "library 2.1 over stdio, protocol 2025-11-25, 0 tools, connected in 0.";
    assert!(text.stdout.contains(line) && text.stdout.ends_with("all is well\n"), "{text:?}");
    assert!(
        text.stdout.contains("9 tools, 0 of them defined in the config, 0 of servers"),
        "{text:?}"
    );
}

#[test]
fn models_are_looked_at() {
    // ML-6, ML-10
    let config = "[models.claude]\nprovider = \"anthropic\"\nmodel = \"c\"\napi_key = \"sk-hidden\"\n\
                  [models.gpt]\nprovider = \"openai\"\nmodel = \"g\"\n\
                  [models.near]\nprovider = \"openai\"\nmodel = \"n\"\nbase_url = \"http://u:pw@127.0.0.1:1/v1\"\n\
                  [models.away]\nprovider = \"ollama\"\nmodel = \"a\"\nbase_url = \"http://127.0.0.1:1\"\n\
                  [models.few]\nprovider = \"anthropic\"\nmodel = \"c\"\napi_key = \"k\"\ntools = [\"odd*\"]\n\
                  [[tools]]\nname = \"odd.name\"\ndescription = \"d\"\n\
                  parameters = { anyOf = [{ type = \"object\" }, { type = \"object\" }] }\n\
                  implementation = { type = \"mock\", mock_response = 1 }\n";
    let place = TestFolder::with_config(config);
    let ran = place.run(&["doctor", "--json"]);
    let report = ran.json();
    assert_eq!((ran.status, &report["ok"]), (1, &Value::Bool(false)), "{ran:?}");
    let models = report["models"].as_array().unwrap();
    let keys: Vec<_> = models.iter().map(|model| model["key"].as_str().unwrap()).collect();
    assert_eq!(keys, ["config", "missing", "not_needed", "not_needed", "config"]);
    assert!(!ran.stdout.contains("hidden") && !ran.stdout.contains("pw"), "{ran:?}");
    assert_eq!((&models[2]["reachable"], &models[3]["reachable"]), (&false.into(), &false.into()));
    assert_eq!((&models[4]["tools"], &models[0]["tools"]), (&1.into(), &10.into()), "{ran:?}");
    assert_eq!(models[4]["lowered"][0]["sent_as"], "odd_name", "{ran:?}");
    let says = |name: &str| check(&place, name).1.remove(0);
    let sent = "10 tools offered\nsent as odd_name: odd.name\n\
                sent with a simpler schema (--json says how): odd.name";
    let claude = "ok: anthropic c at https://api.anthropic.com, key in the config";
    assert_eq!(says("model claude"), format!("{claude}, {sent}"));
    let (offered, lowered) = sent.split_once('\n').unwrap();
    let gpt = "openai g at https://api.openai.com/v1";
    let missing = "there is no key; set OPENAI_API_KEY, or `api_key`";
    let expected = format!("broken: {gpt}, no key, {offered}\n{missing}\n{lowered}");
    assert_eq!(says("model gpt"), expected);
    assert!(says("model near").contains("at http://127.0.0.1:1/v1, not reachable"));
    assert!(says("model away").contains("is Ollama running?"));
    let place = place.variable("OPENAI_API_KEY", "sk-hidden");
    let says = check(&place, "model gpt").1.remove(0);
    assert_eq!(says, format!("ok: {gpt}, key in the environment, {sent}"));
}

// HM-2
#[test]
fn the_services_of_voice_are_looked_at() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let place = TestFolder::with_config(&format!(
        "[voice]\nmqtt = \"mqtt://127.0.0.1:1\"\nstt = {{ url = \"tcp://{address}\" }}\n"
    ));
    assert_eq!(check(&place, "voice stt").1, [format!("ok: Wyoming tcp://{address}, reachable")]);
    let (status, mqtt) = check(&place, "voice mqtt");
    let says = "broken: mqtt://127.0.0.1:1 cannot be reached: Connection refused (os error 111)";
    assert_eq!((status, mqtt), (1, vec![says.to_owned()]));
}
