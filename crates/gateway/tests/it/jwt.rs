//! Tokens of an issuer (SPEC GW-2).

use std::{fs, path::Path, time::SystemTime};

use serde_json::{Value, json};
use switchboard_access::{Access, JwtConfig, Tokens};
use switchboard_gateway::Config;
use switchboard_testkit::until;

use crate::{
    TestGateway, answer,
    issuer::{Key, KeyServer, set},
};

/// The settings, with `more` over them.
fn config(jwks: &str, more: Value) -> Config {
    let mut jwt = json!({"issuer": "https://login.example", "audience": "tools", "jwks": jwks});
    jwt.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let jwt: JwtConfig = serde_json::from_value(jwt).unwrap();
    Config { jwt: Some(jwt), require_token: true, ..Config::default() }
}

/// What a good token says, with `more` over it; null takes something out.
fn claims(more: Value) -> Value {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let mut claims = json!({
        "iss": "https://login.example", "aud": ["tools", "others"], "sub": "ada", "exp": now + 600,
    });
    for (name, value) in more.as_object().unwrap() {
        claims[name] = value.clone();
    }
    claims.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    claims
}

fn keys_file(folder: &Path, keys: &[&Key]) -> String {
    let file = folder.join("keys.json");
    fs::write(&file, set(keys).to_string()).unwrap();
    file.to_str().unwrap().to_owned()
}

async fn try_with(gateway: &TestGateway, token: &str) -> (u16, String) {
    let (status, body) = answer(gateway.get("/api/tools").bearer_auth(token)).await;
    (status, body["error"].as_str().unwrap_or_default().to_owned())
}

// GW-2
#[tokio::test]
async fn every_kind_of_signature_is_checked() {
    let folder = tempfile::tempdir().unwrap();
    let (p256, p384) = (Key::p256("a"), Key::p384("b"));
    let (ed, rsa) = (Key::ed25519("c"), Key::rsa("d"));
    let file = keys_file(folder.path(), &[&p256, &p384, &ed, &rsa]);
    let gateway = TestGateway::configured(config(&file, json!({}))).await;
    let mut cases = vec![(&p256, "ES256"), (&p384, "ES384"), (&ed, "EdDSA")];
    cases.extend(
        ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"].map(|algorithm| (&rsa, algorithm)),
    );
    for (key, algorithm) in cases {
        let token = key.token(algorithm, &claims(json!({})));
        assert_eq!(try_with(&gateway, &token).await, (200, String::new()), "{algorithm}");
        // The same again is remembered; another signature under it is not.
        assert_eq!(try_with(&gateway, &token).await.0, 200, "{algorithm}");
        let (message, signed) = token.rsplit_once('.').unwrap();
        let first = if signed.starts_with('A') { "B" } else { "A" };
        let forged = format!("{message}.{first}{}", &signed[1..]);
        let (status, error) = try_with(&gateway, &forged).await;
        assert_eq!(status, 401, "{algorithm}");
        assert!(error.contains("signature is wrong"), "{algorithm}: {error}");
    }
}

