//! The command line.

mod add;
mod approve;
mod asking;
mod calls;
mod cluster;
mod config;
mod help;
mod hints;
mod import;
mod lock;
mod login;
mod profile;
mod runs;
mod sandbox;
mod secret;
mod servers;
mod token;
mod voice;
mod worker;
mod zwave;

use std::path::PathBuf;

use clap::{Args, ColorChoice, Parser, Subcommand};
use clap_complete::{ArgValueCandidates, Shell};
use switchboard_local::FaultRule;
use switchboard_toolcall::HumanDuration;

use crate::{completion, version::VERSION};

pub(crate) use add::{
    AddArgs, ClientName, ConnectArgs, InitArgs, PlaceArgs, SandboxChoice, ServerNameArgs,
};
pub(crate) use approve::ApproveArgs;
pub(crate) use asking::{AskArgs, ChatArgs, ModelArgs};
pub(crate) use calls::{
    CallsAction, CallsArgs, ExportArgs, ExportAs, ExportFormat, GcArgs, PolicyAction, PolicyArgs,
    PolicyTestArgs, ShowCallArgs, StatsArgs,
};
pub(crate) use cluster::{ClusterAction, ClusterArgs};
pub(crate) use config::{ConfigAction, ConfigArgs};
pub(crate) use hints::parse;
pub(crate) use import::ImportArgs;
pub(crate) use lock::{LockArgs, TrustArgs};
pub(crate) use login::{LoginArgs, LogoutArgs};
pub(crate) use profile::{ProfileAction, ProfileArgs, ProfileTestArgs};
pub(crate) use runs::{
    DiffRunsArgs, ExportRunArgs, RerunArgs, RerunTools, ResumeRunArgs, RunFormat, RunsAction,
    RunsArgs, ShowRunArgs,
};
pub(crate) use sandbox::{LearnSandboxArgs, SandboxAction, SandboxArgs};
pub(crate) use secret::{SecretAction, SecretArgs};
pub(crate) use servers::{LogsArgs, RestartArgs, ServersArgs};
pub(crate) use token::{NewTokenArgs, TokenAction, TokenArgs};
pub(crate) use voice::VoiceArgs;
pub(crate) use worker::WorkerArgs;
pub(crate) use zwave::ZwaveArgs;

/// Runs the tools that AI models call, through one safe executor.
#[derive(Debug, Parser)]
#[command(
    name = "switchboard",
    version = VERSION,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "Examples:
  switchboard tools
  switchboard call math_eval '2 inch to cm'
  switchboard call time__get_current_time timezone=Europe/Berlin
  switchboard ask \"How many cm are 2 inch?\"
  switchboard add time -- uvx mcp-server-time
  switchboard connect claude
  switchboard import --all
  switchboard tools --config ~/.cursor/mcp.json
  switchboard calls --failed --since 1h

`switchboard COMMAND --help` says more. To test without real tools, --replay serves recorded calls in place of the tools, and --fault \
makes calls fail on purpose (`switchboard call --help`).

Exit status: 0 success, 1 the tool or the answer failed, 2 wrong usage or config."
)]
pub(crate) struct Cli {
    /// The config file [default: $SWITCHBOARD_CONFIG, ./switchboard.toml if trusted,
    /// $XDG_CONFIG_HOME/switchboard/switchboard.toml, else built-in tools only]
    #[arg(long, value_name = "FILE", global = true, help_heading = help::GLOBAL)]
    pub(crate) config: Option<PathBuf>,

    /// When to use colours; NO_COLOR is respected
    #[arg(long, value_name = "WHEN", global = true, default_value = "auto", help_heading = help::GLOBAL)]
    pub(crate) color: ColorChoice,

    /// Serve the recorded calls of a file in place of the real tools; no server is started, nothing recorded. The
    /// file is one of `switchboard calls export`, as jsonl or --as mocks
    #[arg(long, value_name = "FILE", global = true, hide_short_help = true, help_heading = help::TESTING)]
    pub(crate) replay: Option<PathBuf>,

    /// Make calls fail on purpose: 'GLOB: 10% timeout, 5% error'. Faults: timeout, error, unavailable,
    /// slow DURATION, garbage. May be repeated; the first rule that matches a tool applies
    #[arg(long, value_name = "RULE", global = true, hide_short_help = true, help_heading = help::TESTING)]
    pub(crate) fault: Vec<FaultRule>,

    /// The same number gives the same faults again
    #[arg(long, value_name = "N", global = true, hide_short_help = true, help_heading = help::TESTING)]
    pub(crate) fault_seed: Option<u64>,

