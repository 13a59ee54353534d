//! Remembers which protocol each server spoke, so that its next start needs no probe (SPEC MC-1).
//!
//! This only saves time: a file that is damaged, or cannot be read or written, counts as empty.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    process,
    sync::{Mutex, MutexGuard, PoisonError},
};

use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use switchboard_runtime::private_files;

use super::config::{Protocol, ServerConfig, TransportKind};

/// How many servers are remembered; the oldest are forgotten first.
const MOST: usize = 200;

/// The largest file that is read, in bytes.
const LARGEST: u64 = 1 << 20;

/// How a server was reached, and which protocol it spoke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KnownProtocol {
    /// The era that was agreed on; never [`Protocol::Auto`].
    pub(super) protocol: Protocol,
    /// The transport: for an address of streamable HTTP it may have turned out to be HTTP+SSE.
    #[serde(rename = "type")]
    pub(super) kind: TransportKind,
}

/// What is known about servers that were connected before, in this process and, if there is a file, in earlier ones.
#[derive(Debug, Default)]
pub struct KnownProtocols {
    file: Option<PathBuf>,
    entries: Mutex<Vec<KnownProtocolEntry>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct KnownProtocolEntry {
    key: String,
    #[serde(flatten)]
    known: KnownProtocol,
}

impl KnownProtocols {
    /// Reads the entries of `file`; there are none if it cannot be read.
    pub fn load(file: PathBuf) -> Self {
        let entries = read(&file).unwrap_or_else(|error| {
            if error.kind() != io::ErrorKind::NotFound {
                tracing::debug!(%error, "protocols of servers are not remembered");
            }
            Vec::new()
        });
        Self { file: Some(file), entries: Mutex::new(entries) }
    }

    /// Returns what the server with this key spoke last; `None` if it is unknown.
    pub(super) fn get(&self, key: &str) -> Option<KnownProtocol> {
        self.entries().iter().find(|entry| entry.key == key).map(|entry| entry.known)
    }

    /// Stores what the server with this key speaks. Blocks while the file is written, which happens only if something has
    /// changed.
    pub(super) fn put(&self, key: &str, known: KnownProtocol) {
        if self.get(key) == Some(known) {
            return;
        }
        let entry = KnownProtocolEntry { key: key.to_owned(), known };
        let mut entries = self.entries();
        // Another process may have added entries meanwhile. If two write at once, one of them has to probe again.
        if let Some(Ok(on_disk)) = self.file.as_deref().map(read) {
            *entries = on_disk;
        }
        entries.retain(|other| other.key != entry.key);
        entries.push(entry);
        let surplus = entries.len().saturating_sub(MOST);
        entries.drain(..surplus);
        if let Some(Err(error)) = self.file.as_deref().map(|file| write(file, &entries)) {
            tracing::debug!(%error, "the protocol of a server is not remembered");
        }
    }

    fn entries(&self) -> MutexGuard<'_, Vec<KnownProtocolEntry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the key of a server, which differs between servers of the same name: a hash, because URLs may hold credentials.
pub(super) fn key(name: &str, config: &ServerConfig) -> String {
    let ServerConfig { kind, command, args, cwd, url, .. } = config;
    let identity = serde_json::json!([name, kind, command, args, cwd, url]).to_string();
    let hash = digest(&SHA256, identity.as_bytes());
    hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn read(file: &Path) -> io::Result<Vec<KnownProtocolEntry>> {
    let file = private_files::open(File::options().read(true), file)?;
    let mut text = String::new();
    file.take(LARGEST).read_to_string(&mut text)?;
    Ok(serde_json::from_str(&text)?)
}

/// Replaces the file as a whole, so that no process reads half of it.
fn write(file: &Path, entries: &[KnownProtocolEntry]) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        private_files::create_dir(folder)?;
    }
    let part = file.with_extension(format!("{}.part", process::id()));
    let mut written = private_files::create(&part)?;
    written.write_all(serde_json::to_string(entries)?.as_bytes())?;
    fs::rename(&part, file)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const LEGACY: KnownProtocol =
        KnownProtocol { protocol: Protocol::Legacy, kind: TransportKind::Stdio };
    const MODERN: KnownProtocol =
        KnownProtocol { protocol: Protocol::Modern, kind: TransportKind::Stdio };

    fn server(command: &str, args: &[&str]) -> ServerConfig {
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        ServerConfig { command: Some(command.to_owned()), args, ..ServerConfig::default() }
    }

    // MC-1
    #[test]
    fn what_was_spoken_is_remembered_across_processes() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("state/protocols.json");
        KnownProtocols::load(file.clone()).put("a", LEGACY);
        let other = KnownProtocols::load(file.clone());
        KnownProtocols::load(file.clone()).put("b", MODERN);
        // Entries that another process has written since are kept.
        other.put("c", KnownProtocol { protocol: Protocol::Legacy, kind: TransportKind::Sse });
        other.put("a", MODERN);
        let read = KnownProtocols::load(file.clone());
        assert_eq!([read.get("a"), read.get("b")], [Some(MODERN); 2]);
        assert_eq!(read.get("c").map(|known| known.kind), Some(TransportKind::Sse));
        assert_eq!(read.get("d"), None);
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path().join("state")).unwrap().count(), 1);
    }

    // MC-1: another command or address of the same name inherits nothing.
    #[test]
    fn another_server_of_the_same_name_is_another() {
        let configs = [
            server("uvx", &["time"]),
            server("uvx", &["time", "--new"]),
            server("npx", &["time"]),
            ServerConfig { cwd: Some("/tmp".into()), ..server("uvx", &["time"]) },
            ServerConfig { url: Some("http://a/mcp".to_owned()), ..ServerConfig::default() },
            ServerConfig { url: Some("http://b/mcp".to_owned()), ..ServerConfig::default() },
        ];
        let mut keys: Vec<_> = configs.iter().map(|config| key("time", config)).collect();
        keys.push(key("other", &configs[0]));
        assert_eq!(key("time", &configs[0]), keys[0]);
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), 7);
        assert!(keys.iter().all(|key| key.len() == 64));
    }

    #[test]
    fn a_damaged_or_unwritable_file_is_no_memory_and_no_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("protocols.json");
        for damage in
            ["", "{}", "[{\"key\":1}]", "[{\"key\":\"a\",\"protocol\":\"legacy\"", "\u{0}"]
        {
            fs::write(&file, damage).unwrap();
            let known = KnownProtocols::load(file.clone());
            assert_eq!(known.get("a"), None, "{damage}");
            known.put("a", LEGACY);
            assert_eq!(KnownProtocols::load(file.clone()).get("a"), Some(LEGACY), "{damage}");
        }
        // The parent folder is a file, so nothing can be written; this process remembers all the same.
        let known = KnownProtocols::load(file.join("below/protocols.json"));
        known.put("a", LEGACY);
        assert_eq!(known.get("a"), Some(LEGACY));
    }

    #[test]
    fn the_memory_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("protocols.json");
        let known = KnownProtocols::load(file.clone());
        for number in 0..MOST + 10 {
            known.put(&number.to_string(), LEGACY);
        }
        let read = KnownProtocols::load(file);
        assert_eq!(read.entries().len(), MOST);
        assert_eq!((read.get("9"), read.get("10")), (None, Some(LEGACY)));
    }
}
