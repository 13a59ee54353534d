//! The queue: calls are held, decided, and waited for.

mod counts;
mod held_call;

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use serde::Deserialize;
use switchboard_runtime::{
    Approver, Ruling,
    approval::{ApprovalRequest, AskOutcome, PersonDecision},
};
use switchboard_toolcall::BoxError;
use tokio::time::Instant;

use crate::{
    approval::{ApprovalOutcome, PendingApproval, ResolvedApproval},
    decider::Decider,
    error::Error,
    folder::{self, FolderStore},
    rules::{AddedRule, AllowRule},
    store::ApprovalStore,
};
use counts::PendingCounts;
use held_call::HeldCall;

/// How often old outcomes are removed.
const SWEEP: Duration = Duration::from_secs(60 * 60);

/// The calls that wait for a person's approval.
pub struct ApprovalQueue {
    store: Arc<dyn ApprovalStore>,
    counts: PendingCounts,
    swept: Mutex<Option<Instant>>,
}

/// A person's decision about a held call.
#[derive(Clone, Debug)]
pub struct ApprovalDecision {
    /// Whether the call may run.
    pub allow: bool,
    /// The name for the record.
    pub by: String,
    /// Who decides, for `four_eyes`.
    pub decider: Decider,
    /// Why.
    pub reason: Option<String>,
    /// The later calls that are allowed too.
    pub remember: Option<RuleScope>,
}

/// The later calls that a rule allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleScope {
    /// Calls of the tool with exactly these arguments.
    Arguments,
    /// All calls of the tool.
    Tool,
}

/// What the rules say about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleLookup {
    /// A person always allows such calls.
    Allowed(PersonDecision),
    /// No rule allows it: ask a person.
    Ask {
        /// Why a rule for such calls does not allow this one.
        note: Option<String>,
    },
}

impl ApprovalQueue {
    /// Opens the queue in a folder, which need not exist yet.
    pub fn open(folder: impl Into<PathBuf>) -> Self {
        Self::new(Arc::new(FolderStore::new(folder.into())))
    }

    /// Creates a queue over a store.
    pub fn new(store: Arc<dyn ApprovalStore>) -> Self {
        Self { store, counts: PendingCounts::default(), swept: Mutex::default() }
    }

