//! What `${…}` means in the configs of editors.

use std::{
    env,
    path::{Path, PathBuf},
};

use crate::{
    environment,
    settings::{
        missing::SubstitutionError,
        substitute::{self, Variable},
    },
};

/// The name of the variable that stands for a plain `${`.
const PLAIN: &str = "literal:";

/// Where an editor would be when it reads the config.
#[derive(Debug)]
pub(crate) struct Workspace {
    folder: PathBuf,
    home: PathBuf,
}

impl Workspace {
    /// Returns the folder with the `.vscode` or `.cursor` that holds the file, or else the current folder.
    pub(crate) fn of(file: &Path) -> Self {
        let here = env::current_dir().unwrap_or_default();
        let home = environment::path("HOME").unwrap_or_default();
        let file = here.join(file);
        let parent = file.parent().filter(|parent| {
            parent.file_name().is_some_and(|name| name == ".vscode" || name == ".cursor")
        });
        // The file in the home folder is for every project.
        let folder = parent.and_then(Path::parent).filter(|folder| **folder != home);
        Self { folder: folder.map_or(here, Path::to_owned), home }
    }

    /// Resolves a path of the config.
    pub(super) fn join(&self, path: &str) -> PathBuf {
        match path.strip_prefix("~/") {
            Some(below) => self.home.join(below),
            None => self.folder.join(path),
        }
    }

    /// Returns the value of a variable that editors predefine; `None` for all others.
    fn value(&self, asked: &str) -> Option<String> {
        let base = || self.folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match asked {
            "workspaceFolder" | "workspaceRoot" => Some(self.folder.display().to_string()),
            "workspaceFolderBasename" => Some(base()),
            "userHome" => Some(self.home.display().to_string()),
            "pathSeparator" | "/" => Some(std::path::MAIN_SEPARATOR.to_string()),
            _ => None,
        }
    }
}

/// Returns the value of a variable if the server is to be used; `None` for `${input:x}`, which is filled in later.
pub(in crate::settings) fn for_use(
    asked: &str,
    workspace: &Workspace,
    variable: Variable<'_>,
) -> Result<Option<String>, SubstitutionError> {
    if asked.starts_with("input:") {
        return Ok(None);
    }
    if asked == PLAIN {
        return Ok(Some("${".to_owned()));
    }
    if let Some(value) = workspace.value(asked) {
        return Ok(Some(value));
    }
    let asked = asked.strip_prefix("env:").unwrap_or(asked);
    substitute::value_of(asked, variable).map(Some)
}

/// Returns how a variable is written in a config of ours.
pub(crate) fn for_import(asked: &str, workspace: &Workspace) -> Option<String> {
    if asked == PLAIN {
        return Some("$${".to_owned());
    }
    if let Some(value) = workspace.value(asked) {
        return Some(value);
    }
    if let Some(id) = asked.strip_prefix("input:") {
        return Some(format!("${{{}}}", environment_name(id)));
    }
    let name = asked.strip_prefix("env:").unwrap_or(asked);
    let is_variable = substitute::is_name(name.split(":-").next().unwrap_or(name));
    // Anything else stays plain text.
    Some(if is_variable { format!("${{{name}}}") } else { format!("$${{{asked}}}") })
}

/// The environment variable that stands for an input: `api-key` → `API_KEY`.
pub(crate) fn environment_name(id: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    id.chars().map(plain).collect()
}
