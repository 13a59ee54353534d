//! `multipart/form-data`: fields and files in one body.

use sha2::{Digest, Sha256};

/// One part of the body.
pub(crate) struct MultipartPart {
    pub(crate) name: String,
    /// Set for a file.
    pub(crate) media_type: Option<String>,
    pub(crate) bytes: Vec<u8>,
}

/// Returns the content type and the body.
pub(crate) fn write(parts: &[MultipartPart]) -> (String, Vec<u8>) {
    let boundary = boundary(parts);
    let mut body = Vec::new();
    for part in parts {
        let name = quoted(&part.name);
        body.extend_from_slice(
            format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"").as_bytes(),
        );
        if let Some(media_type) = &part.media_type {
            // Servers take a part with a file name for a file.
            let is_json = media_type == "application/json";
            let file = if is_json { String::new() } else { format!("; filename=\"{name}\"") };
            body.extend_from_slice(format!("{file}\r\nContent-Type: {media_type}").as_bytes());
        }
        body.extend_from_slice(b"\r\n\r\n");
        body.extend_from_slice(&part.bytes);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    (format!("multipart/form-data; boundary={boundary}"), body)
}

/// Returns a boundary that is in none of the parts: nobody can make a part that has its own hash in it.
fn boundary(parts: &[MultipartPart]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.name.as_bytes());
        hash.update(&part.bytes);
    }
    hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// Escapes a name as browsers do.
fn quoted(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

#[cfg(test)]
mod tests {
    use super::*;

    // TK-3
    #[test]
    fn names_cannot_add_headers() {
        let part = |name: &str, media_type: Option<&str>, bytes: &[u8]| MultipartPart {
            name: name.to_owned(),
            media_type: media_type.map(str::to_owned),
            bytes: bytes.to_vec(),
        };
        let parts = [part("a\"\r\nX: y", None, b"1"), part("f", Some("image/png"), b"\x89PNG")];
        let (content_type, body) = write(&parts);
        let boundary = content_type.strip_prefix("multipart/form-data; boundary=").unwrap();
        let expected = [
            format!("--{boundary}\r\nContent-Disposition: form-data; name=\"a%22%0D%0AX: y\"\r\n\r\n1\r\n").as_bytes(),
            format!("--{boundary}\r\nContent-Disposition: form-data; name=\"f\"; filename=\"f\"\r\nContent-Type: image/png\r\n\r\n").as_bytes(),
            b"\x89PNG\r\n",
            format!("--{boundary}--\r\n").as_bytes(),
        ].concat();
        assert_eq!(body, expected);
    }
}
