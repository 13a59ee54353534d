//! `switchboard add`: a server is tried, and written into the config if it answers.

mod source;
mod secrets;
mod check;

use std::process::ExitCode;

use anyhow::bail;
use serde_json::{Map, Value, json};

use self::source::ServerSource;
use super::{edit_servers, import::keep_trust};
use crate::{
    cli::{AddArgs, Cli},
    settings::{FILE_NAME, own_config},
    terminal::{self, Paint, text},
};

pub(super) fn run(add: &AddArgs, cli: &Cli) -> anyhow::Result<ExitCode> {
    let mut config = edit_servers::open(&add.place, cli)?;
    let source = ServerSource::of(add)?;
    let name = source.name(config.separator())?;
    if config.get(&name).is_some() && !add.replace {
        bail!(
            "server `{name}` is in {} already; --replace replaces it, another name adds one beside it",
            config.file().display()
        );
    }
    let mut settings = source.settings(add)?;
    let moved = match add.plain_secrets {
        true => Vec::new(),
        false => secrets::take_out(&name, &mut settings)?,
    };
    // The server is tried with its secrets, before anything is written.
    let tools = match add.no_check {
        true => None,
        false => match check::tools_of(
            &name,
            &secrets::filled_in(&settings, &moved),
            config.file(),
            add.json,
        )? {
            Ok(tools) => Some(tools),
            Err(reason) => {
                tell_failure(&name, &reason, Paint::stderr(cli.color));
                return Ok(ExitCode::FAILURE);
            }
        },
    };
    let notes = secrets::store(&moved)?;
    config.set(&name, &settings)?;
    let was_trusted = edit_servers::was_trusted(&config);
    config.save()?;
    if was_trusted && config.file().ends_with(FILE_NAME) {
        keep_trust(config.file());
    }
    let shown = config.file().display().to_string();
    if add.json {
        let report = json!({"name": name, "config": shown, "settings": settings, "tools": tools, "notes": notes});
        terminal::print(&report.to_string())?;
    } else {
        let paint = Paint::stdout(cli.color);
        terminal::print(&report(&name, &shown, tools.as_deref(), paint))?;
        for note in notes {
            terminal::tell(&text::one_line(&note));
        }
    }
    tell_if_shadowed(add, cli);
    Ok(ExitCode::SUCCESS)
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

/// A config in the current folder is used in place of the user's own.
fn tell_if_shadowed(add: &AddArgs, cli: &Cli) {
    let is_own = !add.place.here && cli.config.is_none() && own_config().is_some();
    if is_own && std::path::Path::new(FILE_NAME).exists() {
        terminal::tell(&format!(
            "note: in this folder ./{FILE_NAME} is used in place of your own config; --here adds to it"
        ));
    }
}

/// A server's settings, as they stand under `[servers.NAME]`.
type ServerEntry = Map<String, Value>;
