//! `[apis.NAME] auth`: an HTTP API is signed in to by the same client as MCP servers (SPEC TK-3, AU-1, AU-3).

use std::{
    io::{BufRead, BufReader, Read},
    process::Stdio,
};

use serde_json::{Value, json};

use super::{
    Accounts, Browser, PerUserSetup, assert_no_secret_in, bearer, exchange::JwtIssuer, note_secret,
};
use crate::test_folder::{CommandOutput, TestFolder};

const PETS: &str = "openapi: 3.0.3\ninfo: {title: Pets, version: '1'}\npaths:\n  \
    /whoami: {get: {operationId: whoami, responses: {'200': {description: ok}}}}\n  \
    /notes: {post: {operationId: note, responses: {'200': {description: ok}}}}\n  \
    /elsewhere: {get: {operationId: elsewhere, responses: {'200': {description: ok}}}}\n";

fn place(accounts: &Accounts, more: &str) -> TestFolder {
    let origin = &accounts.origin;
    TestFolder::with_config(&format!(
        "[apis.pets]\nopenapi = \"pets.yaml\"\nbase_url = \"{origin}/api\"\n{more}"
    ))
    .file("pets.yaml", PETS)
    .variable("BROWSER", "true")
}

fn world(more: &str) -> PerUserSetup {
    let accounts = Accounts::start();
    let place = place(&accounts, &more.replace("ORIGIN", &accounts.origin));
    PerUserSetup::new(accounts, place)
}