// GW-2
#[tokio::test]
async fn what_is_not_for_us_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let (key, other) = (Key::p256("a"), Key::p256("a"));
    let rsa = Key::rsa("r");
    let file = keys_file(folder.path(), &[&key, &rsa]);
    let more = json!({"algorithms": ["ES256", "EdDSA"], "leeway": "0s"});
    let gateway = TestGateway::configured(config(&file, more)).await;
    let good = claims(json!({}));
    let token = |more: Value| key.token("ES256", &claims(more));
    let unsigned = {
        let signed = key.token_under(&json!({"alg": "ES256"}), &good);
        let (_, payload) = signed.split_once('.').unwrap();
        format!("eyJhbGciOiJub25lIn0.{}.", payload.split_once('.').unwrap().0)
    };
    let critical = json!({"alg": "ES256", "kid": "a", "crit": ["b64"], "b64": false});
    let shared = json!({"alg": "HS256", "kid": "shared"});
    let cases = [
        (token(json!({"iss": "https://evil.example"})), "not of the issuer"),
        (token(json!({"aud": "others"})), "not for `tools`"),
        (token(json!({"aud": null})), "no claim `aud`"),
        (token(json!({"iss": null})), "no claim `iss`"),
        (token(json!({"exp": 1000})), "expired"),
        (token(json!({"exp": null})), "no claim `exp`"),
        (token(json!({"nbf": 9_999_999_999_u64})), "not good yet"),
        (token(json!({"sub": null})), "claim `sub`"),
        (other.token("ES256", &good), "signature is wrong"),
        (Key::p256("nobody").token("ES256", &good), "no key of the issuer fits"),
        (rsa.token("RS256", &good), "RS256 are not taken"),
        (key.token_under(&shared, &good), "HS256 are not taken"),
        (key.token_under(&critical, &good), "extensions"),
        (unsigned, "nor a JWT"),
        ("nonsense".to_owned(), "nor a JWT"),
        ("a.b.c".to_owned(), "nor a JWT"),
    ];
    for (token, word) in cases {
        let (status, error) = try_with(&gateway, &token).await;
        assert_eq!(status, 401, "{word}: {error}");
        assert!(error.contains(word), "{word} in {error}");
    }
    // Our own tokens are still good, and unknown ones still known as ours.
    let own = gateway.token("agent", &["*"]);
    assert_eq!(try_with(&gateway, &own).await.0, 200);
    assert_eq!(try_with(&gateway, "sb_wrong").await, (401, "the token is not known".to_owned()));
    let without_id = key.token_under(&json!({"alg": "ES256"}), &good);
    assert_eq!(try_with(&gateway, &without_id).await.0, 200);
}

// GW-2: all tokens of a caller share one share, and nobody else's.
#[tokio::test]
async fn each_caller_has_a_share() {
    let folder = tempfile::tempdir().unwrap();
    let key = Key::p256("a");
    let file = keys_file(folder.path(), &[&key]);
    let gateway = TestGateway::configured(config(&file, json!({"rate": "2/h"}))).await;
    let token = |sub: &str, id: u8| key.token("ES256", &claims(json!({"sub": sub, "jti": id})));
    assert_eq!(try_with(&gateway, &token("ada", 1)).await.0, 200);
    assert_eq!(try_with(&gateway, &token("ada", 2)).await.0, 200);
    let (status, error) = try_with(&gateway, &token("ada", 3)).await;
    assert_eq!((status, &*error), (429, "token 'jwt:ada' may make 2/h requests"));
    assert_eq!(try_with(&gateway, &token("bob", 1)).await.0, 200);

    let gateway = TestGateway::configured(config(&file, json!({"concurrent": 1}))).await;
    let events = gateway.get("/api/events").bearer_auth(token("ada", 1)).send().await.unwrap();
    let (status, error) = try_with(&gateway, &token("ada", 2)).await;
    assert_eq!((status, &*error), (429, "token 'jwt:ada' may have 1 requests at once"));
    assert_eq!(try_with(&gateway, &token("bob", 1)).await.0, 200);
    drop(events);
    // The place is free as soon as the gateway has noticed.
    until(async || try_with(&gateway, &token("ada", 2)).await.0 != 429).await;
    let usual: JwtConfig = config(&file, json!({})).jwt.unwrap();
    assert_eq!((usual.rate, usual.concurrent), (None, 128));
    let tokens = std::sync::Arc::new(Tokens::open(folder.path().join("tokens.json")).unwrap());
    let none = config(&file, json!({"concurrent": 0}));
    let error =
        Access::new(&none.access(), "127.0.0.1:7300".parse().unwrap(), tokens).err().unwrap();
    assert!(error.to_string().contains("[serve.jwt] concurrent"), "{error}");
}

