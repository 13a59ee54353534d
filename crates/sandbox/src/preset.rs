//! What well-known launchers need beyond their own files: their caches and registries.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::SandboxAllow;

/// What a launcher needs, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SandboxPreset {
    /// Nothing beyond its own files.
    Node,
    /// Npm's cache, from which packages are run, and the registry.
    Npx,
    /// Nothing beyond its own files.
    Python,
    /// Uv's cache and tools, from which packages are run, and PyPI.
    Uvx,
    /// The daemon, which gives the rights of root.
    Docker,
    /// Processes and files of its own, in which Unix sockets may be used: what a browser needs.
    Browser,
}

/// Folders that are written and run, and where the launcher connects to.
struct PresetParts {
    folders: &'static [&'static str],
    connect: &'static [&'static str],
}

impl SandboxPreset {
    /// The preset for a program, if it has one and needs it.
    pub fn of_command(command: &str) -> Option<Self> {
        match command.rsplit('/').next().unwrap_or_default() {
            "npx" | "npm" => Some(Self::Npx),
            "uvx" | "uv" => Some(Self::Uvx),
            "docker" | "podman" => Some(Self::Docker),
            _ => None,
        }
    }

    /// Its name in a config.
    pub fn name(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Npx => "npx",
            Self::Python => "python",
            Self::Uvx => "uvx",
            Self::Docker => "docker",
            Self::Browser => "browser",
        }
    }

    /// Folders that have to be there before the program starts: only then they can be allowed.
    pub(crate) fn folders(self) -> &'static [&'static str] {
        self.parts().folders
    }

    fn parts(self) -> PresetParts {
        match self {
            Self::Node | Self::Python | Self::Browser => PresetParts { folders: &[], connect: &[] },
            Self::Npx => PresetParts { folders: &["~/.npm"], connect: &["registry.npmjs.org:443"] },
            Self::Uvx => PresetParts {
                folders: &["~/.cache/uv", "~/.local/share/uv"],
                connect: &["pypi.org:443", "files.pythonhosted.org:443"],
            },
            Self::Docker => PresetParts { folders: &[], connect: &["unix:/var/run/docker.sock"] },
        }
    }
}

impl SandboxAllow {
    /// Whether the program is to have processes and files of its own, for the Unix sockets of a browser.
    pub fn has_browser(&self) -> bool {
        self.preset.contains(&SandboxPreset::Browser)
    }

    /// Returns what is allowed, with what the presets stand for.
    #[must_use]
    pub fn with_presets(&self) -> Self {
        let mut all = self.clone();
        for parts in self.preset.iter().map(|preset| preset.parts()) {
            let add = |list: &mut Vec<String>, more: &[&str]| {
                let new = more.iter().filter(|one| !list.iter().any(|known| known == **one));
                let new: Vec<_> = new.map(|one| (*one).to_owned()).collect();
                list.extend(new);
            };
            add(&mut all.write, parts.folders);
            add(&mut all.run, parts.folders);
            add(&mut all.connect, parts.connect);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // SB-2
    #[test]
    fn a_preset_stands_for_caches_and_registries() {
        let allow: SandboxAllow = serde_json::from_str(
            r#"{"preset": ["npx", "node"], "write": ["~/.npm"], "connect": ["a.example:443"]}"#,
        )
        .unwrap();
        let all = allow.with_presets();
        assert_eq!(
            (&all.write, &all.run),
            (&vec!["~/.npm".to_owned()], &vec!["~/.npm".to_owned()])
        );
        assert_eq!(all.connect, ["a.example:443", "registry.npmjs.org:443"]);
        assert_eq!(all.with_presets(), all);
        for (command, preset) in [
            ("npx", Some(SandboxPreset::Npx)),
            ("/usr/bin/uvx", Some(SandboxPreset::Uvx)),
            ("docker", Some(SandboxPreset::Docker)),
            ("node", None),
        ] {
            assert_eq!(SandboxPreset::of_command(command), preset, "{command}");
        }
        for preset in [
            SandboxPreset::Node,
            SandboxPreset::Python,
            SandboxPreset::Docker,
            SandboxPreset::Browser,
        ] {
            assert_eq!(serde_json::to_value(preset).unwrap(), preset.name());
        }
    }
}