/// Signs in to the API with `switchboard login`, as a person with this account.
fn login(place: &TestFolder, account: &str) -> CommandOutput {
    let mut child = place.command(&["login", "pets"]).stdin(Stdio::null()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut told = String::new();
    while !told.contains("/authorize?") {
        assert!(stderr.read_line(&mut told).unwrap() > 0, "{told}");
    }
    let address = told.lines().last().unwrap().trim().to_owned();
    let mut browser = Browser::default();
    let there = browser.get(&format!("{address}&account={account}"));
    browser.get(&there.location());
    stderr.read_to_string(&mut told).unwrap();
    let mut ran = CommandOutput::of(child.wait_with_output().unwrap());
    ran.stderr = told;
    ran
}

fn account(called: &Value) -> Value {
    match called["success"] == true {
        true => called["result"]["account"].clone(),
        false => called["error_kind"].clone(),
    }
}

// TK-3, AU-1
#[test]
fn an_api_is_signed_in_to_with_login() {
    let accounts = Accounts::start();
    let place = place(&accounts, "");
    let called = place.call(&["pets__whoami"]);
    assert_eq!(called["error_kind"], "unavailable", "{called}");
    assert_eq!(called["hint"], "Sign in with `switchboard login pets`.", "{called}");

    let ran = login(&place, "ada");
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(ran.stderr.contains(&format!("pets: signed in at {}", accounts.origin)), "{ran:?}");
    assert_eq!(account(&place.call(&["pets__whoami"])), "ada");
    let servers: Value = serde_json::from_str(&place.run(&["servers", "--json"]).stdout).unwrap();
    assert_eq!(servers[0]["sign_in"]["state"], "signed_in", "{servers}");
    let doctor = place.run(&["doctor"]);
    assert!(doctor.stdout.contains("signed in at") && doctor.stdout.contains("then renewed"));

    // A refused token is renewed once, and the request sent again: it was not begun.
    accounts.known().expire("ada");
    let called = place.call(&["pets__note"]);
    assert_eq!(called["result"]["notes"], 1, "{called}");
    assert_eq!(accounts.known().refreshes, 1);
    assert_eq!(accounts.known().notes, 1, "it was sent again, and begun once");

    let out = place.run(&["logout", "pets"]);
    assert_eq!(out.stderr, format!("pets: signed out, and revoked at {}\n", accounts.origin));
    assert_eq!(account(&place.call(&["pets__whoami"])), "unavailable");
    assert!(place.refusal(&["login", "pest"]).contains("no server `pest`; did you mean `pets`?"));
    assert_no_secret_in(place.path(), &accounts);
}

// TK-3, AU-1: a running gateway uses a sign-in at once, and says who is signed in.
#[test]
fn a_gateway_uses_the_sign_in_of_an_api_at_once() {
    let world = world("");
    assert_eq!(account(&world.call("", "pets__whoami")), "unavailable");
    let shown = || world.gateway.ask("GET", "/api/servers/pets", "", "").1["sign_in"].clone();
    assert_eq!(shown()["state"], "needed", "{}", shown());
    assert_eq!(login(&world.place, "ada").status, 0);
    assert_eq!(shown()["state"], "signed_in", "{}", shown());
    let before = world.accounts.known().api_requests;
    assert_eq!(account(&world.call("", "pets__whoami")), "ada");
    assert_eq!(world.accounts.known().api_requests, before + 1, "the first request has the token");
    // Callers who neither administer nor watch do not see the sign-in that all share.
    let ada = world.token("ada");
    let seen = world.gateway.ask("GET", "/api/servers/pets", &bearer(&ada), "").1;
    assert_eq!(seen["sign_in"], Value::Null, "{seen}");
    assert_eq!(account(&world.call(&ada, "pets__whoami")), "ada");
}

// TK-3, AU-1
#[test]
fn a_token_goes_to_no_other_origin() {
    let (accounts, other) = (Accounts::start(), Accounts::start());
    accounts.known().elsewhere = Some(format!("{}/api/whoami", other.origin));
    let place = place(&accounts, "");
    assert_eq!(login(&place, "ada").status, 0);
    let called = place.call(&["pets__elsewhere"]);
    assert!(called.to_string().contains("only redirects within its origin"), "{called}");
    assert_eq!(other.known().api_requests, 0);
    assert_no_secret_in(place.path(), &accounts);
}

// TK-3: other credentials are left alone.
#[test]
fn an_api_with_other_credentials_is_not_signed_in_to() {
    let accounts = Accounts::start();
    let place = place(&accounts, "headers = { Authorization = \"Bearer mine\" }\n");
    let called = place.call(&["pets__whoami"]);
    assert_eq!(called["error_kind"], "tool_error", "{called}");
    assert!(called["hint"].as_str().unwrap().starts_with("Credentials come from `headers`"));
    assert!(place.refusal(&["login", "pets"]).contains("remove them to sign in"));
}

// TK-3, AU-3
#[test]
fn each_caller_of_an_api_has_its_own_sign_in() {
    let world = world("auth = \"user\"\n");
    let (ada, bob) = (world.token("ada"), world.token("bob"));
    let sign_in = |token: &str, name: &str| {
        let address = world.address(token, "pets__whoami");
        let visit = Browser::default().sign_in(&address, token, name);
        assert!(visit.status == 200 && visit.body.contains("signed in to pets"), "{visit:?}");
    };
    sign_in(&ada, "ada");
    assert_eq!(account(&world.call(&ada, "pets__whoami")), "ada");
    assert_eq!(account(&world.call(&bob, "pets__whoami")), "unavailable");
    // The console's way.
    let (status, opened) =
        world.gateway.ask("POST", "/api/servers/pets/sign-in", &bearer(&bob), "");
    assert_eq!(status, 201, "{opened}");
    let visit = Browser::default().sign_in(opened["url"].as_str().unwrap(), &bob, "bob");
    assert_eq!(visit.status, 200, "{visit:?}");
    world.accounts.known().expire("bob");
    assert_eq!(account(&world.call(&bob, "pets__whoami")), "bob");
    assert_eq!(account(&world.call(&ada, "pets__whoami")), "ada");
    let shown = world.gateway.ask("GET", "/api/servers/pets", "", "").1;
    assert_eq!(
        (&shown["sign_in"]["auth"], &shown["sign_in"]["callers"]),
        (&json!("user"), &json!(2)),
        "{shown}"
    );
    // On the command line the caller is the owner.
    assert_eq!(login(&world.place, "root").status, 0);
    assert_eq!(account(&world.place.call(&["pets__whoami"])), "root");
    let (status, _) = world.gateway.ask("DELETE", "/api/servers/pets/sign-in", &bearer(&ada), "");
    assert_eq!(status, 204);
    assert_eq!(account(&world.call(&ada, "pets__whoami")), "unavailable");
    assert_eq!(account(&world.call(&bob, "pets__whoami")), "bob");
}

// TK-3, AU-3
#[test]
fn an_api_takes_exchanged_tokens_and_those_of_a_client() {
    let issuer = JwtIssuer::new();
    let world = {
        let accounts = Accounts::start();
        let origin = accounts.origin.clone();
        let more = format!(
            "auth = \"exchange\"\noauth = {{ client_id = \"gateway\", issuer = \"{origin}\" }}\n\
             [apis.night]\nopenapi = \"pets.yaml\"\nbase_url = \"{origin}/api\"\nauth = \"client\"\n\
             oauth = {{ client_id = \"nightly\", client_secret = \"${{secret:NIGHTLY}}\" }}\n\
             [serve.jwt]\nissuer = \"https://login.example\"\naudience = \"tools\"\njwks = \"jwks.json\"\n"
        );
        let place = place(&accounts, &more).file("jwks.json", issuer.jwks().to_string());
        let secret = "secret-of-the-nightly-client";
        note_secret(secret);
        let stored = place.run_with_stdin(&["secret", "set", "NIGHTLY"], secret.as_bytes());
        assert_eq!(stored.status, 0, "{stored:?}");
        PerUserSetup::new(accounts, place)
    };
    let (ada, bob) = (issuer.token("ada"), issuer.token("bob"));
    assert_eq!(account(&world.call(&ada, "pets__whoami")), "ada");
    assert_eq!(account(&world.call(&bob, "pets__whoami")), "bob");
    world.accounts.known().expire("ada");
    assert_eq!(account(&world.call(&ada, "pets__whoami")), "ada");
    let called = world.call("", "pets__whoami");
    assert!(
        called["error_kind"] == "unavailable" && called.to_string().contains("no JWT"),
        "{called}"
    );
    let (status, _) = world.gateway.ask("POST", "/api/servers/pets/sign-in", &bearer(&ada), "");
    assert_eq!(status, 409);
    assert_eq!(account(&world.call("", "night__whoami")), "nightly");
    world.accounts.known().expire("nightly");
    assert_eq!(account(&world.call("", "night__whoami")), "nightly");
    assert_eq!(world.place.run(&["login", "night"]).status, 0);
}
