//! The commands about servers.

use clap::Args;
use clap_complete::ArgValueCandidates;

use crate::completion;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  switchboard servers         each server: state, tools, calls, latency
  switchboard servers --json  for programs

Asks the running `switchboard serve` of the same config; without one, connects to each server. Calls are those of the \
last 24 hours.

Exit status: 0 success, 2 wrong usage or config.")]
pub(crate) struct ServersArgs {
    /// Print [{name, state, type, tools, calls, failures, p50_ms, p95_ms, error?, sign_in?}]
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  switchboard restart time  reconnects `time` of the running gateway

Calls that run there end as `unavailable`.

Exit status: 0 success, 1 there is no such server or no running gateway, 2 wrong usage or config.")]
pub(crate) struct RestartArgs {
    /// The server's name in the config
    #[arg(add = ArgValueCandidates::new(completion::server_names))]
    pub(crate) name: String,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  switchboard logs time     the last lines that `time` wrote to stderr
  switchboard logs time -f  those, and each line as it is written

Exit status: 0 success, 1 there is no such server or no running gateway, 2 wrong usage or config.")]
pub(crate) struct LogsArgs {
    /// The server's name in the config
    #[arg(add = ArgValueCandidates::new(completion::server_names))]
    pub(crate) name: String,

    /// Print each further line as it is written, until Ctrl-C
    #[arg(long, short)]
    pub(crate) follow: bool,
}
