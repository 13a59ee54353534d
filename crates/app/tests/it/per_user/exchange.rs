//! `auth = "exchange"`: the JWT that a caller has shown to the gateway is exchanged for a token of the server.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::{SignedDuration, Timestamp};
use rcgen::{KeyPair, PKCS_ED25519, PublicKeyData, SigningKey};
use serde_json::{Value, json};

use super::{Accounts, PerUserSetup, TestFolder};

/// The issuer of the gateway's JWTs.
pub(super) struct JwtIssuer {
    pub(super) name: &'static str,
    key: KeyPair,
}

impl JwtIssuer {
    pub(super) fn new() -> Self {
        Self::of("https://login.example")
    }

    pub(super) fn of(name: &'static str) -> Self {
        Self { name, key: KeyPair::generate_for(&PKCS_ED25519).unwrap() }
    }

    pub(super) fn jwks(&self) -> Value {
        let x = URL_SAFE_NO_PAD.encode(self.key.der_bytes());
        json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "kid": "k", "x": x}]})
    }

    pub(super) fn token(&self, subject: &str) -> String {
        self.token_until(subject, 4_000_000_000)
    }

    /// Returns a token that ends at `exp`, in seconds since 1970.
    pub(super) fn token_until(&self, subject: &str, exp: u64) -> String {
        let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let header = part(json!({"alg": "EdDSA", "kid": "k", "typ": "JWT"}));
        let claims = json!({
            "iss": self.name, "aud": "tools", "sub": subject, "exp": exp,
        });
        let text = format!("{header}.{}", part(claims));
        let signature = self.key.sign(text.as_bytes()).unwrap();
        format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

fn world() -> (PerUserSetup, JwtIssuer) {
    let accounts = Accounts::start();
    let oauth = format!("{{ client_id = \"gateway\", issuer = \"{}\" }}", accounts.origin);
    world_with(accounts, &oauth)
}

fn world_with(accounts: Accounts, oauth: &str) -> (PerUserSetup, JwtIssuer) {
    let issuer = JwtIssuer::new();
    let origin = &accounts.origin;
    let place = TestFolder::with_config(&format!(
        "[mcp]\nretry_attempts = 1\nretry_base_delay = \"50ms\"\n\
         [servers.docs]\nurl = \"{origin}/mcp\"\nprotocol = \"legacy\"\nauth = \"exchange\"\n\
         oauth = {oauth}\n\
         [serve.jwt]\nissuer = \"https://login.example\"\naudience = \"tools\"\njwks = \"jwks.json\"\n"
    ));
    let place = place.file("jwks.json", issuer.jwks().to_string());
    (PerUserSetup::new(accounts, place), issuer)
}

// AU-3
#[test]
fn each_callers_own_jwt_is_exchanged() {
    let (world, issuer) = world();
    let (ada, bob) = (issuer.token("ada"), issuer.token("bob"));
    // No sign-in, and the tools are known at the first call.
    assert_eq!(world.whoami(&ada), "account ada");
    assert_eq!(world.whoami(&bob), "account bob");
    // A token that the server refuses is requested again, for the same caller.
    world.accounts.known().expire("ada");
    assert_eq!(
        (world.whoami(&ada), world.whoami(&bob)),
        (json!("account ada"), json!("account bob"))
    );
    assert_eq!(world.accounts.known().refreshes, 0, "a right must not outlive the JWT");
    // Neither the owner nor the bearer of another token has a JWT.
    for token in ["", &world.token("carol")] {
        let called = world.call(token, "docs__whoami");
        assert_eq!(called["error_kind"], "unavailable", "{called}");
        assert!(called.to_string().contains("no JWT"), "{called}");
        assert!(!called.to_string().contains("/sign-in/"), "{called}");
    }
    assert_eq!(world.accounts.known().violations, Vec::<String>::new());
}

// AU-3: ID-JAG. The identity provider decides, for each caller by itself.
#[test]
fn an_identity_provider_decides_about_each_callers_own_jwt() {
    let (accounts, idp) = (Accounts::start(), Accounts::start());
    let oauth = format!(
        "{{ client_id = \"gateway\", idp = {{ issuer = \"{0}\", token_endpoint = \"{0}/token\", client_id = \"us\" }} }}",
        idp.origin
    );
    let known = accounts.shared();
    idp.known().trusted_by = Some(known);
    let (world, issuer) = world_with(accounts, &oauth);
    let (ada, bob) = (issuer.token("ada"), issuer.token("bob"));
    assert_eq!(world.whoami(&ada), "account ada");
    assert_eq!(world.whoami(&bob), "account bob");
    idp.known().refused = Some("eve".to_owned());
    let called = world.call(&issuer.token("eve"), "docs__whoami");
    assert_eq!(called["error_kind"], "unavailable", "{called}");
    // Nobody's JWT reached the server's own authorization server.
    assert!(!world.accounts.known().secrets.iter().any(|secret| *secret == ada || *secret == bob));
    let called = world.call(&world.token("carol"), "docs__whoami");
    assert_eq!(called["error_kind"], "unavailable", "{called}");
    assert!(called.to_string().contains("no JWT"), "{called}");
    assert_eq!(world.accounts.known().violations, Vec::<String>::new());
}

// AU-3: the authorization server refuses one caller; later it does not.
#[test]
fn a_refused_exchange_is_tried_again_at_the_next_call() {
    let (world, issuer) = world();
    let ada = issuer.token("ada");
    assert_eq!(world.whoami(&ada), "account ada");
    let eve = issuer.token("eve");
    world.accounts.known().refused = Some("eve".to_owned());
    let called = world.call(&eve, "docs__whoami");
    assert_eq!(called["error_kind"], "unavailable", "{called}");
    assert!(!called.to_string().contains(&eve), "{called}");
    world.accounts.known().refused = None;
    assert_eq!(world.whoami(&eve), "account eve");
    assert_eq!(world.whoami(&ada), "account ada");
}

// AU-3: what was got for a JWT with more rights is not used for another one of the same caller, nor without a JWT.
#[test]
fn each_jwt_of_a_caller_is_exchanged_for_itself() {
    let (world, issuer) = world();
    let wide = issuer.token("ada");
    assert_eq!(world.whoami(&wide), "account ada");
    // The authorization server gives nothing for the narrower one.
    let narrow = issuer.token_until("ada", 3_999_999_999);
    world.accounts.known().refused = Some("ada".to_owned());
    assert_eq!(world.whoami(&narrow), "unavailable");
    assert_eq!(world.whoami(&wide), "account ada");
    world.accounts.known().refused = None;
    assert_eq!(world.whoami(&narrow), "account ada");
    let shown = world.gateway.ask("GET", "/api/servers/docs", "", "").1;
    assert_eq!(shown["sign_in"]["callers"], 1, "{shown}");
}

// AU-3
#[test]
fn nobody_signs_in_where_jwts_are_exchanged() {
    let (world, issuer) = world();
    let refused = world.place.run(&["login", "docs"]);
    assert_eq!(refused.status, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("JWT"), "{}", refused.stderr);
    let ada = issuer.token("ada");
    assert_eq!(world.whoami(&ada), "account ada");
    let headers = super::bearer(&ada);
    assert_eq!(world.gateway.ask("POST", "/api/servers/docs/sign-in", &headers, "").0, 409);
    let shown = world.gateway.ask("GET", "/api/servers/docs", &headers, "").1;
    assert_eq!(
        (&shown["sign_in"]["auth"], &shown["sign_in"]["state"]),
        (&json!("exchange"), &json!("signed_in")),
        "{shown}"
    );
}

// AU-3: the server's token would be good for an hour, the JWT for ten minutes.
#[test]
fn an_exchanged_token_is_not_used_after_the_end_of_the_jwt() {
    let (world, issuer) = world();
    let end = Timestamp::now() + SignedDuration::from_mins(10);
    let ada = issuer.token_until("ada", end.as_second().unsigned_abs());
    assert_eq!(world.whoami(&ada), "account ada");
    let shown = world.gateway.ask("GET", "/api/servers/docs", &super::bearer(&ada), "").1;
    let until: Timestamp = shown["sign_in"]["until"].as_str().unwrap().parse().unwrap();
    assert_eq!(until.as_second(), end.as_second(), "{shown}");
}
