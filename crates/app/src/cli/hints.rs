//! Reads the command line, and suggests our command to people who typed the name that another program has for it.

use std::{env, ffi::OsString};

use clap::{
    FromArgMatches, ValueEnum,
    error::{ContextKind, ContextValue, Error, ErrorKind},
};

use super::{Cli, ClientName, help};

/// Words that people try, and what does it here.
const HINTS: &[(&[&str], &str)] = &[
    (&["list", "ls"], "`switchboard tools` lists the tools, `switchboard servers` the MCP servers"),
    (
        &["status", "ps", "top", "state"],
        "`switchboard servers` shows how the servers are, `switchboard doctor` checks everything",
    ),
    (
        &["run", "exec", "execute", "invoke", "use"],
        "`switchboard call TOOL` calls a tool, `switchboard serve` runs the gateway",
    ),
    (
        &["start", "up", "daemon", "gateway", "proxy"],
        "`switchboard serve` runs the gateway, `switchboard enable NAME` uses a server again",
    ),
    (
        &["stop", "down", "kill", "quit"],
        "Ctrl-C or SIGTERM stops `switchboard serve`, `switchboard disable NAME` a server",
    ),
    (
        &["mcp", "server"],
        "`switchboard add`, `servers` and `remove` manage MCP servers; `switchboard serve --stdio` is one",
    ),
    (
        &["configure", "setup", "settings"],
        "`switchboard init` writes a config, `switchboard config path` says which one is used",
    ),
    (&["version"], "`switchboard --version` prints it"),
    (
        &["auth", "signin", "oauth"],
        "`switchboard login NAME` signs in to a server, `switchboard token` makes tokens for clients",
    ),
    (
        &["show", "info", "describe", "inspect", "tool"],
        "`switchboard tools NAME` shows a tool, `switchboard calls show ID` a call",
    ),
    (&["search", "find", "grep"], "`switchboard tools TEXT` finds tools"),
    (&["get", "read"], "`switchboard resources URI` reads a resource of a server"),
    (
        &["log", "history", "audit", "records", "trace"],
        "`switchboard calls` shows what was called, `switchboard logs NAME` what a server writes",
    ),
    (&["install", "new", "create"], "`switchboard add NAME -- COMMAND` adds an MCP server"),
    (&["uninstall", "delete", "rm", "del"], "`switchboard remove NAME` removes an MCP server"),
    (
        &["check", "test", "health", "diagnose", "validate"],
        "`switchboard doctor` checks everything",
    ),
    (
        &["model", "models"],
        "`switchboard doctor` shows the models of the config, `switchboard ask -m MODEL` asks one",
    ),
    (&["chats", "sessions"], "`switchboard chat --list` lists the chats"),
    (&["allow", "deny", "approvals", "pending"], "`switchboard approve` lists the calls that wait"),
    (
        &["ui", "web", "console", "open", "dashboard"],
        "`switchboard serve --open` opens the console",
    ),
    (&["tokens", "key", "keys"], "`switchboard token new --name NAME` makes a token"),
    (&["link", "client", "clients"], "`switchboard connect CLIENT` connects an MCP client"),
];

/// Reads the command line of this process; ends it where it is wrong, or help is asked for.
pub(crate) fn parse() -> Cli {
    let words: Vec<OsString> = env::args_os().collect();
    read(&words).unwrap_or_else(|error| error.exit())
}

fn read(words: &[OsString]) -> Result<Cli, Error> {
    let mut command = help::command();
    let matches = match command.try_get_matches_from_mut(words) {
        Ok(matches) => matches,
        Err(error) => return Err(hint(&error, words).map_or(error, |hint| refusal(&hint))),
    };
    let cli = Cli::from_arg_matches(&matches)?;
    let name = matches.subcommand_name().unwrap_or_default();
    let replaces = [
        ("--replay", cli.replay.is_some()),
        ("--fault", !cli.fault.is_empty()),
        ("--fault-seed", cli.fault_seed.is_some()),
    ];
    match replaces.iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) if !help::TESTABLE.contains(&name) => Err(refusal(&format!(
            "{option} does nothing for `switchboard {name}`, which runs no tool"
        ))),
        _ => Ok(cli),
    }
}

/// An error of one line: what it says leads on, so that no usage has to follow.
fn refusal(text: &str) -> Error {
    Error::raw(ErrorKind::InvalidSubcommand, format!("{text}\n"))
}

