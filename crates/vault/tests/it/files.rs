//! One process: what is on disk, and what is told when it cannot be used.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::Path,
    sync::Arc,
};

use switchboard_vault::{Error, KeyPlace, KeyringError, Secret, Vault};

use crate::{fake_keyring::FakeKeyring, vault};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn told<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    let error = result.unwrap_err();
    let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
    format!("{error}{}", cause.unwrap_or_default())
}

// AU-2
#[test]
fn secrets_are_kept_and_are_nowhere_on_disk() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("deep/vault");
    let vault = vault(&folder);
    assert_eq!(vault.get("secret", "TOKEN").unwrap(), None);
    assert!(!vault.remove("secret", "TOKEN").unwrap());
    assert_eq!(vault.key_place().unwrap(), None);
    assert!(!folder.exists(), "reading creates nothing");

    let awkward = "hunter2 \"quoted\" \n\u{1f511} ${X}";
    vault.set("secret", "TOKEN", awkward.into()).unwrap();
    vault.set("secret", "B", "another".into()).unwrap();
    vault.set("oauth", "TOKEN", "of another kind".into()).unwrap();
    assert_eq!(vault.get("secret", "TOKEN").unwrap().unwrap().expose(), awkward);
    assert_eq!(vault.names("secret").unwrap(), ["B", "TOKEN"]);
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        for word in ["hunter2", "TOKEN", "another"] {
            assert!(!text.contains(word), "{word} in {}", path.display());
        }
    }
    assert_eq!(mode(&folder), 0o700);
    assert!(vault.remove("secret", "TOKEN").unwrap());
    assert_eq!(vault.get("secret", "TOKEN").unwrap(), None);
    assert!(vault.get("oauth", "TOKEN").unwrap().is_some());
}

// AU-2: a damaged file, another key and a missing one are told apart from an empty vault, and nothing is overwritten.
#[test]
fn what_does_not_open_is_an_error_and_stays() {
    let place = tempfile::tempdir().unwrap();
    let vault = vault(place.path());
    vault.set("secret", "TOKEN", "hunter2".into()).unwrap();
    let (file, key) = (place.path().join("vault.json"), place.path().join("vault.key"));
    let (whole, own_key) = (fs::read(&file).unwrap(), fs::read(&key).unwrap());

    let mut damaged = whole.clone();
    // In the middle: the last symbol of base64 has bits that must be zero, so that another one there may not decode at all.
    let middle = damaged.len() - 20;
    damaged[middle] = if damaged[middle] == b'A' { b'B' } else { b'A' };
    let key_is_wrong =
        "it does not open with its key: the file is damaged or the key is another one";
    for (bytes, text) in [
        (&damaged[..], key_is_wrong),
        (&whole[..20], "it is not a vault"),
        (b"", "it is not a vault"),
    ] {
        fs::write(&file, bytes).unwrap();
        let error = told(vault.set("secret", "OTHER", "x".into()));
        assert!(error.contains(text), "{error}");
        assert_eq!(fs::read(&file).unwrap(), bytes);
    }
    fs::write(&file, &whole).unwrap();
    let other = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n";
    fs::write(&key, other).unwrap();
    assert!(told(vault.get("secret", "TOKEN")).contains(key_is_wrong));
    for wrong in ["", "not a key\n"] {
        fs::write(&key, wrong).unwrap();
        assert!(
            told(vault.get("secret", "TOKEN"))
                .contains("without it nothing in the vault can be read")
        );
    }
    fs::remove_file(&key).unwrap();
    let error = told(vault.set("secret", "TOKEN", "x".into()));
    assert!(error.contains("vault.key`; without it nothing in the vault can be read"), "{error}");
    fs::write(&key, own_key).unwrap();
    fs::set_permissions(&key, Permissions::from_mode(0o600)).unwrap();
    assert_eq!(vault.get("secret", "TOKEN").unwrap().unwrap().expose(), "hunter2");
}

// AU-2
#[test]
fn files_that_others_may_use_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let vault = vault(place.path());
    vault.set("secret", "TOKEN", "hunter2".into()).unwrap();
    for name in ["vault.json", "vault.key"] {
        let path = place.path().join(name);
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        let error = told(vault.get("secret", "TOKEN"));
        let wanted = format!(
            "others may use it (mode 640); `chmod 600 {}` makes it yours alone",
            path.display()
        );
        assert!(error.ends_with(&wanted), "{error}");
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    }
    assert!(vault.get("secret", "TOKEN").unwrap().is_some());
}

