//! What can be written on the command line.

mod approve;
mod asking;
mod calls;
mod token;
mod voice;
mod worker;
mod zwave;

use std::path::PathBuf;

use clap::{Args, ColorChoice, Parser, Subcommand};
use clap_complete::Shell;
use switchboard_local::FaultRule;
use switchboard_toolcall::HumanDuration;

pub(crate) use approve::Approve;
pub(crate) use asking::{Ask, Asked, Chat};
pub(crate) use calls::{
    Calls, CallsAction, Export, Form, Format, Gc, Policy, PolicyAction, PolicyTest, ShowCall, Stats,
};
pub(crate) use token::{NewToken, Token, TokenAction};
pub(crate) use voice::Voice;
pub(crate) use worker::Worker;
pub(crate) use zwave::Zwave;

/// Runs the tools that AI models call, through one safe executor.
#[derive(Debug, Parser)]
#[command(
    name = "switchboard",
    version,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "Examples:
  switchboard tools
  switchboard call math_eval '{\"expression\":\"2+2\"}'
  switchboard call math_eval expression=2+2
  switchboard call time__get_current_time timezone=Europe/Berlin
  switchboard ask \"How many cm are 2 inch?\"
  switchboard chat
  switchboard import claude
  switchboard tools --config ~/.cursor/mcp.json
  switchboard calls --failed --since 1h
  switchboard doctor

Exit status: 0 success, 1 the tool or the answer failed, 2 wrong usage or config."
)]
pub(crate) struct Cli {
    /// The config file [default: $SWITCHBOARD_CONFIG, ./switchboard.toml if trusted,
    /// $XDG_CONFIG_HOME/switchboard/switchboard.toml, else built-in tools only]
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) config: Option<PathBuf>,

    /// When to use colours; NO_COLOR is heeded
    #[arg(long, value_name = "WHEN", global = true, default_value = "auto")]
    pub(crate) color: ColorChoice,

    /// Serve the recorded calls of a file in place of the real tools; no server is started, nothing recorded. The
    /// file is one of `switchboard calls export`, as jsonl or --as mocks
    #[arg(long, value_name = "FILE", global = true, hide_short_help = true)]
    pub(crate) replay: Option<PathBuf>,

    /// Let calls go wrong on purpose: 'GLOB: 10% timeout, 5% error'. Faults: timeout, error, unavailable,
    /// slow DURATION, garbage. May be repeated; the first that knows a tool decides
    #[arg(long, value_name = "RULE", global = true, hide_short_help = true)]
    pub(crate) fault: Vec<FaultRule>,

    /// The same number gives the same faults again
    #[arg(long, value_name = "N", global = true, hide_short_help = true)]
    pub(crate) fault_seed: Option<u64>,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the tools, or show one of them
    Tools(Tools),
    /// Call a tool and print what came of it
    Call(Call),
    /// List the resources of the servers, or read one
    Resources(Resources),
    /// List the prompts of the servers, or get one
    Prompts(Prompts),
    /// Ask a model one question; it may call the tools
    Ask(Ask),
    /// Talk with a model, which may call the tools
    Chat(Chat),
    /// Check the config, the tools, the servers, the models and what they need
    Doctor(Doctor),
    /// Copy the MCP servers of Claude Desktop, Cursor or VS Code into the config
    Import(Import),
    /// Trust the config of a folder, so that it is used without being named
    Trust(Trust),
    /// Print a completion script for a shell
    Completions(Completions),
    /// Serve the tools to MCP clients and programs
    Serve(Serve),
    /// Make, list and revoke the tokens that clients of `serve` bear
    Token(Token),
    /// List the calls that wait for a person, and allow or deny them
    Approve(Approve),
    /// Show what was called and what came of it
    Calls(Box<Calls>),
    /// Try the rules of the config on what was called
    Policy(Policy),
    /// Serve Z-Wave devices to an MCP client that starts us
    Zwave(Zwave),
    /// Answer what is said, or typed over MQTT, with a model that may call the tools
    Voice(Voice),
    /// Offer the tools of this machine to gateways elsewhere, through NATS
    Worker(Worker),
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  switchboard tools               all tools
  switchboard tools math_eval     one tool, with its parameters and schema
  switchboard tools 'get_*'       those whose name matches a glob
  switchboard tools volume        those with this text in name or description
  switchboard tools --all         those that `[policy]` denies, too
  switchboard tools --json        for programs")]
pub(crate) struct Tools {
    /// A tool's name, a glob over names, or text to look for
    pub(crate) filter: Option<String>,

    /// List tools that `[policy]` denies, too, marked as denied
    #[arg(long)]
    pub(crate) all: bool,

    /// Print a JSON array of {name, description, parameters, server?, annotations, denied?}
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Arguments are one of:
  '{\"expression\":\"2+2\"}'   a JSON object
  -                        a JSON object from stdin
  expression=2+2 …         pairs; the tool's schema says what is a number, a boolean or a list
                           (tags=a tags=b is a list, options.unit=celsius goes into an object)
  count:=5 …               pairs whose value is JSON, whatever the schema says

Examples:
  switchboard call math_eval '{\"expression\":\"2+2\"}'
  switchboard call get_current_datetime timezone=Europe/Berlin --json
  echo '{\"message\":\"hello\"}' | switchboard call echo -
  switchboard call camera__take_picture -o picture.png

Exit status: 0 the tool succeeded, 1 it failed (stderr says how), 2 wrong usage or config.")]
pub(crate) struct Call {
    /// The tool's name
    pub(crate) name: String,

