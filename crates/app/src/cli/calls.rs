//! `switchboard calls` and `switchboard policy` on the command line.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use clap_complete::ArgValueCandidates;
use switchboard_audit::{Filter, HumanTime};
use switchboard_toolcall::HumanDuration;

use crate::completion;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  switchboard calls                               the latest 50
  switchboard calls --tool 'zwave__*' --since 1h  one server's, of the last hour
  switchboard calls --failed --since 2026-07-28   what failed since that day
  switchboard calls --slow 5s                     what took longer than that
  switchboard calls --unknown                     what a crash interrupted
  switchboard calls --search 'kitchen lam*'       what has these words
  switchboard calls -n 5 --follow                 5, then calls as they end
  switchboard calls show 01M7Q                    one of them; its id may be cut
  switchboard calls stats --since 7d
  switchboard calls export --format csv --output calls.csv
  switchboard calls export --as mocks --tool 'git__*' --output mocks.json

Exit status: 0 success, also where there are no calls; 1 there is no such call, the records are damaged or cannot be \
read; 2 wrong usage or config.")]
pub(crate) struct CallsArgs {
    #[command(subcommand)]
    pub(crate) action: Option<CallsAction>,

    #[command(flatten)]
    pub(crate) filters: Filters,

    /// How many to show, the newest; 0 for all [default: 50, with --json 1000, with --follow none]
    #[arg(long, short = 'n', value_name = "N")]
    pub(crate) limit: Option<usize>,

    /// Show calls as they end, and queued calls as they change, until Ctrl-C
    #[arg(long, short)]
    pub(crate) follow: bool,

    /// Show the calls of all nodes of `[cluster]`, not of this one alone
    #[arg(long, alias = "fleet")]
    pub(crate) cluster: bool,

    /// Print an array of {id, tool, server, arguments, outcome, error_kind, duration_ms, started, …}, newest first;
    /// with --follow one object a line, with --cluster each has a node: {id, host}
    #[arg(long)]
    pub(crate) json: bool,
}

impl CallsArgs {
    /// Whether options of the list are set, which subcommands do not take.
    pub(crate) fn is_about_list(&self) -> bool {
        let asks = self.follow || self.cluster || self.json || self.limit.is_some();
        asks || self.filters != Filters::default()
    }
}

/// Which calls are meant; the same wherever calls are chosen.
#[derive(Debug, Default, PartialEq, Args)]
pub(crate) struct Filters {
    /// Only calls of tools whose name matches
    #[arg(long, value_name = "GLOB", add = ArgValueCandidates::new(completion::tool_names))]
    pub(crate) tool: Option<String>,

    /// Only calls of this server's tools
    #[arg(long, value_name = "NAME", add = ArgValueCandidates::new(completion::server_names))]
    pub(crate) server: Option<String>,

    /// Only calls that this caller made: a token's name, or `command line`
    #[arg(long, value_name = "NAME")]
    pub(crate) caller: Option<String>,

    /// Only calls that were part of this conversation
    #[arg(long, value_name = "NAME")]
    pub(crate) conversation: Option<String>,

    /// Only calls that failed or whose outcome is unknown
    #[arg(long)]
    pub(crate) failed: bool,

    /// Only calls whose process died before they ended
    #[arg(long)]
    pub(crate) unknown: bool,

    /// Only calls that took longer [default: `slow_call` of the executor]
    #[arg(long, value_name = "DURATION", num_args = 0..=1)]
    pub(crate) slow: Option<Option<HumanDuration>>,

    /// Only calls with these words in their names, arguments, result or error: 'broken bul*', '"in this order"'; with
    /// --follow and --cluster in names and arguments
    #[arg(long, value_name = "WORDS")]
    pub(crate) search: Option<String>,

    /// Only calls that began then or later: 1h, 7d, or a date like 2026-07-28T10:00:00Z
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<HumanTime>,

    /// Only calls that began before
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<HumanTime>,
}

impl Filters {
    /// The filter as the store takes it; `slow` is what counts as slow unless said otherwise.
    pub(crate) fn filter(&self, slow: HumanDuration) -> Filter {
        Filter {
            tool: self.tool.clone(),
            server: self.server.clone(),
            caller: self.caller.clone(),
            conversation: self.conversation.clone(),
            failed: self.failed,
            unknown: self.unknown,
            slower_than: self.slow.map(|limit| limit.unwrap_or(slow).0),
            since: self.since.map(|moment| moment.0),
            until: self.until.map(|moment| moment.0),
            search: self.search.clone(),
            ..Filter::default()
        }
    }
}

