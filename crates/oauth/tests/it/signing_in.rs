//! Sign-ins that succeed.

use serde_json::json;
use switchboard_oauth::revoke;

use crate::{World, browse, redirect_of};

// AU-1
#[tokio::test]
async fn a_person_signs_in_with_a_browser() {
    let world = World::new().await;
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
        let world = World::new().await;
        world.server.with(|known| known.id_token = claims.clone());
        let credential = world.sign_in().await.unwrap();
        assert_eq!(credential.status().account.as_deref(), account, "{claims}");
    }
}

// AU-1: no secret is in the clear in any file, nor in what is shown for debugging.
#[tokio::test]
async fn nothing_secret_is_written() {
    let world = World::new().await;
    let credential = world.sign_in().await.unwrap();
    let shown = format!("{credential:?}");
    assert!(!shown.contains("access-secret") && !shown.contains("refresh-secret"), "{shown}");
    let mut folders = vec![world.folder.path().to_owned()];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            files += 1;
            let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
            assert!(!text.contains("secret-value"), "{}", path.display());
        }
    }
    assert!(files > 1);
}

// AU-1
#[tokio::test]
async fn the_address_that_the_browser_ended_on_can_be_pasted() {
    let world = World::new().await;
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
    let world = World::new().await;
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
    let world = World::new().await;
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
