//! What a missing variable skips, and what works all the same (MC-8).

use serde_json::Value;

use crate::{
    fixture::{misbehaving, section},
    test_folder::TestFolder,
};

const SAYS: &str = "Server 'docs' is skipped: the environment variable DOCS_TOKEN is not set";

/// The first TOML block of the README under this heading.
fn readme(heading: &str) -> String {
    let readme = include_str!("../../../../README.md");
    let section = readme.split(&format!("\n## {heading}\n")).nth(1).expect("the README has it");
    let block = section.split("```toml\n").nth(1).expect("the section has a block");
    block.split("```").next().unwrap_or_default().to_owned()
}

/// A server that wants a token, beside one that works.
fn place() -> TestFolder {
    let docs = "[servers.docs]\nurl = \"http://127.0.0.1:1/mcp\"\nprefix = \"d\"\n\
                headers = { Authorization = \"Bearer ${DOCS_TOKEN}\" }\n";
    TestFolder::with_config(&format!("{docs}{}", section("good", "")))
}

#[test]
fn the_readmes_snippet_works_without_its_token() {
    let snippet = readme("MCP servers");
    assert!(snippet.contains("${DOCS_TOKEN}"), "{snippet}");
    let place = TestFolder::with_config(&snippet);
    let ran = place.run(&["call", "math_eval", "expression=2+2", "--text"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "{\"result\":4}\n"), "{ran:?}");
    assert_eq!(ran.stderr.matches(SAYS).count(), 1, "{ran:?}");
    let envelope = place.call(&["docs__search"]);
    assert_eq!(
        (&envelope["error_kind"], &envelope["error"]),
        (&"unavailable".into(), &SAYS.into())
    );
}

#[test]
fn the_whole_config_of_the_manual_works_without_its_key() {
    let manual = include_str!("../../../../docs/config.md");
    let blocks = manual.split("```toml\n").skip(1).filter_map(|block| block.split("```").next());
    let whole = blocks.filter(|block| block.contains("${BRAVE_API_KEY}"));
    let [whole] = whole.collect::<Vec<_>>()[..] else { panic!("there is one whole config") };
    let place = TestFolder::with_config(whole);
    assert_eq!(place.call(&["weather", "city=Berlin"])["success"], true);
    let says = "Tool 'search_web' is skipped: the environment variable BRAVE_API_KEY is not set";
    assert_eq!(place.error(&["search_web", "query=x"]), says);
}

#[test]
fn everything_else_works() {
    let place = place();
    let ran = place.run(&["tools", "--json"]);
    assert!(ran.status == 0 && ran.stdout.contains("good__echo"), "{ran:?}");
    assert_eq!(ran.stderr.matches("is skipped").count(), 1, "{ran:?}");
    assert_eq!(place.call(&["good__echo", "text=x"])["success"], true);
    // By its own prefix too, which stays its own (TL-4).
    assert_eq!(place.error(&["d__search", "q=x"]), SAYS);
    let status = place.call(&["server_status"]);
    assert_eq!(place.call(&["docs__resources/read", "uri=x"])["error"], SAYS, "{status}");
    let place = place.variable("DOCS_TOKEN", "x");
    let says = place.error(&["docs__search"]);
    assert!(says.starts_with("MCP connection failed"), "{says}");
}

#[test]
fn no_other_server_takes_a_skipped_ones_prefix() {
    // TL-4: `good` lists tools under the prefix of `docs`.
    let config = "[servers.docs]\ncommand = \"${DOCS_TOKEN}\"\n";
    let other =
        section("other", "").replace("[servers.other]\n", "[servers.other]\nprefix = \"docs\"\n");
    let place = TestFolder::with_config(&format!("{config}{other}"));
    assert_eq!(place.error(&["docs__echo", "text=x"]), SAYS);
    let tools = place.run(&["tools", "--json"]);
    assert!(tools.stdout.contains("\"other__echo\""), "{tools:?}");
}

