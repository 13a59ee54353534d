//! The commands about trust: in what servers say, and in configs.

use clap::Args;
use clap_complete::ArgValueCandidates;

use crate::completion;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  switchboard lock                 writes switchboard.lock beside the config
  switchboard lock --check         for CI: fails where a server says else
  switchboard lock --update files  shows what an upgrade changed, and takes it

The lock has each server's identity and the definitions of its tools, prompts, resource templates and instructions. Where \
it exists, what is new or has changed is skipped until `switchboard trust` takes it in. `lock` adds what is not in it, and \
leaves entries that differ as they are.

Exit status: 0 success, 1 a definition differs or is not in the lock (--check), or a server cannot be reached, 2 wrong \
usage or config.")]
pub(crate) struct LockArgs {
    /// Write nothing; compare, print a word diff, and end with 1 if a definition differs or is not in the lock
    #[arg(long, conflicts_with = "update")]
    pub(crate) check: bool,

    /// Show what has changed at these servers, and lock them as they are now
    #[arg(long, value_name = "SERVER", num_args = 1.., add = ArgValueCandidates::new(completion::server_names))]
    pub(crate) update: Vec<String>,

    /// Print {ok, file, servers: [{name, error?, identity, changes: [{kind, name, change, diff, notes, findings}]}]}
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  switchboard trust files            all that waits of the server `files`
  switchboard trust files read_file  one of its tools, prompts or templates
  switchboard trust files --yes      without being asked
  switchboard trust .                the switchboard.toml of this folder
  switchboard trust ../project       that of another

A server's definitions wait where `switchboard.lock` has others, or none: the difference is shown, and you are asked; \
elsewhere than on a terminal --yes is needed. A running `switchboard serve` follows within a second.

A config that is found, not named, and that starts programs, reads variables or reaches other machines is asked \
about once on a terminal, and refused elsewhere. It is trusted at this path and with this content: where either \
changes, it is asked about again. Named by --config or $SWITCHBOARD_CONFIG, or as your own config, it needs no trust.

Exit status: 0 success, 1 there is no such definition, or you said no, 2 wrong usage or config.")]
pub(crate) struct TrustArgs {
    /// A server of the config; or a folder with a switchboard.toml, or that file
    #[arg(value_name = "SERVER|PATH", add = ArgValueCandidates::new(completion::server_names))]
    pub(crate) what: String,

    /// One of its tools, prompts or resource templates, or `instructions` [default: all that waits]
    pub(crate) tool: Option<String>,

    /// Trust it without being asked
    #[arg(long, short)]
    pub(crate) yes: bool,

    /// Print {server, trusted: [names]}; of a config {config, trusted: {starts, reads, connects, sets}}
    #[arg(long)]
    pub(crate) json: bool,
}
