//! Results that are no text: images, audio, files (SPEC RS-6).

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::json;
use switchboard_toolcall::{Content, Part, ToolOutput};

/// What files of these kinds begin with.
const SIGNATURES: [(&[u8], &str); 9] = [
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"ID3", "audio/mpeg"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
];

/// Returns the media type of bytes whose type was not declared.
pub(crate) fn media_type(bytes: &[u8]) -> &'static str {
    // RIFF names its content after the length.
    match (bytes.strip_prefix(b"RIFF"), bytes.get(8..12)) {
        (Some(_), Some(b"WAVE")) => return "audio/wav",
        (Some(_), Some(b"WEBP")) => return "image/webp",
        _ => {}
    }
    let known = SIGNATURES.iter().find(|(signature, _)| bytes.starts_with(signature));
    known.map_or("application/octet-stream", |(_, media_type)| media_type)
}

/// The bytes as the output of a tool, which the executor keeps as an artifact.
pub(crate) fn output(tool: &str, media_type: &str, bytes: &[u8]) -> ToolOutput {
    let data = STANDARD.encode(bytes);
    let part = match media_type.split('/').next() {
        Some(kind @ ("image" | "audio")) => Part::binary(kind, media_type, data),
        _ => {
            let resource =
                json!({"uri": format!("tool:{tool}"), "mimeType": media_type, "blob": data});
            let part = json!({"type": "resource", "resource": resource});
            Part(part.as_object().cloned().unwrap_or_default())
        }
    };
    ToolOutput::Content(Content { parts: vec![part], ..Content::default() })
}