// A claim gives the right to decide about held calls, and only where it is plainly true.
#[tokio::test]
async fn a_claim_lets_a_person_decide() {
    let folder = tempfile::tempdir().unwrap();
    let key = Key::p256("a");
    let file = keys_file(folder.path(), &[&key]);
    let gateway =
        TestGateway::configured(config(&file, json!({"approve_claim": "approver"}))).await;
    let decide = async |claim: Value| {
        let token = key.token("ES256", &claims(json!({"approver": claim})));
        let url = gateway.url("/api/approvals/zzzzzzzz");
        let body = json!({"decision": "allow"});
        answer(gateway.client.post(url).bearer_auth(token).json(&body)).await.0
    };
    assert_eq!(decide(json!(true)).await, 404, "it may, but there is nothing to decide");
    for claim in [json!(false), json!("true"), json!(1), Value::Null] {
        assert_eq!(decide(claim.clone()).await, 403, "{claim}");
    }
}

/// The example of RFC 7515, A.3: signed by somebody else's program.
#[tokio::test]
async fn a_signature_from_elsewhere_is_read_as_its_maker_meant_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keys.json");
    let key = json!({
        "kty": "EC", "crv": "P-256",
        "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    });
    fs::write(&file, json!({"keys": [key]}).to_string()).unwrap();
    let gateway = TestGateway::configured(config(file.to_str().unwrap(), json!({}))).await;
    let token = "eyJhbGciOiJFUzI1NiJ9.\
        eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.\
        DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
    let (status, error) = try_with(&gateway, token).await;
    // The signature is right; what it says is not for us.
    assert_eq!((status, error.contains("no claim `aud`")), (401, true), "{error}");
}

#[tokio::test]
async fn claims_decide_what_may_be_seen_and_done() {
    let folder = tempfile::tempdir().unwrap();
    let key = Key::ed25519("a");
    let file = keys_file(folder.path(), &[&key]);
    let more = json!({"name_claim": "email", "tools_claim": "tools"});
    let gateway = TestGateway::configured(Config {
        allow_if: vec!["claims.team == 'home' || tool == 'echo'".to_owned()],
        ..config(&file, more)
    })
    .await;
    let token = |more: Value| key.token("EdDSA", &claims(more));
    let home = token(json!({"email": "a@b.c", "team": "home", "tools": "echo weather"}));
    let (_, tools) = answer(gateway.get("/api/tools").bearer_auth(&home)).await;
    let names: Vec<_> = tools.as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["echo", "weather"]);
    let call = |tool: &str, token: &str| {
        answer(gateway.call(tool, &json!({"city": "Berlin"})).bearer_auth(token))
    };
    assert_eq!(call("weather", &home).await.0, 200);
    assert_eq!(call("fails", &home).await.0, 404);
    let guest = token(json!({"email": "g@b.c", "team": "guests", "tools": ["*"]}));
    assert_eq!(call("echo", &guest).await.0, 200);
    let (status, envelope) = call("weather", &guest).await;
    assert_eq!((status, &envelope["error_kind"]), (403, &json!("denied")));
    let (_, calls) = answer(gateway.get("/api/calls?limit=1").bearer_auth(&guest)).await;
    assert_eq!(calls[0]["caller"], "jwt:g@b.c");
    let none = token(json!({"email": "n@b.c"}));
    assert_eq!(answer(gateway.get("/api/tools").bearer_auth(&none)).await.1, json!([]));
}

#[tokio::test]
async fn keys_in_a_file_are_read_again_when_it_changes() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (Key::p256("old"), Key::ed25519("new"));
    let file = keys_file(folder.path(), &[&old]);
    let gateway = TestGateway::configured(config(&file, json!({}))).await;
    let (old_token, new_token) =
        (old.token("ES256", &claims(json!({}))), new.token("EdDSA", &claims(json!({}))));
    assert_eq!(try_with(&gateway, &old_token).await.0, 200);
    assert_eq!(try_with(&gateway, &new_token).await.0, 401);
    fs::write(&file, "{").unwrap();
    keys_file(folder.path(), &[&new]);
    until(async || try_with(&gateway, &new_token).await.0 != 401).await;
    assert_eq!(try_with(&gateway, &old_token).await.0, 401, "what was remembered is forgotten");
}

