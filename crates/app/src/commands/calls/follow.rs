//! `switchboard calls --follow`: calls as they end, whichever process makes them, and queued calls as they change. With `--limit`
//! the latest that have ended come first, as with `tail -n 5 -f`.

use std::{
    future::pending,
    io::{self, ErrorKind, IsTerminal, Write},
    process::ExitCode,
};

use switchboard_audit::{self as audit, CallOutcome, Record};
use switchboard_cluster::records;
use switchboard_workers::jobs::JobChange;

use super::{cluster_records, failed, format, list, open, queued};
use crate::{
    cli::{CallsArgs, Cli},
    interrupt::{INTERRUPTED, Interrupted, unless_interrupted},
    runtime::on_runtime,
    settings::LoadedConfig,
    terminal::{self, Paint, text},
};

pub(super) fn run(calls: &CallsArgs, loaded: &LoadedConfig, cli: &Cli) -> anyhow::Result<ExitCode> {
    let filter = calls.filters.filter(loaded.settings.executor.slow_call);
    let passes = filter.matcher().map_err(failed)?;
    let paint = Paint::stdout(cli.color);
    let is_terminal = io::stdout().is_terminal();
    let form = LineFormat { json: calls.json, is_terminal, paint };
    let work = async {
        let mut source = FollowSource::begin(calls, loaded).await?;
        let changes = queued::changes(loaded).await?;
        // Read after the source has begun, so that no call is missed between the two; but one may be in both.
        let earlier = earlier(calls, loaded).await?;
        for record in &earlier {
            if !is_read(&form.record(record)?)? {
                return Ok(ExitCode::SUCCESS);
            }
        }
        let is_shown = |record: &Record| earlier.iter().any(|shown| shown.id == record.id);
        let ended = async {
            loop {
                let records = source.next().await?;
                for record in records.iter().filter(|record| passes(record) && !is_shown(record)) {
                    if !is_read(&form.record(record)?)? {
                        return anyhow::Ok(ExitCode::SUCCESS);
                    }
                }
            }
        };
        let changed = async {
            let Some(mut changes) = changes else { return pending().await };
            loop {
                let change = changes.next().await;
                if passes(&queued::record(&change)) && !is_read(&form.change(&change)?)? {
                    return anyhow::Ok(ExitCode::SUCCESS);
                }
            }
        };
        tokio::select! {
            done = ended => done,
            done = changed => done,
        }
    };
    match on_runtime(unless_interrupted(work)) {
        Err(error) if error.is::<Interrupted>() => Ok(ExitCode::from(INTERRUPTED)),
        other => other,
    }
}

/// Returns the latest calls that have ended, at most `--limit` of them, oldest first.
async fn earlier(calls: &CallsArgs, loaded: &LoadedConfig) -> anyhow::Result<Vec<Record>> {
    let Some(limit) = calls.limit else { return Ok(Vec::new()) };
    let mut filter = calls.filters.filter(loaded.settings.executor.slow_call);
    filter.limit = (limit > 0).then_some(limit);
    let mut records = match calls.cluster {
        true => cluster_records::listed(&filter, loaded, |_| ()).await?,
        false => open(loaded)?.list(&filter).map_err(failed)?,
    };
    records.retain(|record| record.outcome != CallOutcome::Running);
    records.reverse();
    Ok(records)
}

/// Where the calls that are followed come from.
enum FollowSource {
    Here(Box<audit::RecordFollower>),
    Cluster(Box<records::ClusterFollower>),
}

impl FollowSource {
    async fn begin(calls: &CallsArgs, loaded: &LoadedConfig) -> anyhow::Result<Self> {
        Ok(match calls.cluster {
            true => Self::Cluster(Box::new(cluster_records::follow(loaded).await?)),
            false => Self::Here(Box::new(open(loaded)?.follow().map_err(failed)?)),
        })
    }

    async fn next(&mut self) -> anyhow::Result<Vec<Record>> {
        match self {
            Self::Here(follow) => follow.next().await.map_err(failed),
            Self::Cluster(follow) => Ok(vec![follow.next().await]),
        }
    }
}

/// How lines are written.
struct LineFormat {
    json: bool,
    is_terminal: bool,
    paint: Paint,
}

impl LineFormat {
    fn record(&self, record: &Record) -> anyhow::Result<String> {
        Ok(match (self.json, self.is_terminal) {
            (true, _) => serde_json::to_string(record)?,
            (false, true) => render(record, self.paint),
            (false, false) => list::between_tabs(record),
        })
    }

    fn change(&self, change: &JobChange) -> anyhow::Result<String> {
        match (self.json, self.is_terminal) {
            (true, _) => queued::change_object(change),
            (false, true) => Ok(queued::line(change, self.paint)),
            (false, false) => Ok(queued::between_tabs(change)),
        }
    }
}

fn render(record: &Record, paint: Paint) -> String {
    let name = (terminal::width() / 3).clamp(16, 28);
    let code = text::pad(record.outcome.code(), 7);
    let outcome = format::coloured(&code, record.outcome, paint);
    let tool = text::pad(&text::shorten_name(&record.tool, name), name);
    let took = format!("{:>8}", format::duration_of(record));
    let room = terminal::width().saturating_sub(8 + tool.len() + code.len() + took.len() + 8);
    let arguments = text::shorten(&record.arguments, room.max(8));
    let clock = format::clock(record.started);
    format!("{}  {}  {outcome}  {took}  {arguments}", paint.dim(&clock), paint.bold(&tool))
}

/// Prints a line; returns false if the reader of the pipe has closed it, as `head` does.
fn is_read(line: &str) -> anyhow::Result<bool> {
    let mut stdout = io::stdout().lock();
    match writeln!(stdout, "{}", terminal::for_stdout(line)).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        written => {
            written?;
            Ok(true)
        }
    }
}
