//! Tokens without a person: for a client itself, a workload, and a caller whose token is exchanged.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD, prelude::BASE64_STANDARD};
use ring::signature::{self, EcdsaKeyPair, KeyPair, UnparsedPublicKey};
use serde_json::{Value, json};
use switchboard_oauth::{
    Authorizer, Challenge, GrantKind, IdpConfig, OauthConfig, Remedy, Secret, SignInNeeded,
    SubjectTokenType,
};

use crate::{
    SignInSetup,
    authorization_server::{AuthorizationServer, Parameters},
};

fn client() -> OauthConfig {
    OauthConfig { client_id: Some("robot".to_owned()), ..OauthConfig::default() }
}

/// The server answers 401: what the authorizer then does.
async fn refused(authorizer: &Authorizer) -> Remedy {
    let used = authorizer.token().await;
    let challenge = Challenge { scopes: Some(vec!["read".to_owned()]), ..Challenge::default() };
    authorizer.refused(challenge, used.as_ref()).await
}

/// Gets a token, and returns the last request for one.
async fn granted(world: &SignInSetup, grant: GrantKind) -> (Parameters, http::HeaderMap) {
    let authorizer = world.granted_by(grant);
    authorizer.set_subject_token(&Secret::from("caller-secret-value"));
    let Remedy::Retry(token) = refused(&authorizer).await else { panic!("no token") };
    assert!(world.server.with(|known| known.access_tokens.contains(token.token().expose())));
    assert!(authorizer.status().unwrap().renews);
    world.server.with(|known| known.requests.last().cloned().unwrap())
}

// AU-3
#[tokio::test]
async fn a_client_with_a_secret_has_access_itself() {
    let mut world = SignInSetup::new().await;
    world.config = OauthConfig { client_secret: Some("hunter2/+:".into()), ..client() };
    let methods = |methods: Value| json!({"token_endpoint_auth_methods_supported": methods});
    world.server.with(|known| known.metadata = methods(json!(["client_secret_basic"])));
    let (form, headers) = granted(&world, GrantKind::Client).await;
    let basic = BASE64_STANDARD.encode("robot:hunter2%2F%2B%3A");
    assert_eq!(headers["authorization"], format!("Basic {basic}"));
    assert_eq!(
        (form["grant_type"].as_str(), form["scope"].as_str()),
        ("client_credentials", "read")
    );
    assert_eq!(form["resource"], world.server.resource());
    assert!(!form.contains_key("client_secret"));

    let mut world = SignInSetup::new().await;
    world.config = OauthConfig { client_secret: Some("hunter2/+:".into()), ..client() };
    world.server.with(|known| known.metadata = methods(json!(["client_secret_post"])));
    let (form, headers) = granted(&world, GrantKind::Client).await;
    assert_eq!(
        (form["client_id"].as_str(), form["client_secret"].as_str()),
        ("robot", "hunter2/+:")
    );
    assert!(!headers.contains_key("authorization"));
}

// AU-3
#[tokio::test]
async fn a_client_with_a_key_signs() {
    let mut world = SignInSetup::new().await;
    let kind = &signature::ECDSA_P256_SHA256_FIXED_SIGNING;
    let random = ring::rand::SystemRandom::new();
    let key = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
    let pair = EcdsaKeyPair::from_pkcs8(kind, key.as_ref(), &random).unwrap();
    let pem = format!(
        "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
        BASE64_STANDARD.encode(key.as_ref())
    );
    world.config = OauthConfig { private_key: Some(pem.into()), ..client() };
    let (form, _) = granted(&world, GrantKind::Client).await;
    let assertion = &form["client_assertion"];
    let (text, signed) = assertion.rsplit_once('.').unwrap();
    let public = UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_FIXED, pair.public_key());
    public.verify(text.as_bytes(), &URL_SAFE_NO_PAD.decode(signed).unwrap()).unwrap();
    let claims = URL_SAFE_NO_PAD.decode(text.split_once('.').unwrap().1).unwrap();
    let claims: Value = serde_json::from_slice(&claims).unwrap();
    let issuer = world.server.origin();
    assert_eq!([&claims["iss"], &claims["sub"], &claims["aud"]], ["robot", "robot", &issuer]);
    let (begin, end) = (claims["iat"].as_u64().unwrap(), claims["exp"].as_u64().unwrap());
    assert_eq!(end - begin, 60);
    assert!(claims["jti"].as_str().unwrap().len() > 40);
}

