//! How a call can fail.

use std::{error::Error, fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::ToolOutput;

/// An error of any type, used as a cause.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// A failed call: the kind of error, what the model may read, and the cause for log and audit.
#[derive(Debug, thiserror::Error)]
#[error("{for_model}")]
pub struct ToolError {
    /// The kind of error, one of the list of SPEC RS-2.
    pub kind: ErrorKind,
    /// What the model may read, and how to do better.
    pub for_model: String,
    /// A hint, if there is one: the required parameters, similar names.
    pub hint: Option<String>,
    /// The tool's own error output, passed on unchanged.
    pub output: Option<Box<ToolOutput>>,
    #[source]
    cause: Option<BoxError>,
}

impl ToolError {
    /// Creates an error of the given kind with the text that the model may read.
    pub fn new(kind: ErrorKind, for_model: impl Into<String>) -> Self {
        Self { kind, for_model: for_model.into(), hint: None, output: None, cause: None }
    }

    /// The tool ran and failed; its message is passed on.
    pub fn failed(error: impl fmt::Display) -> Self {
        Self::new(ErrorKind::ToolError, error.to_string())
    }

    /// The tool returned an error as its output, which is passed on unchanged; models read its text.
    pub fn answered(output: ToolOutput) -> Self {
        Self {
            output: Some(Box::new(output.clone())),
            ..Self::new(ErrorKind::ToolError, output.text())
        }
    }

    /// The tool cannot use these arguments; `problem` says which one and why.
    pub fn invalid(problem: impl fmt::Display) -> Self {
        let text = format!("Invalid parameters: {problem}");
        Self::new(ErrorKind::InvalidParameters, text)
    }

    /// The tool's calls cannot be queued.
    pub fn not_durable(tool: &str) -> Self {
        let text = format!(
            "Tool '{tool}' cannot be queued: only tools of workers can; call it and wait for its answer"
        );
        Self::new(ErrorKind::InvalidParameters, text)
    }

    /// The tool's server or service could not be reached (SPEC §12, network).
    pub fn unreachable(tool: &str, service: impl fmt::Display) -> Self {
        let text = format!("Tool '{tool}' is unavailable: {service} could not be reached");
        Self::new(ErrorKind::Unavailable, text)
    }

    /// Returns what models and people read: the message, then, for invalid arguments, the required ones (SPEC §12).
    pub fn text(&self) -> String {
        match (&self.hint, self.kind) {
            (Some(hint), ErrorKind::InvalidParameters) => {
                let is_sentence = self.for_model.ends_with(['.', '!', '?']);
                let stop = if is_sentence { "" } else { "." };
                format!("{}{stop} {hint}", self.for_model)
            }
            _ => self.for_model.clone(),
        }
    }

    /// Sets the hint.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Sets the cause.
    #[must_use]
    pub fn caused_by(mut self, cause: impl Into<BoxError>) -> Self {
        self.cause = Some(cause.into());
        self
    }
}

impl From<String> for ToolError {
    fn from(text: String) -> Self {
        Self::failed(text)
    }
}

impl From<&str> for ToolError {
    fn from(text: &str) -> Self {
        Self::failed(text)
    }
}

impl From<BoxError> for ToolError {
    fn from(error: BoxError) -> Self {
        Self::failed(&error).caused_by(error)
    }
}

macro_rules! error_kinds {
    ($($(#[$doc:meta])* $kind:ident => $code:literal,)*) => {
        /// The kinds of errors: one list, shared by records, metrics, REST and docs (SPEC RS-2).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
        pub enum ErrorKind {
            $($(#[$doc])* #[serde(rename = $code)] $kind,)*
        }

        impl ErrorKind {
            /// Every kind, in the order of the spec.
            pub const ALL: &[Self] = &[$(Self::$kind,)*];

            /// Returns the stable code.
            pub fn code(self) -> &'static str {
                match self { $(Self::$kind => $code,)* }
            }
        }

        impl FromStr for ErrorKind {
            type Err = String;

            fn from_str(code: &str) -> Result<Self, Self::Err> {
                match code {
                    $($code => Ok(Self::$kind),)*
                    other => Err(format!("unknown error kind `{other}`")),
                }
            }
        }
    };
}

error_kinds! {
    /// No tool has this name.
    NotFound => "not_found",
    /// No server has the name's prefix.
    UnknownServer => "unknown_server",
    /// The arguments do not match the schema.
    InvalidParameters => "invalid_parameters",
    /// The policy or a person denied the call.
    Denied => "denied",
    /// The deadline passed.
    Timeout => "timeout",
    /// The caller cancelled or dropped the call.
    Cancelled => "cancelled",
    /// A server or service that the tool needs could not be reached.
    Unavailable => "unavailable",
    /// Too many calls are waiting.
    Overloaded => "overloaded",
    /// The tool itself failed.
    ToolError => "tool_error",
    /// An error of the host: a panic, a missing handler.
    Internal => "internal",
    /// The call was in flight when its process died; whether it took effect is unknown.
    OutcomeUnknown => "outcome_unknown",
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // RS-2
    #[test]
    fn the_kinds_are_the_contracts_list() {
        let codes: Vec<_> = ErrorKind::ALL.iter().map(|kind| kind.code()).collect();
        let expected = "not_found, unknown_server, invalid_parameters, denied, timeout, cancelled, unavailable, \
                        overloaded, tool_error, internal, outcome_unknown";
        assert_eq!(codes.join(", "), expected);
        for kind in ErrorKind::ALL {
            assert_eq!(kind.code().parse::<ErrorKind>().as_ref(), Ok(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.code());
        }
        assert!("nonsense".parse::<ErrorKind>().is_err());
    }
}
