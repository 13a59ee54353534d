//! `switchboard runs` on the command line.

use clap::{Args, Subcommand};
use clap_complete::ArgValueCandidates;

use crate::completion;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  switchboard runs               the latest 50
  switchboard runs show 01M7Q    one of them, turn by turn; its id may be cut
  switchboard runs resume 01M7Q  go on with one whose process ended

A run is one question of `ask`, one turn of `chat` or one spoken request. It is written down as it goes, \
 so that it can go on after a crash: calls that ended keep their results, and no call that may have had an effect \
is made again unless its tool can be called twice.

Exit status: 0 success, 1 there is no such run, it cannot go on or gave no answer, 2 wrong usage or config, \
130 Ctrl-C.")]
pub(crate) struct RunsArgs {
    #[command(subcommand)]
    pub(crate) action: Option<RunsAction>,

    /// How many to show, the newest; 0 for all [default: 50, with --json 1000]
    #[arg(long, short = 'n', value_name = "N")]
    pub(crate) limit: Option<usize>,

    /// Print an array of {id, state, model, started, turns, calls, input_tokens, output_tokens, …}, newest first
    #[arg(long)]
    pub(crate) json: bool,
}

/// What to do with a run.
#[derive(Debug, Subcommand)]
pub(crate) enum RunsAction {
    /// Show a run: its turns, their calls, its answer
    Show(ShowRunArgs),
    /// Go on with a run whose process ended; of one that has ended, print the recorded answer
    Resume(ResumeRunArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ShowRunArgs {
    /// The run's id, or the beginning of it
    #[arg(add = ArgValueCandidates::new(completion::run_ids))]
    pub(crate) id: String,

    /// Print one object: what `runs --json` has, and answer, messages, shortened: [{tool_call_id, artifact}], timeline
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ResumeRunArgs {
    /// The run's id, or the beginning of it
    #[arg(add = ArgValueCandidates::new(completion::run_ids))]
    pub(crate) id: String,

    /// Print one object, as `ask --json` does
    #[arg(long)]
    pub(crate) json: bool,
}