    /// Use no running gateway: commands, and `serve --stdio`, start the servers that they need
    #[arg(long, global = true, hide_short_help = true, help_heading = help::GLOBAL)]
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
    /// Check config, tools, servers, models and what they need
    Doctor(DoctorArgs),
    /// Add an MCP server to the config: a command, a URL, a package
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
    /// Copy the MCP servers of Claude, Cursor, VS Code and others here
    Import(ImportArgs),
    /// Show which config is used, check it, print its JSON Schema
    Config(ConfigArgs),
    /// Trust what a server says now, or a folder's config
    Trust(TrustArgs),
    /// Write down what the servers say, so that changes wait for you
    Lock(LockArgs),
    /// Find out what a server needs in a sandbox
    Sandbox(SandboxArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Print the manual page, or write those of all commands
    #[command(hide = true)]
    Man(ManArgs),
    /// Print the version, as --version does
    #[command(hide = true)]
    Version,
    /// Serve the tools to MCP clients and programs
    Serve(ServeArgs),
    /// List the servers: state, tools, calls, how long they take
    Servers(ServersArgs),
    /// Reconnect a server of the running gateway
    Restart(RestartArgs),
    /// Show what a server of the running gateway writes to stderr
    Logs(LogsArgs),
    /// Make, list and revoke the tokens that clients of `serve` send
    Token(TokenArgs),
    /// Sign in to an MCP server that requires OAuth
    Login(LoginArgs),
    /// Revoke and forget the sign-in to an MCP server
    Logout(LogoutArgs),
    /// Keep secrets in the vault, for ${secret:NAME} in the config
    Secret(SecretArgs),
    /// List the calls that wait for a person; allow or deny them
    Approve(ApproveArgs),
    /// Show recorded calls and their results
    Calls(Box<CallsArgs>),
    /// Show runs of models, and go on with interrupted ones
    Runs(RunsArgs),
    /// Test the rules of the config on recorded calls
    Policy(PolicyArgs),
    /// List the profiles of the config, or test one on recorded calls
    Profile(ProfileArgs),
    /// Serve Z-Wave devices to an MCP client that starts it
    Zwave(ZwaveArgs),
    /// Answer speech, or requests over MQTT, with a model and the tools
    Voice(VoiceArgs),
    /// Offer this machine's tools to gateways elsewhere, through NATS
    Worker(WorkerArgs),
    /// Replace the secret that the gateways of a cluster share
    Cluster(ClusterArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  switchboard tools            all tools
  switchboard tools math_eval  one tool, with its parameters and schema
  switchboard tools 'get_*'    those whose name matches a glob
  switchboard tools volume     those with this text in name or description
  switchboard tools --search 'rename a document'  those that do this, best first
  switchboard tools --cost     what they cost in a model's context
  switchboard tools --all      those that `[policy]` denies, too
  switchboard tools --json     for programs")]
pub(crate) struct ToolsArgs {
    /// A tool's name, a glob over names, or text to look for
    #[arg(add = ArgValueCandidates::new(completion::tool_names))]
    pub(crate) filter: Option<String>,

    /// Find tools by what they do, in words of your own, best first
    #[arg(long, value_name = "QUERY", conflicts_with_all = ["filter", "all"])]
    pub(crate) search: Option<String>,

    /// How many tools --search prints
    #[arg(long, value_name = "N", default_value_t = 5, requires = "search")]
    pub(crate) limit: usize,

    /// Show about how many tokens the definitions take in a model's context, and how often each tool was called in 30 days
    #[arg(long, conflicts_with_all = ["filter", "all", "search"])]
    pub(crate) cost: bool,

    /// List tools that `[policy]` denies, too, marked as denied
    #[arg(long)]
    pub(crate) all: bool,

    /// Only the tools of this profile, as they look there
    #[arg(long, value_name = "NAME", add = ArgValueCandidates::new(completion::profile_names))]
    pub(crate) profile: Option<String>,

    /// Print a JSON array of {name, description, parameters, server?, annotations, denied?}; with --search of {name,
    /// description, score}; with --cost an object {total_tokens, servers}
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Arguments are one of:
  '2+2'                   the value of the only required parameter
  expression=2+2 …        pairs; the schema says what is a number, a boolean, a
                          list (tags=a tags=b), an object (options.unit=celsius)
  count:=5 …              pairs whose value is JSON, whatever the schema says
  '{\"expression\":\"2+2\"}'  a JSON object
  -                       a JSON object from stdin

A word that begins with {, [ or \" is JSON, and one with a name before a = is a pair: write a value that looks like \
those as name=VALUE.

Examples:
  switchboard call math_eval '2+2'
  switchboard call math_eval '{\"expression\":\"2+2\"}'
  switchboard call get_current_datetime timezone=Europe/Berlin --json
  echo '{\"message\":\"hello\"}' | switchboard call echo -
  switchboard call camera__take_picture -o picture.png

Exit status: 0 the tool succeeded, 1 it failed (stderr says how), 2 wrong usage or config.")]
pub(crate) struct CallArgs {
    /// The tool's name
    #[arg(add = ArgValueCandidates::new(completion::tool_names))]
    pub(crate) name: String,

    /// The arguments: a value, key=value pairs, a JSON object, or - for stdin [default: {}]
    #[arg(value_name = "VALUE|KEY=VALUE|JSON|-")]
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

    /// Call the tool as it looks in this profile
    #[arg(long, value_name = "NAME", add = ArgValueCandidates::new(completion::profile_names))]
    pub(crate) profile: Option<String>,

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
  switchboard resources                         what all servers have
  switchboard resources file:///notes/today.md  the text of one
  switchboard resources demo://logo --output logo.png
  switchboard resources --json                  for programs

Exit status: 0 success, 1 there is no such resource or it cannot be read, 2 wrong usage or config.")]
pub(crate) struct ResourcesArgs {
    /// The address of a resource to read
    pub(crate) uri: Option<String>,

    /// Only this server
    #[arg(long, value_name = "NAME", add = ArgValueCandidates::new(completion::server_names))]
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
  switchboard prompts                            what all servers have
  switchboard prompts review language=rust       the messages of one
  switchboard prompts git__review language=rust  the one of this server

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
    after_help = "Starts every server and waits until each is connected or has failed. Models are not asked; one on \
this machine is checked for being reachable. Without [models.*] it says which model `ask` and `chat` find.

Exit status: 0 all is well, 1 something is broken."
)]
pub(crate) struct DoctorArgs {
    /// Print {ok, checks: [{name, status, message}], servers: [{name, state, …}], models: [{name, key, …}]}
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  switchboard serve                        on 127.0.0.1:7300, for this machine
  switchboard serve --stdio                for one MCP client that starts it
  switchboard serve --port 8000 --open     with the console in the browser
  switchboard serve --listen 0.0.0.0:7300  for others too; they need tokens
  switchboard serve --install              started at each login

MCP clients find the tools at /mcp, programs at /api/tools, Prometheus at /metrics. SIGTERM and Ctrl-C let running \
calls finish. Commands of the same user and config, and `serve --stdio`, use the gateway while it runs, over a \
socket in $XDG_RUNTIME_DIR; with --alone they do not.

Exit status: 0 stopped by a signal, 2 wrong usage or config, or the address is not available.")]
pub(crate) struct ServeArgs {
    /// Serve one MCP client over stdin and stdout
    #[arg(long, conflicts_with = "listen")]
    pub(crate) stdio: bool,

    /// With --stdio: answer only once the servers are connected, `[mcp] startup_wait` at most
    #[arg(long, hide = true, requires = "stdio")]
    pub(crate) await_servers: bool,

    /// With --stdio: serve this profile; over HTTP each is at /mcp/NAME
    #[arg(long, value_name = "NAME", requires = "stdio", add = ArgValueCandidates::new(completion::profile_names))]
    pub(crate) profile: Option<String>,

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

    /// Have it started at each login, as a service of systemd or launchd, and start it
    #[arg(long, conflicts_with_all = ["stdio", "open", "json"])]
    pub(crate) install: bool,

    /// Stop the service of --install and remove it
    #[arg(long, conflicts_with_all = ["stdio", "open", "json", "install", "listen", "port"])]
    pub(crate) uninstall: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  bash   switchboard completions bash \\
           > ~/.local/share/bash-completion/completions/switchboard
  zsh    switchboard completions zsh > ~/.zfunc/_switchboard
  fish   switchboard completions fish \\
           > ~/.config/fish/completions/switchboard.fish

The names of tools, servers and models and the ids of calls, approvals and chats are completed as well: the script asks \
`switchboard`, which starts no server for it.")]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Write a page for each command into this folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        help::command().debug_assert();
    }

    #[test]
    fn config_stands_before_or_after_the_command() {
        for words in [["--config", "x", "tools"], ["tools", "--config", "x"]] {
            let cli = Cli::try_parse_from(["switchboard"].iter().chain(&words)).unwrap();
            assert_eq!(cli.config, Some("x".into()));
        }
    }
}
