//! `switchboard init`: a commented config to start from.

use std::process::ExitCode;

use anyhow::{Context, bail};

use super::{edit_servers, import::keep_trust};
use crate::{
    cli::{Cli, InitArgs},
    settings::FILE_NAME,
    terminal,
};

const TEMPLATE: &str = include_str!("init/switchboard.toml");

pub(super) fn run(init: &InitArgs, cli: &Cli) -> anyhow::Result<ExitCode> {
    let config = edit_servers::open(&init.place, cli)?;
    let shown = config.file().display().to_string();
    if config.file().exists() {
        bail!("`{shown}` is there already; nothing was changed");
    }
    config.save_text(TEMPLATE).with_context(|| format!("failed to write `{shown}`"))?;
    if config.file().ends_with(FILE_NAME) {
        keep_trust(config.file());
    }
    terminal::print(&format!(
        "{shown} is written. Next: switchboard add time -- uvx mcp-server-time"
    ))?;
    Ok(ExitCode::SUCCESS)
}
