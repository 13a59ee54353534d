//! The lock file: read and written by people, programs and several processes at once.

use std::{fs, os::unix::fs::symlink, thread};

use serde_json::json;
use switchboard_lock::{
    DefinitionKind, FILE_NAME, Identity, LockFile, LockMode, LockStore, StoreError, TrustStamp,
};

use crate::{TestLock, definition, one_of_each, tool};

/// A lock file with one of each kind, and where it is.
fn written() -> (TestLock, String) {
    let place = TestLock::with(&one_of_each(), LockMode::Enforce);
    let text = fs::read_to_string(place.store().file()).unwrap();
    (place, text)
}

// LK-1
#[test]
fn it_is_made_to_be_read() {
    let mut file = LockFile::default();
    let server = file.servers.entry("books".to_owned()).or_default();
    server.identity = Identity {
        package: Some("npm:books@1.2.0".to_owned()),
        integrity: Some("sha512-abc".to_owned()),
        version: Some("1.2.0".to_owned()),
        ..Identity::default()
    };
    let entry = json!({"name": "get page", "description": "Returns a page.\nOr \"\"\"none\u{200b}.", "inputSchema": {"type": "object"}, "_meta": {"seen": 1}});
    let trusted = TrustStamp { by: "ada".to_owned(), at: "2026-11-18T10:00:00Z".to_owned() };
    server.put(definition(DefinitionKind::Tool, &entry), Some(trusted));
    let hash = definition(DefinitionKind::Tool, &entry).hash();
    let text = file.to_text();
    let (_, body) = text.split_once("version = 1\n").unwrap();
    let expected = format!(
        r#"
[servers.books]
package = "npm:books@1.2.0"
integrity = "sha512-abc"
version = "1.2.0"

[servers.books.tools."get page"]
hash = "{hash}"
trusted = {{ by = "ada", at = "2026-11-18T10:00:00Z" }}
description = """
Returns a page.
Or \"\""none\u200B."""
input = '{{"type":"object"}}'
meta = '{{"seen":1}}'
"#
    );
    assert_eq!(body, expected);
    assert!(text.starts_with("# What the MCP servers of this config say"), "{text}");
    let read = LockFile::parse(&text).unwrap();
    assert_eq!(read.to_text(), text);
    assert!(read.servers["books"].definitions.values().all(|locked| locked.is_sound));
}

// LK-1
#[test]
fn equal_contents_are_equal_bytes() {
    let (place, text) = written();
    let mut entries = one_of_each();
    entries.reverse();
    let other = TestLock::with(&entries, LockMode::Enforce);
    assert_eq!(fs::read_to_string(other.store().file()).unwrap(), text);
    // Nothing to change, nothing written.
    let before = fs::metadata(place.store().file()).unwrap().modified().unwrap();
    place.store().update(|_| {}).unwrap();
    assert_eq!(fs::metadata(place.store().file()).unwrap().modified().unwrap(), before);
}

#[test]
fn comments_of_people_stay() {
    let (place, text) = written();
    let text = text
        .replace("version = 1\n", "# ours, see ticket 7\nversion = 1\n")
        .replace("\n[servers.books]\n", "\n# the library\n# asked: Ada\n[servers.books]\n")
        .replace(
            "[servers.books.tools.read_file]\n",
            "[servers.books.tools.read_file] # read twice\n# by two\n",
        );
    let text = format!("{text}\n# the end\n");
    fs::write(place.store().file(), &text).unwrap();
    let add = |name: &str| {
        let entry = json!({"name": name, "inputSchema": {"type": "object"}});
        place.store().update(|file| {
            let server = file.servers.get_mut("books").unwrap();
            server.put(definition(DefinitionKind::Tool, &entry), None);
        })
    };
    add("another").unwrap();
    let now = fs::read_to_string(place.store().file()).unwrap();
    for part in [
        "# ours, see ticket 7\nversion = 1\n",
        "\n# the library\n# asked: Ada\n[servers.books]\n",
        "\n# by two\n",
        "# read twice\n",
        "\n# the end\n",
        "\n[servers.books.tools.another]\n",
    ] {
        assert!(now.contains(part), "{part:?}: {now}");
    }
    assert_eq!(now.matches("# What the MCP servers").count(), 1, "{now}");
    assert_eq!(now.matches("# by two").count(), 1, "{now}");
    // Written once more, it is the same.
    add("a third").unwrap();
    let third = "\n[servers.books.tools.\"a third\"]\n";
    let again = fs::read_to_string(place.store().file()).unwrap();
    let (before, after) = again.split_once(third).unwrap();
    let (_, after) = after.split_once("\n\n").unwrap();
    assert_eq!(format!("{before}\n{after}"), now);
    assert_eq!(place.store().read().unwrap().unwrap().servers["books"].definitions.len(), 6);
}

