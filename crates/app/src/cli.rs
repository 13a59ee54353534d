//! The command line.

mod add;
mod approve;
mod asking;
mod calls;
mod servers;
mod token;
mod voice;
mod worker;
mod zwave;

use std::path::PathBuf;

use clap::{Args, ColorChoice, Parser, Subcommand};
use clap_complete::Shell;
use switchboard_local::FaultRule;
use switchboard_toolcall::HumanDuration;

pub(crate) use add::{AddArgs, ClientName, ConnectArgs, InitArgs, PlaceArgs, ServerNameArgs};
pub(crate) use approve::ApproveArgs;
pub(crate) use asking::{AskArgs, ChatArgs, ModelArgs};
pub(crate) use calls::{
    CallsAction, CallsArgs, ExportArgs, ExportAs, ExportFormat, GcArgs, PolicyAction, PolicyArgs,
    PolicyTestArgs, ShowCallArgs, StatsArgs,
};
pub(crate) use servers::{LogsArgs, RestartArgs, ServersArgs};
pub(crate) use token::{NewTokenArgs, TokenAction, TokenArgs};
pub(crate) use voice::VoiceArgs;
pub(crate) use worker::WorkerArgs;
pub(crate) use zwave::ZwaveArgs;

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
  switchboard add time -- uvx mcp-server-time
  switchboard connect claude
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

    /// When to use colours; NO_COLOR is respected
    #[arg(long, value_name = "WHEN", global = true, default_value = "auto")]
    pub(crate) color: ColorChoice,

    /// Serve the recorded calls of a file in place of the real tools; no server is started, nothing recorded. The
    /// file is one of `switchboard calls export`, as jsonl or --as mocks
    #[arg(long, value_name = "FILE", global = true, hide_short_help = true)]
    pub(crate) replay: Option<PathBuf>,

    /// Make calls fail on purpose: 'GLOB: 10% timeout, 5% error'. Faults: timeout, error, unavailable,
    /// slow DURATION, garbage. May be repeated; the first rule that matches a tool applies
    #[arg(long, value_name = "RULE", global = true, hide_short_help = true)]
    pub(crate) fault: Vec<FaultRule>,

    /// The same number gives the same faults again
    #[arg(long, value_name = "N", global = true, hide_short_help = true)]
    pub(crate) fault_seed: Option<u64>,

    /// Use no running gateway: `call`, `tools`, `servers`, `ask`, `chat` and `serve --stdio` start what they need
    #[arg(long, global = true, hide_short_help = true)]
    pub(crate) alone: bool,

    #[command(subcommand)]
    pub(crate) command: CliCommand,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// List the tools, or show one of them
    Tools(ToolsArgs),
    /// Call a tool and print its result
    Call(CallArgs),
    /// List the resources of the servers, or read one
    Resources(ResourcesArgs),
    /// List the prompts of the servers, or get one
    Prompts(PromptsArgs),
    /// Ask a model one question; it may call the tools
    Ask(AskArgs),
    /// Talk with a model, which may call the tools
    Chat(ChatArgs),
    /// Check the config, the tools, the servers, the models and what they need
    Doctor(DoctorArgs),
    /// Add an MCP server to the config: a command, a URL or a package
    Add(AddArgs),
    /// Remove an MCP server from the config
    Remove(ServerNameArgs),
    /// Use an MCP server of the config again
    Enable(ServerNameArgs),
    /// Keep an MCP server in the config without using it
    Disable(ServerNameArgs),
    /// Write a commented config to start from
    Init(InitArgs),
    /// Write Switchboard into the config of an MCP client
    Connect(ConnectArgs),
    /// Copy the MCP servers of Claude Desktop, Cursor or VS Code into the config
    Import(ImportArgs),
    /// Trust the config of a folder, so that it is used without being named
    Trust(TrustArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Serve the tools to MCP clients and programs
    Serve(ServeArgs),
    /// List the servers: state, tools, calls, how long they take
    Servers(ServersArgs),
    /// Connect a server of the running gateway anew
    Restart(RestartArgs),
    /// Show what a server of the running gateway writes to stderr
    Logs(LogsArgs),
    /// Make, list and revoke the tokens that clients of `serve` send
    Token(TokenArgs),
    /// List the calls that wait for a person, and allow or deny them
    Approve(ApproveArgs),
    /// Show recorded calls and their results
    Calls(Box<CallsArgs>),
    /// Test the rules of the config on recorded calls
    Policy(PolicyArgs),
    /// Serve Z-Wave devices to an MCP client that starts us
    Zwave(ZwaveArgs),
    /// Answer what is said, or typed over MQTT, with a model that may call the tools
    Voice(VoiceArgs),
    /// Offer the tools of this machine to gateways elsewhere, through NATS
    Worker(WorkerArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  switchboard tools               all tools
  switchboard tools math_eval     one tool, with its parameters and schema
  switchboard tools 'get_*'       those whose name matches a glob
  switchboard tools volume        those with this text in name or description
  switchboard tools --all         those that `[policy]` denies, too
  switchboard tools --json        for programs")]
pub(crate) struct ToolsArgs {
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
pub(crate) struct CallArgs {
    /// The tool's name
    pub(crate) name: String,

    /// The arguments: a JSON object, - for stdin, or key=value pairs [default: {}]
    #[arg(value_name = "JSON|-|KEY=VALUE")]
    pub(crate) arguments: Vec<String>,

    /// Print the whole result as one line of JSON, for programs
    #[arg(long, conflicts_with = "text")]
    pub(crate) json: bool,

    /// Print the text of the result, which is the default
    #[arg(long, hide = true)]
    pub(crate) text: bool,

    /// Write the image or other binary content of the result to a file, as it is
    #[arg(long, short, value_name = "FILE", conflicts_with_all = ["json", "no_wait"])]
    pub(crate) output: Option<PathBuf>,

    /// How long the call may take, such as 500ms, 5s or 2m
    #[arg(long, value_name = "DURATION")]
    pub(crate) timeout: Option<HumanDuration>,

    /// A key for this call: if it is used again, the tool does not run again and the first result is returned
    #[arg(long, value_name = "KEY")]
    pub(crate) idempotency_key: Option<String>,

    /// Queue the call in the cluster and print its id at once; `calls show ID` shows its result
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
pub(crate) struct ResourcesArgs {
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
pub(crate) struct PromptsArgs {
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
    after_help = "Starts every server and waits until each is connected or has failed. Models are not asked; one on
this machine is checked for being reachable.

Exit status: 0 all is well, 1 something is broken."
)]
pub(crate) struct DoctorArgs {
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
pub(crate) struct ImportArgs {
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
pub(crate) struct TrustArgs {
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
  switchboard serve --port 8000 --open               on another port; opens the console in the browser
  switchboard serve --listen 0.0.0.0:7300            for others too; wants a token, see `switchboard token`

MCP clients find the tools at /mcp, programs at /api/tools, Prometheus at /metrics. SIGTERM and Ctrl-C let running
calls finish. `call`, `tools`, `servers`, `ask`, `chat` and `serve --stdio` of the same user and config use the
gateway while it runs, over a socket in $XDG_RUNTIME_DIR; with --alone they do not.

Exit status: 0 stopped by a signal, 2 wrong usage or config, or the address is not available.")]
pub(crate) struct ServeArgs {
    /// Serve one MCP client over stdin and stdout
    #[arg(long, conflicts_with = "listen")]
    pub(crate) stdio: bool,

    /// Where to listen [default: 127.0.0.1:7300]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<String>,

    /// Short for --listen 127.0.0.1:PORT
    #[arg(long, value_name = "PORT", conflicts_with_all = ["listen", "stdio"])]
    pub(crate) port: Option<u16>,

    /// Open the console in the browser as soon as it listens
    #[arg(long, conflicts_with = "stdio")]
    pub(crate) open: bool,

    /// Print {address, mcp, api} on one line as soon as it listens
    #[arg(long, conflicts_with = "stdio")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  bash   switchboard completions bash > ~/.local/share/bash-completion/completions/switchboard
  zsh    switchboard completions zsh > ~/.zfunc/_switchboard
  fish   switchboard completions fish > ~/.config/fish/completions/switchboard.fish")]
pub(crate) struct CompletionsArgs {
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
