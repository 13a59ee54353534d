//! `switchboard init`: a commented config to start from.

use std::process::ExitCode;

use anyhow::{Context, bail};

use super::{config::schema_text, edit_servers, import::keep_trust};
use crate::{
    cli::{Cli, InitArgs},
    settings::{FILE_NAME, edit::create_file, own_config},
    terminal,
};

const TEMPLATE: &str = include_str!("init/switchboard.toml");

/// Written only beside the user's own config; in a project's folder it would be one more file to maintain.
const SCHEMA_FILE: &str = "switchboard.schema.json";

/// The comment by which taplo and VS Code's Even Better TOML find the schema.
const SCHEMA_LINE: &str = "#:schema ./switchboard.schema.json\n";

pub(super) fn run(init: &InitArgs, cli: &Cli) -> anyhow::Result<ExitCode> {
    let config = edit_servers::open(&init.place, cli)?;
    let shown = config.file().display().to_string();
    if config.file().exists() {
        bail!("`{shown}` is there already; nothing was changed");
    }
    let is_own = own_config().as_deref() == Some(config.file());
    let first_line = if is_own { SCHEMA_LINE } else { "" };
    let text = format!("{first_line}{TEMPLATE}");
    config.save_text(&text).with_context(|| format!("failed to write `{shown}`"))?;
    if is_own {
        create_file(&config.file().with_file_name(SCHEMA_FILE), &schema_text())?;
    }
    if config.file().ends_with(FILE_NAME) {
        keep_trust(config.file());
    }
    terminal::print(&format!(
        "{shown} is written. Next: switchboard add time -- uvx mcp-server-time"
    ))?;
    Ok(ExitCode::SUCCESS)
}
