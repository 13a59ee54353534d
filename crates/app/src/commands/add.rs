//! `switchboard add`: a server is tried, and written into the config if it answers.

mod source;
mod check;
mod sandbox;

use std::process::ExitCode;

use anyhow::bail;
use serde_json::json;
use switchboard_lock::{FILE_NAME, LockStore};

use self::{check::CheckFailure, source::RequestedServer};
use super::{
    edit_servers, login,
    secret_values::{MovedSecrets, SecretChoice, ServerEntry},
};
use crate::{
    cli::{AddArgs, Cli, LoginArgs},
    settings::edit::ConfigEditor,
    terminal::{self, Paint, ask, text},
};

pub(super) fn run(add: &AddArgs, cli: &Cli) -> anyhow::Result<ExitCode> {
    let mut config = edit_servers::open(&add.place, cli)?;
    let mut tried = match try_server(add, &config, SecretChoice::of_terminal(add.plain_secrets))? {
        Ok(tried) => tried,
        Err(NoAnswer { name, reason }) => {
            tell_failure(&name, &reason, Paint::stderr(cli.color));
            return Ok(ExitCode::FAILURE);
        }
    };
    if add.sandbox.is_none() && !add.json && ask::is_possible() {
        sandbox::ask_for(&tried.name, &mut tried.settings)?;
    }
    let notes = tried.write(&mut config)?;
    let TriedServer { name, settings, tools, wants_sign_in, .. } = tried;
    let shown = config.file().display().to_string();
    if add.json {
        let report = json!({"name": name, "config": shown, "settings": settings, "tools": tools, "sign_in": wants_sign_in, "notes": notes});
        terminal::print(&report.to_string())?;
    } else {
        let paint = Paint::stdout(cli.color);
        match wants_sign_in {
            true => terminal::print(&sign_in_report(&name, &shown, paint))?,
            false => terminal::print(&report(&name, &shown, tools.as_deref(), paint))?,
        }
        for note in notes {
            terminal::tell(&text::one_line(&note));
        }
    }
    edit_servers::tell_if_shadowed(&add.place, cli);
    if wants_sign_in && !add.json && ask::is_possible() {
        return login::in_config(&LoginArgs::browser(name), Some(config.file()), cli);
    }
    Ok(ExitCode::SUCCESS)
}

fn sign_in_report(name: &str, config: &str, paint: Paint) -> String {
    let (mark, name) = (paint.green("✓"), text::one_line(name));
    format!(
        "{mark} {} is in {config}; sign-in required: switchboard login {name}",
        paint.bold(&name)
    )
}

/// A server that answered, or that was not to be tried.
pub(super) struct TriedServer {
    pub(super) name: String,
    settings: ServerEntry,
    secrets: MovedSecrets,
    /// Names of its tools; `None` if it was not tried.
    pub(super) tools: Option<Vec<String>>,
    /// Whether a person has to sign in before it can be used.
    wants_sign_in: bool,
}

/// A server that does not answer.
pub(super) struct NoAnswer {
    pub(super) name: String,
    pub(super) reason: String,
}

/// Returns the name that the server will have.
///
/// # Errors
/// The arguments do not describe a server.
pub(super) fn name_of(add: &AddArgs, config: &ConfigEditor) -> anyhow::Result<String> {
    RequestedServer::of(add)?.name(config.separator())
}

/// Tries a server with its secrets, before anything is written.
///
/// # Errors
/// The arguments do not describe a server, or its name is taken.
pub(super) fn try_server(
    add: &AddArgs,
    config: &ConfigEditor,
    choice: SecretChoice,
) -> anyhow::Result<Result<TriedServer, NoAnswer>> {
    let source = RequestedServer::of(add)?;
    let name = source.name(config.separator())?;
    if config.get(&name).is_some() && !add.replace {
        bail!(
            "server `{name}` is in {} already; --replace replaces it, another name adds one beside it",
            config.file().display()
        );
    }
    let mut settings = source.settings(add)?;
    let mut secrets = MovedSecrets::new(choice);
    secrets.take_out(&name, &mut settings, &[])?;
    let mut wants_sign_in = false;
    let tools = match add.no_check {
        true => None,
        false => {
            let filled_in = secrets.filled_in(&settings);
            match check::tools_of(&name, &filled_in, config.file(), add.json)? {
                Ok(tools) => Some(tools),
                Err(CheckFailure::SignIn) => {
                    wants_sign_in = true;
                    None
                }
                Err(CheckFailure::Silent(reason)) => return Ok(Err(NoAnswer { name, reason })),
            }
        }
    };
    Ok(Ok(TriedServer { name, settings, secrets, tools, wants_sign_in }))
}

impl TriedServer {
    /// Writes it into the config, and its secrets into the vault. Returns notes for the person.
    ///
    /// # Errors
    /// A file cannot be written.
    pub(super) fn write(&self, config: &mut ConfigEditor) -> anyhow::Result<Vec<String>> {
        let mut notes = self.secrets.store()?;
        notes.extend(sandbox::note(&self.name, &self.settings));
        config.set(&self.name, &self.settings)?;
        edit_servers::save(config)?;
        if LockStore::beside(config.file()).file().exists() {
            let name = text::one_line(&self.name);
            notes.push(format!(
                "what it says is not in {FILE_NAME} yet: `switchboard trust {name}`"
            ));
        }
        Ok(notes)
    }
}

fn report(name: &str, config: &str, tools: Option<&[String]>, paint: Paint) -> String {
    let mark = paint.green("✓");
    let name = paint.bold(&text::one_line(name));
    match tools {
        None => format!("{mark} {name} is in {config}; it was not tried"),
        Some([]) => format!("{mark} {name} is in {config}; it has no tools"),
        Some(tools) => {
            let (count, first) = (tools.len(), text::one_line(&tools[0]));
            let tools = if count == 1 { "1 tool".to_owned() } else { format!("{count} tools") };
            format!("{mark} {name} is in {config}: {tools}. Try: switchboard tools {first}")
        }
    }
}

fn tell_failure(name: &str, reason: &str, paint: Paint) {
    terminal::tell(
        &paint.red(&format!("server `{name}` does not answer: {}", text::lines(reason))),
    );
    terminal::tell("nothing was written; --no-check writes it anyway");
}
