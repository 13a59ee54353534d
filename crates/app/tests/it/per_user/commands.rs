//! The same on the command line, where the caller is the owner, and in what the gateway shows.

use std::{
    io::{BufRead, BufReader, Read},
    process::Stdio,
};

use serde_json::json;

use super::{Accounts, Browser, PerUserSetup, TestFolder, bearer, note_secret};
use crate::test_folder::CommandOutput;

/// `switchboard login docs`, with a browser that is at `account`.
fn login(world: &PerUserSetup, account: &str) -> CommandOutput {
    let command =
        world.place.command(&["login", "docs"]).env("BROWSER", "true").stdin(Stdio::null()).spawn();
    let mut child = command.unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut told = String::new();
    while !told.contains("/authorize?") {
        assert!(stderr.read_line(&mut told).unwrap() > 0, "{told}");
    }
    let mut browser = Browser::default();
    let there = browser.get(&format!("{}&account={account}", told.lines().last().unwrap().trim()));
    browser.get(&there.location());
    stderr.read_to_string(&mut told).unwrap();
    let mut ran = CommandOutput::of(child.wait_with_output().unwrap());
    ran.stderr = told;
    ran
}

// AU-3
#[test]
fn the_owner_signs_in_by_command_and_everybody_by_name_out() {
    let world = PerUserSetup::start();
    let ada = world.token("ada");
    let before = world.place.run(&["servers"]);
    assert!(before.stdout.contains("signs in per user, 0 callers are signed in"), "{before:?}");
    let ran = login(&world, "root");
    assert_eq!(ran.status, 0, "{ran:?}");
    // The tools are known to all, and the sign-in is the owner's alone.
    assert_eq!(world.whoami(""), "account root");
    assert_eq!(world.whoami(&ada), "unavailable");
    world.sign_in(&ada, "ada");
    let servers = world.place.run(&["servers"]).stdout;
    assert!(servers.contains("2 callers are signed in; you are signed in at"), "{servers}");
    let doctor = world.place.run(&["doctor"]).stdout;
    assert!(doctor.contains("signs in per user, 2 callers are signed in"), "{doctor}");

    // A caller sees its own, and not how many others there are.
    let own = |token: &str| {
        world.gateway.ask("GET", "/api/servers/docs", &bearer(token), "").1["sign_in"].clone()
    };
    let shown = own(&ada);
    assert_eq!((&shown["auth"], &shown["state"]), (&json!("user"), &json!("signed_in")), "{shown}");
    assert_eq!((shown.get("callers"), own("")["callers"].clone()), (None, json!(2)));
    let bob = world.token("bob");
    assert_eq!(own(&bob)["state"], "needed");
    let opened = world.gateway.ask("POST", "/api/servers/docs/sign-in", &bearer(&bob), "");
    assert!(
        opened.0 == 201 && opened.1["url"].as_str().unwrap().contains("/sign-in/"),
        "{opened:?}"
    );

    let out = world.place.run(&["logout", "docs", "--caller", "ada"]);
    assert!(out.stderr.starts_with("docs: signed out, and revoked at"), "{out:?}");
    assert_eq!(
        (world.whoami(&ada), world.whoami("")),
        (json!("unavailable"), json!("account root"))
    );
    assert_eq!(
        world.place.run(&["logout", "docs", "--caller", "ada"]).stderr,
        "docs: nobody is signed in\n"
    );
    assert!(world.place.run(&["logout", "docs"]).stderr.contains("signed out"));
    assert_eq!(world.whoami(""), "unavailable");
    assert_eq!(world.accounts.known().violations, Vec::<String>::new());
}

// AU-3: also if the console revokes the token.
#[test]
fn a_token_that_is_revoked_over_rest_takes_its_sign_ins_along() {
    let world = PerUserSetup::start();
    let (ada, bob) = (world.token("ada"), world.token("bob"));
    world.sign_in(&ada, "ada");
    world.sign_in(&bob, "bob");
    assert_eq!(world.whoami(&ada), "account ada");
    let revoked = world.gateway.ask("DELETE", "/api/tokens/ada", "", "");
    assert_eq!(revoked.0, 204, "{}", revoked.1);
    // Revoked at the authorization server, and forgotten here.
    assert_eq!(world.accounts.known().revoked, 2);
    let left = world.place.run(&["logout", "docs", "--caller", "ada"]);
    assert_eq!(left.stderr, "docs: nobody is signed in\n");
    // Who gets a token of that name is somebody else, and other callers stay.
    assert_eq!(world.whoami(&world.token("ada")), "unavailable");
    assert_eq!(world.whoami(&bob), "account bob");
}

// AU-3: what is got without a person is not called shared.
#[test]
fn a_sign_in_without_a_person_is_called_so() {
    let accounts = Accounts::start();
    let place = TestFolder::with_config(&format!(
        "[mcp]\nretry_attempts = 1\n[servers.docs]\nurl = \"{0}/mcp\"\nprotocol = \"legacy\"\nauth = \"client\"\n\
         oauth = {{ client_id = \"robot\", client_secret = \"${{secret:ROBOT}}\", issuer = \"{0}\" }}\n",
        accounts.origin
    ));
    note_secret("secret-of-the-robot");
    let stored = place.run_with_stdin(&["secret", "set", "ROBOT"], b"secret-of-the-robot");
    assert_eq!(stored.status, 0, "{stored:?}");
    let world = PerUserSetup::new(accounts, place);
    assert_eq!(world.whoami(""), "account nightly");
    let shown = world.gateway.ask("GET", "/api/servers/docs", "", "").1["sign_in"].clone();
    assert_eq!((&shown["auth"], &shown["state"]), (&json!("client"), &json!("signed_in")));
}
