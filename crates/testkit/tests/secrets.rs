//! The scan for secrets finds them in every form that it claims to know.

use std::fs;

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use switchboard_testkit::secrets::{assert_none, scan, scan_text};

const SECRET: &str = "s3cr3t/value+with ünusual?bytes";

// AU-2
#[test]
fn a_secret_is_found_in_every_form() {
    let shifted = |before: &str| format!("{before}{SECRET} and more");
    let cases = [
        ("plain", format!("token={SECRET}")),
        ("plain", format!("{}…", &SECRET[..12])),
        ("percent-encoded", "a=s3cr3t%2Fvalue%2Bwith+%C3%BCn".to_owned()),
        ("percent-encoded", "a=s3cr3t%2fvalue%2bwith%20%c3%bcn".to_owned()),
        ("base64", STANDARD.encode(shifted(""))),
        ("base64", STANDARD.encode(shifted("id:"))),
        ("base64", STANDARD.encode(shifted("id:x"))),
        ("base64", URL_SAFE_NO_PAD.encode(shifted("id:xy"))),
        ("hex", SECRET.bytes().map(|byte| format!("{byte:02x}")).collect()),
    ];
    for (form, text) in cases {
        let found = scan_text(&text, "a text", &[SECRET]);
        assert_eq!(found.iter().map(|leak| leak.form).collect::<Vec<_>>(), [form], "{text}");
    }
    for text in ["", "s3cr3t", "another value", &STANDARD.encode("another value")] {
        assert_eq!(scan_text(text, "a text", &[SECRET]), [], "{text}");
    }
}

// AU-2
#[test]
fn every_file_and_name_below_a_folder_is_read() {
    let place = tempfile::tempdir().expect("a folder");
    let path = |name: &str| place.path().join(name);
    fs::create_dir_all(path("deep/vault")).expect("a folder");
    fs::write(path("deep/log"), [b"\0\xff", SECRET.as_bytes()].concat()).expect("a file");
    fs::write(path("deep/vault/key"), SECRET).expect("a file");
    fs::write(path("deep/of-a-client-id"), "").expect("a file");
    fs::write(path("beside"), "").expect("a file");
    let places = |except: &[&std::path::Path], secrets: &[&str]| -> Vec<_> {
        scan(place.path(), except, secrets).into_iter().map(|leak| leak.place).collect()
    };
    let vault = path("deep/vault");
    assert_eq!(places(&[&vault], &[SECRET]), [path("deep/log")]);
    assert_eq!(places(&[&vault], &["of-a-client-id"]), [path("deep/of-a-client-id")]);
    assert_eq!(places(&[], &[SECRET, "nowhere at all"]).len(), 2);
    assert_none(place.path(), &[&path("deep")], &["nowhere at all"]);
}