// LK-2
#[test]
fn a_broken_file_names_its_line_and_is_left_alone() {
    let (place, text) = written();
    let line_of =
        |text: &str, part: &str| text.lines().position(|line| line.contains(part)).unwrap() + 1;
    let hash = text.lines().find(|line| line.starts_with("hash")).unwrap();
    let cases = [
        (text.replace("[servers.books]", "<<<<<<< ours\n[servers.books]"), "<<<<<<<"),
        (text.replacen(hash, "hash = 7", 1), "hash = 7"),
        (text.replacen(hash, "hahs = \"x\"", 1), "hahs"),
        (text.replace("version = 1", "version = 2"), ""),
        (text.replace("version = 1", "version = \"1\""), "version = \"1\""),
        (format!("{text}\n[servers.books]\n"), ""),
    ];
    for (broken, place_of) in cases {
        fs::write(place.store().file(), &broken).unwrap();
        let error = place.store().read().unwrap_err();
        let says = error.to_string();
        let StoreError::Text { error, .. } = error else { panic!("{says}") };
        if !place_of.is_empty() {
            assert_eq!(error.line, line_of(&broken, place_of), "{says}");
        }
        assert!(says.contains(&format!("{FILE_NAME}:{}: ", error.line)), "{says}");
        // The lock that was read before still applies.
        assert!(place.locks.reload().is_err());
        assert!(place.gate.allows(DefinitionKind::Tool, "read_file"));
        assert!(!place.gate.allows(DefinitionKind::Tool, "another"));
        // Nobody writes over it.
        assert!(place.store().update(|file| file.servers.clear()).is_err());
        assert_eq!(fs::read_to_string(place.store().file()).unwrap(), broken);
    }
    fs::write(place.store().file(), [0xff, 0xfe]).unwrap();
    assert!(place.store().read().unwrap_err().to_string().starts_with("failed to read"));
}

// LK-1: a reviewer who read the text did not read what another hash stands for.
#[test]
fn a_text_that_its_hash_does_not_stand_for_is_not_locked() {
    let (place, text) = written();
    let hash = definition(DefinitionKind::Tool, &tool()).hash();
    let mut worse = tool();
    worse["description"] = json!("Deletes files.");
    let other = definition(DefinitionKind::Tool, &worse).hash();
    for edited in [
        text.replace(&hash, &other),
        text.replace("returns its text. Works", "returns its texts. Works"),
        text.replace("\"maxLength\": 200", "\"maxLength\": 999"),
        text.replace("\"maxLength\": 200", "maxLength: 200"),
    ] {
        assert_ne!(edited, text);
        fs::write(place.store().file(), edited).unwrap();
        place.locks.reload().unwrap();
        let instance = place.gate.instance();
        assert!(instance.admit(DefinitionKind::Tool, vec![worse.clone()]).is_empty());
        assert!(instance.admit(DefinitionKind::Tool, vec![tool()]).is_empty());
        assert_eq!(place.waiting(), ["read_file unsound"]);
    }
}

#[test]
fn writers_wait_for_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let store = LockStore::beside(&folder.path().join("switchboard.toml"));
    let write = |thread: usize| {
        for number in 0..10 {
            let entry = json!({"name": format!("tool_{thread}_{number}")});
            let put = |file: &mut LockFile| {
                let server = file.servers.entry("many".to_owned()).or_default();
                server.put(definition(DefinitionKind::Tool, &entry), None);
            };
            store.update(put).unwrap();
        }
    };
    thread::scope(|scope| {
        (0..4).for_each(|thread| _ = scope.spawn(move || write(thread)));
        // A reader never finds half a file.
        for _ in 0..50 {
            store.read().unwrap();
        }
    });
    assert_eq!(store.read().unwrap().unwrap().servers["many"].definitions.len(), 40);
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn a_link_stays_a_link() {
    let (place, text) = written();
    let elsewhere = tempfile::tempdir().unwrap();
    let target = elsewhere.path().join("shared.lock");
    fs::rename(place.store().file(), &target).unwrap();
    symlink(&target, place.store().file()).unwrap();
    place.store().update(|file| file.servers.clear()).unwrap();
    assert!(place.store().file().is_symlink());
    assert_ne!(fs::read_to_string(&target).unwrap(), text);
}

#[test]
fn a_folder_that_cannot_be_written_is_told() {
    let store = LockStore::beside(std::path::Path::new("/nowhere/at/all/switchboard.toml"));
    assert!(store.read().unwrap().is_none());
    let says = store.update(|_| {}).unwrap_err().to_string();
    assert_eq!(says, "failed to write `/nowhere/at/all/switchboard.lock`");
}
