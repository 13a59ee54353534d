//! Finds calls that a server failed to parse and passed on as text (SPEC ML-2).
//!
//! Guarded: the whole find counts only if every call in it names a tool that was offered and has arguments that
//! validate. Otherwise the text stays what it is.

mod segments;
mod hermes;
mod xml;

use serde_json::{Map, Value};

use crate::{
    Arguments, ModelCall,
    lower::{Lowered, LoweredTool},
    model::Validate,
};

/// Calls that were found in text.
#[derive(Debug)]
pub(crate) struct Recovered {
    /// What the text says beside them.
    pub(crate) rest: String,
    /// The calls, without ids yet.
    pub(crate) calls: Vec<ModelCall>,
}

/// A call as the text has it.
struct Found {
    name: String,
    args: Map<String, Value>,
}

/// The calls in an answer that should have been calls, or in thoughts where nothing else was answered.
pub(crate) fn calls(
    content: &str,
    thinking: &str,
    lowered: &Lowered,
    validate: Validate<'_>,
) -> Option<Recovered> {
    let (text, thoughts) = answer_of(content);
    let (rest, bodies) = if text.trim().is_empty() {
        // A thought that was never closed swallows the call that follows it.
        let (_, bodies) = segments::tagged(if thoughts.is_empty() { thinking } else { thoughts })?;
        (String::new(), bodies)
    } else {
        segments::tagged(text).or_else(|| segments::bare(text))?
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
    let calls = calls.filter(|calls| !calls.is_empty())?;
    Some(Recovered { rest: rest.trim().to_owned(), calls })
}

fn accept(found: Found, lowered: &Lowered, validate: Validate<'_>) -> Option<ModelCall> {
    let name = lowered.names.known(&found.name)?.to_owned();
    let args = Value::Object(found.args);
    if !validate(&name, &args) {
        return None;
    }
    Some(ModelCall { id: String::new(), name, args: Arguments::from_value(args), recovered: true })
}

fn tool<'a>(lowered: &'a Lowered, name: &str) -> Option<&'a LoweredTool> {
    lowered.tools.iter().find(|tool| tool.name == name)
}

/// The answer after the thoughts, and thoughts that were not closed.
fn answer_of(content: &str) -> (&str, &str) {
    match (content.rfind("</think>"), content.find("<think>")) {
        (Some(end), _) => (&content[end + "</think>".len()..], ""),
        (None, Some(start)) if content[..start].trim().is_empty() => {
            ("", &content[start + "<think>".len()..])
        }
        _ => (content, ""),
    }
}

#[cfg(test)]
mod tests;
