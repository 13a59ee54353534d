//! `switchboard sandbox` on the command line.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use clap_complete::ArgValueCandidates;

use crate::completion;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  switchboard sandbox learn files --calls calls.jsonl  with these calls
  switchboard sandbox learn files                      until Ctrl-C

`sandbox = \"on\"` in a server's section confines its program to what `sandbox_allow` names; `switchboard doctor` says what \
this system can confine, and what was refused.")]
pub(crate) struct SandboxArgs {
    #[command(subcommand)]
    pub(crate) action: SandboxAction,
}

/// What to do about sandboxes.
#[derive(Debug, Subcommand)]
pub(crate) enum SandboxAction {
    /// Run a server watched, and print what it needs in a sandbox
    Learn(LearnSandboxArgs),
}

#[derive(Debug, Args)]
#[command(
    after_help = "Runs the server without a sandbox, watched by `strace`, which has to be installed, and behind a proxy \
that lets everything through. Calls are lines of JSON: {\"tool\": \"read_file\", \"arguments\": {\"path\": \"notes.txt\"}}. Without \
--calls they are read from stdin until Ctrl-C. What is printed goes into the config, after you have looked at it: what the \
server does not do while it is watched will be refused.

Exit status: 0 success, 1 the server cannot be started or a call failed, 2 wrong usage or config."
)]
pub(crate) struct LearnSandboxArgs {
    /// A server of the config that is a program
    #[arg(add = ArgValueCandidates::new(completion::server_names))]
    pub(crate) server: String,

    /// Make the calls of this file, and stop
    #[arg(long, value_name = "FILE")]
    pub(crate) calls: Option<PathBuf>,

    /// Print {server, sandbox_allow, guessed, dangerous, never}
    #[arg(long)]
    pub(crate) json: bool,
}