// AU-3
#[tokio::test]
async fn a_workload_has_its_identity_in_a_file_or_the_settings() {
    let mut world = SignInSetup::new().await;
    world.config.assertion = Some("ey.first.x".into());
    let (form, _) = granted(&world, GrantKind::Client).await;
    assert_eq!(form["grant_type"], "urn:ietf:params:oauth:grant-type:jwt-bearer");
    assert_eq!((form["assertion"].as_str(), form.get("client_id")), ("ey.first.x", None));
    // One that a platform replaces now and then is read again for each token.
    let file = world.folder.path().join("token");
    world.config.assertion = Some(file.to_str().unwrap().into());
    for identity in ["ey.second.x", "ey.third.x"] {
        std::fs::write(&file, format!("{identity}\n")).unwrap();
        world.server.with(|known| known.access_tokens.clear());
        let (form, _) = granted(&world, GrantKind::Client).await;
        assert_eq!(form["assertion"], identity);
    }
    std::fs::remove_file(&file).unwrap();
    let Remedy::SignIn(SignInNeeded::NoAccess(reason)) =
        refused(&world.granted_by(GrantKind::Client)).await
    else {
        panic!("a token")
    };
    assert!(reason.contains("`assertion` cannot be read"), "{reason}");
}

// AU-3: a refusal is told once, and no other grant is tried.
#[tokio::test]
async fn a_refused_client_is_told() {
    let mut world = SignInSetup::new().await;
    world.config = OauthConfig { client_secret: Some("hunter2".into()), ..client() };
    world.server.with(|known| known.refuses = Some("unauthorized_client"));
    let authorizer = world.granted_by(GrantKind::Client);
    let Remedy::SignIn(SignInNeeded::NoAccess(reason)) = refused(&authorizer).await else {
        panic!("a token")
    };
    assert!(reason.contains("unauthorized_client"), "{reason}");
    assert_eq!(world.server.with(|known| known.requests.len()), 1);
}

// AU-3: requested again when it has ended, once for all.
#[tokio::test]
async fn a_clients_token_is_renewed_without_a_person() {
    let mut world = SignInSetup::new().await;
    world.config = OauthConfig { client_secret: Some("hunter2".into()), ..client() };
    world.server.with(|known| known.lifetime = 0);
    granted(&world, GrantKind::Client).await;
    world.server.with(|known| known.lifetime = 3600);
    let (one, other) = (world.granted_by(GrantKind::Client), world.granted_by(GrantKind::Client));
    let (first, second) = tokio::join!(one.token(), other.token());
    assert_eq!(first, second);
    assert_eq!(world.server.with(|known| known.requests.len()), 2);
}

// AU-3: nothing that proves who we are goes to another issuer than the first.
#[tokio::test]
async fn a_clients_secret_stays_with_its_issuer() {
    let mut world = SignInSetup::new().await;
    world.config = OauthConfig { client_secret: Some("hunter2".into()), ..client() };
    granted(&world, GrantKind::Client).await;
    let new = AuthorizationServer::start().await;
    world.server.with(|known| {
        known.resource_metadata = json!({"authorization_servers": [new.origin()]});
        known.access_tokens.clear();
    });
    let authorizer = world.granted_by(GrantKind::Client);
    assert!(matches!(refused(&authorizer).await, Remedy::SignIn(SignInNeeded::Moved)));
    assert!(new.with(|known| known.requests.is_empty()));
}