#[test]
fn tools_are_skipped_one_by_one() {
    let defined = |name: &str, description: &str, handler: &str| {
        format!(
            "[[tools]]\nname = {name:?}\ndescription = {description:?}\n\
             implementation = {{ type = \"builtin\", handler = {handler:?} }}\n"
        )
    };
    let config = [
        "[builtins.search_web]\nprovider = \"brave\"\napi_key = \"${BRAVE_API_KEY}\"\n".to_owned(),
        defined("echo_it", "of ${PLACE}", "echo"),
        defined("look_up", "Searches.", "search_web"),
        // A server's tool of the same name does not take the calls of the skipped one.
        section("good", ""),
        defined("add", "${NUMBER}", "echo"),
    ];
    let place = TestFolder::with_config(&config.concat());
    let says = |name: &str, variable: &str| {
        format!("Tool '{name}' is skipped: the environment variable {variable} is not set")
    };
    for (call, error) in [
        (&["search_web", "query=x"][..], says("search_web", "BRAVE_API_KEY")),
        // Its handler is skipped.
        (&["look_up", "query=x"], says("look_up", "BRAVE_API_KEY")),
        (&["echo_it", "text=x"], says("echo_it", "PLACE")),
        (&["add", "a=1", "b=2"], says("add", "NUMBER")),
    ] {
        let envelope = place.call(call);
        assert_eq!(envelope["error_kind"], "unavailable", "{envelope}");
        assert_eq!(envelope["error"], error.as_str(), "{envelope}");
    }
    assert_eq!(place.call(&["good__add", "a=1", "b=2"])["success"], true);
    let tools = place.run(&["tools", "--json"]);
    let Value::Array(listed) = tools.json() else { panic!("{tools:?}") };
    let names: Vec<_> =
        listed.iter().map(|tool| tool["name"].as_str().unwrap_or_default()).collect();
    assert!(!names.contains(&"search_web") && !names.contains(&"echo_it"), "{names:?}");
    assert!(names.contains(&"look_up") && names.contains(&"good__add"), "{names:?}");
    let doctor = place.run(&["doctor"]);
    assert_eq!(doctor.status, 1, "{doctor:?}");
    for name in ["search_web", "echo_it", "add"] {
        assert!(doctor.stdout.contains(&format!("✗ tool {name}")), "{doctor:?}");
    }
}

#[test]
fn a_skipped_local_tool_starts_no_server() {
    let place = TestFolder::with_config(&format!(
        "[[tools]]\nname = \"x\"\ndescription = \"${{GONE}}\"\n\
         implementation = {{ type = \"builtin\", handler = \"echo\" }}\n\
         [servers.s]\ncommand = \"sh\"\nargs = [\"-c\", \"touch started; exec {}\"]\n",
        misbehaving()
    ));
    let says = "Tool 'x' is skipped: the environment variable GONE is not set";
    assert_eq!(place.error(&["x"]), says);
    assert!(!place.path().join("started").exists());
}

#[test]
fn models_are_skipped_one_by_one() {
    let config =
        "[models.cloud]\nprovider = \"openai\"\nmodel = \"g\"\napi_key = \"${CLOUD_KEY}\"\n";
    let place = TestFolder::with_config(config);
    let says = "Model 'cloud' is skipped: the environment variable CLOUD_KEY is not set";
    for words in [&["ask", "hi"][..], &["ask", "-m", "cloud", "hi"]] {
        let refusal = place.refusal(words);
        assert!(refusal.contains(&format!("error: {says}\n")), "{refusal}");
    }
    assert_eq!(place.call(&["math_eval", "expression=1+1"])["success"], true);
    // Another model of the config is asked instead.
    let near =
        "[models.near]\nprovider = \"ollama\"\nmodel = \"m\"\nbase_url = \"http://127.0.0.1:1\"\n";
    let place = TestFolder::with_config(&format!("{config}{near}"));
    let ran = place.run(&["ask", "hi"]);
    assert!(ran.status != 0 && ran.stderr.contains("127.0.0.1:1"), "{ran:?}");
    let doctor = place.run(&["doctor"]);
    let row = "✗ model cloud";
    assert!(doctor.status == 1 && doctor.stdout.contains(row), "{doctor:?}");
    assert!(
        doctor.stdout.contains("skipped: the environment variable CLOUD_KEY is not set"),
        "{doctor:?}"
    );
}

#[test]
fn doctor_shows_what_is_skipped_in_rows_alone() {
    let place = place();
    let ran = place.run(&["doctor"]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert_eq!(ran.stderr, "", "{ran:?}");
    let row = "✗ server docs  skipped: the environment variable DOCS_TOKEN is not set\n";
    assert!(ran.stdout.contains(row), "{ran:?}");
    assert!(
        ran.stdout.contains("✓ server good") && ran.stdout.ends_with("1 thing is broken\n"),
        "{ran:?}"
    );
    let report = place.run(&["doctor", "--json"]).json();
    let states: Vec<_> = report["servers"].as_array().into_iter().flatten().collect();
    assert_eq!((&states[0]["state"], &states[1]["state"]), (&"skipped".into(), &"ready".into()));
}

#[test]
fn a_config_of_the_wrong_shape_is_still_refused() {
    let refusal =
        TestFolder::with_config("[audit]\npath = \"${GONE}\"\n").refusal(&["call", "echo"]);
    let says = "switchboard.toml:2: `audit.path`: the environment variable `GONE` is not set";
    assert!(refusal.contains(says), "{refusal}");
}
