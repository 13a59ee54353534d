//! Arguments of the commands that change the config: `add`, `remove`, `enable`, `disable`, `init`, `connect`.

use clap::{Args, ValueEnum};
use clap_complete::ArgValueCandidates;

use crate::completion;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  switchboard add time -- uvx mcp-server-time
  switchboard add docs https://docs.example/mcp --header 'X-Api-Key: …'
  switchboard add npm:@modelcontextprotocol/server-filesystem -- ~/notes
  switchboard add pypi:mcp-server-git
  switchboard add npm:@modelcontextprotocol/server-github --env GITHUB_TOKEN=…
  switchboard add time --sandbox on -- uvx mcp-server-time

The server is started or asked once, and written into the config only if it answers. A value that looks like a \
secret goes into the vault; the config gets ${secret:NAME}.

Exit status: 0 added, 1 the server does not answer, 2 wrong usage or config.")]
pub(crate) struct AddArgs {
    /// A name for the server; or npm:PACKAGE, pypi:PACKAGE or a URL, which give it one
    #[arg(value_name = "NAME|npm:PACKAGE|pypi:PACKAGE|URL")]
    pub(crate) name: String,

    /// Where it is: a URL, npm:PACKAGE or pypi:PACKAGE
    #[arg(value_name = "URL|npm:PACKAGE|pypi:PACKAGE")]
    pub(crate) source: Option<String>,

    /// The command that starts it; with npm: or pypi:, arguments of the package
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,

    /// An HTTP header for a server with a URL; may be repeated
    #[arg(long, value_name = "NAME: VALUE")]
    pub(crate) header: Vec<String>,

    /// A variable of the server's environment; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,

    /// The URL is one of the old HTTP+SSE transport
    #[arg(long)]
    pub(crate) sse: bool,

    /// Write it without trying it
    #[arg(long)]
    pub(crate) no_check: bool,

    /// Write secrets into the config itself
    #[arg(long)]
    pub(crate) plain_secrets: bool,

    /// Confine its program; on a terminal you are asked
    #[arg(long, value_name = "MODE")]
    pub(crate) sandbox: Option<SandboxChoice>,

    /// Replace a server of this name
    #[arg(long)]
    pub(crate) replace: bool,

    #[command(flatten)]
    pub(crate) place: PlaceArgs,

    /// Print {name, config, settings, tools, notes}
    #[arg(long)]
    pub(crate) json: bool,
}

/// How the program of a new server is confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SandboxChoice {
    /// Confined; where this system cannot do that, it does not start
    On,
    /// Confined as far as this system can
    Try,
    /// Not confined, but watched: what it needs is written down
    Learn,
    /// Not confined
    Off,
}

/// Which config is written.
#[derive(Debug, Args)]
pub(crate) struct PlaceArgs {
    /// Write ./switchboard.toml, not your own config
    #[arg(long)]
    pub(crate) here: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ServerNameArgs {
    /// The server's name, as `switchboard doctor` shows it
    #[arg(add = ArgValueCandidates::new(completion::server_names))]
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) place: PlaceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  switchboard connect claude-code
  switchboard connect cursor --print  show what would be written
  switchboard connect vscode --url http://127.0.0.1:7300/mcp
  switchboard connect claude --remove                take it out again

The client's config is changed in place, with a copy of the old one beside it (.bak). The client starts \
`switchboard serve --stdio` with the config that is in use here; with --url it connects to a gateway instead.

Exit status: 0 success, 2 wrong usage, or the client's config cannot be read.")]
pub(crate) struct ConnectArgs {
    /// The client
    pub(crate) client: ClientName,

    /// Connect to the gateway at this address
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,

    /// The token that the client sends with --url
    #[arg(long, value_name = "TOKEN", requires = "url")]
    pub(crate) token: Option<String>,

    /// Take Switchboard out of the client's config
    #[arg(long, conflicts_with_all = ["url", "token"])]
    pub(crate) remove: bool,

    /// Print the file and what would change, and write nothing
    #[arg(long)]
    pub(crate) print: bool,

    /// The name that Switchboard has in the client
    #[arg(long, value_name = "NAME", default_value = "switchboard")]
    pub(crate) name: String,
}

/// A program that uses MCP servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClientName {
    /// Claude Desktop
    Claude,
    ClaudeCode,
    Cursor,
    Vscode,
    Codex,
    Gemini,
    Zed,
    Windsurf,
}
