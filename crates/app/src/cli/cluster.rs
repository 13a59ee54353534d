//! Arguments of `switchboard cluster`.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  switchboard cluster rotate-secret               old sessions: valid for a day
  switchboard cluster rotate-secret --forget-old  old sessions: invalid at once

Exit status: 0 success, 1 NATS cannot be reached, 2 wrong usage or config.")]
pub(crate) struct ClusterArgs {
    #[command(subcommand)]
    pub(crate) action: ClusterAction,
}

/// What to do with the gateways of a cluster.
#[derive(Debug, Subcommand)]
pub(crate) enum ClusterAction {
    /// Replace the secret that encrypts the ids of MCP sessions, at all gateways at once
    RotateSecret {
        /// Let no gateway adopt sessions of older secrets any more, as after a theft of one; clients open new ones
        #[arg(long)]
        forget_old: bool,
    },
}
