//! Where other programs keep their configs.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::bail;

use crate::{environment, settings::ForeignDialect};

/// A config to import from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ConfigSource {
    /// The program whose config it is; `None` if the file was named.
    pub(super) program: Option<&'static ProgramConfigs>,
    pub(super) file: PathBuf,
    /// Whether it is in the current folder, and so may have been written by anybody.
    pub(super) is_folders: bool,
}

/// A program that has MCP servers in its config.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ProgramConfigs {
    pub(super) word: &'static str,
    pub(super) title: &'static str,
    /// Below the home folder.
    home: &'static [&'static str],
    /// Below the folder for settings: `~/.config`, on macOS also `~/Library/Application Support`.
    config: &'static [&'static str],
    /// In the current folder.
    here: &'static [&'static str],
    dialect: ForeignDialect,
}

/// A path that ends in a pattern such as `*.yaml` stands for all files of the folder with this ending.
const PROGRAMS: [ProgramConfigs; 11] = [
    ProgramConfigs {
        config: &["Claude/claude_desktop_config.json"],
        ..program("claude", "Claude Desktop", ForeignDialect::McpServers)
    },
    ProgramConfigs {
        home: &[".claude.json"],
        here: &[".mcp.json"],
        ..program("claude-code", "Claude Code", ForeignDialect::McpServers)
    },
    ProgramConfigs {
        home: &[".cursor/mcp.json"],
        here: &[".cursor/mcp.json"],
        ..program("cursor", "Cursor", ForeignDialect::McpServers)
    },
    ProgramConfigs {
        config: &[
            "Code/User/mcp.json",
            "Code/User/settings.json",
            "Code - Insiders/User/mcp.json",
            "Code - Insiders/User/settings.json",
            "VSCodium/User/mcp.json",
            "VSCodium/User/settings.json",
        ],
        here: &[".vscode/mcp.json", ".vscode/settings.json", "*.code-workspace"],
        ..program("vscode", "VS Code", ForeignDialect::Settings)
    },
    ProgramConfigs {
        home: &[".codeium/windsurf/mcp_config.json", ".codeium/mcp_config.json"],
        ..program("windsurf", "Windsurf", ForeignDialect::McpServers)
    },
    ProgramConfigs {
        home: &[".codex/config.toml"],
        here: &[".codex/config.toml"],
        ..program("codex", "Codex", ForeignDialect::Codex)
    },
    ProgramConfigs {
        config: &["zed/settings.json"],
        here: &[".zed/settings.json"],
        ..program("zed", "Zed", ForeignDialect::Zed)
    },
    ProgramConfigs {
        home: &[".gemini/settings.json"],
        here: &[".gemini/settings.json"],
        ..program("gemini", "Gemini CLI", ForeignDialect::Gemini)
    },
    ProgramConfigs {
        config: &["goose/config.yaml"],
        ..program("goose", "goose", ForeignDialect::Goose)
    },
    ProgramConfigs {
        home: &[
            ".continue/config.yaml",
            ".continue/mcpServers/*.yaml",
            ".continue/mcpServers/*.yml",
            ".continue/mcpServers/*.json",
        ],
        here: &[
            ".continue/mcpServers/*.yaml",
            ".continue/mcpServers/*.yml",
            ".continue/mcpServers/*.json",
        ],
        ..program("continue", "Continue", ForeignDialect::Continue)
    },
    ProgramConfigs {
        config: &["opencode/opencode.json", "opencode/opencode.jsonc", "opencode/config.json"],
        here: &["opencode.json", "opencode.jsonc"],
        ..program("opencode", "opencode", ForeignDialect::Opencode)
    },
];

const fn program(
    word: &'static str,
    title: &'static str,
    dialect: ForeignDialect,
) -> ProgramConfigs {
    ProgramConfigs { word, title, home: &[], config: &[], here: &[], dialect }
}

