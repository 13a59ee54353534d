//! The token with which a caller was authenticated.

use std::{fmt, sync::Arc};

/// The JWT with which a caller was authenticated, for tools that act for that caller elsewhere. Never part of `Debug` output.
#[derive(Clone, PartialEq, Eq)]
pub struct CallerToken(Arc<str>);

impl CallerToken {
    /// Returns the text itself.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<&str> for CallerToken {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl fmt::Debug for CallerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CallContext;

    // AU-2, AU-3
    #[test]
    fn debug_output_has_nothing_of_it() {
        let token = Some(CallerToken::from("hunter2"));
        let cx = CallContext { token, ..CallContext::default() };
        assert!(!format!("{cx:?}").contains("hunter2"));
        assert_eq!(cx.token.unwrap().expose(), "hunter2");
    }
}
