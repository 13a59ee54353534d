//! Where the parts are, and how servers made of them are started.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

use switchboard_mcp_client::ServerConfig;
pub(crate) use switchboard_testkit::parts::{example, part};

/// A server from npm, over stdio.
pub(crate) fn npm(name: &str, args: &[&str]) -> ServerConfig {
    stdio(part(&format!("mcp-node/node_modules/.bin/{name}")), args)
}

/// A server from `PyPI`, over stdio.
pub(crate) fn pypi(part_name: &str, name: &str, args: &[&str]) -> ServerConfig {
    stdio(part(&format!("{part_name}/venv/bin/{name}")), args)
}

pub(crate) fn stdio(command: String, args: &[&str]) -> ServerConfig {
    let args = args.iter().map(|&arg| arg.to_owned()).collect();
    ServerConfig { command: Some(command), args, ..ServerConfig::default() }
}

/// A folder of its own for each test, gone afterwards.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("switchboard-real-{}-{count}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        // Servers compare paths by their real names.
        Self(path.canonicalize().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn text(&self) -> &str {
        self.0.to_str().unwrap()
    }

    /// The path of a file in it, as text.
    pub(crate) fn file(&self, name: &str) -> String {
        self.0.join(name).into_os_string().into_string().unwrap()
    }

    pub(crate) fn write(&self, name: &str, content: &str) -> String {
        fs::write(self.0.join(name), content).unwrap();
        self.file(name)
    }

    /// What a file in it says, if it is there.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap_or_default()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A leftover in the temporary folder harms nobody.
        _ = fs::remove_dir_all(&self.0);
    }
}

/// How many processes run with the variable in their environment, wherever they hang in the tree.
pub(crate) fn processes_with(variable: &str) -> usize {
    let wanted = OsString::from(variable).into_encoded_bytes();
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let environments = entries.filter_map(|entry| fs::read(entry.path().join("environ")).ok());
    environments.filter(|all| all.split(|byte| *byte == 0).any(|one| one == wanted)).count()
}
