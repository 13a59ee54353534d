//! `switchboard config`: shows which config is used, checks it, and prints its schema.

use std::process::ExitCode;

use anyhow::anyhow;

use crate::{
    assembly::{self, App},
    cli::{Cli, ConfigAction, ConfigArgs},
    settings::{self, FILE_NAME, own_config, schema},
    terminal,
};

pub(super) fn run(config: &ConfigArgs, cli: &Cli) -> anyhow::Result<ExitCode> {
    match config.action {
        ConfigAction::Path => path(cli),
        ConfigAction::Check => check(cli),
        ConfigAction::Schema => {
            terminal::print(&schema_text())?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// The schema, as it stands in a file.
pub(super) fn schema_text() -> String {
    format!("{:#}", schema::of_config())
}

fn path(cli: &Cli) -> anyhow::Result<ExitCode> {
    match settings::config_in_use(cli.config.as_deref())? {
        Some(file) => {
            let file = std::path::absolute(&file).unwrap_or(file);
            terminal::print(&file.display().to_string())?;
            Ok(ExitCode::SUCCESS)
        }
        None => {
            tell_none();
            Ok(ExitCode::FAILURE)
        }
    }
}

/// Reads the config as every command does, and builds the tools and rules that it defines. Skipped entries are
/// reported by warnings.
fn check(cli: &Cli) -> anyhow::Result<ExitCode> {
    let loaded = settings::load(cli.config.as_deref())?;
    let Some(file) = &loaded.file else {
        tell_none();
        return Ok(ExitCode::FAILURE);
    };
    App::build(&loaded)?;
    assembly::policy(&loaded, true).map_err(|problem| anyhow!(problem))?;
    terminal::print(&format!("{} is fine", file.display()))?;
    Ok(ExitCode::SUCCESS)
}

fn tell_none() {
    let own = own_config().map_or_else(String::new, |own| format!(", nor `{}`", own.display()));
    terminal::tell(&format!(
        "there is no config: neither `./{FILE_NAME}`{own}; `switchboard init` writes one"
    ));
}
