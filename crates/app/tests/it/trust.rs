//! Configs that are found, not named (PO-3).

use std::{fs, os::unix::fs::PermissionsExt};

use serde_json::json;

use crate::{
    fixture::{misbehaving, section, wait_until},
    pty,
    serve::Serving,
    test_folder::TestFolder,
};

/// A server that leaves a file when it is started, with the secret that it was given.
const HELPER: &str = "[mcp]\nretry_base_delay = \"1ms\"\n[servers.helper]\ncommand = \"sh\"\nargs = [\"-c\", \"echo $K > ran\"]\n\
                      env = { K = \"${AWS_SECRET_ACCESS_KEY}\" }\n";

/// A place that finds a config, and in which a secret is to be had.
fn finding(config: &str) -> TestFolder {
    TestFolder::with_config(config).finding().variable("AWS_SECRET_ACCESS_KEY", "secret")
}

fn has_run(place: &TestFolder) -> bool {
    place.path().join("ran").exists()
}

// PO-3
#[test]
fn a_config_that_starts_programs_is_refused_where_nobody_can_be_asked() {
    let place = finding(HELPER);
    let commands: &[&[&str]] = &[
        &["tools"],
        &["tools", "echo"],
        &["call", "helper__x"],
        &["call", "echo"],
        &["resources"],
        &["prompts"],
        &["ask", "-m", "script:script.json", "hi"],
        &["chat", "-m", "script:script.json"],
        &["serve", "--listen", "127.0.0.1:0"],
        &["serve", "--stdio"],
        &["calls"],
        &["policy", "test"],
        &["voice"],
        &["worker", "--nats", "nats://127.0.0.1:1", "--group", "g"],
    ];
    for words in commands {
        let says = place.refusal(words);
        for part in [
            "`switchboard.toml` was found in this folder, not named",
            "  start    K='${AWS_SECRET_ACCESS_KEY}' sh -c 'echo $K > ran' (server helper)\n",
            "  read     $AWS_SECRET_ACCESS_KEY\n",
            "`--config ./switchboard.toml`",
            "`switchboard trust .`",
        ] {
            assert!(says.contains(part), "{words:?}: {says}");
        }
    }
    let doctor = place.run(&["doctor", "--json"]);
    assert_eq!(doctor.status, 1, "{doctor:?}");
    let check = &doctor.json()["checks"][0];
    assert_eq!((&check["name"], &check["status"]), (&"config".into(), &"broken".into()));
    assert!(check["message"].as_str().unwrap().contains("`switchboard trust .`"), "{check}");
    assert!(!has_run(&place));

    // What needs nothing of the config goes on.
    for words in [&["token", "list"][..], &["approve"], &["completions", "bash"], &["--version"]] {
        assert_eq!(place.run(words).status, 0, "{words:?}");
    }
    let cluster = finding("[cluster]\nnats = \"nats://127.0.0.1:1\"\n");
    assert!(cluster.refusal(&["token", "list"]).contains("set      cluster.nats = "));
}

// PO-3
#[test]
fn a_config_that_is_named_is_used_at_once() {
    let named = ["--config", "./switchboard.toml"];
    let place = finding(HELPER);
    place.run(&[&["tools"], &named[..]].concat());
    assert!(has_run(&place), "--config");
    let place = finding(HELPER).variable("SWITCHBOARD_CONFIG", "switchboard.toml");
    place.run(&["tools"]);
    assert!(has_run(&place), "$SWITCHBOARD_CONFIG");
    let own = || TestFolder::new().variable("AWS_SECRET_ACCESS_KEY", "secret");
    let place = own().file("xdg/switchboard/switchboard.toml", HELPER);
    let xdg = place.path().join("xdg").display().to_string();
    let place = place.variable("XDG_CONFIG_HOME", &xdg);
    place.run(&["tools"]);
    assert!(has_run(&place), "the user's own");
    fs::remove_file(place.path().join("ran")).unwrap();
    let mut there = place.command(&["tools"]);
    there.current_dir(place.path().join("xdg/switchboard")).output().unwrap();
    assert!(place.path().join("xdg/switchboard/ran").exists(), "the user's own, found there");
}

// PO-3
#[test]
fn trust_holds_for_the_path_and_the_content() {
    let place = finding(HELPER);
    let trusted = place.run(&["trust", "."]);
    assert_eq!((trusted.status, &*trusted.stdout), (0, ""), "{trusted:?}");
    assert!(trusted.stderr.contains("`./switchboard.toml` is trusted until it changes"));
    assert!(trusted.stderr.contains("sh -c 'echo $K > ran' (server helper)"), "{trusted:?}");
    place.run(&["tools"]);
    assert!(has_run(&place));

    let folder = place.path().join("state/switchboard/trust");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    let entries: Vec<_> =
        fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(entries.len(), 1);
    assert_eq!(mode(&entries[0]), 0o600);

    let changed = format!("{HELPER}\n# another\n");
    let place = place.file("switchboard.toml", &changed);
    assert!(place.refusal(&["tools"]).contains("is not trusted as it is now"));
    let place = place.file("switchboard.toml", HELPER).file("sub/switchboard.toml", HELPER);
    let sub = place.command(&["tools"]).current_dir(place.path().join("sub")).output().unwrap();
    assert_eq!(sub.status.code(), Some(2), "the same config in another folder");
    // A link to what is trusted finds other programs.
    std::os::unix::fs::symlink("../switchboard.toml", place.path().join("sub/link")).unwrap();
    fs::rename(place.path().join("sub/link"), place.path().join("sub/switchboard.toml")).unwrap();
    let sub = place.command(&["tools"]).current_dir(place.path().join("sub")).output().unwrap();
    assert_eq!(sub.status.code(), Some(2), "a link to a trusted config");

    let json = place.run(&["trust", "sub/switchboard.toml", "--json"]).json();
    assert_eq!(json["trusted"]["reads"], json!(["$AWS_SECRET_ACCESS_KEY"]));
    let sub = place.command(&["tools"]).current_dir(place.path().join("sub")).output().unwrap();
    assert_ne!(sub.status.code(), Some(2));
}

