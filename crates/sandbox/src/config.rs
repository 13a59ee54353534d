//! The keys `sandbox`, `sandbox_allow` and `sandbox_limits` (SPEC SB-1).

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchboard_toolcall::HumanSize;

use crate::{preset::SandboxPreset, refusals::SandboxRefusal};

/// Whether a program is confined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SandboxMode {
    /// It may do what the user may.
    #[default]
    Off,
    /// It is confined; where the system cannot do that, it does not start.
    On,
    /// It is confined as far as the system can; what is missing is a warning.
    Try,
    /// It is not confined, but watched: what it needs is written down.
    Learn,
}

impl SandboxMode {
    /// Its name in a config.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::On => "on",
            Self::Try => "try",
            Self::Learn => "learn",
        }
    }

    /// Whether a program is started unchanged.
    pub fn is_off(&self) -> bool {
        *self == Self::Off
    }
}

/// What a confined program may do beside reading the system's own files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SandboxAllow {
    /// Files and folders that it may read.
    pub read: Vec<String>,
    /// Files and folders that it may read and change.
    pub write: Vec<String>,
    /// Where it may connect to: `host:port`, or `unix:/path`.
    pub connect: Vec<String>,
    /// TCP ports that it may connect to at every host, for programs that know no proxy.
    pub connect_direct: Vec<u16>,
    /// Further programs that it may run; `$TMPDIR` is what it writes to its folder for temporary files.
    pub run: Vec<String>,
    /// Launchers whose caches and registries it may use.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub preset: Vec<SandboxPreset>,
    /// Which folder is its home.
    #[serde(skip_serializing_if = "SandboxHome::is_users")]
    pub home: SandboxHome,
}

/// Which folder a confined program takes for its home.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SandboxHome {
    /// The user's.
    #[default]
    User,
    /// One of its own below the folder for temporary files, empty at each start.
    Temporary,
}

impl SandboxHome {
    /// Whether it is the user's.
    pub fn is_users(&self) -> bool {
        *self == Self::User
    }
}

impl SandboxAllow {
    /// Whether an entry is what was refused.
    pub fn has(&self, refusal: &SandboxRefusal) -> bool {
        let below = |entries: &[String], path: &str| {
            let folder =
                |entry: &str| entry.trim_end_matches("**").trim_end_matches('/').to_owned();
            entries.iter().any(|entry| Path::new(path).starts_with(folder(entry)))
        };
        match refusal {
            SandboxRefusal::Read(path) => {
                below(&self.read, path) || below(&self.write, path) || below(&self.run, path)
            }
            SandboxRefusal::Write(path) => below(&self.write, path),
            SandboxRefusal::Run(path) => below(&self.run, path),
            SandboxRefusal::Connect(host) => self.connect.contains(host),
            SandboxRefusal::Secret(_)
            | SandboxRefusal::Memory(_)
            | SandboxRefusal::Processes(_) => false,
        }
    }

    /// Whether nothing is allowed beyond the usual.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// How much a confined program may take.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SandboxLimits {
    /// The memory of all its processes together.
    pub memory: HumanSize,
    /// Its processes and threads together.
    pub processes: u64,
    /// The files that each of its processes has open.
    pub files: u64,
}

impl Default for SandboxLimits {
    fn default() -> Self {
        Self { memory: HumanSize(2 << 30), processes: 128, files: 1024 }
    }
}

impl SandboxLimits {
    /// Whether nothing was set.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The three keys together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SandboxConfig {
    /// The key `sandbox`.
    pub mode: SandboxMode,
    /// The key `sandbox_allow`.
    pub allow: SandboxAllow,
    /// The key `sandbox_limits`.
    pub limits: SandboxLimits,
}

impl SandboxConfig {
    /// Checks what can be checked without the program.
    ///
    /// # Errors
    /// Names the key and the entry that cannot be used.
    pub fn check(&self) -> Result<(), String> {
        let limits = &self.limits;
        let least = [
            ("memory", limits.memory.0, 16 << 20, "16MiB"),
            ("processes", limits.processes, 1, "1"),
            ("files", limits.files, 16, "16"),
        ];
        for (key, value, least, text) in least {
            if value < least {
                return Err(format!("sandbox_limits.{key}: no program runs with less than {text}"));
            }
        }
        for entry in &self.allow.connect {
            crate::proxy::ConnectDestination::parse(entry)
                .map_err(|problem| format!("sandbox_allow.connect: `{entry}`: {problem}"))?;
        }
        if self.allow.connect_direct.contains(&0) {
            return Err("sandbox_allow.connect_direct: there is no port 0".to_owned());
        }
        if self.allow.has_browser() && !self.allow.connect_direct.is_empty() {
            return Err("sandbox_allow.connect_direct: a browser uses the proxy: with the preset \"browser\", name hosts in \
                        `connect`"
                .to_owned());
        }
        if self.allow.has_browser() && self.allow.connect.iter().any(|it| it.starts_with("unix:")) {
            return Err("sandbox_allow.connect: with the preset \"browser\" a program sees no Unix sockets but its own"
                .to_owned());
        }
        let paths =
            [("read", &self.allow.read), ("write", &self.allow.write), ("run", &self.allow.run)];
        for (key, paths) in paths {
            if paths.iter().any(|path| path.trim().is_empty() || path.contains('\0')) {
                return Err(format!("sandbox_allow.{key}: an entry is empty"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn check(allow: Value, limits: Value) -> Result<(), String> {
        let text = |error: serde_json::Error| error.to_string();
        let allow = serde_json::from_value(allow).map_err(text)?;
        let limits = serde_json::from_value(limits).map_err(text)?;
        SandboxConfig { mode: SandboxMode::On, allow, limits }.check()
    }

    // SB-1
    #[test]
    fn what_cannot_be_meant_is_named() {
        let fine = json!({"read": ["~/a"], "connect": ["a.example:443", "unix:/run/x", "[::1]:80"], "connect_direct": [5432]});
        assert_eq!(check(fine, json!({"memory": "2GiB", "processes": 128, "files": 1024})), Ok(()));
        for (allow, limits, word) in [
            (json!({"connect": ["a.example"]}), json!({}), "port"),
            (json!({"connect": ["https://a.example"]}), json!({}), "host:port"),
            (json!({"connect": ["a.example:0"]}), json!({}), "port"),
            (json!({"connect": ["unix:relative"]}), json!({}), "absolute"),
            (json!({"connect_direct": [0]}), json!({}), "port 0"),
            (json!({"preset": ["browser"], "connect_direct": [443]}), json!({}), "proxy"),
            (json!({"preset": ["browser"], "connect": ["unix:/run/x"]}), json!({}), "its own"),
            (json!({"read": [""]}), json!({}), "empty"),
            (json!({"reed": []}), json!({}), "unknown field"),
            (json!({}), json!({"memory": "1k"}), "16MiB"),
            (json!({}), json!({"processes": 0}), "processes"),
        ] {
            let problem = check(allow.clone(), limits).unwrap_err();
            assert!(problem.contains(word), "{allow}: {problem}");
        }
    }

    #[test]
    fn modes_have_the_names_of_the_config() {
        for mode in [SandboxMode::Off, SandboxMode::On, SandboxMode::Try, SandboxMode::Learn] {
            assert_eq!(serde_json::to_value(mode).unwrap(), mode.name());
        }
    }
}
