//! `tools`: the list, the filter, one tool.

use serde_json::Value;

use crate::test_folder::TestFolder;

const OWN: [&str; 9] = [
    "get_current_datetime",
    "search_web",
    "control_speaker_volume",
    "math_eval",
    "echo",
    "read_result",
    "tool_search",
    "call_history",
    "server_status",
];

const TWO_MOCKS: &str = "[[tools]]\nname = \"zeta\"\ndescription = \"Last letter\"\n\
    annotations = { destructive = true }\n\
    implementation = { type = \"mock\", mock_response = 1 }\n\
    [[tools]]\nname = \"alpha\"\ndescription = \"First letter\"\n\
    implementation = { type = \"mock\", mock_response = 1 }\n";

fn names(place: &TestFolder, words: &[&str]) -> Vec<String> {
    let ran = place.run(&[&["tools", "--json"], words].concat());
    let Value::Array(tools) = ran.json() else { panic!("{ran:?}") };
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_order_is_that_of_the_config() {
    // TL-5
    assert_eq!(names(&TestFolder::new(), &[]), OWN);
    let place = TestFolder::with_config(TWO_MOCKS);
    assert_eq!(names(&place, &[]), [&OWN[..], &["zeta", "alpha"]].concat());
}

#[test]
fn programs_get_the_whole_of_each_tool() {
    let tools = TestFolder::with_config(TWO_MOCKS).run(&["tools", "--json"]).json();
    for tool in tools.as_array().unwrap() {
        let keys: Vec<_> = tool.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["name", "description", "parameters", "annotations"]);
        assert!(tool["parameters"].is_object() && tool["annotations"].is_object());
    }
    assert_eq!(tools[9]["annotations"]["destructive"], true);
    assert_eq!(tools[4]["annotations"]["read_only"], true);
}

// FT-1
#[test]
fn tools_are_found_by_what_they_do() {
    let place = TestFolder::with_config(TWO_MOCKS);
    let found =
        place.run(&["tools", "--search", "what time is it", "--limit", "2", "--json"]).json();
    let found = found.as_array().unwrap();
    assert_eq!(found.len(), 2);
    let keys: Vec<_> = found[0].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["name", "description", "score"]);
    assert_eq!(found[0]["name"], "get_current_datetime");
    assert!(found[0]["score"].as_f64() > found[1]["score"].as_f64());
    let lines = place.run(&["tools", "--search", "turn the music down"]);
    assert!(lines.stdout.starts_with("control_speaker_volume\t"), "{lines:?}");
    let none = place.run(&["tools", "--search", "xyzzy"]);
    assert!(none.stdout.is_empty() && none.stderr.contains("no tool fits"), "{none:?}");
    assert_eq!(place.run(&["tools", "--search", "xyzzy", "--json"]).json(), Value::Array(vec![]));
}

// FT-4
#[test]
fn what_definitions_cost_is_told() {
    let place = TestFolder::with_config(TWO_MOCKS);
    place.run(&["call", "zeta"]);
    place.run(&["call", "zeta"]);
    let cost = place.run(&["tools", "--cost", "--json"]).json();
    let servers = cost["servers"].as_array().unwrap();
    assert_eq!(servers.len(), 1);
    assert_eq!(servers[0]["server"], Value::Null);
    let tools = servers[0]["tools"].as_array().unwrap();
    let zeta = tools.iter().find(|tool| tool["name"] == "zeta").unwrap();
    assert_eq!(zeta["calls_30d"], 2);
    assert!((10..40).contains(&zeta["tokens"].as_u64().unwrap()), "{zeta}");
    let sum: u64 = tools.iter().map(|tool| tool["tokens"].as_u64().unwrap()).sum();
    assert_eq!(cost["total_tokens"], sum);
    assert_eq!(servers[0]["tokens"], sum);
    assert_eq!(tools.iter().find(|tool| tool["name"] == "alpha").unwrap()["calls_30d"], 0);
    let lines = place.run(&["tools", "--cost"]).stdout;
    assert!(lines.starts_with("local: 11 tools, about "), "{lines}");
    assert!(lines.contains("zeta  2 calls in 30 days\n"), "{lines}");
    assert!(lines.contains("alpha  not called in 30 days\n"), "{lines}");
}

