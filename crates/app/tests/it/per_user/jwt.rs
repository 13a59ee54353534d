//! `auth = "user"` for callers with JWTs: a person is a subject of an issuer, whatever JWT it shows.

use super::{Accounts, PerUserSetup, TestFolder, exchange::JwtIssuer};

/// Writes the config of a gateway that takes the JWTs of one issuer.
fn configure(accounts: &Accounts, place: &TestFolder, issuer: &JwtIssuer) {
    let config = format!(
        "[mcp]\nretry_attempts = 1\nretry_base_delay = \"50ms\"\n\
         [servers.docs]\nurl = \"{}/mcp\"\nprotocol = \"legacy\"\nauth = \"user\"\n\
         [serve.jwt]\nissuer = \"{}\"\naudience = \"tools\"\njwks = \"jwks.json\"\n",
        accounts.origin, issuer.name
    );
    std::fs::write(place.path().join("switchboard.toml"), config).unwrap();
    std::fs::write(place.path().join("jwks.json"), issuer.jwks().to_string()).unwrap();
}

// AU-3
#[test]
fn a_person_is_a_subject_of_an_issuer() {
    let [one, other] = ["https://one.example", "https://other.example"].map(JwtIssuer::of);
    let (accounts, place) = (Accounts::start(), TestFolder::new());
    configure(&accounts, &place, &one);
    let mut world = PerUserSetup::new(accounts, place);
    let ada = one.token("ada");
    world.sign_in(&ada, "first");
    assert_eq!(world.whoami(&ada), "account first");
    // A new JWT of the same subject is the same person, and another subject is not.
    let later = one.token_until("ada", 4_000_000_001);
    assert_ne!(later, ada);
    assert_eq!(world.whoami(&later), "account first");
    assert_eq!(world.whoami(&one.token("bob")), "unavailable");

    // The same name at another issuer is somebody else, with a sign-in of its own.
    configure(&world.accounts, &world.place, &other);
    world.restart();
    let namesake = other.token("ada");
    let called = world.call(&namesake, "docs__whoami");
    let kind = called["error_kind"].as_str().unwrap();
    assert!(["unavailable", "not_found"].contains(&kind), "{called}");
    world.sign_in(&namesake, "second");
    assert_eq!(world.whoami(&namesake), "account second");
    let refused = world.call(&ada, "docs__whoami");
    assert_eq!(refused["error_kind"], "unauthorized", "the issuer is not trusted: {refused}");

    configure(&world.accounts, &world.place, &one);
    world.restart();
    assert_eq!(world.whoami(&ada), "account first");
    assert_eq!(world.accounts.known().violations, Vec::<String>::new());
}
