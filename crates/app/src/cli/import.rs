//! Arguments of `import`.

use std::path::PathBuf;

use clap::Args;
use clap_complete::ArgValueCompleter;

use super::PlaceArgs;
use crate::completion;

#[derive(Debug, Args)]
#[command(
    after_help = "Programs: claude, claude-code, cursor, vscode, windsurf, codex, zed, gemini, goose, continue, opencode

Examples:
  switchboard import --all                    what this machine's programs have
  switchboard import --all --print            only show it
  switchboard import codex cursor             those of two programs
  switchboard import .vscode/mcp.json --here  those of a file, into this folder

Servers go into your own config (--here: ./switchboard.toml; --config FILE: that one); its comments stay, and the old \
file is kept as .bak. A server that is there already is asked about on a terminal, and left as it is otherwise. Tools \
that a program does not use or asks about become rules of [policy]. Secrets go into the vault.

Exit status: 0 success, also where servers were left or skipped; 2 wrong usage or config."
)]
pub(crate) struct ImportArgs {
    /// A program, or a file with its kind of config
    #[arg(value_name = "PROGRAM|FILE", required_unless_present = "all", conflicts_with = "all", add = ArgValueCompleter::new(completion::import_sources))]
    pub(crate) source: Vec<PathBuf>,

    /// Look for the configs of all programs
    #[arg(long)]
    pub(crate) all: bool,

    #[command(flatten)]
    pub(crate) place: PlaceArgs,

    /// Show what would be written, and write nothing
    #[arg(long)]
    pub(crate) print: bool,

    /// Write secrets into the config itself
    #[arg(long)]
    pub(crate) plain_secrets: bool,

    /// Print {sources: [{program, file, servers}], config, servers: [{name, source, action, reason?, notes}]}
    #[arg(long)]
    pub(crate) json: bool,
}
