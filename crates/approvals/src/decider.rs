//! Who decides, as far as it matters whether that is who asked.

use serde::{Deserialize, Serialize};

/// The callers that stand for the owner's own programs in records: `call`, `ask` and `chat`, and `voice`.
const OWN_PROGRAMS: [&str; 2] = ["command line", "voice"];

/// Who decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decider {
    /// Somebody whose token or JWT has this name.
    Named(String),
    /// The user whose desk it is, at the command line.
    Owner,
    /// Somebody without a token, where none is demanded.
    Anonymous,
}

impl Decider {
    /// Whether it is certain that somebody else asked. Who has no name may be anybody, also a named caller that left its
    /// token out.
    pub fn is_other_than(&self, asked_by: Option<&str>) -> bool {
        match self {
            Self::Named(name) => asked_by != Some(name),
            // Calls without a caller's name are the owner's own, too.
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
