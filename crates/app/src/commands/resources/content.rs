//! The content of a resource: text, or bytes in base64.

use std::{
    fs,
    io::{self, IsTerminal},
    path::Path,
};

use anyhow::Context;
use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::Value;

use crate::terminal::{self, text};

/// The parts for people: text, and a line for each binary part. Invisible characters become escapes only on a terminal.
pub(super) fn render(parts: &[Value]) -> String {
    let is_terminal = io::stdout().is_terminal();
    let shown = parts.iter().map(|part| match part["text"].as_str() {
        Some(text) if is_terminal => text::lines(text),
        Some(text) => text.to_owned(),
        None => {
            let kind = part["mimeType"].as_str().unwrap_or("application/octet-stream");
            let kind = text::one_line(kind);
            let uri = text::one_line(part["uri"].as_str().unwrap_or_default());
            let size = bytes(part).map_or(0, |bytes| bytes.len());
            format!("[{kind}, {size} bytes: {uri}; --output FILE writes it to a file]")
        }
    });
    shown.collect::<Vec<_>>().join("\n")
}

/// Writes all parts to a file, as they are.
///
/// # Errors
/// A part is neither text nor base64, or the file cannot be written.
pub(super) fn save(parts: &[Value], file: &Path) -> anyhow::Result<()> {
    let mut whole = Vec::new();
    for part in parts {
        whole.extend(bytes(part).context("the server sent what is neither text nor base64")?);
    }
    let shown = file.display();
    fs::write(file, &whole).with_context(|| format!("failed to write `{shown}`"))?;
    terminal::tell(&format!("{} bytes written to {shown}", whole.len()));
    Ok(())
}

fn bytes(part: &Value) -> Option<Vec<u8>> {
    match (part["text"].as_str(), part["blob"].as_str()) {
        (Some(text), _) => Some(text.as_bytes().to_vec()),
        (None, blob) => BASE64_STANDARD.decode(blob?).ok(),
    }
}

/// Whether `uri` may be an expansion of a URI template such as `file:///{path}`.
pub(super) fn fits(template: &str, uri: &str) -> bool {
    let mut rest = uri;
    let mut texts = template.split('{').enumerate().map(|(index, piece)| match index {
        0 => piece,
        // An expression in braces matches any text.
        _ => piece.split_once('}').map_or("", |(_, text)| text),
    });
    let Some(after) = texts.next().and_then(|first| rest.strip_prefix(first)) else {
        return false;
    };
    rest = after;
    let texts: Vec<_> = texts.collect();
    let Some((last, middle)) = texts.split_last() else {
        return rest.is_empty();
    };
    for text in middle {
        match rest.split_once(text) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_fit_what_they_could_have_made() {
        for (template, uri, expected) in [
            ("file:///{path}", "file:///a/b", true),
            ("file:///{path}", "http://a", false),
            ("demo://{a}/x/{b}", "demo://1/x/2", true),
            ("demo://{a}/x/{b}", "demo://1/y/2", false),
            ("demo://{a}.txt", "demo://1.txt", true),
            ("demo://{a}.txt", "demo://1.md", false),
            ("plain", "plain", true),
            ("plain", "plainer", false),
        ] {
            assert_eq!(fits(template, uri), expected, "{template} {uri}");
        }
    }
}
