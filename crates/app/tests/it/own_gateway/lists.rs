//! Resources, prompts, `doctor` and `policy test` through the gateway: no server is started a second time.

use std::fs;

use serde_json::{Value, json};

use super::{serve, starts};
use crate::{
    fixture::{LIBRARY, misbehaving, section, wait_until},
    test_folder::TestFolder,
};

/// The library, which writes a line into `starts` with each start, and a server without any resources.
fn place() -> TestFolder {
    let library = "[servers.books]\ncommand = \"sh\"\nargs = [\"-c\", \"echo start >> starts; exec sh library.sh\"]\n";
    let config = format!("{library}{}", section("s", ""));
    TestFolder::with_config(&config).file("library.sh", LIBRARY)
}

// GW-6
#[test]
fn resources_and_prompts_are_the_same_alone_and_through_the_gateway() {
    let place = place();
    let cases: &[&[&str]] = &[
        &["resources"],
        &["resources", "--json"],
        &["resources", "--server", "s"],
        &["resources", "--server", "nobody"],
        &["resources", "book://one"],
        &["resources", "book://one", "--json"],
        &["resources", "book://logo", "-o", "out.png"],
        &["resources", "page://7", "--server", "books"],
        &["resources", "nowhere://x"],
        &["prompts"],
        &["prompts", "--json"],
        &["prompts", "review", "lines=5"],
        &["prompts", "books__review", "lines=5", "--json"],
        &["prompts", "review"],
        &["prompts", "revue"],
    ];
    let serving = serve(&place);
    wait_until("the library is connected", || {
        let servers = place.run(&["servers", "--json"]).json();
        servers[0]["state"] == "ready"
    });
    let before = starts(&place);
    let run = |words: &[&str]| {
        let file = place.path().join("out.png");
        _ = fs::remove_file(&file);
        let ran = place.run(words);
        // The log of the call is the gateway's.
        let told = ran.stderr.lines().filter(|line| !line.contains(" WARN "));
        (ran.status, ran.stdout, told.collect::<Vec<_>>().join("\n"), fs::read(&file).ok())
    };
    let through: Vec<_> = cases.iter().map(|words| run(words)).collect();
    assert_eq!(starts(&place), before, "none of them started it again");
    for (words, through) in cases.iter().zip(through) {
        assert_eq!(through, run(&[&["--alone"], *words].concat()), "{words:?}");
    }
    assert!(starts(&place) > before);
    let calls = place.run(&["calls", "--json", "--tool", "books__*"]).json();
    let clients: Vec<_> = calls.as_array().unwrap().iter().map(|call| &call["caller"]).collect();
    assert!(clients.contains(&&json!("command line")), "{calls}");
    drop(serving);
}

// GW-6
#[test]
fn a_long_resource_is_written_whole() {
    let long = "x".repeat(5000);
    let script = LIBRARY.replace("Once upon a time", &long);
    let place = TestFolder::with_config(
        "[executor]\nmax_output = 1000\n[servers.books]\ncommand = \"sh\"\nargs = [\"library.sh\"]\n",
    )
    .file("library.sh", script);
    let _serving = serve(&place);
    for words in [&[][..], &["--alone"]] {
        let shown = place.run(&[words, &["resources", "book://one"]].concat());
        assert!(
            shown.stderr.contains("the text is cut; --output FILE writes the whole"),
            "{shown:?}"
        );
        let saved = place.run(&[words, &["resources", "book://one", "-o", "book.txt"]].concat());
        assert_eq!(saved.status, 0, "{saved:?}");
        assert_eq!(fs::read_to_string(place.path().join("book.txt")).unwrap(), long, "{words:?}");
    }
}

#[test]
fn doctor_asks_the_gateway_how_its_servers_are() {
    let program = misbehaving();
    let script = format!("echo start >> starts; exec {program} refuses-snake-case");
    let config = format!(
        "[servers.s]\ncommand = \"sh\"\nargs = [\"-c\", {script:?}]\n{}[servers.unset]\ncommand = \"${{NOT_SET}}\"\n",
        section("dead", "dies-at-start")
    );
    let place = TestFolder::with_config(&format!("[mcp]\nretry_attempts = 1\n{config}"));
    let _serving = serve(&place);
    let listed = |words: &[&str]| {
        let mut found = place.run(&[words, &["doctor", "--json"]].concat()).json();
        let mut servers = found["servers"].take();
        for server in servers.as_array_mut().unwrap() {
            for key in ["connect_ms", "attempts", "stderr", "error"] {
                server.as_object_mut().unwrap().shift_remove(key);
            }
        }
        (found["ok"].clone(), servers)
    };
    wait_until("its servers have settled", || {
        let servers = place.run(&["servers", "--json"]).json();
        servers[0]["state"] == "ready" && servers[1]["state"] == "failed"
    });
    let before = starts(&place);
    let through = listed(&[]);
    assert_eq!(starts(&place), before);
    assert_eq!(through, listed(&["--alone"]));
    let shown = place.run(&["doctor"]);
    assert_eq!(shown.status, 1, "{shown:?}");
    for part in [
        "the servers are those of the running gateway",
        "over stdio, protocol 2025-11-25",
        "fatal: the device is not there",
        "device_name → deviceName",
    ] {
        assert!(shown.stdout.contains(part), "{part}\n{}", shown.stdout);
    }
}

// PO-1
#[test]
fn policies_are_tested_on_the_tools_of_the_gateway() {
    let place = place();
    let _serving = serve(&place);
    place.call(&["s__add", "a=1", "b=2"]);
    place.run(&["resources", "book://one"]);
    let before = starts(&place);
    let through = place.run(&["policy", "test", "--json"]).json();
    assert_eq!(starts(&place), before);
    let alone = place.run(&["--alone", "policy", "test", "--json"]).json();
    assert_eq!((&through["calls"], &through["changes"]), (&alone["calls"], &alone["changes"]));
    assert_ne!(through["calls"], Value::from(0));
    let mocks = place.run(&["calls", "export", "--as", "mocks"]);
    assert_eq!(mocks.status, 0, "{mocks:?}");
    assert!(mocks.stdout.contains("s__add"), "{mocks:?}");
}
