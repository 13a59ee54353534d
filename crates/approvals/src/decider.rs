//! Who decides, as far as needed to tell whether that is the caller.

use serde::{Deserialize, Serialize};

/// The caller names of the owner's own programs in records: `call`, `ask`, `chat` and `voice`.
const OWN_PROGRAMS: [&str; 2] = ["command line", "voice"];

/// The person who decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decider {
    /// The holder of a token or JWT of this name.
    Named(String),
    /// The user who owns the queue, at the command line.
    Owner,
    /// Somebody without a token, if none is required.
    Anonymous,
}

impl Decider {
    /// Returns whether somebody else certainly made the call. An anonymous decider may be anybody, a named caller without
    /// its token included.
    pub fn is_other_than(&self, asked_by: Option<&str>) -> bool {
        match self {
            Self::Named(name) => asked_by != Some(name),
            // Calls of anonymous callers count as the owner's own.
            Self::Owner => asked_by.is_some_and(|name| !OWN_PROGRAMS.contains(&name)),
            Self::Anonymous => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // PO-2
    #[test]
    fn who_asked_is_nobody_else() {
        let (ada, owner) = (Decider::Named("ada".to_owned()), Decider::Owner);
        for (decider, asked_by, is_other) in [
            (&ada, Some("ada"), false),
            (&ada, Some("bob"), true),
            (&ada, None, true),
            (&owner, None, false),
            (&owner, Some("command line"), false),
            (&owner, Some("voice"), false),
            (&ada, Some("command line"), true),
            (&owner, Some("bob"), true),
            (&Decider::Anonymous, None, false),
            (&Decider::Anonymous, Some("bob"), false),
        ] {
            assert_eq!(decider.is_other_than(asked_by), is_other, "{decider:?} {asked_by:?}");
        }
    }
}
