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

/// What differs from call to call.
const VOLATILE: [&str; 7] =
    ["execution_time_ms", "call_id", "id", "datetime", "date", "time", "unix"];

fn without_volatile(mut value: Value) -> Value {
    match &mut value {
        Value::Object(members) => {
            members.retain(|key, _| !VOLATILE.contains(&&**key));
            members.values_mut().for_each(|member| *member = without_volatile(member.take()));
        }
        Value::Array(items) => {
            items.iter_mut().for_each(|item| *item = without_volatile(item.take()));
        }
        _ => {}
    }
    value
}

/// Calls a tool, directly and as an operation of the description; returns whether both succeeded.
fn assert_same(direct: &Serving, again: &Serving, tool: &Value, args: &Value) -> bool {
    let name = tool["name"].as_str().unwrap();
    let (status, own) = direct.ask("POST", &call_path(name), "", &args.to_string());
    let operation = format!("self__call_tool_{name}");
    let (_, listed) = again.ask("GET", &format!("/api/tools/{operation}"), "", "");
    // The whole body is one argument if a name would clash with the operation's own.
    let is_whole = listed["parameters"]["properties"]["body"].is_object();
    let sent = if is_whole { json!({"body": args}) } else { args.clone() };
    let (_, theirs) = again.ask("POST", &call_path(&operation), "", &sent.to_string());
    let shown = || format!("{name} {args}: {own}\n{theirs}");
    assert_eq!(own["success"], theirs["success"], "{}", shown());
    if own["success"] == true {
        let through = without_volatile(theirs["result"].clone());
        assert_eq!(without_volatile(own.clone()), through, "{}", shown());
        return true;
    }
    let told = theirs["error"].as_str().unwrap();
    match told.split_once(&format!(" answered {status} ")) {
        // The gateway's answer is told, whole.
        Some((_, answer)) => {
            let (_, answer) = answer.split_once(": ").unwrap();
            let answer: Value = serde_json::from_str(answer).expect(answer);
            assert_eq!(without_volatile(own.clone()), without_volatile(answer), "{}", shown());
        }
        // The operation's schema refuses what the tool's does, and says the same.
        None => {
            assert_eq!(own["error_kind"], "invalid_parameters", "{}", shown());
            assert_eq!(theirs["error_kind"], "invalid_parameters", "{}", shown());
            assert!(is_whole || own["error"] == theirs["error"], "{}", shown());
        }
    }
    false
}

fn call_path(tool: &str) -> String {
    format!("/api/tools/{tool}/call")
}

/// Arguments of a tool that it can run with, and of some that fail in it; `cut` is the id of a result that was cut.
fn own_cases(tool: &str, cut: &str) -> Vec<Value> {
    match tool {
        "greet" => vec![json!({"name": "a", "headers": [1]})],
        "clash" => vec![json!({"text": "a member that a parameter is called", "body": 1})],
        "fail" => vec![json!({"name": "a"})],
        "math_eval" => vec![json!({"expression": "2 inch to cm"}), json!({"expression": "2+"})],
        "get_current_datetime" => {
            vec![json!({"timezone": "Asia/Tokyo"}), json!({"timezone": "Nowhere"})]
        }
        "echo" => vec![json!({"text": "x", "wörld": [1.50, null]})],
        "read_result" => vec![json!({"id": cut, "limit": 10}), json!({"id": "gone"})],
        "tool_search" => vec![json!({"query": "say hello", "limit": 2})],
        "call_history" => vec![json!({"limit": 0}), json!({"tool": "nobody"})],
        "server_status" => vec![json!({})],
        // Not set up here, which is an error as well.
        "search_web" => vec![json!({"query": "x"})],
        "control_speaker_volume" => vec![json!({"action": "get"})],
        _ => panic!("`{tool}` has no cases here: give it some"),
    }
}

// TK-3: every visible tool, with success and with errors.
#[test]
fn our_own_description_taken_in_again_gives_the_same_results() {
    let mock = |name: &str, parameters: &str, implementation: &str| {
        format!(
            "[[tools]]\nname = '{name}'\ndescription = 'Says hello'\nparameters = {{ type = 'object', {parameters} }}\n\
             implementation = {implementation}\n"
        )
    };
    let hello = "{ type = 'mock', mock_response = { hello = ['wörld', 1.50] } }";
    let greet = "properties = { name = { type = 'string' }, headers = { type = 'array', items = { type = 'integer' } } }, required = ['name']";
    let clash = "properties = { text = { type = 'string' }, body = { type = 'integer' } }";
    let upstream = TestFolder::with_config(
        &[
            mock("greet", greet, hello),
            mock("clash", clash, hello),
            mock("fail", greet, "{ type = 'command', program = 'false' }"),
        ]
        .concat(),
    );
    let direct = Serving::start(&upstream, &["--listen", "127.0.0.1:0"]);
    let address = &direct.address;
    let place = TestFolder::with_config(&format!(
        "[apis.self]\nopenapi = \"http://{address}/openapi.json\"\ninclude = [\"call_tool*\"]\n"
    ));
    let again = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
    let ready = || again.ask("GET", "/api/tools/self__call_tool_greet", "", "").0 == 200;
    wait_until("the description is taken in", ready);
    let long = json!({"text": "x y ".repeat(30_000)}).to_string();
    let cut = direct.ask("POST", &call_path("echo"), "", &long).1;
    let cut = cut["artifacts"][0]["id"].as_str().expect("a cut result").to_owned();
    let (_, tools) = direct.ask("GET", "/api/tools", "", "");
    let tools = tools.as_array().unwrap();
    let (mut succeeded, mut failed) = (Vec::new(), Vec::new());
    for tool in tools {
        let name = tool["name"].as_str().unwrap();
        let mut cases = own_cases(name, &cut);
        // Each parameter with a value of a wrong type.
        if let Some(properties) = tool["parameters"]["properties"].as_object() {
            cases.extend(properties.keys().map(|key| json!({key: {"wrong": []}})));
        }
        for args in cases {
            let list = match assert_same(&direct, &again, tool, &args) {
                true => &mut succeeded,
                false => &mut failed,
            };
            list.push(name);
        }
    }
    assert!(tools.len() >= 12, "{tools:?}");
    for tool in tools {
        let name = tool["name"].as_str().unwrap();
        // What the machine lacks decides about these.
        let is_set_up = !["search_web", "control_speaker_volume", "fail"].contains(&name);
        assert!(!is_set_up || succeeded.contains(&name), "{name} never succeeded");
        let can_fail = !["echo", "server_status"].contains(&name);
        assert!(!can_fail || failed.contains(&name), "{name} never failed");
    }
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
