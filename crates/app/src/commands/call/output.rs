//! What `call` prints: text of the result for people (SPEC RS-3), the envelope for programs.

use std::{
    fs,
    io::{self, IsTerminal},
    path::Path,
};

use anyhow::{Context, bail};
use base64::{Engine, prelude::BASE64_STANDARD};
use switchboard_toolcall::{BoundedOutput, ErrorKind, Part, ToolError, ToolOutput, ToolResult};

use crate::{
    cli::{CallArgs, Cli},
    commands::calls::format,
    settings::LoadedConfig,
    terminal::{self, CommandFailed, Paint, text},
};

/// Prints the result of a call, and writes its binary content to the file that was asked for.
///
/// # Errors
/// Writing to stdout fails, the result does not have exactly one binary part, or the file cannot be written.
pub(super) fn print(
    result: &ToolResult,
    call: &CallArgs,
    cli: &Cli,
    loaded: &LoadedConfig,
) -> anyhow::Result<()> {
    if call.json {
        return Ok(terminal::print(&serde_json::to_string(result)?)?);
    }
    let paint = Paint::stderr(cli.color);
    match &result.outcome {
        Ok(answer) => {
            let text = answer.text();
            match io::stdout().is_terminal() {
                true => terminal::print(&text::lines(&text))?,
                false => terminal::print(&text)?,
            }
            if let Some(file) = &call.output {
                save(result, answer, file)?;
            }
        }
        Err(error) => {
            tell_failure(error, paint);
            if error.kind == ErrorKind::UnknownServer
                && let Some(advice) = loaded.advice_to_enable_server_of(&call.name)
            {
                terminal::tell(&text::one_line(&advice));
            }
        }
    }
    // Only for a person: not if the output goes to a file or another program.
    if io::stdout().is_terminal() && io::stderr().is_terminal() {
        terminal::tell(&status(result, paint));
    }
    Ok(())
}

/// Prints the error and its hint to stderr.
fn tell_failure(error: &ToolError, paint: Paint) {
    terminal::tell(&paint.red(&text::lines(&error.text())));
    // The text of an error about arguments contains the hint already.
    let hint = error.hint.as_deref().filter(|_| error.kind != ErrorKind::InvalidParameters);
    if let Some(hint) = hint {
        terminal::tell(&text::lines(hint));
    }
}

/// Returns the line that follows a result on a terminal: `✓ math_eval 1.5 ms 01M7…`.
fn status(result: &ToolResult, paint: Paint) -> String {
    let mark = if result.is_success() { "✓" } else { "✗" };
    let name = text::one_line(&result.tool_name);
    let took = match result.execution_time_ms() {
        short @ 1.0..10.0 => format!("{short:.1} ms"),
        _ => format::took(result.elapsed),
    };
    paint.dim(&format!("{mark} {name} {took} {}", result.call_id))
}

/// Writes the one binary part of the answer to the file.
fn save(result: &ToolResult, answer: &BoundedOutput, file: &Path) -> anyhow::Result<()> {
    let name = text::one_line(&result.tool_name);
    let shown = file.display();
    let parts = match &answer.output {
        ToolOutput::Content(content) => content.parts.as_slice(),
        ToolOutput::Value(_) => &[],
    };
    let binaries: Vec<_> = parts.iter().filter_map(Part::as_binary).collect();
    let [binary] = binaries[..] else {
        bail!(CommandFailed(match binaries.len() {
            0 => format!(
                "`{name}` answered without an image or other binary content; nothing was written to {shown}"
            ),
            many => format!(
                "`{name}` answered with {many} binary parts, and -o writes one; nothing was written to {shown}"
            ),
        }));
    };
    // Invalid base64 is written as the tool sent it; the artifact holds the same bytes.
    let bytes = BASE64_STANDARD.decode(binary.data).unwrap_or_else(|_| binary.data.into());
    fs::write(file, &bytes).with_context(|| CommandFailed(format!("failed to write `{shown}`")))?;
    terminal::tell(&format!("{} bytes written to {shown}", bytes.len()));
    Ok(())
}
