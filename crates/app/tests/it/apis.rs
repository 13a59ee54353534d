//! APIs of the config, by the commands that people use (SPEC TK-3).

use serde_json::{Value, json};

use crate::{fixture::wait_until, serving::Serving, test_folder::TestFolder};

const PETS: &str = "openapi: 3.0.3\ninfo: {title: Pets, version: '1.2'}\npaths:\n  /pets/{id}:\n    get: {operationId: showPet, summary: Shows a pet, \
                    responses: {'200': {description: ok}}}\n    delete: {operationId: pets/remove, responses: {'204': {description: gone}}}\n  \
                    /odd: {get: {parameters: [{$ref: '#/gone'}]}}\n";

fn pets(more: &str) -> TestFolder {
    let config =
        format!("[apis.pets]\nopenapi = \"pets.yaml\"\nbase_url = \"http://127.0.0.1:9\"\n{more}");
    TestFolder::with_config(&config).file("pets.yaml", PETS)
}

fn json_of(place: &TestFolder, words: &[&str]) -> Value {
    let ran = place.run(words);
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
}

// TK-3
#[test]
fn operations_are_tools_everywhere() {
    let place = pets("");
    let ran = place.run(&["tools", "pets__*", "--json"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    // What is skipped is logged once.
    assert_eq!(
        ran.stderr.matches("GET /odd: it refers to `#/gone`, which is not there").count(),
        1,
        "{ran:?}"
    );
    let tools: Value = serde_json::from_str(&ran.stdout).unwrap();
    let names: Vec<_> =
        tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["pets__showPet", "pets__pets_remove"]);
    assert_eq!(tools[0]["description"], "Shows a pet");
    assert_eq!(tools[0]["server"], "pets");
    assert_eq!(tools[1]["annotations"]["destructive"], true);

    let servers = json_of(&place, &["servers", "--json"]);
    assert_eq!(
        (&servers[0]["name"], &servers[0]["type"], &servers[0]["state"], &servers[0]["tools"]),
        (&json!("pets"), &json!("openapi"), &json!("ready"), &json!(2))
    );
    let doctor = json_of(&place, &["doctor", "--json"]);
    let found = &doctor["servers"][0];
    assert_eq!(
        found["skipped_tools"],
        json!(["GET /odd: it refers to `#/gone`, which is not there"])
    );
    let check = doctor["checks"]
        .as_array()
        .unwrap()
        .iter()
        .find(|check| check["name"] == "server pets")
        .unwrap();
    let said = check["message"].as_str().unwrap();
    assert!(
        said.starts_with(
            "Pets 1.2 over openapi, protocol 3.0.3, 2 tools, connected\nskipped: GET /odd"
        ),
        "{said}"
    );

    let called = json_of(&place, &["call", "pets__showPet", "id=7", "--json"]);
    assert_eq!(called["error_kind"], "unavailable", "{called}");
    let wrong = json_of(&place, &["call", "pets__showPet", "{}", "--json"]);
    assert_eq!(wrong["error_kind"], "invalid_parameters", "{wrong}");
    let mistyped = json_of(&place, &["call", "pets__showPets", "{}", "--json"]);
    assert_eq!(mistyped["error_kind"], "not_found", "{mistyped}");
}

// TK-3
#[test]
fn what_is_wrong_with_an_api_is_said_with_its_line() {
    for (config, says) in [
        ("[apis.a]\n", "switchboard.toml:1: "),
        ("[apis.a]\nopenapi = 'x'\nbase = 'y'\n", "switchboard.toml:3: unknown key `base`"),
        ("[apis.a]\nopenapi = 'x'\ninclude = ['[']\n", "switchboard.toml:1: API `a`: `include`: "),
        (
            "[servers.a]\ncommand = 'true'\n[apis.a]\nopenapi = 'x'\n",
            "switchboard.toml:3: API `a`: a server has this name",
        ),
        ("[apis.a__b]\nopenapi = 'x'\n", "must not have `__` in it"),
    ] {
        let ran = TestFolder::with_config(config).run(&["tools"]);
        assert_eq!(ran.status, 2, "{ran:?}");
        assert!(ran.stderr.contains(says), "{says}\n{}", ran.stderr);
    }
    let place = TestFolder::with_config(
        "[apis.a]\nopenapi = 'gone.yaml'\n[apis.b]\nopenapi = '${NOWHERE}'\n",
    );
    let ran = place.run(&["tools", "echo"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(
        ran.stderr.contains("API 'a' cannot be used: failed to read `gone.yaml`"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains("API 'b' is skipped: the environment variable NOWHERE is not set"),
        "{}",
        ran.stderr
    );
    let doctor = place.run(&["doctor"]);
    assert_eq!(doctor.status, 1, "{doctor:?}");
    assert!(doctor.stdout.contains("skipped: the environment variable NOWHERE"), "{doctor:?}");
    let call = json_of(&place, &["call", "b__x", "{}", "--json"]);
    assert_eq!(call["error"], "API 'b' is skipped: the environment variable NOWHERE is not set");
}

// TK-3, PO-3
#[test]
fn a_config_that_was_found_needs_trust_for_its_apis() {
    let place = pets("").finding();
    let says = place.refusal(&["tools"]);
    for part in
        ["  read     the file pets.yaml (API pets)\n", "  connect  http://127.0.0.1:9 (API pets)"]
    {
        assert!(says.contains(part), "{says}");
    }
}

// TK-3
#[test]
fn our_own_description_taken_in_again_gives_the_same_results() {
    let upstream = TestFolder::with_config(
        "[[tools]]\nname = 'greet'\ndescription = 'Greets'\nparameters = { type = 'object', properties = { name = { type = 'string' }, headers = { type = 'array', items = { type = 'integer' } } }, required = ['name'] }\nimplementation = { type = 'mock', mock_response = { hello = ['wörld', 1.50] } }\n",
    );
    let gateway = Serving::start(&upstream, &["--listen", "127.0.0.1:0"]);
    let address = &gateway.address;
    let place = TestFolder::with_config(&format!(
        "[apis.self]\nopenapi = \"http://{address}/openapi.json\"\ninclude = [\"call_tool*\"]\n"
    ));
    for (tool, args) in [
        ("greet", json!({"name": "a", "headers": [1]})),
        ("greet", json!({"name": 3})),
        ("math_eval", json!({"expression": "2 inch to cm"})),
        ("math_eval", json!({"expression": "2+"})),
        ("get_current_datetime", json!({"timezone": "Nowhere"})),
    ] {
        let direct = gateway.ask("POST", &format!("/api/tools/{tool}/call"), "", &args.to_string());
        let again = json_of(
            &place,
            &["call", &format!("self__call_tool_{tool}"), &args.to_string(), "--json"],
        );
        match direct.0 {
            200 => assert_eq!(again["result"]["result"], direct.1["result"], "{tool}: {again}"),
            // The schema refuses it before it is sent, or the gateway's answer is told.
            _ => assert_eq!(again["success"], false, "{tool}: {again}"),
        }
        if direct.0 == 422 {
            assert!(
                ["invalid_parameters", "tool_error"]
                    .contains(&again["error_kind"].as_str().unwrap()),
                "{again}"
            );
        }
    }
    let tools = json_of(&place, &["tools", "self__*", "--json"]);
    assert!(tools.as_array().unwrap().len() > 5, "{tools}");
}

// TK-3
#[test]
fn a_running_gateway_follows_the_config() {
    let place = pets("");
    let gateway = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
    let listed = || {
        let (_, tools) = gateway.ask("GET", "/api/tools", "", "");
        let tools = tools.as_array().cloned().unwrap_or_default();
        let own = tools.into_iter().filter(|tool| tool["server"] == "pets");
        own.map(|tool| tool["name"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    wait_until("the tools are listed", || listed() == ["pets__showPet", "pets__pets_remove"]);
    let (status, shown) = gateway.ask("GET", "/api/servers/pets", "", "");
    assert_eq!(
        (status, &shown["kind"], &shown["state"], &shown["protocol"]),
        (200, &json!("openapi"), &json!("ready"), &json!("3.0.3"))
    );
    assert_eq!(shown["skipped_tools"].as_array().unwrap().len(), 1, "{shown}");
    let config = "[apis.pets]\nopenapi = \"pets.yaml\"\nbase_url = \"http://127.0.0.1:9\"\nexclude = [\"DELETE *\"]\n";
    std::fs::write(place.path().join("switchboard.toml"), config).unwrap();
    gateway.signal("-HUP");
    wait_until("the tools are listed", || listed() == ["pets__showPet"]);
    std::fs::write(place.path().join("switchboard.toml"), "").unwrap();
    gateway.signal("-HUP");
    wait_until("the tools are listed", || listed().is_empty());
}