// FT-4
#[test]
fn doctor_warns_of_more_tools_than_clients_take() {
    let tool = |n: usize| {
        format!(
            "[[tools]]\nname = \"t{n}\"\ndescription = \"x\"\n\
             implementation = {{ type = \"mock\", mock_response = 1 }}\n"
        )
    };
    let told = |count: usize, serve: &str| {
        let tools: String = (0..count).map(tool).collect();
        TestFolder::with_config(&format!("{serve}\n{tools}")).run(&["doctor"]).stdout
    };
    assert!(!told(20, "").contains("more than some clients take"));
    let some = told(40, "");
    assert!(some.contains("(Cursor: 40)"), "{some}");
    assert!(
        some.contains("⚠ clients") && some.trim_end().ends_with("all works, with 1 warning"),
        "{some}"
    );
    let many = told(130, "");
    assert!(many.contains("(Cursor: 40, VS Code and OpenAI's API: 128)"), "{many}");
    assert!(!told(40, "[serve]\ndiscovery = \"search\"").contains("more than some clients take"));
    // Each profile has its own count, and its own way of listing.
    let profiles = "[profiles.few]\ntools = ['t1*']\n[profiles.most]\ntools = ['t*']\n\
                    [profiles.searched]\ntools = ['t*']\ndiscovery = 'search'\n";
    let each = told(60, profiles);
    let of = |name: &str| {
        let line = each.lines().find(|line| line.contains(&format!("profile {name}")));
        line.is_some_and(|line| line.starts_with('⚠') && line.contains("(Cursor: 40)"))
    };
    assert_eq!(["few", "most", "searched"].map(of), [false, true, false], "{each}");
}

#[test]
fn a_filter_is_a_name_a_glob_or_a_text() {
    let place = TestFolder::with_config(TWO_MOCKS);
    assert_eq!(names(&place, &["echo"]), ["echo"]);
    assert_eq!(
        names(&place, &["*e*_*t*"]),
        ["get_current_datetime", "read_result", "server_status"]
    );
    assert_eq!(names(&place, &["LETTER"]), ["zeta", "alpha"]);
    let none = place.run(&["tools", "ecko"]);
    assert_eq!((none.status, none.stdout.as_str()), (1, ""), "{none:?}");
    assert!(none.stderr.contains("no tool matches `ecko`; did you mean echo?"), "{none:?}");
    let none = place.run(&["tools", "--json", "nobody_has_this"]);
    assert_eq!((none.status, none.stdout.as_str()), (1, "[]\n"), "{none:?}");
    assert!(place.refusal(&["tools", "[a"]).contains("`[a` is not a glob"));
}

#[test]
fn a_pipe_gets_whole_texts_between_tabs() {
    let config = format!("{TWO_MOCKS}[policy]\ndeny = [\"alpha\"]\n");
    let ran = TestFolder::with_config(&config).run(&["tools", "--all"]);
    let lines: Vec<_> = ran.stdout.lines().collect();
    assert_eq!(lines[9], "zeta\tLast letter\tdestructive");
    assert_eq!(lines[10], "alpha\tFirst letter\tdenied");
    assert_eq!(lines.len(), 11);
    assert!(!ran.stdout.contains('\x1b'), "{ran:?}");
}

// TL-7
#[test]
fn what_the_policy_denies_is_listed_only_when_all_are() {
    let place = TestFolder::with_config(&format!("{TWO_MOCKS}[policy]\ndeny = [\"alpha\"]\n"));
    assert_eq!(names(&place, &[]), [&OWN[..], &["zeta"]].concat());
    assert_eq!(names(&place, &["--all"]), [&OWN[..], &["zeta", "alpha"]].concat());
    let tools = place.run(&["tools", "--all", "--json"]).json();
    assert_eq!((&tools[9]["denied"], &tools[10]["denied"]), (&Value::Null, &Value::Bool(true)));
    let hidden = place.run(&["tools", "alpha"]);
    assert_eq!((hidden.status, hidden.stdout.as_str()), (1, ""), "{hidden:?}");
    assert!(hidden.stderr.contains("`[policy]` denies it; with --all it is shown"), "{hidden:?}");
    assert!(place.run(&["tools", "--all", "alpha"]).stdout.contains("denied"));
    assert_eq!(place.call(&["alpha"])["error_kind"], "denied");
}

#[test]
fn one_tool_is_shown_with_its_parameters() {
    let ran = TestFolder::new().run(&["tools", "control_speaker_volume"]);
    for part in [
        "control_speaker_volume\n  Reads or changes",
        "get | set | up | down | mute | unmute | max",
        "(required)",
        "switchboard call control_speaker_volume action=get",
        "\nSchema\n  {\n    \"type\": \"object\"",
    ] {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
}
