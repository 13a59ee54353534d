//! Finds calls that a server failed to parse and passed on as text (SPEC ML-2).
//!
//! Guarded: the reply must be nothing but calls, white space and thinking aside, and every call must name a tool that was
//! offered, with arguments that validate. Otherwise the text stays what it is: a call quoted in prose is prose.

mod segments;
mod hermes;
mod xml;

use serde_json::{Map, Value};

use crate::{
    Arguments, ModelCall,
    lower::{LoweredTool, LoweredTools},
    model::Validate,
};

/// A call as the text has it.
struct FoundCall {
    name: String,
    args: Map<String, Value>,
}

/// Returns the calls that a reply consists of, without ids yet; `None` if it says anything else.
pub(crate) fn calls(
    content: &str,
    thinking: &str,
    lowered: &LoweredTools,
    validate: Validate<'_>,
) -> Option<Vec<ModelCall>> {
    let (answer, thoughts) = answer_of(content);
    let bodies = if answer.trim().is_empty() {
        // A thought that was never closed swallows the calls that follow it.
        segments::after_text(if thoughts.is_empty() { thinking } else { thoughts })?
    } else {
        segments::nothing_else(answer)?
    };
    let mut found = Vec::new();
    for body in bodies {
        if body.contains("<function=") {
            found.extend(xml::calls(body, &|name| tool(lowered, name))?);
        } else {
            found.extend(hermes::calls(body)?);
        }
    }
    let calls: Option<Vec<_>> =
        found.into_iter().map(|call| accept(call, lowered, validate)).collect();
    calls.filter(|calls| !calls.is_empty())
}

fn accept(found: FoundCall, lowered: &LoweredTools, validate: Validate<'_>) -> Option<ModelCall> {
    let name = lowered.names.known(&found.name)?.to_owned();
    let args = Value::Object(found.args);
    if !validate(&name, &args) {
        return None;
    }
    Some(ModelCall { id: String::new(), name, args: Arguments::from_value(args), recovered: true })
}

fn tool<'a>(lowered: &'a LoweredTools, name: &str) -> Option<&'a LoweredTool> {
    lowered.tools.iter().find(|tool| tool.name == name)
}

/// The answer after the thoughts, and thoughts that were not closed. Templates that open the thoughts themselves leave only
/// their end, on a line of its own; elsewhere in a line it is quoted.
fn answer_of(content: &str) -> (&str, &str) {
    let opened = content.trim_start().strip_prefix("<think>");
    match (content.find("</think>"), opened) {
        (Some(end), opened) if opened.is_some() || begins_a_line(&content[..end]) => {
            (&content[end + "</think>".len()..], "")
        }
        (None, Some(thoughts)) => ("", thoughts),
        _ => (content, ""),
    }
}

/// Whether what follows this text begins a line.
fn begins_a_line(before: &str) -> bool {
    let before = before.trim_end_matches([' ', '\t']);
    before.is_empty() || before.ends_with('\n')
}

#[cfg(test)]
mod tests;
