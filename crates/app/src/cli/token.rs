//! Arguments of `switchboard token`.

use clap::{Args, Subcommand};
use clap_complete::ArgValueCandidates;
use switchboard_access::Rate;

use crate::completion;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  switchboard token new --name agent-7 --tools 'time__*' --rate 100/m
  switchboard token list
  switchboard token revoke agent-7

A token is shown once; only its hash is kept. A running `serve` knows new and revoked tokens within a second.")]
pub(crate) struct TokenArgs {
    #[command(subcommand)]
    pub(crate) action: TokenAction,
}

/// What to do with tokens.
#[derive(Debug, Subcommand)]
pub(crate) enum TokenAction {
    /// Make a token and show it, once
    New(NewTokenArgs),
    /// List the tokens, without their secrets
    List {
        /// Print an array of {name, tools, profile, rate, concurrent, cost_budget, admin, approve, watch, created}
        #[arg(long)]
        json: bool,
    },
    /// Sign tokens that were made before the cluster had its present key; without a name, list them
    Sign {
        /// Their names
        #[arg(add = ArgValueCandidates::new(completion::token_names))]
        names: Vec<String>,
    },
    /// Revoke a token
    Revoke {
        /// Its name
        #[arg(add = ArgValueCandidates::new(completion::token_names))]
        name: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct NewTokenArgs {
    /// Who will use it: the name of the caller in records
    #[arg(long)]
    pub(crate) name: String,

    /// Which tools it may see and call; may be given several times [default: all]
    #[arg(long, value_name = "GLOB", value_delimiter = ',')]
    pub(crate) tools: Vec<String>,

    /// The profile through which it sees them: on every entrance only what is in it
    #[arg(long, value_name = "NAME", add = ArgValueCandidates::new(completion::profile_names))]
    pub(crate) profile: Option<String>,

    /// How many requests it may make, such as 10/s, 100/m or 5000/h [default: no limit]
    #[arg(long)]
    pub(crate) rate: Option<Rate>,

    /// How many requests it may have at once [default: no limit]
    #[arg(long, value_name = "N")]
    pub(crate) concurrent: Option<usize>,

    /// What its chats over `/v1` may cost in 24 hours, by the `price` of the models [default: no limit]
    #[arg(long, value_name = "AMOUNT")]
    pub(crate) cost_budget: Option<f64>,

    /// It may also start, stop and reconnect servers, and read what they write to stderr
    #[arg(long)]
    pub(crate) admin: bool,

    /// Let it decide about calls that wait for a person
    #[arg(long)]
    pub(crate) approve: bool,

    /// Let it know of everybody's calls, not only of its own; what reads /metrics needs it
    #[arg(long)]
    pub(crate) watch: bool,

    /// Print {token, name}
    #[arg(long)]
    pub(crate) json: bool,
}