    /// Returns the waiting calls of all processes, oldest first.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn pending(&self) -> Result<Vec<PendingApproval>, Error> {
        let mut pending = Vec::new();
        for question in self.store.pending()? {
            // A decided one waits only until its process sees the outcome.
            if self.store.outcome(&question.id)?.is_none() {
                pending.push(question);
            }
        }
        pending.retain(|question| question.expires > Timestamp::now());
        pending.sort_by_key(|question| question.call_id);
        Ok(pending)
    }

    /// Returns the waiting call with this id.
    ///
    /// # Errors
    /// No call has this id, or it is no longer waiting.
    pub fn find(&self, id: &str) -> Result<PendingApproval, Error> {
        let unknown = || Error::Unknown(id.to_owned());
        if !folder::is_id(id) {
            return Err(unknown());
        }
        let question = self.store.find(id)?;
        match self.store.outcome(id)? {
            Some(outcome) => Err(Error::Closed { id: id.to_owned(), outcome: Box::new(outcome) }),
            None => match question.ok_or_else(unknown)? {
                question if question.expires <= Timestamp::now() => {
                    let outcome = Box::new(expired(&question));
                    Err(Error::Closed { id: id.to_owned(), outcome })
                }
                question => Ok(question),
            },
        }
    }

    /// Returns the full id of the one waiting call whose id starts with `prefix`.
    ///
    /// # Errors
    /// `prefix` is empty, or several ids start with it.
    pub fn complete(&self, prefix: &str) -> Result<String, Error> {
        // A variable that a script left empty must not allow whatever happens to wait.
        if prefix.is_empty() {
            return Err(Error::Unknown(String::new()));
        }
        let mut found: Vec<_> = self.pending()?.into_iter().map(|question| question.id).collect();
        found.retain(|id| id.starts_with(prefix));
        match found.len() {
            1 => Ok(found.remove(0)),
            // It may be the id of a decided call, which `find` reports.
            0 => Ok(prefix.to_owned()),
            _ => Err(Error::Ambiguous { id: prefix.to_owned(), found }),
        }
    }

    /// Decides a call, once. Blocks on the store, so it must not run on a serving thread.
    ///
    /// # Errors
    /// No call waits under this id, somebody else decided first, the caller cannot allow its own call, or the store cannot be
    /// written.
    pub fn decide(&self, id: &str, verdict: ApprovalDecision) -> Result<ResolvedApproval, Error> {
        if verdict.remember.is_some() && !verdict.allow {
            return Err(Error::RememberedDenial);
        }
        let pending = self.find(id)?;
        let is_other = verdict.decider.is_other_than(pending.asked_by.as_deref());
        if pending.four_eyes && verdict.allow && !is_other {
            return Err(Error::FourEyes(id.to_owned()));
        }
        let outcome = ApprovalOutcome {
            decision: if verdict.allow { Ruling::Allow } else { Ruling::Deny },
            by: Some(verdict.by.clone()),
            reason: verdict.reason,
            decided: Timestamp::now(),
            fingerprint: pending.fingerprint.clone(),
        };
        // The rule first: the caller may call again as soon as it sees the outcome, and must not be held again.
        let (by, decider) = (&verdict.by, &verdict.decider);
        let add = |remember| self.store.add_rule(AllowRule::new(&pending, remember, by, decider)?);
        let rule = verdict.remember.map(add);
        let over = match self.store.decide_once(id, &outcome) {
            Ok(None) => None,
            Ok(Some(outcome)) => {
                Some(Error::Closed { id: id.to_owned(), outcome: Box::new(outcome) })
            }
            Err(error) => Some(error),
        };
        if let Some(error) = over {
            if let Some(Ok(AddedRule::New(rule))) = rule {
                self.store.forget_rule(&rule.id)?;
            }
            return Err(error);
        }
        let rule = rule.transpose().map_err(|error| Error::NotRemembered(Box::new(error)))?;
        Ok(ResolvedApproval { rule: rule.map(AddedRule::rule), pending, outcome })
    }

    /// Returns the rules, oldest first.
    ///
    /// # Errors
    /// The rules cannot be read.
    pub fn rules(&self) -> Result<Vec<AllowRule>, Error> {
        self.store.rules()
    }

    /// Removes a rule: calls that it allowed are held again. Blocks on the store.
    ///
    /// # Errors
    /// No rule has this id, or the rules cannot be written.
    pub fn forget(&self, id: &str) -> Result<AllowRule, Error> {
        self.store.forget_rule(id)
    }

    /// Looks for a rule that allows the call.
    ///
    /// # Errors
    /// The rules cannot be read.
    pub fn match_rules(&self, question: &ApprovalRequest) -> Result<RuleLookup, Error> {
        let rules = self.store.rules()?;
        let Some(rule) = rules.iter().find(|rule| rule.allows(question)) else {
            let note = rules.iter().rev().find_map(|rule| rule.objection(question));
            return Ok(RuleLookup::Ask { note });
        };
        let by = Some(format!("rule {} of {}", rule.id, rule.by));
        Ok(RuleLookup::Allowed(PersonDecision { ruling: Ruling::Allow, by, reason: None }))
    }

    fn sweep(&self) {
        let mut swept = self.swept.lock().unwrap_or_else(PoisonError::into_inner);
        if swept.is_none_or(|swept| swept.elapsed() >= SWEEP) {
            *swept = Some(Instant::now());
            self.store.sweep();
        }
    }
}

impl Approver for ApprovalQueue {
    fn ask(&self, question: ApprovalRequest) -> Result<AskOutcome<'_>, BoxError> {
        match self.match_rules(&question)? {
            RuleLookup::Allowed(decision) => Ok(AskOutcome::Decided(decision)),
            RuleLookup::Ask { note } => {
                Ok(AskOutcome::Held(HeldCall::new(self, &question, note)?.held(question.within)))
            }
        }
    }
}

/// Returns the outcome of an approval that has expired, although its process has not written it yet.
fn expired(question: &PendingApproval) -> ApprovalOutcome {
    ApprovalOutcome {
        decision: Ruling::Expired,
        by: None,
        reason: None,
        decided: question.expires,
        fingerprint: question.fingerprint.clone(),
    }
}