// AU-3
#[tokio::test]
async fn a_callers_token_is_exchanged() {
    let mut world = SignInSetup::new().await;
    world.config = OauthConfig { issuer: Some(world.server.origin()), ..client() };
    let (form, _) = granted(&world, GrantKind::Exchange).await;
    assert_eq!(form["grant_type"], "urn:ietf:params:oauth:grant-type:token-exchange");
    assert_eq!(form["subject_token"], "caller-secret-value");
    assert_eq!(form["subject_token_type"], "urn:ietf:params:oauth:token-type:access_token");
    assert_eq!(
        (form["client_id"].as_str(), &form["resource"]),
        ("robot", &world.server.resource())
    );
    // What the authorization server takes it for is up to the settings.
    world.config.subject_token_type = Some(SubjectTokenType::Jwt);
    world.server.with(|known| known.access_tokens.clear());
    let (form, _) = granted(&world, GrantKind::Exchange).await;
    assert_eq!(form["subject_token_type"], "urn:ietf:params:oauth:token-type:jwt");
}

// AU-3: who has no token of an issuer cannot be exchanged for.
#[tokio::test]
async fn a_caller_without_a_token_gets_none() {
    let mut world = SignInSetup::new().await;
    world.config = OauthConfig { issuer: Some(world.server.origin()), ..client() };
    let authorizer = world.granted_by(GrantKind::Exchange);
    let Remedy::SignIn(SignInNeeded::NoAccess(reason)) = refused(&authorizer).await else {
        panic!("a token")
    };
    assert!(reason.contains("this caller has no JWT"), "{reason}");
}

// AU-3: ID-JAG. The caller's token goes to the identity provider alone, its grant to the authorization server.
#[tokio::test]
async fn an_identity_provider_decides_about_a_caller() {
    let (mut world, idp) = (SignInSetup::new().await, AuthorizationServer::start().await);
    let settings = IdpConfig {
        issuer: idp.origin(),
        client_id: Some("robot-at-idp".to_owned()),
        ..IdpConfig::default()
    };
    world.config = OauthConfig { idp: Some(settings), ..client() };
    let (form, _) = granted(&world, GrantKind::Exchange).await;
    assert_eq!(form["grant_type"], "urn:ietf:params:oauth:grant-type:jwt-bearer");
    assert!(form["assertion"].starts_with("id-jag-"));
    let (asked, _) = idp.with(|known| known.requests.remove(0));
    let wanted = [
        ("subject_token", "caller-secret-value"),
        ("subject_token_type", "urn:ietf:params:oauth:token-type:id_token"),
        ("requested_token_type", "urn:ietf:params:oauth:token-type:id-jag"),
        ("audience", &world.server.origin()),
        ("resource", &world.server.resource()),
        ("client_id", "robot-at-idp"),
    ];
    for (name, value) in wanted {
        assert_eq!(asked[name], value, "{name}");
    }
    // Another kind of token is not sent on.
    idp.with(|known| known.idp_answer = json!({"issued_token_type": "access_token"}));
    world.server.with(|known| known.access_tokens.clear());
    let authorizer = world.granted_by(GrantKind::Exchange);
    authorizer.set_subject_token(&Secret::from("caller-secret-value"));
    let Remedy::SignIn(SignInNeeded::NoAccess(reason)) = refused(&authorizer).await else {
        panic!("a token")
    };
    assert!(reason.contains("gave no grant"), "{reason}");
}