/// What to do with recorded calls.
#[derive(Debug, Subcommand)]
pub(crate) enum CallsAction {
    /// Show all about one call: arguments, result, how long each stage took, its place in the journal
    Show(ShowCallArgs),
    /// Show figures per tool: calls, failures, how long they took, how large their results were
    Stats(StatsArgs),
    /// Write calls to a file, or as mock tools that give the recorded answers again
    Export(ExportArgs),
    /// Check that no record was altered, deleted, added or moved
    Verify {
        /// Print {segments, lines, calls, dropped, damage: [{file, line, what}], torn, head}
        #[arg(long)]
        json: bool,
    },
    /// Delete the oldest records, as `max_age`, `tool_max_age` and `max_size` of the config say, and compress the rest
    Gc(GcArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ShowCallArgs {
    /// The call's id, or the beginning of it
    #[arg(add = ArgValueCandidates::new(completion::call_ids))]
    pub(crate) id: String,

    /// Look for it among the calls of all nodes of `[cluster]`
    #[arg(long, alias = "fleet")]
    pub(crate) cluster: bool,

    /// Print one object: what `calls --json` has, and result, error, hint, stages_ms, artifacts, journal; of a queued call
    /// what `GET /api/calls/ID` gives
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct StatsArgs {
    #[command(flatten)]
    pub(crate) filters: Filters,

    /// Count the calls of all nodes of `[cluster]`
    #[arg(long, alias = "fleet")]
    pub(crate) cluster: bool,

    /// Print an array of {tool, calls, failures, p50_ms, p95_ms, p99_ms, bytes}
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  switchboard calls export > calls.jsonl     a line per call, oldest first
  switchboard calls export --format csv --since 7d --output week.csv
  switchboard calls export --cluster --since 1d --output fleet.jsonl
  switchboard calls export --as mocks --output mocks.json
  switchboard tools --config mocks.json      the answers, as tools
  switchboard --replay mocks.json ask \"…\"  in place of all real tools

Several answers to the same arguments are given in their order, the last one again and again.")]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    pub(crate) filters: Filters,

    /// jsonl or csv
    #[arg(long, value_name = "FORMAT", default_value = "jsonl", conflicts_with = "form")]
    pub(crate) format: ExportFormat,

    /// Write tools that give the recorded answers, as a config file: mocks
    #[arg(long = "as", value_name = "WHAT")]
    pub(crate) form: Option<ExportAs>,

    /// How many, the newest [default: all]
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,

    /// Write the calls of all nodes of `[cluster]`, in the order in which they ended
    #[arg(long, alias = "fleet")]
    pub(crate) cluster: bool,

    /// The file to write [default: stdout]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// How exported calls are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// A JSON object a line
    Jsonl,
    /// Values between commas, with a first line of names
    Csv,
    #[value(hide = true)]
    Parquet,
}

/// What exported calls become.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportAs {
    /// Tools that give the recorded answers
    Mocks,
}

#[derive(Debug, Args)]
pub(crate) struct GcArgs {
    /// Only say what would be deleted
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Print {segments, artifacts, bytes, left}
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PolicyArgs {
    #[command(subcommand)]
    pub(crate) action: PolicyAction,
}

/// What to do with the rules.
#[derive(Debug, Subcommand)]
pub(crate) enum PolicyAction {
    /// Say which recorded calls the rules of the config would deny, and which they would now allow
    Test(PolicyTestArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  switchboard policy test --since 7d                    the rules in use
  switchboard policy test --since 7d --config new.toml  other rules

Calls that never came to the rules (unknown tools, wrong arguments) are left out. A tool that is not there any more is \
judged by its name alone.

Exit status: 0 whatever the rules say, 1 the records cannot be read, 2 wrong usage or config.")]
pub(crate) struct PolicyTestArgs {
    #[command(flatten)]
    pub(crate) filters: Filters,

    /// Print {calls, same, skipped, changes: [{change, tool, rule, calls, example, known}]}
    #[arg(long)]
    pub(crate) json: bool,
}
