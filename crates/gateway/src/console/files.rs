//! The files of the page, as they are in `crates/gateway/console`.

use std::sync::OnceLock;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use http::HeaderValue;
use sha2::{Digest, Sha256};

/// A file of the page.
pub(super) struct File {
    name: &'static str,
    pub(super) content: &'static [u8],
    tag: OnceLock<HeaderValue>,
}

macro_rules! file {
    ($name:literal) => {
        File {
            name: $name,
            content: include_bytes!(concat!("../../console/", $name)),
            tag: OnceLock::new(),
        }
    };
}

/// The page itself.
pub(super) static INDEX: File = file!("index.html");

/// What the page loads.
static FILES: &[File] = &[];

/// The file of this name.
pub(super) fn find(name: &str) -> Option<&'static File> {
    FILES.iter().find(|file| file.name == name)
}

impl File {
    /// What browsers are told that it is.
    pub(super) fn media_type(&self) -> &'static str {
        match self.name.rsplit_once('.').map(|(_, ending)| ending) {
            Some("html") => "text/html; charset=utf-8",
            Some("js") => "text/javascript; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("svg") => "image/svg+xml",
            Some("png") => "image/png",
            Some("json" | "webmanifest") => "application/json",
            _ => "application/octet-stream",
        }
    }

    /// Changes with the content.
    pub(super) fn tag(&self) -> &HeaderValue {
        self.tag.get_or_init(|| {
            let hash = URL_SAFE_NO_PAD.encode(&Sha256::digest(self.content)[..12]);
            HeaderValue::from_str(&format!("\"{hash}\"")).unwrap_or(HeaderValue::from_static(""))
        })
    }
}
