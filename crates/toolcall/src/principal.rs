//! Who makes a call, as far as that was authenticated.

use std::sync::Arc;

use serde_json::{Value, json};

/// Who makes a call: decides whose credentials a tool may use. Set by whoever authenticates callers, never from what a
/// client says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Principal {
    /// Nobody has authenticated the caller: it has no credentials.
    #[default]
    Unknown,
    /// The user who runs this process.
    Owner,
    /// The bearer of a token.
    Token {
        /// The token's name.
        name: Arc<str>,
        /// What tells it from an earlier token of the same name.
        id: Arc<str>,
    },
    /// A subject that a trusted issuer has authenticated.
    Subject {
        /// The issuer.
        issuer: Arc<str>,
        /// Its `sub`.
        subject: Arc<str>,
    },
}

impl Principal {
    /// Returns a text that no other principal has; `None` if it is unknown.
    pub fn key(&self) -> Option<String> {
        let key = match self {
            Self::Unknown => return None,
            Self::Owner => json!(["owner"]),
            Self::Token { name, id } => json!(["token", &**name, &**id]),
            Self::Subject { issuer, subject } => json!(["subject", &**issuer, &**subject]),
        };
        Some(key.to_string())
    }

    /// Returns the principal with this [`key`](Self::key).
    pub fn from_key(key: &str) -> Option<Self> {
        let Value::Array(parts) = serde_json::from_str(key).ok()? else { return None };
        let parts: Option<Vec<_>> = parts.iter().map(Value::as_str).collect();
        match parts?[..] {
            ["owner"] => Some(Self::Owner),
            ["token", name, id] => Some(Self::Token { name: name.into(), id: id.into() }),
            ["subject", issuer, subject] => {
                Some(Self::Subject { issuer: issuer.into(), subject: subject.into() })
            }
            _ => None,
        }
    }

    /// Returns its name for people: `owner`, a token's name, or a subject.
    pub fn name(&self) -> &str {
        match self {
            Self::Unknown => "unknown",
            Self::Owner => "owner",
            Self::Token { name, .. } => name,
            Self::Subject { subject, .. } => subject,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // AU-3
    #[test]
    fn no_two_principals_have_one_key() {
        let token = |name: &str, id: &str| Principal::Token { name: name.into(), id: id.into() };
        let subject = |issuer: &str, subject: &str| Principal::Subject {
            issuer: issuer.into(),
            subject: subject.into(),
        };
        let all = [
            Principal::Owner,
            token("owner", ""),
            token("ada", "1"),
            token("ada", "2"),
            token("ada\",\"1", ""),
            subject("ada", "1"),
            subject("https://a.example", "ada"),
            subject("https://b.example", "ada"),
        ];
        for (at, one) in all.iter().enumerate() {
            let key = one.key().unwrap();
            assert_eq!(Principal::from_key(&key).as_ref(), Some(one));
            assert!(all[..at].iter().all(|other| other.key().unwrap() != key), "{key}");
        }
        assert_eq!(Principal::Unknown.key(), None);
        for wrong in ["", "[]", "[\"owner\", 1]", "[\"token\", \"a\"]", "\"owner\""] {
            assert_eq!(Principal::from_key(wrong), None, "{wrong}");
        }
    }
}
