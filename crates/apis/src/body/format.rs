//! The formats of bodies.

use crate::response_schema::is_json;

/// How a body is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyFormat {
    Json,
    Form,
    Multipart,
    Text,
    /// Bytes, which callers give in base64.
    Binary,
}

impl BodyFormat {
    /// Returns the format of a media type.
    ///
    /// # Errors
    /// It is not supported.
    pub(super) fn of(media_type: &str) -> Result<Self, String> {
        let plain = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match plain.as_str() {
            _ if is_json(&plain) => Ok(Self::Json),
            "application/x-www-form-urlencoded" => Ok(Self::Form),
            "multipart/form-data" => Ok(Self::Multipart),
            other
                if other.starts_with("text/")
                    || other.ends_with("/xml")
                    || other.ends_with("+xml")
                    || other.ends_with("yaml") =>
            {
                Ok(Self::Text)
            }
            other if other.starts_with("multipart/") => {
                Err(format!("its body is `{other}`, which is not supported"))
            }
            _ => Ok(Self::Binary),
        }
    }

    /// How much a format is preferred, where there is a choice.
    pub(super) fn rank(media_type: &str) -> usize {
        match Self::of(media_type) {
            Ok(Self::Json) => 0,
            Ok(Self::Form) => 1,
            Ok(Self::Multipart) => 2,
            Ok(Self::Text) => 3,
            Ok(Self::Binary) => 4,
            Err(_) => 5,
        }
    }
}
