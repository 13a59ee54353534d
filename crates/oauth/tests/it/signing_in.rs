//! Sign-ins that succeed.

use serde_json::json;
use switchboard_oauth::{Error, Secret, revoke};
use switchboard_testkit::secrets;
use tokio::{
    io::{AsyncReadExt, BufReader},
    net::TcpStream,
};
use url::Url;

use crate::{SignInSetup, browse, redirect_of};

// AU-1
#[tokio::test]
async fn a_person_signs_in_with_a_browser() {
    let world = SignInSetup::new().await;
    let pending = world.begin().await;
    let url = pending.url().clone();
    let page = tokio::spawn(browse(url.to_string()));
    let credential = pending.finish().await.unwrap();
    assert!(page.await.unwrap().contains("go back to the terminal"));
    assert_eq!(credential.issuer, world.server.origin());
    assert_eq!(
        world.server.with(|known| known.requested_scopes.clone()),
        ["read", "offline_access"]
    );
    assert!(credential.is_renewable());
    let status = credential.status();
    assert!(status.renews && status.until.is_some() && status.scopes == ["read", "offline_access"]);
    let stored = world.stored().await.unwrap();
    assert_eq!(stored, credential);
    // A random path, and a port that nobody listens on any more.
    let redirect =
        url.query_pairs().find(|(name, _)| name == "redirect_uri").unwrap().1.into_owned();
    assert!(redirect.rsplit('/').next().unwrap().len() > 40, "{redirect}");
    assert!(reqwest::get(redirect).await.unwrap_err().is_connect());
}

// AU-1: the browser says that somebody is signed in once there are tokens.
#[tokio::test]
async fn a_refused_code_shows_no_success() {
    let world = SignInSetup::new().await;
    world.server.with(|known| known.redirect = json!({"code": "of somebody else"}));
    let pending = world.begin().await;
    let page = tokio::spawn(browse(pending.url().to_string()));
    let error = pending.finish().await.unwrap_err();
    assert!(error.is_refusal(), "{error}");
    let page = page.await.unwrap();
    assert!(page.contains("Not signed in") && page.contains("invalid_grant"), "{page}");
}

// AU-1: as whom, where that can be known; an ID token for somebody else says nothing.
#[tokio::test]
async fn who_signed_in_is_shown_as_the_issuer_says() {
    for (claims, account) in [
        (json!({"email": "ada@example.com", "sub": "7"}), Some("ada@example.com")),
        (json!({"sub": "a\u{1b}[31mda"}), Some("a[31mda")),
        (json!({"sub": "7", "iss": "https://evil.example"}), None),
        (json!({"sub": "7", "aud": "another"}), None),
        (json!(null), None),
    ] {
        let world = SignInSetup::new().await;
        world.server.with(|known| known.id_token = claims.clone());
        let credential = world.sign_in().await.unwrap();
        assert_eq!(credential.status().account.as_deref(), account, "{claims}");
    }
}

// AU-1: no secret is in the clear in any file, nor in what is shown for debugging.
#[tokio::test]
async fn nothing_secret_is_written() {
    let world = SignInSetup::new().await;
    let credential = world.sign_in().await.unwrap();
    let shown = format!("{credential:?}");
    assert!(!shown.contains("access-secret") && !shown.contains("refresh-secret"), "{shown}");
    let known: Vec<_> = credential.secrets().map(Secret::expose).collect();
    assert_eq!(known.len(), 2);
    secrets::assert_none(world.folder.path(), &[], &[&known[..], &["code-secret-value"]].concat());
}

// AU-1
#[tokio::test]
async fn the_address_that_the_browser_ended_on_can_be_pasted() {
    let world = SignInSetup::new().await;
    let pending = world.begin().await;
    let ended_on = redirect_of(pending.url().as_str()).await;
    assert!(pending.finish_with(&format!("  {ended_on}\n")).await.is_ok());
    for wrong in ["", "x", "http://127.0.0.1/elsewhere?code=a&state=b", &ended_on] {
        let error = world.begin().await.finish_with(wrong).await.unwrap_err();
        assert!(error.is_refusal(), "{error}");
    }
}

// AU-1
#[tokio::test]
async fn a_device_without_a_browser_signs_in() {
    let world = SignInSetup::new().await;
    world.server.with(|known| known.pending = 1);
    let sign_in = world.prepare().await.unwrap();
    let mut shown = None;
    let credential = sign_in.with_device(|code| shown = Some(code.clone())).await.unwrap();
    let shown = shown.unwrap();
    assert_eq!((shown.user_code.as_str(), shown.verification_uri_complete), ("ABCD-EFGH", None));
    assert!(credential.is_renewable());
}