// AU-3: the secret for the identity provider goes there alone, as its metadata ask.
#[tokio::test]
async fn a_client_proves_who_it_is_to_an_identity_provider() {
    let (mut world, idp) = (SignInSetup::new().await, AuthorizationServer::start().await);
    let settings = IdpConfig {
        issuer: idp.origin(),
        client_id: Some("robot-at-idp".to_owned()),
        client_secret: Some("idp-secret/+:".into()),
        ..IdpConfig::default()
    };
    let basic = BASE64_STANDARD.encode("robot-at-idp:idp-secret%2F%2B%3A");
    let fixed = Some(format!("{}/token", idp.origin()));
    for (token_endpoint, methods) in [
        (fixed, json!(["client_secret_post"])),
        (None, json!(["client_secret_post", "client_secret_basic"])),
        (None, Value::Null),
    ] {
        let settings = IdpConfig { token_endpoint, ..settings.clone() };
        world.config = OauthConfig { idp: Some(settings), ..client() };
        idp.with(|known| {
            known.metadata = json!({"token_endpoint_auth_methods_supported": methods})
        });
        world.server.with(|known| known.access_tokens.clear());
        let (form, headers) = granted(&world, GrantKind::Exchange).await;
        assert_eq!(form["client_id"], "robot");
        assert!(!headers.contains_key("authorization") && !form.contains_key("client_secret"));
        let (asked, headers) = idp.with(|known| known.requests.remove(0));
        assert_eq!(headers["authorization"], format!("Basic {basic}"));
        assert!(!asked.contains_key("client_id") && !asked.contains_key("client_secret"));
    }
    world.config = OauthConfig { idp: Some(settings), ..client() };
    let post = json!({"token_endpoint_auth_methods_supported": ["client_secret_post"]});
    idp.with(|known| known.metadata = post);
    world.server.with(|known| known.access_tokens.clear());
    granted(&world, GrantKind::Exchange).await;
    let (asked, headers) = idp.with(|known| known.requests.remove(0));
    assert_eq!(
        (asked["client_id"].as_str(), asked["client_secret"].as_str()),
        ("robot-at-idp", "idp-secret/+:")
    );
    assert!(!headers.contains_key("authorization"));
}

// AU-3
#[test]
fn settings_that_do_not_fit_are_refused() {
    let check = |config: Value, grant: GrantKind| {
        let config: OauthConfig = serde_json::from_value(config).unwrap();
        config.check(grant)
    };
    use GrantKind::{Client, Exchange, Person};
    let idp = json!({"issuer": "https://idp.example"});
    let with_secret = |idp: &Value| json!({"issuer": idp["issuer"], "client_secret": "b"});
    for (config, grant) in [
        (json!({}), Person),
        (json!({"client_id": "a", "private_key": "b", "signing_algorithm": "ES256"}), Person),
        (json!({"client_id": "a", "client_secret": "b"}), Client),
        (json!({"assertion": "a"}), Client),
        (json!({"client_id": "a", "issuer": "https://as.example"}), Exchange),
        (json!({"client_id": "a", "idp": idp}), Exchange),
        (
            json!({"client_id": "a", "issuer": "https://as.example", "subject_token_type": "id_token"}),
            Exchange,
        ),
    ] {
        assert_eq!(check(config, grant), Ok(()));
    }
    for (config, grant, problem) in [
        (json!({"client_secret": "b"}), Person, "no `client_id`"),
        (json!({"client_id": "a", "signing_algorithm": "ES256"}), Client, "no `private_key`"),
        (json!({"client_id": "a", "client_secret": "b", "private_key": "c"}), Client, "has both"),
        (json!({"client_id": "a"}), Client, "or an `assertion`"),
        (json!({}), Exchange, "needs a `client_id`"),
        (json!({"client_id": "a"}), Exchange, "needs the `issuer`"),
        (json!({"client_id": "a", "idp": {"issuer": "x"}}), Exchange, "`idp.issuer`"),
        (json!({"assertion": "a"}), Person, "has an `assertion`"),
        (json!({"idp": idp}), Person, "has an `idp`"),
        (json!({"client_id": "a", "idp": with_secret(&idp)}), Exchange, "no `idp.client_id`"),
        (json!({"subject_token_type": "jwt"}), Person, "`subject_token_type`"),
        (
            json!({"client_id": "a", "idp": idp, "subject_token_type": "jwt"}),
            Exchange,
            "`subject_token_type`",
        ),
    ] {
        let found = check(config, grant).unwrap_err();
        assert!(found.contains(problem), "{found}");
    }
}