/// What to say in place of clap's error, where that leads nowhere.
fn hint(error: &Error, words: &[OsString]) -> Option<String> {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let is_slip = error.get(ContextKind::SuggestedSubcommand).is_some();
            unknown_command(context(ContextKind::InvalidSubcommand)?, is_slip)
        }
        ErrorKind::UnknownArgument if error.get(ContextKind::SuggestedArg).is_none() => {
            dashed(context(ContextKind::InvalidArg)?, words)
        }
        ErrorKind::MissingRequiredArgument
            if words.get(1).is_some_and(|command| command == "connect") =>
        {
            Some(format!("name the client: switchboard connect {}", clients().join("|")))
        }
        _ => None,
    }
}

/// The clients that `connect` knows.
fn clients() -> Vec<String> {
    let values = ClientName::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    values.map(|value| value.get_name().to_owned()).collect()
}

fn unknown_command(word: &str, is_slip: bool) -> Option<String> {
    let hint = HINTS.iter().find(|(words, _)| words.contains(&word)).map(|(_, hint)| *hint);
    match hint {
        Some(hint) => Some(format!("there is no command `{word}`: {hint}")),
        // No command has an underscore in its name, and most tools have one.
        None if word.contains('_') && !is_slip => {
            Some(format!("there is no command `{word}`: `switchboard call {word}` calls a tool"))
        }
        None => None,
    }
}

/// Arguments of tools that were written as options.
fn dashed(option: &str, words: &[OsString]) -> Option<String> {
    let words: Vec<_> = words.iter().filter_map(|word| word.to_str()).collect();
    let name = option.strip_prefix("--").filter(|_| words.get(1) == Some(&"call"))?;
    let inline = words.iter().find_map(|word| word.strip_prefix(option)?.strip_prefix('='));
    let at = words.iter().position(|word| *word == option);
    let next = at.and_then(|at| words.get(at + 1).copied()).filter(|word| !word.starts_with('-'));
    let value = inline.or(next).filter(|value| !value.contains(char::is_whitespace));
    let value = value.unwrap_or("VALUE");
    Some(format!(
        "unexpected option '--{name}'; arguments of a tool have no dashes: {name}={value}"
    ))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn refused(line: &str) -> String {
        let words: Vec<OsString> = line.split(' ').map(Into::into).collect();
        read(&words).unwrap_err().to_string()
    }

    #[test]
    fn words_of_other_programs_lead_somewhere() {
        for (words, hint) in HINTS {
            for word in *words {
                if Cli::command().find_subcommand(word).is_some() {
                    continue;
                }
                let text = refused(&format!("switchboard {word} x"));
                assert_eq!(
                    text.lines().next().unwrap(),
                    format!("error: there is no command `{word}`: {hint}")
                );
                assert_eq!(refused(&format!("switchboard help {word}")), text);
            }
        }
        let text = refused("switchboard time__now");
        assert!(text.contains("`switchboard call time__now` calls a tool"), "{text}");
        // A misspelt command is still corrected by clap.
        assert!(refused("switchboard tols").contains("'tools'"));
    }

    #[test]
    fn every_command_that_a_hint_names_exists() {
        let command = Cli::command();
        for (_, hint) in HINTS {
            for named in hint.split('`').skip(1).step_by(2) {
                let name = named.trim_start_matches("switchboard ").split(' ').next().unwrap();
                let exists = name.starts_with("--") || command.find_subcommand(name).is_some();
                assert!(exists, "{name}: {hint}");
            }
        }
    }

    #[test]
    fn options_that_do_nothing_or_are_none_are_named() {
        let text = refused("switchboard call math_eval --expression 2+2");
        assert!(
            text.starts_with("error: unexpected option '--expression'; arguments of a tool have no dashes: expression=2+2"),
            "{text}"
        );
        assert!(refused("switchboard call t --city=Bonn").contains("no dashes: city=Bonn"));
        assert!(refused("switchboard call t --timout 5s").contains("'--timeout'"));
        let text = refused("switchboard connect");
        assert!(text.contains("switchboard connect claude|claude-code|cursor|"), "{text}");
        let text = refused("switchboard token list --fault *:10%timeout");
        assert!(text.contains("--fault does nothing for `switchboard token`"), "{text}");
        let text = refused("switchboard --replay x init");
        assert!(text.contains("--replay does nothing for `switchboard init`"), "{text}");
    }
}