// AU-1
#[tokio::test]
async fn a_sign_out_revokes() {
    let world = SignInSetup::new().await;
    assert_eq!(revoke(&world.http, &*world.store, &world.key).await.unwrap(), None);
    let credential = world.sign_in().await.unwrap();
    let revoked = revoke(&world.http, &*world.store, &world.key).await.unwrap();
    assert_eq!(revoked, Some((credential, true)));
    assert_eq!(world.server.with(|known| known.revoked.clone()), ["refresh_token", "access_token"]);
    assert_eq!(world.stored().await, None);
    // One that cannot be revoked is forgotten all the same.
    world.server.with(|known| known.metadata = json!({"revocation_endpoint": null}));
    let credential = world.sign_in().await.unwrap();
    let revoked = revoke(&world.http, &*world.store, &world.key).await.unwrap();
    assert_eq!(revoked, Some((credential, false)));
    assert_eq!(world.stored().await, None);
}

// AU-1: browsers open connections ahead and leave them idle.
#[tokio::test]
async fn an_idle_connection_does_not_hold_up_the_redirect() {
    let world = SignInSetup::new().await;
    let pending = world.begin().await;
    let back = redirect_of(pending.url().as_str()).await;
    let port = Url::parse(&back).unwrap().port().unwrap();
    let idle = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let finished = tokio::spawn(pending.finish());
    assert!(browse(back).await.contains("Signed in"));
    finished.await.unwrap().unwrap();
    // It was open all the while, and ends with the sign-in.
    let mut rest = Vec::new();
    let mut idle = BufReader::new(idle);
    _ = idle.read_to_end(&mut rest).await;
    assert_eq!(rest, b"");
}

// AU-1: a page that people are sent to is https, or on this machine if the server is.
#[tokio::test]
async fn a_device_is_sent_to_no_address_that_is_not_trusted() {
    let world = SignInSetup::new().await;
    let sign_in = world.prepare().await.unwrap();
    for address in ["http://phish.example/activate?code=1", "javascript:alert(1)"] {
        world.server.with(|known| known.complete_uri = Some(address));
        let error = sign_in.with_device(|_| panic!("shown")).await.unwrap_err();
        assert!(matches!(error, Error::Insecure { .. }), "{error}");
    }
}

// AU-1: by configuration, then by the client's metadata document, then by registration.
#[tokio::test]
async fn a_client_is_its_metadata_document_where_that_is_taken() {
    let mut world = SignInSetup::new().await;
    let document = "https://tools.example/client.json";
    let config = |more: serde_json::Value| serde_json::from_value(more).unwrap();
    world.config = config(json!({"client_metadata_url": document}));
    // Not taken: registered.
    let pending = world.begin().await;
    let redirect = |url: &Url| {
        let found = url.query_pairs().find(|(name, _)| name == "redirect_uri").unwrap().1;
        Url::parse(&found).unwrap()
    };
    let id = |url: &Url| url.query_pairs().find(|(name, _)| name == "client_id").unwrap().1.into();
    let registered: String = id(pending.url());
    assert!(registered.starts_with("client-"), "{registered}");
    assert_ne!(redirect(pending.url()).path(), "/callback", "a random path");

    let taken = json!({"client_id_metadata_document_supported": true});
    world.server.with(|known| known.metadata = taken);
    let pending = world.begin().await;
    let named: String = id(pending.url());
    let redirect = redirect(pending.url());
    assert_eq!((&*named, redirect.path()), (document, "/callback"));
    // The authorization server finds the address in the document, whatever the port.
    let redirects = vec![redirect.to_string()];
    world.server.with(|known| known.clients.insert(document.to_owned(), redirects));
    let browser = tokio::spawn(browse(pending.url().to_string()));
    pending.finish().await.unwrap();
    assert!(browser.await.unwrap().contains("Signed in"));
    let asked = world.server.with(|known| known.requests.pop().unwrap().0);
    assert_eq!((&*asked["client_id"], asked.get("client_secret")), (document, None));
    assert_eq!(world.server.with(|known| known.clients.len()), 2, "nothing else is registered");

    world.config = config(json!({"client_metadata_url": document, "client_id": "by-hand"}));
    let configured: String = id(world.begin().await.url());
    assert_eq!(configured, "by-hand");
}
