//! Rules that people left: they allow a tool, or a tool with exactly these arguments.

use std::fs::{self, File};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};
use switchboard_runtime::{approval::ApprovalRequest, private_files, redact};
use switchboard_toolcall::text::hex;

use crate::{
    approval::PendingApproval,
    decider::Decider,
    error::Error,
    folder::{self, FolderStore},
    queue::RuleScope,
};

/// Allows calls of a tool without asking a person again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AllowRule {
    /// The id under which it is removed.
    pub id: String,
    /// The tool's name.
    pub tool: String,
    /// The arguments that it is allowed with, secrets redacted; any if `None`.
    pub arguments: Option<Box<RawValue>>,
    /// The name of the person who allowed it.
    pub by: String,
    /// When it was allowed.
    pub created: Timestamp,
    /// Hash of the tool's name and the exact arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fingerprint: Option<String>,
    /// Hash of the tool's definition at that time. Rules of older versions have none, and allow nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    definition: Option<String>,
    /// Who allowed it, if the caller must not (`four_eyes`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    decider: Option<Decider>,
}

impl AllowRule {
    pub(crate) fn new(
        pending: &PendingApproval,
        remember: RuleScope,
        by: &str,
        decider: &Decider,
    ) -> Result<Self, Error> {
        let is_exact = remember == RuleScope::Arguments;
        Ok(Self {
            id: folder::id()?,
            tool: pending.tool.clone(),
            arguments: is_exact.then(|| redacted(&pending.arguments)),
            by: by.to_owned(),
            created: Timestamp::now(),
            fingerprint: is_exact.then(|| pending.fingerprint.clone()),
            definition: Some(pending.definition.clone()),
            decider: Some(decider.clone()),
        })
    }

    /// Returns whether it allows this call.
    pub(crate) fn allows(&self, question: &ApprovalRequest) -> bool {
        self.is_about(question)
            && self.definition.as_ref() == Some(&hex(&question.definition))
            && (!question.four_eyes || self.is_others(question))
    }

    /// Returns why it does not allow this call, if it was left for such calls.
    pub(crate) fn objection(&self, question: &ApprovalRequest) -> Option<String> {
        let Self { id, by, .. } = self;
        match &self.definition {
            _ if !self.is_about(question) => None,
            None => Some(format!(
                "{by} allowed it for good (rule {id}), before rules knew a tool's definition: it is asked about again"
            )),
            Some(definition) if *definition != hex(&question.definition) => Some(format!(
                "the tool's definition has changed since {by} allowed it for good (rule {id})"
            )),
            Some(_) if question.four_eyes && !self.is_others(question) => Some(format!(
                "who asks has allowed it for good (rule {id}), and four eyes are needed"
            )),
            Some(_) => None,
        }
    }

    /// Returns whether it was left for calls of this tool with these arguments.
    fn is_about(&self, question: &ApprovalRequest) -> bool {
        self.tool == *question.tool
            && match (&self.arguments, &self.fingerprint) {
                (None, None) => true,
                (_, Some(fingerprint)) => *fingerprint == hex(&question.fingerprint),
                // Somebody has edited the file: allow nothing rather than everything.
                (Some(_), None) => false,
            }
    }

    fn is_others(&self, question: &ApprovalRequest) -> bool {
        let decider = self.decider.as_ref();
        decider.is_some_and(|decider| decider.is_other_than(question.caller.as_deref()))
    }

    /// Returns whether it allows the same calls.
    pub fn is_same(&self, other: &Self) -> bool {
        self.tool == other.tool
            && self.fingerprint == other.fingerprint
            && self.definition == other.definition
            && self.decider == other.decider
    }

    /// Returns whether it has the definition's hash, as all rules of this version do.
    pub fn is_bound(&self) -> bool {
        self.definition.is_some()
    }

    /// Returns what tells it from other rules for the same calls: the tool's definition and the decider.
    pub fn binding(&self) -> String {
        let who = match &self.decider {
            Some(Decider::Named(name)) => format!("={name}"),
            Some(Decider::Owner) => "owner".to_owned(),
            Some(Decider::Anonymous) | None => String::new(),
        };
        format!("{} {who}", self.definition.as_deref().unwrap_or_default())
    }

    /// Returns the hash of the tool's name and arguments, or `None` if it allows any arguments.
    pub fn fingerprint(&self) -> Option<&str> {
        self.fingerprint.as_deref()
    }
}

/// Removes secrets: the rule is stored for good, and matches by the fingerprint.
fn redacted(arguments: &RawValue) -> Box<RawValue> {
    let value: Value = serde_json::from_str(arguments.get()).unwrap_or_default();
    RawValue::from_string(redact::value(&value)).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// Returns all rules, oldest first.
pub(crate) fn all(folder: &FolderStore) -> Result<Vec<AllowRule>, Error> {
    Ok(folder::read(&folder.rules_file())?.unwrap_or_default())
}

/// The result of adding a rule.
pub enum AddedRule {
    /// There was no equal rule.
    New(AllowRule),
    /// An equal rule existed already.
    Existing(AllowRule),
}

impl AddedRule {
    /// Returns the stored rule.
    pub fn rule(self) -> AllowRule {
        match self {
            Self::New(rule) | Self::Existing(rule) => rule,
        }
    }
}

/// Stores a rule unless an equal one exists.
pub(crate) fn add(folder: &FolderStore, new: AllowRule) -> Result<AddedRule, Error> {
    change(folder, |rules| {
        if let Some(rule) = rules.iter().find(|rule| rule.is_same(&new)) {
            return Ok(AddedRule::Existing(rule.clone()));
        }
        rules.push(new.clone());
        Ok(AddedRule::New(new))
    })
}

/// Removes a rule.
pub(crate) fn forget(folder: &FolderStore, id: &str) -> Result<AllowRule, Error> {
    change(folder, |rules| {
        let found = rules.iter().position(|rule| rule.id == id);
        found.map(|found| rules.remove(found)).ok_or_else(|| Error::UnknownRule(id.to_owned()))
    })
}

/// Changes the rules under a lock between processes.
fn change<T>(
    folder: &FolderStore,
    change: impl FnOnce(&mut Vec<AllowRule>) -> Result<T, Error>,
) -> Result<T, Error> {
    folder.make()?;
    let path = folder.rules_file();
    let guard = path.with_extension("lock");
    let mut options = File::options();
    let lock = private_files::open(options.create(true).truncate(false).write(true), &guard);
    let lock = lock.map_err(Error::file("open", &guard))?;
    lock.lock().map_err(Error::file("lock", &guard))?;
    let mut rules = all(folder)?;
    let changed = change(&mut rules)?;
    let beside = path.with_extension("new");
    let file = folder::write_private(&beside, &rules).map_err(Error::file("write", &beside))?;
    file.sync_all().map_err(Error::file("write", &beside))?;
    fs::rename(&beside, &path).map_err(Error::file("write", &path))?;
    Ok(changed)
}
