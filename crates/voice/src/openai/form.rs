//! A form with a file, as browsers send it (`multipart/form-data`).

use ulid::Ulid;

/// A form being built.
pub(super) struct MultipartForm {
    boundary: String,
    body: Vec<u8>,
}

impl MultipartForm {
    pub(super) fn new() -> Self {
        // Random, so that no value contains it.
        Self { boundary: format!("switchboard-{}", Ulid::generate()), body: Vec::new() }
    }

    /// A field with a text.
    pub(super) fn text(mut self, name: &str, value: &str) -> Self {
        self.head(&format!("name=\"{name}\""), None);
        self.body.extend(value.as_bytes());
        self.body.extend(b"\r\n");
        self
    }

    /// A field with a file.
    pub(super) fn file(mut self, name: &str, file: &str, kind: &str, content: &[u8]) -> Self {
        self.head(&format!("name=\"{name}\"; filename=\"{file}\""), Some(kind));
        self.body.extend(content);
        self.body.extend(b"\r\n");
        self
    }

    /// Returns the `content-type` of the form.
    pub(super) fn content_type(&self) -> String {
        format!("multipart/form-data; boundary={}", self.boundary)
    }

    /// Returns the whole body.
    pub(super) fn into_body(mut self) -> Vec<u8> {
        self.body.extend(format!("--{}--\r\n", self.boundary).into_bytes());
        self.body
    }

    fn head(&mut self, disposition: &str, kind: Option<&str>) {
        let kind = kind.map(|kind| format!("Content-Type: {kind}\r\n")).unwrap_or_default();
        let head = format!(
            "--{}\r\nContent-Disposition: form-data; {disposition}\r\n{kind}\r\n",
            self.boundary
        );
        self.body.extend(head.into_bytes());
    }
}
