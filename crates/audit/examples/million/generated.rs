//! A store of calls that nobody made: written into segments directly, and compressed at once, so that it is quickly large.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime},
};

use serde_json::json;
use switchboard_audit::{Reader, generate::SegmentGenerator};
use switchboard_runtime::{
    CallEnd, CallStart,
    record::{RedactedResult, Stages},
};
use switchboard_toolcall::{BoundedOutput, CallId, ErrorKind, ToolError, ToolOutput, ToolResult};
use tokio::time::Instant;

use super::{Failure, ask, resident, size};

/// Over how long the calls are made, whose times lie ahead: 30 days.
const SPAN: Duration = Duration::from_secs(30 * 86_400);
/// How many calls run at a time.
const TOGETHER: usize = 64;

/// Writes the calls, prints how the store grows with each tenth, and asks.
pub(super) fn write(folder: &Path, calls: u64) -> Result<(), Failure> {
    let begin = SystemTime::now();
    let mut segments = SegmentGenerator::new(folder)?;
    let mut running = Vec::with_capacity(TOGETHER);
    let tenth = calls / 10;
    for part in 0..10 {
        let started = Instant::now();
        for number in part * tenth..(part + 1) * tenth {
            let share = number as f64 / calls as f64;
            let start = start(number, begin + SPAN.mul_f64(share));
            segments.open(&start)?;
            running.push((start, number));
            if running.len() == TOGETHER {
                for (start, number) in running.drain(..) {
                    end(&mut segments, &start, number)?;
                }
            }
            if segments.is_full() {
                segments.seal()?;
                segments.compress()?;
            }
        }
        let written = started.elapsed();
        let started = Instant::now();
        drop(Reader::open(folder)?);
        println!(
            "{:>9} calls: written in {written:.1?}, indexed in {:.1?}, {} MB of journal, {} MB of index, {} KiB resident",
            (part + 1) * tenth,
            started.elapsed(),
            size(&folder.join("journal"))?,
            std::fs::metadata(folder.join("index.db"))?.len() / 1_000_000,
            resident()?
        );
    }
    for (start, number) in running {
        end(&mut segments, &start, number)?;
    }
    segments.seal()?;
    segments.compress()?;
    ask(folder, tenth * 10, begin + SPAN)
}

/// The beginning of a call such as the others that `million` makes.
fn start(number: u64, started: SystemTime) -> Arc<CallStart> {
    Arc::new(CallStart {
        id: CallId::generate_at(started),
        tool: format!("weather_{}", number % 100).into(),
        shown_as: None,
        profile: None,
        arguments: json!({"city": format!("City {}", number / 64)}).to_string(),
        caller: Some("million".into()),
        client: None,
        conversation: None,
        run: None,
        turn_sha256: None,
        started,
    })
}

fn end(
    segments: &mut SegmentGenerator,
    start: &Arc<CallStart>,
    number: u64,
) -> Result<(), Failure> {
    let city = number / 64;
    let outcome = match city % 100 {
        99 => Err(ToolError::failed(format!("There is no weather in City {city}."))),
        _ => Ok(BoundedOutput {
            output: ToolOutput::Value(json!(format!("It rains in City {city}."))),
            for_programs: None,
            text: None,
        }),
    };
    let duration = Duration::from_nanos(20_000 + number * 7919 % 50_000);
    let result = ToolResult {
        call_id: start.id,
        tool_call_id: String::new(),
        tool_name: start.tool.clone(),
        server: None,
        elapsed: duration,
        waited: Duration::ZERO,
        outcome,
        truncated: false,
        artifacts: Vec::new(),
        reused: None,
    };
    let part = |of: u64| Duration::from_nanos(1000 + number * of % 5000);
    let error_kind: Option<ErrorKind> = result.error_kind();
    segments.end(&CallEnd {
        start,
        tool: Some(&start.tool),
        server: None,
        spec: None,
        trace: None,
        error_kind,
        duration,
        stages: Stages {
            open: part(11),
            lookup: part(13),
            check: part(17),
            wait: part(19),
            run: part(23),
            shape: part(29),
        },
        approval: None,
        result: Some(&result),
        redacted: &RedactedResult::of(Some(&result)),
    })?;
    Ok(())
}
