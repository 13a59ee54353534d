//! The lists of a server.

use std::time::Duration;

use serde_json::Value;

/// A list of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum List {
    /// `tools/list`
    Tools,
    /// `resources/list`
    Resources,
    /// `resources/templates/list`
    ResourceTemplates,
    /// `prompts/list`
    Prompts,
}

impl List {
    /// The method that reads it.
    pub fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Resources => "resources/list",
            Self::ResourceTemplates => "resources/templates/list",
            Self::Prompts => "prompts/list",
        }
    }

    /// The field of a result that has its entries.
    pub fn key(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::ResourceTemplates => "resourceTemplates",
            Self::Prompts => "prompts",
        }
    }

    /// The capability of a server that has the list.
    pub fn capability(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources | Self::ResourceTemplates => "resources",
            Self::Prompts => "prompts",
        }
    }
}

/// A list as it was read.
#[derive(Clone, Debug, Default)]
pub struct ListResult {
    /// Its entries, in order.
    pub entries: Vec<Value>,
    /// How long it may be cached, if the server says so.
    pub ttl: Option<Duration>,
    /// Whether the server says that it is for one caller only.
    pub private: bool,
    /// Whether the server declares that it announces changes of it.
    pub announced: bool,
}
