//! `switchboard calls export`: calls in a file, oldest first.

use std::{
    collections::VecDeque,
    fs::File,
    io::{self, BufWriter, ErrorKind, IsTerminal, Write},
    ops::ControlFlow,
    path::Path,
    process::ExitCode,
};

use anyhow::{Context, anyhow, bail};
use switchboard_audit::{CallDetail, Filter};

use super::{cluster_records, failed, format::counted, mocks, open};
use crate::{
    cli::{Cli, ExportArgs, ExportAs, ExportFormat},
    settings::LoadedConfig,
    terminal::{self, CommandFailed},
};

/// The names of the columns.
const COLUMNS: &str = "id,tool,server,arguments,outcome,error_kind,duration_ms,started,caller,conversation,bytes,reused,result,error";

pub(super) fn run(
    export: &ExportArgs,
    cli: &Cli,
    loaded: &LoadedConfig,
) -> anyhow::Result<ExitCode> {
    if export.format == ExportFormat::Parquet {
        bail!(
            "parquet is not written; `--format jsonl` and `--format csv` are, and DuckDB, pandas and their kin read both"
        );
    }
    let mut filter = export.filters.filter(loaded.settings.executor.slow_call);
    filter.limit = export.limit;
    // Before the file is made: what cannot be read must not replace what is there.
    let mut reader = match export.cluster {
        true => cluster_records::check(loaded).map(|()| None)?,
        false => Some(open(loaded)?),
    };
    let mut each = |take: &mut dyn FnMut(CallDetail) -> ControlFlow<()>| match &mut reader {
        Some(reader) => reader.for_each_call(&filter, take).map_err(failed),
        None => each_of_cluster(&filter, loaded, take),
    };
    let done = match export.form {
        Some(ExportAs::Mocks) => {
            let mut details = Vec::new();
            each(&mut |detail| {
                details.push(detail);
                ControlFlow::Continue(())
            })?;
            let made = mocks::of(details, cli, loaded)?;
            write_to(export.output.as_deref(), |out| out.write_all(made.json.as_bytes()))?;
            made.summary
        }
        None => {
            let mut read = Ok(0);
            write_to(export.output.as_deref(), |out| {
                read = rows(export.format, out, &mut each)?;
                Ok(())
            })?;
            counted(read?, "call")
        }
    };
    if let Some(file) = &export.output {
        terminal::tell(&format!("{done} written to {}", file.display()));
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes to the file, or to stdout. A pipe that its reader has closed is not an error.
fn write_to(
    file: Option<&Path>,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> anyhow::Result<()> {
    let Some(file) = file else {
        if io::stdout().is_terminal() {
            let mut page = Vec::new();
            write(&mut page)?;
            return Ok(terminal::write(&terminal::guard::data(&String::from_utf8_lossy(&page)))?);
        }
        let mut stdout = BufWriter::new(io::stdout().lock());
        return match write(&mut stdout).and_then(|()| stdout.flush()) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                Err(anyhow!(CommandFailed(format!("failed to write to stdout: {error}"))))
            }
            _ => Ok(()),
        };
    };
    let tried = || format!("failed to write `{}`", file.display());
    let mut out = BufWriter::new(File::create(file).with_context(tried)?);
    write(&mut out).and_then(|()| out.flush()).with_context(tried)
}

/// Calls `take` with the calls of all nodes; with a limit only with the last ones.
fn each_of_cluster(
    filter: &Filter,
    loaded: &LoadedConfig,
    mut take: impl FnMut(CallDetail) -> ControlFlow<()>,
) -> anyhow::Result<()> {
    let Some(most) = filter.limit else {
        return cluster_records::each(filter, loaded, false, take);
    };
    let mut last = VecDeque::new();
    cluster_records::each(filter, loaded, false, |detail| {
        last.push_back(detail);
        if last.len() > most {
            last.pop_front();
        }
        ControlFlow::Continue(())
    })?;
    // Where `take` breaks, nothing more is wanted.
    let _ = last.into_iter().try_for_each(&mut take);
    Ok(())
}

/// Writes a line for each call that `each` gives. Returns how many there were, or the error that ends the list.
fn rows(
    format: ExportFormat,
    out: &mut dyn Write,
    each: impl FnOnce(&mut dyn FnMut(CallDetail) -> ControlFlow<()>) -> anyhow::Result<()>,
) -> io::Result<anyhow::Result<usize>> {
    if format == ExportFormat::Csv {
        writeln!(out, "{COLUMNS}")?;
    }
    let (mut count, mut written) = (0, Ok(()));
    let read = each(&mut |detail| {
        written = row(&detail, format, out);
        count += 1;
        if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    written?;
    Ok(read.map(|()| count))
}

fn row(detail: &CallDetail, format: ExportFormat, out: &mut dyn Write) -> io::Result<()> {
    match format {
        ExportFormat::Csv => writeln!(out, "{}", csv(detail)),
        _ => {
            serde_json::to_writer(&mut *out, detail)?;
            out.write_all(b"\n")
        }
    }
}

fn csv(detail: &CallDetail) -> String {
    let record = &detail.record;
    let started = jiff::Timestamp::try_from(record.started).unwrap_or_default().to_string();
    let duration = record.duration.map(|took| (took.as_nanos() as f64 / 1e6).to_string());
    let fields = [
        Some(record.id.to_string()),
        Some(record.tool.clone()),
        record.server.clone(),
        Some(record.arguments.clone()),
        Some(record.outcome.code().to_owned()),
        record.outcome.error_kind().map(|kind| kind.to_string()),
        duration,
        Some(started),
        record.caller.clone(),
        record.conversation.clone(),
        record.bytes.map(|bytes| bytes.to_string()),
        record.reused.map(|reused| reused.code().to_owned()),
        detail.result.clone(),
        detail.error.clone(),
    ];
    fields.map(|field| field.map(quoted).unwrap_or_default()).join(",")
}

/// Quotes a field as RFC 4180 says.
fn quoted(field: String) -> String {
    match field.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field,
    }
}
