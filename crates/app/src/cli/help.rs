//! The help: commands in groups, and each option only where it does something.

use clap::{Command, CommandFactory};

use super::Cli;

/// The heading of options that every command has.
pub(super) const GLOBAL: &str = "Global options";
/// The heading of options that put something else in the place of the real tools.
pub(super) const TESTING: &str = "Testing";

/// The commands, as people look for them.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Everyday", &["tools", "call", "ask", "chat", "resources", "prompts", "doctor"]),
    (
        "Servers",
        &[
            "add", "import", "servers", "logs", "restart", "enable", "disable", "remove", "login",
            "logout", "lock", "trust", "sandbox",
        ],
    ),
    ("Clients", &["serve", "connect", "token", "profile"]),
    ("Records and approvals", &["calls", "runs", "approve", "policy"]),
    ("Home and cluster", &["voice", "zwave", "worker", "cluster"]),
    ("Set-up", &["init", "config", "secret", "completions", "help"]),
];

/// Options that only some commands use, and those commands.
const PARTIAL: [(&[&str], &[&str]); 2] = [
    (&["replay", "fault", "fault_seed"], TESTABLE),
    (&["alone"], &["tools", "call", "servers", "ask", "chat", "runs", "serve", "trust", "profile"]),
];

/// The commands that run tools, so that they can be tested without the real tools.
pub(super) const TESTABLE: &[&str] = &[
    "tools",
    "call",
    "resources",
    "prompts",
    "ask",
    "chat",
    "doctor",
    "serve",
    "servers",
    "policy",
    "voice",
    "worker",
];

/// The command line with its help.
pub(crate) fn command() -> Command {
    let mut command = Cli::command();
    for (options, commands) in PARTIAL {
        for option in options {
            command = only_in(command, option, commands);
        }
    }
    let template = template(&command);
    command.help_template(template)
}

/// Shows an option that is taken everywhere only in the help of these commands.
fn only_in(command: Command, option: &str, commands: &[&str]) -> Command {
    let Some(shown) = command.get_arguments().find(|arg| arg.get_id() == option).cloned() else {
        return command;
    };
    let command = command.mut_arg(option, |arg| arg.hide(true));
    commands.iter().fold(command, |command, name| {
        command.mut_subcommand(name, |subcommand| subcommand.arg(shown.clone()))
    })
}

/// The help of the program itself; clap knows no groups of commands.
fn template(command: &Command) -> String {
    let styles = command.get_styles();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let about = |name: &str| match name {
        // clap adds `help` itself when it parses.
        "help" => Some("Show the help of a command".to_owned()),
        name => command
            .find_subcommand(name)
            .filter(|found| !found.is_hide_set())
            .map(|found| found.get_about().map(ToString::to_string).unwrap_or_default()),
    };
    let groups = GROUPS.map(|(title, names)| {
        let rows = names.iter().filter_map(|name| {
            Some(format!(
                "  {literal}{name}{literal:#}{}{}",
                " ".repeat(13 - name.len()),
                about(name)?
            ))
        });
        format!("{header}{title}:{header:#}\n{}", rows.collect::<Vec<_>>().join("\n"))
    });
    format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}\n\n{header}Options:{header:#}\n{{options}}{{after-help}}",
        groups.join("\n\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(command: &mut Command) -> String {
        command.render_long_help().to_string()
    }

    #[test]
    fn every_command_stands_in_one_group() {
        let all: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let mut command = command();
        for subcommand in command.get_subcommands().filter(|one| !one.is_hide_set()) {
            let count = all.iter().filter(|name| **name == subcommand.get_name()).count();
            assert_eq!(count, 1, "{} in GROUPS of cli/help.rs", subcommand.get_name());
        }
        let help = text(&mut command);
        assert!(help.contains("\nEveryday:\n  tools        List the tools"), "{help}");
        assert!(help.contains("\n  help         Show the help of a command\n"), "{help}");
        assert!(!help.contains("--fault-seed"), "{help}");
        let rows = help.lines().take_while(|line| *line != "Options:");
        for row in rows {
            assert!(row.chars().count() <= 80, "{row}");
        }
    }

    #[test]
    fn options_are_shown_only_where_they_do_something() {
        let mut command = command();
        command.build();
        for subcommand in command.get_subcommands_mut() {
            let name = subcommand.get_name().to_owned();
            if name == "help" || subcommand.is_hide_set() {
                continue;
            }
            let help = text(subcommand);
            assert_eq!(help.contains("\nTesting:\n"), TESTABLE.contains(&&*name), "{help}");
            assert_eq!(help.contains("--alone"), PARTIAL[1].1.contains(&&*name), "{help}");
            assert!(help.contains("\nGlobal options:\n"), "{help}");
        }
    }

    /// clap wraps paragraphs to the terminal: one that is wrapped already is wrapped twice.
    #[test]
    fn footers_are_wrapped_once() {
        fn check(command: &Command) {
            let footer = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let is_prose = |line: &str| !line.is_empty() && !line.starts_with(' ');
            let lines: Vec<&str> = footer.lines().collect();
            for pair in lines.windows(2) {
                let is_wrapped = is_prose(pair[0]) && is_prose(pair[1]) && !pair[0].ends_with(':');
                assert!(!is_wrapped, "{}: {pair:?}", command.get_name());
            }
            for line in lines.iter().filter(|line| line.starts_with(' ')) {
                assert!(line.chars().count() <= 80, "{}: {line}", command.get_name());
            }
            command.get_subcommands().for_each(check);
        }
        check(&command());
    }
}
