//! What is signed holds for its place, its purpose, its moment and its cluster alone.

use super::*;
use crate::names::Bucket;

const ONE: &str = "the first secret of this cluster";
const TWO: &str = "the other secret of this cluster";

fn signer(secret: &str) -> Signer {
    Signer::new(Some(&secret.into())).unwrap()
}

fn body() -> Bytes {
    Bytes::from_static(br#"{"caller":"ada"}"#)
}

// RC-3
#[test]
fn what_is_signed_is_believed_by_every_node_with_the_key() {
    let (one, other) = (signer(ONE), signer(ONE));
    let place = ["switchboard.call.gpu.resize", "_INBOX.1"];
    let signed =
        one.write(Purpose::Request, &place, &serde_json::json!({"caller": "ada"})).unwrap();
    assert!(is_signed(&signed));
    let opened = other.open(Purpose::Request, &place, &signed).unwrap();
    assert_eq!(opened.body, body());
    let by = opened.signed.unwrap();
    assert_eq!((by.node.as_str(), by.is_current), (one.node.as_str(), true));
    assert_eq!(
        one.sign_at(Purpose::Request, &place, &body(), by.at_ms),
        signed,
        "both ways are one"
    );
}

// RC-3
#[test]
fn a_signature_holds_nowhere_else() {
    let signer = signer(ONE);
    let place = ["switchboard.call.gpu.resize", "_INBOX.1"];
    let signed = signer.sign(Purpose::Request, &place, &body());
    let refused = |purpose, place: &[&str], bytes: &Bytes, signer: &Signer| {
        let error = signer.open(purpose, place, bytes).unwrap_err();
        assert!(matches!(error, Error::Unsigned { .. }), "{error}");
        error.to_string()
    };
    let elsewhere = ["switchboard.call.gpu.remove", "_INBOX.1"];
    let text = refused(Purpose::Request, &elsewhere, &signed, &signer);
    assert_eq!(text, "the request is not signed with this cluster's key");
    refused(Purpose::Request, &["switchboard.call.gpu.resize", "_INBOX.2"], &signed, &signer);
    refused(Purpose::Request, &["switchboard.call.gpu.resize_INBOX.1"], &signed, &signer);
    refused(Purpose::Job, &place, &signed, &signer);
    refused(Purpose::Entry(Bucket::Tokens), &place, &signed, &signer);
    refused(Purpose::Request, &place, &signed, &self::signer(TWO));
    refused(Purpose::Request, &place, &body(), &signer);
    refused(Purpose::Request, &place, &Bytes::new(), &signer);
    for at in 0..signed.len() {
        let mut changed = signed.to_vec();
        changed[at] ^= 1;
        refused(Purpose::Request, &place, &changed.into(), &signer);
    }
}

#[test]
fn every_purpose_has_a_key_of_its_own() {
    let signer = signer(ONE);
    let all: Vec<_> = Purpose::all().collect();
    for one in &all {
        let signed = signer.sign(*one, &["k"], &body());
        for other in &all {
            assert_eq!(signer.open(*other, &["k"], &signed).is_ok(), one == other);
        }
    }
    assert_ne!(signer.secrets("a"), signer.secrets("b"));
    assert_eq!(signer.secrets("a"), self::signer(ONE).secrets("a"));
}

// RC-3
#[test]
fn a_request_is_taken_around_its_moment_alone() {
    let signer = signer(ONE);
    let signed = signer.sign_at(Purpose::Request, &["s"], &body(), 1_800_000_000_000);
    let window = u64::try_from(WINDOW.as_millis()).unwrap();
    for (apart, is_taken) in [(0, true), (window, true), (window + 1, false), (4 * window, false)] {
        for now in [1_800_000_000_000 + apart, 1_800_000_000_000 - apart] {
            let opened = signer.open_fresh(Purpose::Request, &["s"], &signed, now);
            assert_eq!(opened.is_ok(), is_taken, "{apart}");
        }
    }
    let now = 1_800_000_000_000 + 2 * window;
    let error = signer.open_fresh(Purpose::Request, &["s"], &signed, now).unwrap_err().to_string();
    assert_eq!(error, "the request was signed 120 s before or after this moment");
}

#[test]
fn an_entry_is_taken_for_as_long_as_it_is_kept_and_a_minute_more() {
    let signer = signer(ONE);
    let (at, window) = (1_800_000_000_000, u64::try_from(WINDOW.as_millis()).unwrap());
    let purpose = Purpose::Entry(Bucket::Workers);
    let signed = signer.sign_at(purpose, &["k"], &body(), at);
    let kept = Duration::from_secs(75);
    let is_taken = |now| signer.open_kept(purpose, &["k"], &signed, now, kept).is_ok();
    let latest = at + 75_000 + window;
    let taken = [at - window - 1, at - window, at, latest, latest + 1].map(is_taken);
    assert_eq!(taken, [false, true, true, true, false]);
}

#[test]
fn keys_can_be_replaced_one_node_after_the_other() {
    let several = |secrets: &[&str]| {
        let secrets = secrets.iter().map(|secret| (*secret).to_owned()).collect();
        Signer::new(Some(&ClusterSecrets::Several(secrets))).unwrap()
    };
    let old = signer(ONE).sign(Purpose::Job, &["s"], &body());
    let is_current = |signer: &Signer, bytes| {
        signer
            .open(Purpose::Job, &["s"], bytes)
            .ok()
            .map(|opened| opened.signed.unwrap().is_current)
    };
    assert_eq!(is_current(&several(&[ONE, TWO]), &old), Some(true));
    assert_eq!(is_current(&several(&[TWO, ONE]), &old), Some(false));
    assert_eq!(is_current(&several(&[TWO]), &old), None);
    let new = several(&[TWO, ONE]).sign(Purpose::Job, &["s"], &body());
    assert_eq!(is_current(&several(&[ONE, TWO]), &new), Some(false));
    assert_eq!(is_current(&several(&[ONE]), &new), None);
}

#[test]
fn without_a_key_nothing_is_signed_and_everything_believed() {
    let none = Signer::new(None).unwrap();
    assert!(!none.has_key() && none.secrets("a").is_empty());
    assert_eq!(none.sign(Purpose::Job, &["s"], &body()), body());
    assert_eq!(none.write(Purpose::Job, &["s"], &1).unwrap(), &b"1"[..]);
    for bytes in [body(), signer(ONE).sign(Purpose::Request, &["elsewhere"], &body())] {
        let opened = none.open_fresh(Purpose::Job, &["s"], &bytes, 0).unwrap();
        assert_eq!((opened.body, opened.signed), (body(), None));
    }
}

#[test]
fn secrets_that_could_be_guessed_are_refused() {
    let cases = [
        (
            ClusterSecrets::from("short"),
            "`cluster.key`: a key has 5 characters and needs at least 32",
        ),
        (
            ClusterSecrets::from("  padded with blanks only          "),
            "`cluster.key`: a key has 23 characters",
        ),
        (ClusterSecrets::Several(vec![]), "`cluster.key`: the list is empty"),
        (
            ClusterSecrets::Several(vec![ONE.to_owned(), String::new()]),
            "`cluster.key`: a key has 0",
        ),
    ];
    for (secrets, expected) in cases {
        let error = Signer::new(Some(&secrets)).err().unwrap().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    let shown = format!("{:?}", ClusterSecrets::from(ONE));
    assert!(!shown.contains("secret of"), "{shown}");
}