/// The words for the programs on the command line.
pub(crate) fn program_words() -> impl Iterator<Item = &'static str> {
    PROGRAMS.iter().map(|program| program.word)
}

/// Finds the configs of all programs.
pub(super) fn all() -> Vec<ConfigSource> {
    PROGRAMS.iter().flat_map(ProgramConfigs::configs).collect()
}

/// Finds the configs of the program with this word, or else the file with this path.
///
/// # Errors
/// There is no such config.
pub(super) fn find(named: &Path) -> anyhow::Result<Vec<ConfigSource>> {
    let Some(program) = PROGRAMS.iter().find(|program| named.to_str() == Some(program.word)) else {
        if !named.exists() {
            let words: Vec<_> = program_words().collect();
            bail!(
                "there is no file `{}`; write {} or a file's path",
                named.display(),
                words.join(", ")
            );
        }
        let source = ConfigSource { program: None, file: named.to_owned(), is_folders: false };
        return Ok(vec![source]);
    };
    let found = program.configs();
    if found.is_empty() {
        let looked: Vec<_> =
            program.places().iter().map(|(place, _)| place.display().to_string()).collect();
        bail!("no config of {} found; looked at {}", program.title, looked.join(", "));
    }
    Ok(found)
}

impl ConfigSource {
    /// Returns the format that the file must have; `None` if its content decides.
    pub(super) fn dialect(&self) -> Option<ForeignDialect> {
        self.program.map(|program| program.dialect)
    }
}

impl ProgramConfigs {
    /// Returns the configs that exist, the user's own first.
    fn configs(&'static self) -> Vec<ConfigSource> {
        let mut found: Vec<ConfigSource> = Vec::new();
        for (place, is_folders) in self.places() {
            for file in matching(&place) {
                // If the current folder is the home folder, both paths are the same file.
                let is_same = |other: &ConfigSource| {
                    fs::canonicalize(&other.file).ok() == fs::canonicalize(&file).ok()
                };
                if !found.iter().any(is_same) {
                    found.push(ConfigSource { program: Some(self), file, is_folders });
                }
            }
        }
        found
    }

    /// Returns where the configs may be, and whether that is in the current folder.
    fn places(&self) -> Vec<(PathBuf, bool)> {
        let home = environment::path("HOME");
        let mut places = Vec::new();
        for path in self.home {
            let codex = environment::path("CODEX_HOME").filter(|_| self.word == "codex");
            let own = codex.map(|folder| folder.join("config.toml"));
            places.extend(own.or_else(|| Some(home.as_ref()?.join(path))));
        }
        for folder in config_folders() {
            places.extend(self.config.iter().map(|path| folder.join(path)));
        }
        let here = self.here.iter().map(|path| (PathBuf::from(path), true));
        places.into_iter().map(|place| (place, false)).chain(here).collect()
    }
}

/// The file, or all files of the folder that end as the pattern says, by name.
fn matching(place: &Path) -> Vec<PathBuf> {
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    let Some(end) = name.strip_prefix('*') else {
        return if place.is_file() { vec![place.to_owned()] } else { Vec::new() };
    };
    let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty());
    let Ok(entries) = fs::read_dir(folder.unwrap_or(Path::new("."))) else { return Vec::new() };
    let named = |entry: fs::DirEntry| entry.file_name().into_string().ok();
    let mut names: Vec<_> = entries.flatten().filter_map(named).collect();
    names.retain(|name| name.ends_with(end));
    names.sort();
    names.iter().map(|name| place.with_file_name(name)).collect()
}

/// Where programs keep their settings on Linux, and on macOS.
fn config_folders() -> Vec<PathBuf> {
    let home = environment::path("HOME");
    let named = environment::path("XDG_CONFIG_HOME").filter(|folder| folder.is_absolute());
    let linux = named.or_else(|| home.as_ref().map(|home| home.join(".config")));
    let mac = home.map(|home| home.join("Library/Application Support"));
    [linux, mac].into_iter().flatten().collect()
}
