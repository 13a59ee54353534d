//! Why a tool cannot be added.

use crate::validate::SchemaError;

/// Why a tool was not added.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AddError {
    /// The name is empty, too long or contains white space.
    #[error("tool name {0:?} is not usable: {1}")]
    Name(String, &'static str),
    /// A local tool has no description.
    #[error("tool `{0}` has no description")]
    Description(String),
    /// The schema is invalid.
    #[error("tool `{tool}` has an unusable schema: {reason}")]
    Schema {
        /// The tool's name.
        tool: String,
        /// What is wrong with its schema.
        #[source]
        reason: SchemaError,
    },
    /// The config fixes an argument to a value that the tool does not accept.
    #[error("tool `{0}`: `arguments`: the fixed values do not fit `parameters`: {1}")]
    Fixed(String, String),
    /// A server's name contains the separator.
    #[error("server name `{0}` must not be empty or contain `{1}`")]
    ServerName(String, String),
}
