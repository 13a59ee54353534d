//! Converts a response's body: JSON, text or a file.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use serde_json::Value;
use switchboard_toolcall::{ToolError, ToolOutput};

use super::exchange::HttpResponse;
use crate::binary;

/// How much of a body that is no JSON an error shows, in characters.
const SHOWN: usize = 300;

/// Types of `application/…` that people read.
const TEXTS: [&str; 14] = [
    "ecmascript",
    "graphql",
    "javascript",
    "json-seq",
    "jsonl",
    "ndjson",
    "sql",
    "toml",
    "x-javascript",
    "x-ndjson",
    "x-sh",
    "x-www-form-urlencoded",
    "x-yaml",
    "yaml",
];

/// The kind of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BodyKind {
    Json,
    Text,
    /// Unspecified.
    Unknown,
    Binary,
}

/// Returns the output of a call: JSON parsed, text decoded, everything else as binary content.
///
/// # Errors
/// The body is not the JSON that its type says.
pub fn output(tool: &str, received: HttpResponse) -> Result<ToolOutput, ToolError> {
    let HttpResponse { service, content_type, body, .. } = received;
    let content_type = content_type.as_deref();
    let (media_type, _) = parts(content_type);
    let Some(text) = text(content_type, &body) else {
        let media_type = match media_type.is_empty() {
            true => binary::media_type(&body),
            false => &media_type,
        };
        return Ok(binary::output(tool, media_type, &body));
    };
    if kind(&media_type) == BodyKind::Json && !text.trim().is_empty() {
        let json = serde_json::from_str(&text).map(ToolOutput::Value);
        return json.map_err(|error| {
            let beginning: String = text.trim().chars().take(SHOWN).collect();
            ToolError::failed(format_args!(
                "{service} answered with invalid JSON, although its type is JSON: {error}; it begins: {beginning}"
            ))
            .caused_by(error)
        });
    }
    Ok(ToolOutput::Value(Value::String(text.into_owned())))
}

/// Returns the body as text, or `None` if it is binary.
pub(super) fn text<'a>(content_type: Option<&str>, body: &'a [u8]) -> Option<Cow<'a, str>> {
    let (media_type, charset) = parts(content_type);
    let kind = kind(&media_type);
    if kind == BodyKind::Binary && !body.is_empty() {
        return None;
    }
    if let Some(encoding) = Encoding::for_bom(body).map(|(encoding, _)| encoding).or(charset) {
        return Some(encoding.decode(body).0);
    }
    match UTF_8.decode_without_bom_handling_and_without_replacement(body) {
        Some(text) if kind != BodyKind::Unknown || !text.contains('\0') => Some(text),
        _ if kind == BodyKind::Unknown => None,
        // The encoding that browsers assume if a server declares none.
        _ => Some(WINDOWS_1252.decode(body).0),
    }
}

/// The media type in lower case, and the encoding if there is one of that name.
fn parts(content_type: Option<&str>) -> (String, Option<&'static Encoding>) {
    let mut parts = content_type.unwrap_or_default().split(';');
    let media_type = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
    let charset = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        let value = value.trim().trim_matches('"');
        name.trim()
            .eq_ignore_ascii_case("charset")
            .then(|| Encoding::for_label(value.as_bytes()))?
    });
    (media_type, charset)
}

fn kind(media_type: &str) -> BodyKind {
    match media_type.split_once('/') {
        None => BodyKind::Unknown,
        Some((_, "json")) => BodyKind::Json,
        Some((_, subtype)) if subtype.ends_with("+json") => BodyKind::Json,
        Some(("text", _)) => BodyKind::Text,
        Some((_, "xml")) => BodyKind::Text,
        Some((_, subtype)) if subtype.ends_with("+xml") => BodyKind::Text,
        Some(("application", subtype)) if TEXTS.contains(&subtype) => BodyKind::Text,
        Some(_) => BodyKind::Binary,
    }
}
