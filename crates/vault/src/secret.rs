//! A text that is shown to nobody.

use std::fmt;

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

/// A secret text: overwritten with zeros when it is dropped, and never part of `Debug` output.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Returns the text itself.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(Zeroizing::new(text))
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // AU-2
    #[test]
    fn debug_output_has_nothing_of_it() {
        let secret = Secret::from("hunter2");
        assert_eq!(format!("{secret:?} {:?}", Some(&secret)), "[redacted] Some([redacted])");
        assert_eq!(secret.expose(), "hunter2");
    }
}
