//! `switchboard calls --follow`: calls as they end, whichever process makes them, and queued calls as they change.

use std::{
    future::pending,
    io::{self, ErrorKind, IsTerminal, Write},
    process::ExitCode,
};

use switchboard_audit::{self as audit, Record};
use switchboard_cluster::records;
use switchboard_workers::jobs::Change;

use super::{failed, fleet, format, list, open, queued};
use crate::{
    cli::{CallsArgs, Cli},
    interrupt::{INTERRUPTED, Interrupted, unless_interrupted},
    runtime::on_runtime,
    settings::Loaded,
    terminal::{self, Paint, text},
};

pub(super) fn run(calls: &CallsArgs, loaded: &Loaded, cli: &Cli) -> anyhow::Result<ExitCode> {
    let filter = calls.filters.filter(loaded.settings.executor.slow_call);
    let passes = filter.matcher().map_err(failed)?;
    let paint = Paint::stdout(cli.color);
    let is_terminal = io::stdout().is_terminal();
    let form = LineFormat { json: calls.json, is_terminal, paint };
    let work = async {
        let mut source = FollowSource::begin(calls, loaded).await?;
        let changes = queued::changes(loaded).await?;
        let ended = async {
            loop {
                let records = source.next().await?;
                for record in records.iter().filter(|record| passes(record)) {
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

/// Whose calls are followed.
enum FollowSource {
    Here(Box<audit::RecordFollower>),
    Fleet(Box<records::Follow>),
}

impl FollowSource {
    async fn begin(calls: &CallsArgs, loaded: &Loaded) -> anyhow::Result<Self> {
        Ok(match calls.fleet {
            true => Self::Fleet(Box::new(fleet::follow(loaded).await?)),
            false => Self::Here(Box::new(open(loaded)?.follow().map_err(failed)?)),
        })
    }

    async fn next(&mut self) -> anyhow::Result<Vec<Record>> {
        match self {
            Self::Here(follow) => follow.next().await.map_err(failed),
            Self::Fleet(follow) => Ok(vec![follow.next().await]),
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
            (false, true) => shown(record, self.paint),
            (false, false) => list::between_tabs(record),
        })
    }

    fn change(&self, change: &Change) -> anyhow::Result<String> {
        match (self.json, self.is_terminal) {
            (true, _) => queued::change_object(change),
            (false, true) => Ok(queued::line(change, self.paint)),
            (false, false) => Ok(queued::between_tabs(change)),
        }
    }
}

fn shown(record: &Record, paint: Paint) -> String {
    let code = text::pad(record.outcome.code(), 7);
    let outcome = format::coloured(&code, record.outcome, paint);
    let tool = text::pad(&text::shorten(&record.tool, 32), 24);
    let took = format!("{:>8}", format::duration_of(record));
    let room = terminal::width().saturating_sub(8 + tool.len() + code.len() + took.len() + 8);
    let arguments = text::shorten(&record.arguments, room.max(8));
    let clock = format::clock(record.started);
    format!("{}  {}  {outcome}  {took}  {arguments}", paint.dim(&clock), paint.bold(&tool))
}

/// Prints a line; false where the reader has seen enough, as `head` has.
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
