//! Which config is used, and what is said of one that is wrong.

use serde_json::Value;

use crate::test_folder::TestFolder;

/// A config whose mock says who it is.
fn saying(who: &str) -> String {
    format!(
        "[[tools]]\nname = \"who\"\ndescription = \"Which config\"\n\
         implementation = {{ type = \"mock\", mock_response = \"{who}\" }}\n"
    )
}

#[test]
fn the_narrowest_config_wins() {
    let place = TestFolder::new()
        .finding()
        .file("flag.toml", saying("flag"))
        .file("variable.toml", saying("variable"))
        .file("switchboard.toml", saying("here"))
        .file("xdg/switchboard/switchboard.toml", saying("xdg"))
        .file("home/.config/switchboard/switchboard.toml", saying("home"));
    let root = place.path().to_owned();
    let path = |name: &str| root.join(name).display().to_string();
    let place = place.variable("HOME", &path("home"));
    assert_eq!(place.call(&["who"])["result"], "here");
    std::fs::remove_file(root.join("switchboard.toml")).unwrap();
    assert_eq!(place.call(&["who"])["result"], "home");
    let place = place.variable("XDG_CONFIG_HOME", &path("xdg"));
    assert_eq!(place.call(&["who"])["result"], "xdg");
    std::fs::write(root.join("switchboard.toml"), saying("here")).unwrap();
    let place = place.variable("SWITCHBOARD_CONFIG", &path("variable.toml"));
    assert_eq!(place.call(&["who"])["result"], "variable");
    assert_eq!(place.call(&["who", "--config", "flag.toml"])["result"], "flag");
    let before = place.run(&["--config", "flag.toml", "call", "who", "--json"]);
    assert_eq!(before.json()["result"], "flag");
}

#[test]
fn without_a_config_there_are_the_built_ins() {
    let place = TestFolder::new().variable("XDG_CONFIG_HOME", "relative/is/ignored");
    assert_eq!(place.call(&["echo"])["success"], true);
    assert_eq!(place.variable("SWITCHBOARD_CONFIG", "").call(&["echo"])["success"], true);
}

#[test]
fn a_config_that_is_named_must_be_there() {
    let place = TestFolder::new();
    let says = place.refusal(&["tools", "--config", "gone.toml"]);
    assert!(says.contains("`gone.toml`, which --config names"), "{says}");
    let says = place.variable("SWITCHBOARD_CONFIG", "gone.toml").refusal(&["tools"]);
    assert!(says.contains("`gone.toml`, which $SWITCHBOARD_CONFIG names"), "{says}");
    let place = TestFolder::new().file("folder/x", "");
    assert!(
        place.refusal(&["tools", "--config", "folder"]).contains("failed to read config `folder`")
    );
    let place = TestFolder::new().file("switchboard.toml", b"a = 1\nb = \"\xff\"");
    assert!(place.refusal(&["tools"]).contains("switchboard.toml:2: the config must be UTF-8"));
}

#[test]
fn wrong_configs_are_told_with_file_line_and_way_out() {
    for (config, says) in [
        (
            "\n[executor]\ntimeot = \"5s\"",
            "switchboard.toml:3: unknown key `timeot` in [executor]; did you mean `timeout`?",
        ),
        ("[servrs.x]", "switchboard.toml:1: unknown key `servrs` at the top level; "),
        ("[executor]\ntimeout = 5", "switchboard.toml:2: `executor.timeout`: expected a duration"),
        ("[executor]\nmax_concurrent = 0", "switchboard.toml:1: `executor.max_concurrent`: "),
        ("[policy]\ndeny = [\"a[\"]", "switchboard.toml:1: [policy]: error parsing glob 'a['"),
        ("a = \n", "switchboard.toml:1:"),
        (
            "[telemetry]\notlp = \"127.0.0.1:4318\"",
            "switchboard.toml:1: [telemetry]: `otlp` must be",
        ),
        ("[telemetry]\nsample = 2.0", "switchboard.toml:1: [telemetry]: `sample` must be a number"),
        (
            "[builtins.search_web]\nprovider = \"gogle\"",
            "switchboard.toml:2: `builtins.search_web.provider`: expected one of",
        ),
        (
            "[policy]\ndeny = [\"${NO_NAME}\"]",
            "switchboard.toml:2: `policy.deny[0]`: the environment variable `NO_NAME` is not set", // MC-8
        ),
    ] {
        let refusal = TestFolder::with_config(config).refusal(&["call", "echo"]);
        assert!(refusal.contains(says), "{config}\n{refusal}");
    }
}

#[test]
fn variables_come_from_the_environment() {
    let config = "[policy]\ndeny = [\"${DENIED}\", \"$${x}\"]\n\
                  [[tools]]\nname = \"as_it_is\"\ndescription = \"Mock\"\n\
                  implementation = { type = \"mock\", mock_response = \"${DENIED} ${UNSET}\" }\n";
    let place = TestFolder::with_config(config).variable("DENIED", "echo");
    assert_eq!(place.call(&["echo"])["error_kind"], "denied");
    assert_eq!(place.call(&["as_it_is"])["result"], "${DENIED} ${UNSET}");
}

