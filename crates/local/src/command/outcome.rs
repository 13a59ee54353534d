//! What a program's end means for the call.

use serde_json::Value;
use switchboard_process::{CapturedOutput, FinishedProcess, ProcessEnd, excerpt::excerpt};
use switchboard_toolcall::{ToolError, ToolOutput};

use super::{CommandTemplate, KEPT, confinement_failed, unavailable};
use crate::{binary, definition::CommandOutput};

/// How many lines of stderr an error shows.
const LINES: usize = 20;

/// How much of a line an error shows, in characters.
const WIDTH: usize = 500;

/// How a program ends that could not be started, as in shells.
const NOT_STARTED: ProcessEnd = ProcessEnd::Exited(127);

/// Returns the output of a program that has ended, or the error that it reports.
pub(super) fn of(
    tool: &str,
    command: &CommandTemplate,
    finished: FinishedProcess,
) -> Result<ToolOutput, ToolError> {
    let FinishedProcess { ending, stdout, stderr } = finished;
    let program = &command.program;
    let how = match &ending {
        ProcessEnd::Exited(0) => return answer(tool, command, stdout),
        ProcessEnd::Exited(status) => format!("{program} exited with status {status}"),
        ProcessEnd::Killed(signal) => format!("{program} was killed by signal {signal}"),
        ProcessEnd::Refused(reason) => return Err(unavailable(tool, reason)),
        ProcessEnd::Unguarded => format!("{program} was ended: its guard was killed"),
    };
    // Programs that write nothing to stderr often write what is wrong to stdout.
    let lines = match last_lines(stderr) {
        lines if lines.is_empty() => last_lines(stdout),
        lines => lines,
    };
    // What was to become the program says itself that it could not.
    let is_not_started = |line: &&String| line.starts_with("cannot start '");
    let not_started = lines.last().filter(is_not_started).filter(|_| ending == NOT_STARTED);
    if let Some(reason) = not_started.filter(|_| !command.sandbox.mode.is_off()) {
        return Err(confinement_failed(tool, reason));
    }
    Err(ToolError::failed([vec![how], lines].concat().join("\n")))
}

fn answer(
    tool: &str,
    command: &CommandTemplate,
    stdout: CapturedOutput,
) -> Result<ToolOutput, ToolError> {
    let program = &command.program;
    let (written, missing) = (stdout.written(), stdout.missing());
    let (mut bytes, end) = stdout.into_parts();
    if missing == 0 {
        bytes.extend_from_slice(&end);
    }
    let is_text = !bytes.contains(&0) && (missing == 0 || !end.contains(&0));
    if missing > 0 && (!is_text || command.output == CommandOutput::Json) {
        let what = if command.output == CommandOutput::Json { "JSON" } else { "binary data" };
        return Err(ToolError::failed(format_args!(
            "{program} wrote {written} bytes of {what}; at most {KEPT} are taken"
        )));
    }
    if command.output == CommandOutput::Json {
        return json(program, &bytes);
    }
    if !is_text {
        return Ok(binary::output(tool, binary::media_type(&bytes), &bytes));
    }
    let mut text = text(bytes);
    if missing > 0 {
        text = format!(
            "{text}\n[… {missing} of {written} bytes that {program} wrote are missing here: they were not kept …]\n{}",
            String::from_utf8_lossy(&end)
        );
    }
    if text.ends_with('\n') {
        text.pop();
    }
    Ok(ToolOutput::Value(Value::String(text)))
}

fn json(program: &str, bytes: &[u8]) -> Result<ToolOutput, ToolError> {
    serde_json::from_slice(bytes).map(ToolOutput::Value).map_err(|error| {
        let beginning = match excerpt(bytes.trim_ascii(), WIDTH) {
            text if text.is_empty() => "it wrote nothing".to_owned(),
            text => format!("it wrote: {text}"),
        };
        ToolError::failed(format_args!("{program} wrote no JSON: {error}; {beginning}"))
            .caused_by(error)
    })
}

/// Returns the bytes as text, with `�` for each that is not UTF-8.
fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// The last lines that say something, without colours and control characters.
fn last_lines(written: CapturedOutput) -> Vec<String> {
    let (head, tail) = written.into_parts();
    let bytes = [head, tail].concat();
    let lines = bytes.split(|byte| *byte == b'\n').map(|line| excerpt(line, WIDTH));
    let lines: Vec<_> = lines.filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(LINES)..].to_vec()
}
