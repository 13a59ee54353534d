//! Arguments of `switchboard profile`, and `--profile`.

use clap::{Args, Subcommand};
use clap_complete::ArgValueCandidates;

use super::calls::Filters;
use crate::completion;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  switchboard profile list
  switchboard profile test support --since 7d
  switchboard tools --profile support
  switchboard token new --name desk-1 --profile support

`[profiles.NAME]` in the config makes a profile; MCP clients reach it at /mcp/NAME.")]
pub(crate) struct ProfileArgs {
    #[command(subcommand)]
    pub(crate) action: ProfileAction,
}

/// What to do with profiles.
#[derive(Debug, Subcommand)]
pub(crate) enum ProfileAction {
    /// List the profiles of the config
    List {
        /// Print an array of {name, tools, discovery, pinned, instructions, renamed}
        #[arg(long)]
        json: bool,
    },
    /// Show which recorded calls would have failed under a profile, and which of its tools nobody called
    Test(Box<ProfileTestArgs>),
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  switchboard profile test support --since 7d
  switchboard profile test support --caller desk-1 --json

Nothing is called: recorded arguments are checked against what the profile shows. Servers are started to know their tools, \
unless a gateway runs.

Exit status: 0 whatever it finds, 1 the records cannot be read, 2 wrong usage or config, or there is no such profile.")]
pub(crate) struct ProfileTestArgs {
    /// The profile
    #[arg(add = ArgValueCandidates::new(completion::profile_names))]
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) filters: Filters,

    /// Print {profile, calls, ok, changed, failed, skipped, failures: [{tool, reason, calls, example}], unused}
    #[arg(long)]
    pub(crate) json: bool,
}