#[test]
fn the_executors_settings_are_heeded() {
    let config = "[executor]\nmax_output = \"1k\"\nstrict = true\n";
    let place = TestFolder::with_config(config);
    let long = format!("text={}", "x".repeat(3000));
    assert_eq!(place.call(&["echo", &long])["truncated"], true);
}

#[test]
fn the_examples_of_the_manuals_load() {
    let config = include_str!("../../../../docs/config.md");
    let servers = include_str!("../../../../docs/servers.md");
    let home = include_str!("../../../../docs/home.md");
    let contract = include_str!("../../../../docs/spec.md");
    for (manual, expected) in [(config, 6), (servers, 5), (home, 1), (contract, 1)] {
        let mut examples = 0;
        for block in manual.split("```").skip(1).step_by(2) {
            let (format, text) = block.split_once('\n').unwrap();
            if !matches!(format, "toml" | "json") {
                continue;
            }
            let name = format!("example.{format}");
            let mut place = TestFolder::new().file(&name, text);
            for variable in ["BRAVE_API_KEY", "DOCS_TOKEN", "GITHUB_TOKEN"] {
                place = place.variable(variable, "key");
            }
            let tool = if text.contains("\"weather\"") { "weather" } else { "echo" };
            let envelope = place.call(&[tool, "city=Berlin", "--config", &name]);
            assert_eq!(envelope["success"], true, "{text}\n{envelope}");
            examples += 1;
        }
        assert_eq!(examples, expected);
    }
}

// HM-2: the unit starts a command that there is, with the config that the manual names.
#[test]
fn the_unit_of_the_examples_starts_what_there_is() {
    let unit = include_str!("../../../../examples/switchboard-voice.service");
    let started = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    let mut words: Vec<&str> = started.split_whitespace().skip(1).collect();
    assert_eq!(words, ["voice", "--config", "/etc/switchboard/switchboard.toml"]);
    assert!(include_str!("../../../../docs/home.md").contains(words[2]));
    // What does not exist is told before any help is given.
    words.push("--help");
    let helped = TestFolder::new().run(&words);
    assert_eq!(helped.status, 0, "{}", helped.stderr);
}

#[test]
fn config_leads_to_the_file_its_problems_and_its_schema() {
    let place = TestFolder::new().finding();
    let folder = place.path().display().to_string();
    let place = place.variable("HOME", &folder);
    let none = place.run(&["config", "path"]);
    let says = "there is no config: neither `./switchboard.toml`, nor `";
    assert!(none.status == 1 && none.stderr.starts_with(says), "{none:?}");
    assert_eq!(place.run(&["config", "check"]).status, 1);
    // `init` names the schema in the first line, and writes it beside the config.
    assert_eq!(place.run(&["init"]).status, 0);
    let own = format!("{folder}/.config/switchboard/switchboard.toml");
    assert_eq!(place.run(&["config", "path"]).stdout, format!("{own}\n"));
    let text = std::fs::read_to_string(&own).unwrap();
    assert!(text.starts_with("#:schema ./switchboard.schema.json\n"), "{text}");
    let beside = own.replace(".toml", ".schema.json");
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(beside).unwrap()).unwrap();
    let printed = place.run(&["config", "schema"]).stdout;
    assert_eq!(serde_json::from_str::<Value>(&printed).unwrap(), schema);
    assert_eq!(schema["properties"]["executor"]["additionalProperties"], false);
    assert_eq!(place.run(&["config", "check"]).stdout, format!("{own} is fine\n"));
    let wrong = place.file("wrong.toml", "[policy]\nask_if = [\"nope(\"]\n");
    let says = wrong.refusal(&["config", "check", "--config", "wrong.toml"]);
    assert!(says.contains("wrong.toml:1:"), "{says}");
    let json = wrong.file("own.json", r#"{"$schema": "./x.json", "executor": {}}"#);
    assert_eq!(json.run(&["config", "check", "--config", "own.json"]).status, 0);
    let alone = json.run(&["config"]);
    assert!(alone.status == 2 && alone.stderr.contains("config schema"), "{alone:?}");
    let here = TestFolder::new().finding();
    assert_eq!(here.run(&["init", "--here"]).status, 0);
    assert!(!here.path().join("switchboard.schema.json").exists());
}

// The nearest name of a section may be another one's.
#[test]
fn sections_that_others_call_otherwise_get_a_hint() {
    for section in ["server", "mcp_servers", "mcpServers", "mcp-server"] {
        let config = format!("[executor]\n\n[{section}.time]\ncommand = \"x\"\n");
        let says = TestFolder::with_config(&config).refusal(&["tools"]);
        let expected = format!(
            "switchboard.toml:3: unknown key `{section}` at the top level; did you mean `servers`?"
        );
        assert!(says.contains(&expected), "{says}");
    }
}
