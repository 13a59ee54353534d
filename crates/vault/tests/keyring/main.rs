//! A real keyring: gnome-keyring on a D-Bus of its own, unlocked, locked and absent.

#![expect(clippy::unwrap_used, reason = "a test that fails may panic")]
#![expect(clippy::disallowed_methods, reason = "processes live in real time")]

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use switchboard_vault::{KeyPlace, Keyring, KeyringError, SystemKeyring, Vault};
use tempfile::TempDir;

/// A D-Bus with a keyring, both ended with the value.
struct Session {
    bus: Child,
    address: String,
    keyring: Option<Child>,
    home: TempDir,
}

impl Session {
    /// Starts a bus on which nothing is started by itself.
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let socket = home.path().join("bus");
        let config = home.path().join("bus.conf");
        let policy = "<policy context=\"default\"><allow send_destination=\"*\" eavesdrop=\"true\"/>\
                      <allow eavesdrop=\"true\"/><allow own=\"*\"/></policy>";
        let text = format!(
            "<busconfig><type>session</type><listen>unix:path={}</listen>{policy}</busconfig>",
            socket.display()
        );
        std::fs::write(&config, text).unwrap();
        let mut bus = Command::new("dbus-daemon")
            .arg(format!("--config-file={}", config.display()))
            .args(["--nofork", "--print-address=1"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut address = String::new();
        BufReader::new(bus.stdout.take().unwrap()).read_line(&mut address).unwrap();
        Self { bus, address: address.trim().to_owned(), keyring: None, home }
    }

    /// Starts gnome-keyring, which creates and unlocks its default collection with a password from stdin.
    fn start_keyring(&mut self, is_unlocked: bool) {
        let mut command = Command::new("gnome-keyring-daemon");
        command.args(["--foreground", "--components=secrets"]);
        command.args(is_unlocked.then_some("--unlock"));
        let home = self.home.path();
        let mut keyring = command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", home)
            .env("XDG_DATA_HOME", home.join("data"))
            .env("XDG_RUNTIME_DIR", home)
            .env("DBUS_SESSION_BUS_ADDRESS", &self.address)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        keyring.stdin.take().unwrap().write_all(b"password").unwrap();
        // It says where its control socket is as soon as it is there.
        let mut line = String::new();
        BufReader::new(keyring.stdout.take().unwrap()).read_line(&mut line).unwrap();
        self.keyring = Some(keyring);
    }

    fn stop_keyring(&mut self) {
        if let Some(mut keyring) = self.keyring.take() {
            keyring.kill().unwrap();
            keyring.wait().unwrap();
        }
    }

    fn keyring(&self, folder: &Path) -> SystemKeyring {
        SystemKeyring::new(Some(self.address.clone()), folder)
    }

    /// The name on the bus may take a moment after the daemon is up.
    fn wait_for_keyring(&self) {
        let end = Instant::now() + Duration::from_secs(20);
        while matches!(self.keyring(Path::new("/nobody")).get(), Err(KeyringError::Absent(_))) {
            assert!(Instant::now() < end, "gnome-keyring does not answer");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn vault(&self) -> Vault {
        let folder = self.home.path().join("vault");
        let keyring = self.keyring(&folder);
        Vault::new(folder, Arc::new(keyring))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.stop_keyring();
        _ = self.bus.kill();
        _ = self.bus.wait();
    }
}

// AU-2
#[test]
fn a_real_keyring_holds_the_key() {
    let mut session = Session::new();
    session.start_keyring(true);
    session.wait_for_keyring();
    let vault = session.vault();
    vault.set("secret", "TOKEN", "hunter2".into()).unwrap();
    assert_eq!(vault.key_place().unwrap(), Some(KeyPlace::Keyring));
    assert!(!session.home.path().join("vault/vault.key").exists());
    assert_eq!(vault.get("secret", "TOKEN").unwrap().unwrap().expose(), "hunter2");
    vault.rotate(None).unwrap();
    assert_eq!(vault.get("secret", "TOKEN").unwrap().unwrap().expose(), "hunter2");
    // Another vault of the same user has another key.
    assert_eq!(session.keyring(Path::new("/elsewhere")).get().unwrap(), None);

    // As after a new login without a password: the collection is there, and locked. No dialog, no waiting.
    session.stop_keyring();
    session.start_keyring(false);
    session.wait_for_keyring();
    let error = vault.get("secret", "TOKEN").unwrap_err().to_string();
    assert!(
        error.starts_with(
            "the vault's key is in the system's keyring, and the keyring is locked; unlock it"
        ),
        "{error}"
    );
    let new =
        Vault::new(session.home.path().join("new"), Arc::new(session.keyring(Path::new("/new"))));
    new.set("secret", "TOKEN", "x".into()).unwrap();
    assert_eq!(new.key_place().unwrap(), Some(KeyPlace::File));

    session.stop_keyring();
    session.start_keyring(true);
    session.wait_for_keyring();
    assert_eq!(vault.get("secret", "TOKEN").unwrap().unwrap().expose(), "hunter2");
    assert_eq!(vault.rotate(Some(KeyPlace::File)).unwrap(), KeyPlace::File);
    session.stop_keyring();
    assert_eq!(vault.get("secret", "TOKEN").unwrap().unwrap().expose(), "hunter2");
}

// AU-2: nothing listens, nothing speaks D-Bus, nobody owns the name, or nobody ever answers.
#[test]
fn without_a_keyring_the_key_is_in_a_file() {
    let session = Session::new();
    let place = tempfile::tempdir().unwrap();
    let silent = place.path().join("silent");
    let _listener = std::os::unix::net::UnixListener::bind(&silent).unwrap();
    let silent = format!("unix:path={}", silent.display());
    for (index, bus) in
        [None, Some("unix:path=/nobody"), Some(&session.address), Some("nonsense"), Some(&silent)]
            .into_iter()
            .enumerate()
    {
        let folder = place.path().join(index.to_string());
        let keyring = SystemKeyring::new(bus.map(str::to_owned), &folder);
        assert!(matches!(keyring.get(), Err(KeyringError::Absent(_))), "{bus:?}");
        let vault = Vault::new(folder, Arc::new(keyring));
        vault.set("secret", "TOKEN", "hunter2".into()).unwrap();
        assert_eq!(vault.key_place().unwrap(), Some(KeyPlace::File), "{bus:?}");
    }
}