#[tokio::test]
async fn keys_from_an_address_are_asked_for_when_one_is_not_known() {
    let (first, second) = (Key::p256("first"), Key::p256("second"));
    let issuer = KeyServer::start(&[&first]).await;
    let token = |key: &Key| key.token("ES256", &claims(json!({})));
    let eager = json!({"look_pause": "0s", "keep_keys": "1h"});
    let gateway = TestGateway::configured(config(&issuer.url, eager)).await;
    assert_eq!(issuer.asked(), 0, "nobody has come with a token yet");
    issuer.fail();
    let (status, error) = try_with(&gateway, &token(&first)).await;
    assert_eq!(status, 503, "{error}");
    issuer.show(&[&first]);
    assert_eq!(try_with(&gateway, &token(&first)).await.0, 200);
    let asked = issuer.asked();
    assert_eq!(try_with(&gateway, &token(&first)).await.0, 200);
    assert_eq!(issuer.asked(), asked, "known keys are not asked for");

    issuer.show(&[&first, &second]);
    assert_eq!(try_with(&gateway, &token(&second)).await.0, 200);
    issuer.fail();
    let stranger = token(&Key::p256("stranger"));
    assert_eq!(try_with(&gateway, &stranger).await.0, 401);
    assert_eq!(try_with(&gateway, &token(&second)).await.0, 200, "the keys that were there stay");

    let patient = json!({"look_pause": "1h"});
    let gateway = TestGateway::configured(config(&issuer.url, patient)).await;
    issuer.show(&[&first]);
    assert_eq!(try_with(&gateway, &token(&first)).await.0, 200);
    let asked = issuer.asked();
    for number in 0..5 {
        let stranger = token(&Key::p256(&format!("stranger-{number}")));
        assert_eq!(try_with(&gateway, &stranger).await.0, 401);
    }
    assert_eq!(issuer.asked(), asked, "strangers do not make us ask again and again");

    let short = json!({"look_pause": "0s", "keep_keys": "0s"});
    let gateway = TestGateway::configured(config(&issuer.url, short)).await;
    let gone = token(&first);
    assert_eq!(try_with(&gateway, &gone).await.0, 200);
    issuer.show(&[&second]);
    until(async || try_with(&gateway, &gone).await.0 != 200).await;
}

#[tokio::test]
async fn an_issuer_may_say_itself_where_its_keys_are() {
    let key = Key::p256("a");
    let server = KeyServer::start(&[&key]).await;
    let issuer = server.url.trim_end_matches("/keys").to_owned();
    let more = json!({"issuer": issuer, "jwks": null, "look_pause": "0s"});
    let gateway = TestGateway::configured(config("", more)).await;
    let token = key.token("ES256", &claims(json!({"iss": issuer})));
    let refused = |said: Value| {
        server.say(said);
        try_with(&gateway, &token)
    };
    for said in [
        json!({"issuer": "https://evil.example", "jwks_uri": server.url}),
        json!({"issuer": issuer, "jwks_uri": "http://evil.example/keys"}),
        json!({"issuer": issuer}),
    ] {
        assert_eq!(refused(said.clone()).await.0, 503, "{said}");
    }
    // One answer that is both: where the keys are, and the keys.
    let mut said = set(&[&key]);
    said["issuer"] = issuer.as_str().into();
    said["jwks_uri"] = server.url.as_str().into();
    server.say(said);
    assert_eq!(try_with(&gateway, &token).await.0, 200);
}

