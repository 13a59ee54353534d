//! Tokens by the hashes of their secrets.

use std::{collections::HashMap, sync::Arc};

use jiff::Timestamp;
use switchboard_toolcall::Profile;

use super::{Token, TokenEntry, TokensError};
use crate::{Caller, CostBudget, rate::Quota};

/// Tokens by hash.
#[derive(Default)]
pub(super) struct TokenSet {
    tokens: HashMap<[u8; 32], Arc<Token>>,
    /// The access tokens of grants: the hash of the grant, and when they expire.
    access: HashMap<[u8; 32], ([u8; 32], Timestamp)>,
}

impl TokenSet {
    pub(super) fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Returns all tokens.
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Token>> {
        self.tokens.values()
    }

    /// Returns the token with this hash, or the grant whose access token has it and is valid.
    pub(super) fn find(&self, hash: &[u8; 32]) -> Option<&Arc<Token>> {
        match self.access.get(hash) {
            Some((grant, until)) if *until > Timestamp::now() => self.tokens.get(grant),
            Some(_) => None,
            None => self.tokens.get(hash).filter(|token| token.entry.oauth.is_none()),
        }
    }

    /// Adds a token; one that is unchanged since `before` keeps its quota.
    pub(super) fn add(&mut self, entry: TokenEntry, before: &Self) -> Result<(), TokensError> {
        let token = Token::new(entry)?;
        let hash = token.entry.hash()?;
        for (access, until) in token.entry.oauth.iter().flat_map(|grant| grant.access_hashes()) {
            self.access.insert(access, (hash, until));
        }
        let old = before.tokens.get(&hash).filter(|old| old.entry == token.entry);
        self.tokens.insert(hash, old.cloned().unwrap_or_else(|| Arc::new(token)));
        Ok(())
    }
}

impl Token {
    /// Reads what is stored of a token.
    pub(crate) fn new(entry: TokenEntry) -> Result<Self, TokensError> {
        let globs = entry.globs()?;
        let caller = Caller::new(Some(entry.name.as_str().into()), globs.map(Arc::new));
        let mut caller = caller.approving(entry.approve).watching(entry.watch);
        if let Some(profile) = &entry.profile {
            // Nothing is in it until somebody who knows the config replaces it.
            caller = caller.in_profile(Profile::new(profile, None));
        }
        caller.principal = entry.principal();
        caller.is_admin = entry.admin;
        let since = entry.created.into();
        caller.cost_budget = entry.cost_budget.map(|most| CostBudget { most, since });
        let quota = Quota::new(entry.rate, entry.concurrent);
        Ok(Self { entry, caller, quota })
    }
}
