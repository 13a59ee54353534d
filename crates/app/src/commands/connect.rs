//! `switchboard connect`: puts Switchboard into the config of an MCP client, or takes it out; nothing else of that config changes.

mod clients;
mod write;

use std::{fs, io::ErrorKind, process::ExitCode};

use anyhow::{Context, bail};
use serde_json::{Value, json};

use self::clients::{ConfigFormat, McpClientApp};
use crate::{
    cli::{Cli, ConnectArgs},
    overrides, own_program,
    settings::{
        LoadedConfig,
        edit::{back_up, create_file},
    },
    terminal::{self, Paint},
};

/// How a client reaches us.
pub(super) enum Endpoint {
    /// It starts a program.
    Program { command: String, args: Vec<String> },
    /// It connects to a gateway.
    Gateway { url: String, headers: Option<Value> },
}

pub(super) fn run(connect: &ConnectArgs, cli: &Cli) -> anyhow::Result<ExitCode> {
    let client = McpClientApp::of(connect.client);
    let file = client.file()?;
    let entry = match connect.remove {
        true => None,
        false => Some(client.entry(&endpoint(connect, cli)?)?),
    };
    let shown = file.display();
    let before = match fs::read_to_string(&file) {
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        read => read.with_context(|| format!("failed to read `{shown}`"))?,
    };
    let after = match client.format {
        // If the file does not exist, there is nothing to remove.
        _ if connect.remove && before.is_empty() => Ok(String::new()),
        ConfigFormat::Json => write::json(&before, client.section, &connect.name, entry.as_ref()),
        ConfigFormat::Toml => write::toml(&before, client.section, &connect.name, entry.as_ref()),
    };
    let after = after.with_context(|| format!("`{shown}` was not changed"))?;
    if before == after {
        let has = if connect.remove { "does not have it" } else { "has it already" };
        terminal::print(&format!("{} {has}: {shown}", client.title))?;
        return Ok(ExitCode::SUCCESS);
    }
    terminal::print(&difference(&before, &after, Paint::stdout(cli.color)))?;
    if connect.print {
        terminal::tell(&format!("{shown} would be changed so; nothing was written"));
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(backup) = back_up(&file)? {
        terminal::tell(&format!("the old file is {}", backup.display()));
    }
    create_file(&file, &after)?;
    let purpose = if connect.remove { "to stop using it" } else { "to use it" };
    terminal::tell(&format!("{shown} is written; restart {} {purpose}", client.title));
    Ok(ExitCode::SUCCESS)
}

fn endpoint(connect: &ConnectArgs, cli: &Cli) -> anyhow::Result<Endpoint> {
    if let Some(url) = &connect.url {
        if !(url.starts_with("http://") || url.starts_with("https://")) {
            bail!(
                "--url takes the address of a gateway, such as http://127.0.0.1:7300/mcp, not `{url}`"
            );
        }
        let bearer = connect.token.as_ref().map(|token| format!("Bearer {token}"));
        let headers = bearer.map(|bearer| json!({"Authorization": bearer}));
        return Ok(Endpoint::Gateway { url: url.clone(), headers });
    }
    // Checked here: with an invalid config the client would get no tools, and would not say why.
    let loaded = overrides::load(cli)?;
    let (command, args) = stdio_command(&loaded);
    Ok(Endpoint::Program { command, args })
}

/// The command that serves the tools of this config to a client, from whichever folder the client starts it.
pub(super) fn stdio_command(loaded: &LoadedConfig) -> (String, Vec<String>) {
    let (program, mut args) = own_program::command();
    args.extend(["serve".to_owned(), "--stdio".to_owned()]);
    if let Some(config) = &loaded.file {
        let config = fs::canonicalize(config).unwrap_or_else(|_| config.clone());
        args.extend(["--config".to_owned(), config.display().to_string()]);
    }
    (program, args)
}

/// The lines that differ: removed ones with `-`, added ones with `+`.
pub(super) fn difference(before: &str, after: &str, paint: Paint) -> String {
    let (old, new): (Vec<_>, Vec<_>) = (before.lines().collect(), after.lines().collect());
    let same_start = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[same_start..], &new[same_start..]);
    let same_end =
        old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    let (gone, come) = (&old[..old.len() - same_end], &new[..new.len() - same_end]);
    let gone = gone.iter().map(|line| paint.red(&format!("- {line}")));
    let come = come.iter().map(|line| paint.green(&format!("+ {line}")));
    gone.chain(come).collect::<Vec<_>>().join("\n")
}
