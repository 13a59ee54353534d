//! The config file: found, read with its lines, checked, handed down in parts (SPEC §13).
//!
//! TOML and JSON both become a tree of [`Node`]s that know their lines. From there on there is one path:
//! shapes of tool definitions are made one, `${VAR}` is filled in, and serde reads the parts.

mod find;
mod toml;
mod json;
mod node;
mod definitions;
mod substitute;
mod deserialize;
mod problem;

use std::{
    collections::BTreeMap,
    env::VarError,
    path::{Path, PathBuf},
};

use anyhow::{Context, anyhow};
use serde::Deserialize;
use switchboard_local::{BuiltinsConfig, ToolDefinition};
use switchboard_runtime::{Config, PolicyConfig};

use crate::environment;
use node::{Content, Node};
use problem::Problem;

/// Everything that can be set; each part is read by the crate that uses it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Settings {
    /// `[executor]`
    pub(crate) executor: Config,
    /// `[policy]`
    pub(crate) policy: PolicyConfig,
    /// `[builtins]`
    pub(crate) builtins: BuiltinsConfig,
    /// `[[tools]]`
    pub(crate) tools: Vec<ToolDefinition>,
}

/// Settings, and where they came from.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    pub(crate) settings: Settings,
    /// The file, where there is one.
    pub(crate) file: Option<PathBuf>,
    /// The lines of the sections, by name.
    sections: BTreeMap<String, usize>,
    /// The lines of the tool definitions, in order.
    tools: Vec<usize>,
}

impl Loaded {
    /// `file:line` of a section, for messages.
    pub(crate) fn place_of_section(&self, name: &str) -> String {
        self.place(self.sections.get(name))
    }

    /// `file:line` of a tool definition, for messages.
    pub(crate) fn place_of_tool(&self, index: usize) -> String {
        self.place(self.tools.get(index))
    }

    fn place(&self, line: Option<&usize>) -> String {
        let file = self.file.as_deref().unwrap_or(Path::new("settings")).display();
        line.map_or_else(|| file.to_string(), |line| format!("{file}:{line}"))
    }
}

/// Loads the settings from the file that `--config` names, or else from where they are looked for.
///
/// # Errors
/// The file cannot be read, or something in it is wrong: the text says what, and on which line.
pub(crate) fn load(flag: Option<&Path>) -> anyhow::Result<Loaded> {
    let Some(file) = find::config_file(flag)? else {
        return Ok(Loaded::default());
    };
    let shown = file.display();
    let bytes = std::fs::read(&file).with_context(|| format!("failed to read config `{shown}`"))?;
    let text = std::str::from_utf8(&bytes).map_err(|error| {
        let line = bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() + 1;
        anyhow!("{shown}:{line}: the config must be UTF-8 text")
    })?;
    let text = text.trim_start_matches('\u{feff}');
    let is_json = file.extension().is_some_and(|extension| extension == "json");
    let loaded =
        if is_json || json::looks_like_it(text) { json::parse(text) } else { toml::parse(text) };
    let loaded = loaded.and_then(|root| read(root, &environment::variable));
    let loaded = loaded.map_err(|problem| anyhow!("{shown}{problem}"))?;
    Ok(Loaded { file: Some(file), ..loaded })
}

fn read(
    root: Node,
    variable: &dyn Fn(&str) -> Result<String, VarError>,
) -> Result<Loaded, Problem> {
    let mut root = definitions::one_shape(root)?;
    substitute::variables(&mut root, variable)?;
    let mut loaded = Loaded::default();
    if let Content::Table(entries) = &root.content {
        for (key, node) in entries {
            loaded.sections.insert(key.name.clone(), key.line);
            if let ("tools", Content::List(tools)) = (key.name.as_str(), &node.content) {
                loaded.tools = tools.iter().map(|tool| tool.line).collect();
            }
        }
    }
    loaded.settings = Settings::deserialize(root)?;
    Ok(loaded)
}

#[cfg(test)]
mod tests;