// PO-3
#[test]
fn what_cannot_be_trusted_is_told() {
    let place =
        TestFolder::new().file("other.toml", HELPER).file("wrong/switchboard.toml", "a = \n");
    for (path, says) in [
        (".", "there is no switchboard.toml in `.`"),
        (
            "nowhere",
            "there is no server `nowhere` in the config, and no file or folder of that name",
        ),
        (
            "other.toml",
            "only a switchboard.toml is found by itself; name `other.toml` with --config",
        ),
        ("wrong", "wrong/switchboard.toml:1:"),
    ] {
        assert!(place.refusal(&["trust", path]).contains(says), "{path}");
    }
    let homeless = finding(HELPER).homeless();
    assert!(homeless.refusal(&["trust", "."]).contains("neither XDG_STATE_HOME nor HOME is set"));
    let harmless = finding("[executor]\ntimeout = \"5s\"\n").run(&["trust", "."]);
    assert!(harmless.status == 0 && harmless.stderr.contains("needs no trust"), "{harmless:?}");
}

// PO-3
#[test]
fn a_person_is_asked_once() {
    let question = "Use it, and trust it until it changes? [y/N] ";
    let place = finding(
        "[mcp]\nretry_base_delay = \"1ms\"\n[servers.s]\ncommand = \"touch\"\nargs = [\"ran\", \"\\u001b]0;x\\u0007\"]\n",
    );
    let no = pty::run(place.command(&["tools"]), &[(question, "n\n")]);
    assert_eq!(no.status, 2, "{no:?}");
    assert!(no.text.contains(r"  start    touch ran '\u{1b}]0;x\u{7}' (server s)"), "{no:?}");
    assert!(!no.text.contains("\x1b]0;") && !has_run(&place), "{no:?}");
    let yes = pty::run(place.command(&["tools"]), &[(question, "y\n")]);
    assert!(yes.status != 2 && has_run(&place), "{yes:?}");
    let again = pty::run(place.command(&["tools"]), &[]);
    assert!(again.status != 2 && !again.text.contains(question), "{again:?}");
    assert_ne!(place.run(&["tools"]).status, 2, "without a terminal, too");
}

// PO-3
#[test]
fn what_is_imported_is_trusted_but_not_what_was_there() {
    let script = format!("touch ran; exec {}", misbehaving());
    let servers = json!({"mcpServers": {"mine": {"command": "sh", "args": ["-c", script]}}});
    let servers = servers.to_string();
    let place = TestFolder::new().finding().file("c.json", &servers);
    assert_eq!(place.run(&["import", "c.json"]).status, 0);
    assert_ne!(place.run(&["tools"]).status, 2);
    assert!(has_run(&place));

    let place = finding(HELPER).file("c.json", &servers);
    let import = place.run(&["import", "c.json"]);
    assert!(import.stderr.contains("that you did not name, and is not trusted"), "{import:?}");
    assert!(place.refusal(&["tools"]).contains("(server helper)"));

    // The folder's config of another program was found, too.
    let place = TestFolder::new().finding().file(".cursor/mcp.json", &servers);
    let import = place.run(&["import", "cursor"]);
    assert!(import.stderr.contains("that you did not name, and is not trusted"), "{import:?}");
    assert!(place.refusal(&["tools"]).contains("(server mine)"));
    assert_eq!(place.run(&["import", ".cursor/mcp.json", "--config", "sub.toml"]).stderr, "");
}

// PO-3
#[test]
fn a_changed_config_applies_to_a_running_gateway_when_it_is_trusted_again() {
    let place = finding(&section("first", ""));
    assert_eq!(place.run(&["trust", "."]).status, 0);
    let serving = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
    let has = |name: &str| {
        let (_, tools) = serving.ask("GET", "/api/tools", "", "");
        tools.as_array().unwrap().iter().any(|tool| tool["name"] == name)
    };
    wait_until("the server is there", || has("first__echo"));
    let place = place.file("switchboard.toml", format!("{HELPER}{}", section("second", "")));
    let log = || fs::read_to_string(place.path().join("log")).unwrap();
    let folder = fs::canonicalize(place.path()).unwrap();
    let advice = format!("has changed; `switchboard trust {}` lets it apply", folder.display());
    wait_until("the change is refused", || log().contains(&advice));
    assert!(has("first__echo") && !has_run(&place));
    assert_eq!(place.run(&["trust", "."]).status, 0);
    wait_until("the change applies", || has("second__echo") && has_run(&place));
}
