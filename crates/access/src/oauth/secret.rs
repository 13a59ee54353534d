//! Codes, access tokens and refresh tokens: random, stored only as hashes.
//!
//! Each carries the name of its grant, so that any gateway of a cluster finds it, and what all secrets of the grant have in common,
//! so that one which was used before is told from one that somebody made up.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::OAuthError;
use crate::tokens;

const FAMILY: usize = 16;
const RANDOM: usize = 32;

/// What a secret is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SecretKind {
    Code,
    Access,
    Refresh,
}

/// A secret of a grant.
pub(crate) struct GrantSecret {
    pub(crate) kind: SecretKind,
    pub(crate) family: [u8; FAMILY],
    /// The name of the grant.
    pub(crate) name: String,
    /// The secret as clients send it.
    pub(crate) text: Zeroizing<String>,
}

impl SecretKind {
    const ALL: [Self; 3] = [Self::Code, Self::Access, Self::Refresh];

    /// The prefix; redaction knows how it begins.
    fn prefix(self) -> &'static str {
        match self {
            Self::Code => "sb_code_",
            Self::Access => "sb_at_",
            Self::Refresh => "sb_rt_",
        }
    }
}

impl GrantSecret {
    /// Makes a secret of the grant with this name.
    pub(crate) fn new(
        kind: SecretKind,
        family: [u8; FAMILY],
        name: &str,
    ) -> Result<Self, OAuthError> {
        let mut bytes = Zeroizing::new(Vec::<u8>::with_capacity(FAMILY + RANDOM + name.len()));
        bytes.extend(family);
        bytes.extend(random::<RANDOM>()?);
        bytes.extend(name.as_bytes());
        let encoded = Zeroizing::new(URL_SAFE_NO_PAD.encode(&*bytes));
        let text = Zeroizing::new(format!("{}{}", kind.prefix(), *encoded));
        Ok(Self { kind, family, name: name.to_owned(), text })
    }

    /// Reads a secret; `None` if it is not one of a grant.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let of_kind = |kind: SecretKind| text.strip_prefix(kind.prefix()).map(|rest| (kind, rest));
        let (kind, rest) = SecretKind::ALL.into_iter().find_map(of_kind)?;
        let bytes = Zeroizing::new(URL_SAFE_NO_PAD.decode(rest).ok()?);
        let (family, bytes) = bytes.split_first_chunk::<FAMILY>()?;
        let (_, name) = bytes.split_first_chunk::<RANDOM>()?;
        let name = str::from_utf8(name).ok().filter(|name| name.starts_with(super::PREFIX))?;
        Some(Self {
            kind,
            family: *family,
            name: name.to_owned(),
            text: Zeroizing::new(text.to_owned()),
        })
    }

    /// Returns what is stored of it.
    pub(crate) fn hash(&self) -> [u8; 32] {
        tokens::hash(&self.text)
    }
}

/// Returns what is stored of what the secrets of a grant have in common.
pub(crate) fn family_hash(family: &[u8; FAMILY]) -> [u8; 32] {
    Sha256::digest(family).into()
}

/// Returns random bytes.
pub(crate) fn random<const LENGTH: usize>() -> Result<[u8; LENGTH], OAuthError> {
    let mut bytes = [0_u8; LENGTH];
    getrandom::fill(&mut bytes)
        .map_err(|error| OAuthError::unavailable(format!("no random numbers: {error}")))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_read_as_it_was_made_and_nothing_else_is_one() {
        let made = GrantSecret::new(SecretKind::Refresh, [7; 16], "oauth:claude").unwrap();
        let read = GrantSecret::parse(&made.text).unwrap();
        assert_eq!((read.kind, read.family), (SecretKind::Refresh, [7; 16]));
        assert_eq!((read.name.as_str(), read.hash()), ("oauth:claude", made.hash()));
        let other = GrantSecret::new(SecretKind::Refresh, [7; 16], "oauth:claude").unwrap();
        assert_ne!(other.text, made.text);
        let named = GrantSecret::new(SecretKind::Access, [7; 16], "ada").unwrap();
        for wrong in ["", "sb_", "sb_at_", "sb_at_AAAA", "sb_rt_%%%", &named.text] {
            assert!(GrantSecret::parse(wrong).is_none(), "{wrong}");
        }
    }
}