// GW-2
#[tokio::test]
async fn clients_find_the_issuer() {
    let folder = tempfile::tempdir().unwrap();
    let file = keys_file(folder.path(), &[&Key::ed25519("a")]);
    let gateway = TestGateway::configured(config(&file, json!({"scopes": ["tools:call"]}))).await;
    let place = gateway.url("/.well-known/oauth-protected-resource");
    let refused = |request: reqwest::RequestBuilder| async {
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 401);
        response.headers()["www-authenticate"].to_str().unwrap().to_owned()
    };
    let challenge = refused(gateway.get("/api/tools")).await;
    assert_eq!(challenge, format!("Bearer resource_metadata=\"{place}\""));
    let challenge = refused(gateway.get("/api/tools").bearer_auth("a\"b\\c")).await;
    let text = "the token is not good: it is neither one of `switchboard token new` nor a JWT with a known signature";
    let expected = format!(
        "Bearer error=\"invalid_token\", error_description=\"{text}\", resource_metadata=\"{place}\""
    );
    assert_eq!(challenge, expected);

    let (status, body) = answer(gateway.get("/.well-known/oauth-protected-resource")).await;
    let expected = json!({
        "resource": gateway.url(""), "resource_name": "Switchboard",
        "authorization_servers": ["https://login.example"],
        "bearer_methods_supported": ["header"], "scopes_supported": ["tools:call"],
    });
    assert_eq!((status, body), (200, expected));
    let (_, body) = answer(gateway.get("/.well-known/oauth-protected-resource/mcp")).await;
    assert_eq!(body["resource"], gateway.url("/mcp"));
    let foreign =
        gateway.get("/.well-known/oauth-protected-resource").header("host", "evil.example");
    assert_eq!(answer(foreign).await.0, 403);

    let public = Config {
        public_url: Some("https://tools.example/".to_owned()),
        ..config(&file, json!({}))
    };
    let gateway = TestGateway::configured(public).await;
    let (_, body) = answer(gateway.get("/.well-known/oauth-protected-resource/mcp")).await;
    assert_eq!(body["resource"], "https://tools.example/mcp");
    let plain = TestGateway::start().await;
    assert_eq!(answer(plain.get("/.well-known/oauth-protected-resource")).await.0, 404);
}

#[tokio::test]
async fn settings_that_cannot_be_used_are_told_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = keys_file(folder.path(), &[&Key::ed25519("a")]);
    let empty = folder.path().join("empty.json");
    fs::write(&empty, set(&[]).to_string()).unwrap();
    let garbage = folder.path().join("garbage.json");
    fs::write(&garbage, "[]").unwrap();
    let (empty, garbage) = (empty.to_str().unwrap(), garbage.to_str().unwrap());
    let cases = [
        (file.as_str(), json!({"algorithms": ["HS256"]}), "`HS256`"),
        (file.as_str(), json!({"algorithms": ["none"]}), "`none`"),
        (file.as_str(), json!({"algorithms": []}), "algorithms"),
        (file.as_str(), json!({"audience": []}), "audience"),
        (file.as_str(), json!({"issuer": ""}), "issuer"),
        ("/nowhere/keys.json", json!({}), "/nowhere/keys.json"),
        (empty, json!({}), "none is a public key"),
        (garbage, json!({}), "not a JSON Web Key Set"),
        ("http://login.example/keys", json!({}), "must be https"),
        ("https://", json!({}), "is not a URL"),
        ("ftp://login.example/keys", json!({}), "must be https"),
        ("", json!({"jwks": null, "issuer": "http://login.example"}), "must be https"),
    ];
    let tokens = std::sync::Arc::new(Tokens::open(folder.path().join("tokens.json")).unwrap());
    let open = |config: &Config, listen: &str| {
        Access::new(&config.access(), listen.parse().unwrap(), tokens.clone())
    };
    for (jwks, more, word) in cases {
        let error = open(&config(jwks, more), "127.0.0.1:7300").err().unwrap().to_string();
        assert!(error.contains(word), "{word} in {error}");
    }
    assert!(open(&config(&file, json!({})), "0.0.0.0:7300").is_ok(), "a JWT is a token");
    let taken = switchboard_access::NewToken { name: "jwt:ada".to_owned(), ..Default::default() };
    assert!(tokens.create(taken).unwrap_err().to_string().contains("jwt:"));
}