// AU-2
#[test]
fn a_rotation_changes_the_key_and_keeps_the_secrets() {
    let place = tempfile::tempdir().unwrap();
    let vault = vault(place.path());
    vault.set("secret", "TOKEN", "hunter2".into()).unwrap();
    let read = |name: &str| fs::read(place.path().join(name)).unwrap();
    let (old_key, old_file) = (read("vault.key"), read("vault.json"));
    assert_eq!(vault.rotate(None).unwrap(), KeyPlace::File);
    assert_eq!(vault.get("secret", "TOKEN").unwrap().unwrap().expose(), "hunter2");
    assert!(
        !String::from_utf8(read("vault.key"))
            .unwrap()
            .contains(String::from_utf8(old_key.clone()).unwrap().trim())
    );
    // Killed between its steps: the new key is there and the vault is still sealed with the old one.
    let both = [read("vault.key"), old_key].concat();
    fs::write(place.path().join("vault.key"), both).unwrap();
    fs::write(place.path().join("vault.json"), old_file).unwrap();
    assert_eq!(vault.get("secret", "TOKEN").unwrap().unwrap().expose(), "hunter2");
    vault.rotate(None).unwrap();
    assert_eq!(vault.get("secret", "TOKEN").unwrap().unwrap().expose(), "hunter2");
}

// AU-2: no file has the key if a keyring holds it; a locked one is told, and nothing else is used in its place.
#[test]
fn the_key_is_in_the_keyring_if_one_answers() {
    let place = tempfile::tempdir().unwrap();
    let keyring = FakeKeyring::default();
    let vault = Vault::new(place.path().to_owned(), Arc::new(keyring.clone()));
    vault.set("secret", "TOKEN", "hunter2".into()).unwrap();
    assert_eq!(vault.key_place().unwrap(), Some(KeyPlace::Keyring));
    assert!(!place.path().join("vault.key").exists());
    assert!(keyring.held().is_some());

    for problem in [KeyringError::Locked, KeyringError::Absent("silent for 3 s".to_owned())] {
        keyring.fail(Some(problem.clone()));
        for error in
            [told(vault.get("secret", "TOKEN")), told(vault.set("secret", "TOKEN", "x".into()))]
        {
            let wanted =
                format!("the vault's key is in the system's keyring, and {problem}; unlock it");
            assert!(error.starts_with(&wanted), "{error}");
            assert!(error.contains("switchboard secret rotate --key file"), "{error}");
        }
    }
    keyring.fail(None);
    assert_eq!(vault.rotate(Some(KeyPlace::File)).unwrap(), KeyPlace::File);
    assert_eq!(keyring.held(), None);
    keyring.fail(Some(KeyringError::Locked));
    assert_eq!(vault.get("secret", "TOKEN").unwrap().unwrap().expose(), "hunter2");
    assert!(told(vault.rotate(Some(KeyPlace::Keyring))).contains("the keyring is locked"));
    keyring.fail(None);
    assert_eq!(vault.rotate(Some(KeyPlace::Keyring)).unwrap(), KeyPlace::Keyring);
    assert!(!place.path().join("vault.key").exists());
}

// AU-2: a locked keyring does not keep a new vault from being made.
#[test]
fn a_new_vault_keeps_its_key_in_a_file_if_the_keyring_is_locked() {
    let place = tempfile::tempdir().unwrap();
    let keyring = FakeKeyring::default();
    keyring.fail(Some(KeyringError::Locked));
    let vault = Vault::new(place.path().to_owned(), Arc::new(keyring.clone()));
    vault.set("secret", "TOKEN", Secret::from("hunter2")).unwrap();
    assert_eq!(vault.key_place().unwrap(), Some(KeyPlace::File));
    // From then on it stays there.
    keyring.fail(None);
    vault.set("secret", "OTHER", "x".into()).unwrap();
    assert_eq!(vault.key_place().unwrap(), Some(KeyPlace::File));
    assert_eq!(keyring.held(), None);
}