    /// The arguments: a JSON object, - for stdin, or key=value pairs [default: {}]
    #[arg(value_name = "JSON|-|KEY=VALUE")]
    pub(crate) arguments: Vec<String>,

    /// Print the envelope on one line, for programs
    #[arg(long, conflicts_with = "text")]
    pub(crate) json: bool,

    /// Print what people read of the result, as it is done anyway
    #[arg(long, hide = true)]
    pub(crate) text: bool,

    /// Write the image or other binary content of the result to a file, as it is
    #[arg(long, short, value_name = "FILE", conflicts_with_all = ["json", "no_wait"])]
    pub(crate) output: Option<PathBuf>,

    /// How long the call may take, such as 500ms, 5s or 2m
    #[arg(long, value_name = "DURATION")]
    pub(crate) timeout: Option<HumanDuration>,

    /// Your word for this very act: called again with it, the tool does not run again but the first answer is given
    #[arg(long, value_name = "KEY")]
    pub(crate) idempotency_key: Option<String>,

    /// Lay the call into the cluster's queue and print its id at once; `calls show ID` says what came of it
    #[arg(long, conflicts_with = "text")]
    pub(crate) no_wait: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  switchboard resources                              what all servers have
  switchboard resources file:///notes/today.md       the text of one
  switchboard resources demo://logo --output logo.png
  switchboard resources --json                       for programs

Exit status: 0 success, 1 there is no such resource or it cannot be read, 2 wrong usage or config.")]
pub(crate) struct Resources {
    /// The address of a resource to read
    pub(crate) uri: Option<String>,

    /// Only this server
    #[arg(long, value_name = "NAME")]
    pub(crate) server: Option<String>,

    /// Write what the resource holds to a file, as it is
    #[arg(long, short, value_name = "FILE", requires = "uri", conflicts_with = "json")]
    pub(crate) output: Option<PathBuf>,

    /// Print {resources, templates}, each with its server; of one resource, {server, contents}
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  switchboard prompts                                what all servers have
  switchboard prompts review language=rust           the messages of one
  switchboard prompts git__review language=rust      the one of this server

Exit status: 0 success, 1 there is no such prompt or its server refuses, 2 wrong usage or config.")]
pub(crate) struct Prompts {
    /// A prompt's name, bare or as server__name
    pub(crate) name: Option<String>,

    /// Its arguments: key=value pairs, a JSON object, or - for stdin
    #[arg(value_name = "JSON|-|KEY=VALUE")]
    pub(crate) arguments: Vec<String>,

    /// Print an array of prompts, each with its server; of one prompt, {server, messages}
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Starts every server and waits until each is connected or given up. Models are not asked; whether
one on this machine can be reached is looked at.

Exit status: 0 all is well, 1 something is broken."
)]
pub(crate) struct Doctor {
    /// Print {ok, checks: [{name, status, message}], servers: [{name, state, …}], models: [{name, key, …}]}
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  switchboard import claude                          Claude Desktop's servers → ./switchboard.toml
  switchboard import cursor --config home.toml       Cursor's servers → home.toml
  switchboard import .vscode/mcp.json                those of a file

Comments and formatting of the config stay. A server that is there already is asked about on a terminal, and
left as it is otherwise.

Exit status: 0 success, also where servers were left or skipped; 2 wrong usage or config.")]
pub(crate) struct Import {
    /// claude, cursor, vscode, or a file with their kind of config
    #[arg(value_name = "claude|cursor|vscode|FILE")]
    pub(crate) source: PathBuf,

    /// Print {source, config, servers: [{name, action, reason?, notes}]}
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  switchboard trust .                                the switchboard.toml of this folder
  switchboard trust ../project                       that of another

A config that is found, not named, and that starts programs, reads variables or reaches other machines is asked
about once on a terminal, and refused elsewhere. It is trusted at this path and with this content: where either
changes, it is asked about again. Named by --config or $SWITCHBOARD_CONFIG, or as your own config, it needs no trust.

Exit status: 0 success, 2 wrong usage or config.")]
pub(crate) struct Trust {
    /// A folder with a switchboard.toml, or that file
    pub(crate) path: PathBuf,

    /// Print {config, trusted: {starts, reads, connects, sets}}
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  switchboard serve                                  on 127.0.0.1:7300, for programs of this machine
  switchboard serve --stdio                          for one MCP client that starts us, such as Claude Desktop
  switchboard serve --listen 0.0.0.0:7300            for others too; wants a token, see `switchboard token`

MCP clients find the tools at /mcp, programs at /api/tools, Prometheus at /metrics. SIGTERM and Ctrl-C let running
calls finish.

Exit status: 0 told to stop, 2 wrong usage or config, or the address cannot be had.")]
pub(crate) struct Serve {
    /// Serve one MCP client over stdin and stdout
    #[arg(long, conflicts_with = "listen")]
    pub(crate) stdio: bool,

    /// Where to listen [default: 127.0.0.1:7300]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<String>,

    /// Print {address, mcp, api} on one line as soon as it listens
    #[arg(long, conflicts_with = "stdio")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  bash   switchboard completions bash > ~/.local/share/bash-completion/completions/switchboard
  zsh    switchboard completions zsh > ~/.zfunc/_switchboard
  fish   switchboard completions fish > ~/.config/fish/completions/switchboard.fish")]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: Shell,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn config_stands_before_or_after_the_command() {
        for words in [["--config", "x", "tools"], ["tools", "--config", "x"]] {
            let cli = Cli::try_parse_from(["switchboard"].iter().chain(&words)).unwrap();
            assert_eq!(cli.config, Some("x".into()));
        }
    }
}
