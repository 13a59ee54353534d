//! `auth = "client"`: what proves who the client is comes from the vault, and is found nowhere else.

use rcgen::{KeyPair, PKCS_ED25519};

use super::{Accounts, PerUserSetup, TestFolder, accounts::WORKLOAD, note_secret};

/// A gateway whose server is used by the client of these settings, one of which is the secret `PROOF`.
fn world(settings: &str, secret: &str) -> PerUserSetup {
    let accounts = Accounts::start();
    let place = TestFolder::with_config(&format!(
        "[mcp]\nretry_attempts = 1\n[servers.docs]\nurl = \"{}/mcp\"\nprotocol = \"legacy\"\nauth = \"client\"\n\
         oauth = {{ {settings} }}\n",
        accounts.origin
    ));
    let stored = place.run_with_stdin(&["secret", "set", "PROOF"], secret.as_bytes());
    assert_eq!(stored.status, 0, "{stored:?}");
    PerUserSetup::new(accounts, place)
}

/// Calls with a new token, with one that was refused, and while none can be got.
fn call_in_all_states(world: &PerUserSetup) {
    assert_eq!(world.whoami(""), "account nightly");
    world.accounts.known().expire("nightly");
    assert_eq!(world.whoami(""), "account nightly");
    world.accounts.known().is_down = true;
    world.accounts.known().end("nightly");
    assert_eq!(world.whoami(""), "unavailable");
}

// AU-2, AU-3
#[test]
fn the_secret_of_a_client_is_found_nowhere() {
    let secret = "secret-of-the-robot";
    note_secret(secret);
    let settings = "client_id = 'robot', client_secret = '${secret:PROOF}'";
    call_in_all_states(&world(settings, secret));
}

// AU-2, AU-3
#[test]
fn the_key_of_a_client_is_found_nowhere() {
    let key = KeyPair::generate_for(&PKCS_ED25519).unwrap().serialize_pem();
    key.lines().filter(|line| !line.starts_with("---")).for_each(note_secret);
    let settings = "client_id = 'robot', private_key = '${secret:PROOF}'";
    call_in_all_states(&world(settings, &key));
}

// AU-2, AU-3
#[test]
fn the_jwt_of_a_workload_is_found_nowhere() {
    note_secret(WORKLOAD);
    call_in_all_states(&world("assertion = '${secret:PROOF}'", WORKLOAD));
}
