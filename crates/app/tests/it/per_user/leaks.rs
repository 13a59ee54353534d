//! What is secret in a sign-in is nowhere afterwards: in no file, temporary ones too, no log, event or trace.

use switchboard_testkit::secrets;

use super::{Accounts, PerUserSetup, TestFolder, bearer};
use crate::{
    fixture::wait_until,
    redaction::{follow, receiver},
};

// AU-2, AU-3
#[test]
fn a_sign_in_leaves_no_secret_anywhere() {
    let (collector, traces) = receiver();
    let accounts = Accounts::start();
    let place = TestFolder::with_config(&format!(
        "[telemetry]\notlp = '{collector}'\narguments = true\n[mcp]\nretry_attempts = 1\n\
         [servers.docs]\nurl = \"{}/mcp\"\nprotocol = \"legacy\"\nauth = \"user\"\n",
        accounts.origin
    ));
    let mut world = PerUserSetup::new(accounts, place);
    let events = follow(&world.gateway);
    let (ada, bob) = (world.token("ada"), world.token("bob"));
    world.sign_in(&ada, "ada");
    world.sign_in(&bob, "bob");
    // Renewed, not renewed, ended elsewhere, signed out.
    world.accounts.known().expire("ada");
    assert_eq!(world.whoami(&ada), "account ada");
    world.accounts.known().is_down = true;
    world.accounts.known().expire("ada");
    assert_eq!(world.whoami(&ada), "unavailable");
    world.accounts.known().is_down = false;
    world.accounts.known().end("bob");
    assert_eq!(world.whoami(&bob), "unavailable");
    let signed_out = world.gateway.ask("DELETE", "/api/servers/docs/sign-in", &bearer(&ada), "");
    assert_eq!(signed_out.0, 204, "{}", signed_out.1);
    world.gateway.signal("-TERM");
    assert_eq!(world.gateway.child.wait().unwrap().code(), Some(0));

    let mut known = world.accounts.known().secrets.clone();
    known.extend([ada, bob]);
    assert!(known.len() > 8, "{}", known.len());
    let known: Vec<_> = known.iter().map(String::as_str).collect();
    secrets::assert_none(world.place.path(), &[], &known);
    let events = events.join().unwrap();
    wait_until("the traces have come", || !traces.lock().unwrap().is_empty());
    let traces = traces.lock().unwrap();
    for (place, bytes) in [("the events", &events), ("the traces", &*traces)] {
        let text = String::from_utf8_lossy(bytes);
        assert!(text.contains("docs__whoami"), "{place}");
        assert_eq!(secrets::scan_text(&text, place, &known), []);
    }
}
