//! `resources` and `prompts`: lists of all servers, and one thing of one server (MC-1).

use serde_json::{Value, json};

use crate::{
    fixture::{NO_DELAY, library, section},
    serve::Serving,
    test_folder::TestFolder,
};

#[test]
fn resources_are_listed_and_read() {
    let place = library("books", &section("other", ""));
    let list = place.run(&["resources"]);
    assert_eq!((list.status, list.stderr.as_str()), (0, ""), "{list:?}");
    let expected = "book://one\tbooks\tone\tThe first\nbook://logo\tbooks\tlogo\t\npage://{n}\tbooks\tpage\t\n";
    assert_eq!(list.stdout, expected);
    let json = place.run(&["resources", "--json"]).json();
    let first =
        json!({"server": "books", "uri": "book://one", "name": "one", "description": "The first"});
    assert_eq!(json["resources"][0], first);
    assert_eq!(json["templates"][0]["uriTemplate"], "page://{n}");

    let text = place.run(&["resources", "book://one"]);
    assert_eq!((text.status, text.stdout.as_str()), (0, "Once upon a time\n"), "{text:?}");
    assert_eq!(place.run(&["resources", "page://7"]).stdout, "Page seven\n");
    let json = place.run(&["resources", "book://one", "--json"]).json();
    assert_eq!(json["server"], "books");
    assert_eq!(json["contents"][0]["text"], "Once upon a time");
}

