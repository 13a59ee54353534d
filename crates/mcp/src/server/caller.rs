//! Who is calling, and what they may see.

use std::{fmt, sync::Arc};

use serde_json::Value;
use switchboard_runtime::RegisteredTool;

/// Decides by a tool's name whether it may be seen.
pub type MaySee = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// Who makes a request; whoever mounts the server knows.
#[derive(Clone, Default)]
pub struct Caller {
    /// The name for records and policy: a token's, for example.
    pub name: Option<Arc<str>>,
    /// What a trusted issuer says of the caller, for policy; a JSON object.
    pub claims: Option<Arc<Value>>,
    /// Which tools may be seen; all, where nothing is said. What may not be seen is not listed, and answers as
    /// unknown.
    pub may_see: Option<MaySee>,
}

impl Caller {
    /// Somebody who may see everything.
    pub fn named(name: impl Into<Arc<str>>) -> Self {
        Self { name: Some(name.into()), ..Self::default() }
    }

    /// Whether the tool may be seen, under any name that it has.
    pub fn sees(&self, tool: &RegisteredTool) -> bool {
        self.may_see
            .as_ref()
            .is_none_or(|may_see| may_see(tool.name()) || may_see(&tool.spec().name))
    }

    /// Whether something called so may be seen.
    pub fn sees_name(&self, name: &str) -> bool {
        self.may_see.as_ref().is_none_or(|may_see| may_see(name))
    }

    /// Whether what the one is shown must not be shown to others.
    pub(crate) fn is_restricted(&self) -> bool {
        self.may_see.is_some()
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller")
            .field("name", &self.name)
            .field("restricted", &self.is_restricted())
            .finish()
    }
}
