//! Where other programs keep their configs.

use std::path::{Path, PathBuf};

use anyhow::bail;

use crate::{environment, terminal};

const CLAUDE: &str = "Claude/claude_desktop_config.json";

/// Finds the config that `source` names: a program's, or a file.
///
/// # Errors
/// There is none.
pub(super) fn find(source: &Path) -> anyhow::Result<PathBuf> {
    let (program, places) = match source.to_str() {
        Some("claude") => ("Claude Desktop", claude()),
        Some("cursor") => ("Cursor", cursor()),
        Some("vscode") => ("VS Code", vs_code()),
        _ if source.exists() => return Ok(source.to_owned()),
        _ => bail!(
            "there is no file `{}`; write claude, cursor, vscode or a file's path",
            source.display()
        ),
    };
    let mut found = places.iter().filter(|place| place.is_file());
    let Some(first) = found.next() else {
        let looked: Vec<_> = places.iter().map(|place| place.display().to_string()).collect();
        bail!("no config of {program} found; looked at {}", looked.join(", "));
    };
    for other in found {
        let other = other.display();
        terminal::tell(&format!(
            "note: {other} is another config of {program}; import it by its path"
        ));
    }
    Ok(first.clone())
}

fn claude() -> Vec<PathBuf> {
    config_folders().iter().map(|folder| folder.join(CLAUDE)).collect()
}

/// A project's own config comes before the user's.
fn cursor() -> Vec<PathBuf> {
    let home = environment::path("HOME").map(|home| home.join(".cursor/mcp.json"));
    [Some(PathBuf::from(".cursor/mcp.json")), home].into_iter().flatten().collect()
}

fn vs_code() -> Vec<PathBuf> {
    let mut places = vec![PathBuf::from(".vscode/mcp.json")];
    for folder in config_folders() {
        let editors = ["Code", "Code - Insiders", "VSCodium"];
        places.extend(editors.iter().map(|editor| folder.join(editor).join("User/mcp.json")));
    }
    places
}

/// Where programs keep their settings on Linux, and on macOS.
fn config_folders() -> Vec<PathBuf> {
    let home = environment::path("HOME");
    let named = environment::path("XDG_CONFIG_HOME").filter(|folder| folder.is_absolute());
    let linux = named.or_else(|| home.as_ref().map(|home| home.join(".config")));
    let mac = home.map(|home| home.join("Library/Application Support"));
    [linux, mac].into_iter().flatten().collect()
}
