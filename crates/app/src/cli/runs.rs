//! `switchboard runs` on the command line.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};
use clap_complete::ArgValueCandidates;
use switchboard_toolcall::HumanDuration;

use crate::completion;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  switchboard runs               the latest 50
  switchboard runs show 01M7Q    one, turn by turn; its id may be cut
  switchboard runs resume 01M7Q  go on with one whose process ended
  switchboard runs rerun 01M7Q -m local       with another model
  switchboard runs rerun 01M7Q --tools-allowed 'fs__*'  with other tools
  switchboard runs rerun --since 7d -m local  all of a week, as a table
  switchboard runs diff 01M7Q 01M8A           what differs between two
  switchboard runs export 01M7Q --format otlp a trace for OpenTelemetry

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
    /// Ask the question of a run again, with another model, policy or tool set, and compare
    Rerun(RerunArgs),
    /// Compare two runs: calls, answers, tokens
    Diff(DiffRunsArgs),
    /// Write a run as JSON, or as a trace of OpenTelemetry
    Export(ExportRunArgs),
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

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("which").required(true).args(["id", "since"]))]
pub(crate) struct RerunArgs {
    /// The run's id, or the beginning of it
    #[arg(add = ArgValueCandidates::new(completion::run_ids))]
    pub(crate) id: Option<String>,

    /// All runs that ended with an answer and began within this time, such as 7d or 12h
    #[arg(long, value_name = "DURATION")]
    pub(crate) since: Option<HumanDuration>,

    /// The model that is asked [default: the one that answered]
    #[arg(long, short, value_name = "MODEL", add = ArgValueCandidates::new(completion::model_names))]
    pub(crate) model: Option<String>,

    /// Where results of tools come from: the record, where the arguments match, or the tools themselves, which run
    #[arg(long, value_name = "SOURCE", default_value = "recorded")]
    pub(crate) tools: RerunTools,

    /// Which tools the model is offered, as `--tools` of `ask` takes them [default: those of the run]
    #[arg(long, value_name = "GLOB")]
    pub(crate) tools_allowed: Vec<String>,

    /// A config whose `[policy]` holds in place of ours
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) policy: Option<PathBuf>,

    /// Print an array of {run, model, before, after, same_answer, calls}
    #[arg(long)]
    pub(crate) json: bool,
}

/// Where the results of tools come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RerunTools {
    /// The record.
    Recorded,
    /// The tools themselves.
    Live,
}

#[derive(Debug, Args)]
pub(crate) struct DiffRunsArgs {
    /// A run's id, or the beginning of it
    #[arg(add = ArgValueCandidates::new(completion::run_ids))]
    pub(crate) one: String,

    /// The other run's id
    #[arg(add = ArgValueCandidates::new(completion::run_ids))]
    pub(crate) other: String,

    /// Print one object {run, model, before, after, same_answer, calls}
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExportRunArgs {
    /// The run's id, or the beginning of it
    #[arg(add = ArgValueCandidates::new(completion::run_ids))]
    pub(crate) id: String,

    /// What is written
    #[arg(long, value_name = "FORMAT", default_value = "json")]
    pub(crate) format: RunFormat,
}

/// The formats of `runs export`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunFormat {
    /// One object, as of `runs show --json`.
    Json,
    /// The request of an OTLP exporter over HTTP, in JSON: the body of a POST to `/v1/traces`.
    Otlp,
}