#[test]
fn binary_resources_are_told_or_saved() {
    let place = library("books", "");
    let line = place.run(&["resources", "book://logo"]).stdout;
    assert!(line.starts_with("[image/png, 4 bytes: book://logo; --output FILE"), "{line}");
    let ran = place.run(&["resources", "book://logo", "--output", "logo.png"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (0, ""), "{ran:?}");
    assert_eq!(std::fs::read(place.path().join("logo.png")).unwrap(), [0, 1, 2, 255]);
}

#[test]
fn what_is_not_there_ends_with_1() {
    let place = library("books", "");
    for words in [&["resources", "book://none"][..], &["prompts", "revue"], &["prompts", "review"]]
    {
        let ran = place.run(words);
        assert_eq!((ran.status, ran.stdout.as_str()), (1, ""), "{ran:?}");
    }
    let says = place.run(&["resources", "book://none"]).stderr;
    assert!(says.contains("server `books`: Resource not found"), "{says}");
    let says = place.run(&["prompts", "reviev"]).stderr;
    assert!(says.contains("no server has a prompt `reviev`; did you mean review?"), "{says}");
    let says = place.run(&["prompts", "review"]).stderr;
    assert!(says.contains("server `books`: lines is missing"), "{says}");
    let says = place.refusal(&["resources", "--server", "nobody"]);
    assert!(says.contains("there is no server `nobody` in the config; there are: books"), "{says}");
}

#[test]
fn prompts_are_listed_and_got() {
    let place = library("books", "");
    let list = place.run(&["prompts"]);
    assert_eq!(list.stdout, "review\tbooks\tlines=… [tone=…]\tReviews code\n", "{list:?}");
    assert_eq!(place.run(&["prompts", "--json"]).json()[0]["server"], "books");
    // Arguments of prompts are texts, whatever they look like.
    for name in ["review", "books__review"] {
        let got = place.run(&["prompts", name, "lines=5"]);
        assert_eq!(got.stdout, "user: Review 5 lines\n\nassistant: [image image/png]\n", "{got:?}");
    }
    let json = place.run(&["prompts", "review", r#"{"lines":5}"#, "--json"]).json();
    assert_eq!((&json["server"], &json["messages"][0]["role"]), (&json!("books"), &json!("user")));
}

#[test]
fn one_server_can_be_meant() {
    // TL-6: the other one is not even started.
    let dead = "[servers.dead]\ncommand = \"/no/such/program\"\n";
    let place = library("books", &format!("{NO_DELAY}{dead}"));
    for words in [
        &["resources", "--server", "books"][..],
        &["resources", "book://one", "--server", "books"],
        &["prompts", "books__review", "lines=5"],
    ] {
        let ran = place.run(words);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{ran:?}");
    }
    assert!(place.run(&["resources"]).stderr.contains("❌ Failed to initialize MCP tools"));
}

/// The calls that were written down, the oldest first: tool and outcome.
fn recorded(place: &TestFolder) -> Vec<(Value, Value)> {
    let calls = place.run(&["calls", "--json"]).json();
    let call = |call: &Value| (call["tool"].clone(), call["outcome"].clone());
    calls.as_array().unwrap().iter().rev().map(call).collect()
}

// GW-6: what the command line asks of servers is a call like any other.
#[test]
fn reads_and_prompts_are_recorded_and_judged() {
    let place = library("books", "").file(
        "strict.toml",
        "[policy]\ndeny = [\"*\"]\n[servers.books]\ncommand = \"sh\"\nargs = [\"library.sh\"]\n",
    );
    assert_eq!(place.run(&["resources", "book://one"]).status, 0);
    assert_eq!(place.run(&["prompts", "review", "lines=5"]).status, 0);
    let called = place.call(&["books__resources/read", "uri=page://7"]);
    assert_eq!(called["result"]["content"][0]["text"], "Page seven", "{called}");
    for words in [&["resources", "book://one"][..], &["prompts", "review", "lines=5"]] {
        let ran = place.run(&[words, &["--config", "strict.toml"]].concat());
        assert_eq!((ran.status, ran.stdout.as_str()), (1, ""), "{ran:?}");
        assert!(ran.stderr.contains("is denied by policy: deny \"*\""), "{ran:?}");
    }
    let expected = [
        ("books__resources/read", "ok"),
        ("books__prompts/get", "ok"),
        ("books__resources/read", "ok"),
        ("books__resources/read", "denied"),
        ("books__prompts/get", "denied"),
    ];
    let expected = expected.map(|(tool, outcome)| (json!(tool), json!(outcome)));
    assert_eq!(recorded(&place), expected);
    assert!(!place.run(&["tools"]).stdout.contains("resources/read"));
}

// GW-6, RS-5: a long text is cut on the screen, and whole in a file.
#[test]
fn a_long_resource_is_cut_on_the_screen_and_whole_in_a_file() {
    let place = library("books", "[executor]\nmax_output = 10\n");
    let ran = place.run(&["resources", "book://one"]);
    assert!(ran.stdout.contains("6 of 16 characters are missing here"), "{ran:?}");
    assert!(ran.stderr.contains("--output FILE writes the whole"), "{ran:?}");
    place.run(&["resources", "book://one", "--output", "one.txt"]);
    let whole = std::fs::read_to_string(place.path().join("one.txt")).unwrap();
    assert_eq!(whole, "Once upon a time");
}

// GW-6: rules over calls meet what MCP clients ask beside tools.
#[test]
fn rules_of_the_gateway_meet_reads() {
    let place = library("books", "[serve]\ndeny_if = [\"args.uri == 'book://one'\"]\n");
    let serving = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let read = |uri: &str| {
        let params = json!({"uri": uri, "_meta": meta});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": params});
        let headers = format!(
            "Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: resources/read\r\nMcp-Name: {uri}\r\n"
        );
        serving.ask("POST", "/mcp", &headers, &body.to_string()).1
    };
    crate::fixture::wait_until("the server is there", || read("page://7")["result"].is_object());
    let denied = read("book://one");
    let text = denied["error"]["message"].as_str().unwrap_or_default();
    assert!(text.contains("Tool 'books__resources/read' is denied by policy"), "{denied}");
    let call = |name: &str| {
        serving.ask("POST", &format!("/api/tools/{name}/call"), "", r#"{"uri":"page://7"}"#)
    };
    assert_eq!(call("books__resources%2Fread").0, 200);
    let (_, calls) = serving.ask("GET", "/api/calls?limit=2", "", "");
    assert_eq!(
        (&calls[1]["tool"], &calls[1]["outcome"]),
        (&json!("books__resources/read"), &json!("denied"))
    );
}
