//! What a person allowed for good: a tool, or a tool with exactly these arguments.

use std::fs::{self, File};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};
use switchboard_runtime::{approval::Question, private_files, redact};

use crate::{
    decider::Decider,
    desk::Remember,
    error::Error,
    folder::{self, Folder},
    question::{Pending, hex},
};

/// Something that is allowed for good.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Rule {
    /// The word under which it is forgotten.
    pub id: String,
    /// The tool's name.
    pub tool: String,
    /// The arguments that it is allowed with, secrets redacted; all where unset.
    pub arguments: Option<Box<RawValue>>,
    /// Who allowed it.
    pub by: String,
    /// When.
    pub created: Timestamp,
    /// Of the tool's name and the exact arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fingerprint: Option<String>,
    /// Of the tool's definition as it was then; a rule of an older version has none, and allows nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    definition: Option<String>,
    /// Who allowed it, where who asks cannot allow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    decider: Option<Decider>,
}

impl Rule {
    pub(crate) fn new(
        pending: &Pending,
        remember: Remember,
        by: &str,
        decider: &Decider,
    ) -> Result<Self, Error> {
        let is_exact = remember == Remember::Arguments;
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

    /// Whether it allows this call.
    pub(crate) fn allows(&self, question: &Question) -> bool {
        self.is_about(question)
            && self.definition.as_ref() == Some(&hex(&question.definition))
            && (!question.four_eyes || self.is_others(question))
    }

    /// Why it does not allow this call, although it was left for such calls.
    pub(crate) fn objection(&self, question: &Question) -> Option<String> {
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

    /// Whether it was left for calls of this tool with these arguments.
    fn is_about(&self, question: &Question) -> bool {
        self.tool == *question.tool
            && match (&self.arguments, &self.fingerprint) {
                (None, None) => true,
                (_, Some(fingerprint)) => *fingerprint == hex(&question.fingerprint),
                // Somebody has changed the file: it allows nothing rather than everything.
                (Some(_), None) => false,
            }
    }

    fn is_others(&self, question: &Question) -> bool {
        let decider = self.decider.as_ref();
        decider.is_some_and(|decider| decider.is_other_than(question.caller.as_deref()))
    }

    /// Whether it allows the same calls.
    pub fn is_same(&self, other: &Self) -> bool {
        self.tool == other.tool
            && self.fingerprint == other.fingerprint
            && self.definition == other.definition
            && self.decider == other.decider
    }

    /// Whether it knows the definition that it is about, as all rules of this version do.
    pub fn is_bound(&self) -> bool {
        self.definition.is_some()
    }

    /// What else tells it from rules for the same calls: the tool's definition, and who allowed it.
    pub fn binding(&self) -> String {
        let who = match &self.decider {
            Some(Decider::Named(name)) => format!("={name}"),
            Some(Decider::Owner) => "owner".to_owned(),
            Some(Decider::Anonymous) | None => String::new(),
        };
        format!("{} {who}", self.definition.as_deref().unwrap_or_default())
    }

    /// Of the tool's name and the exact arguments that it is allowed with; none where it is allowed with all.
    pub fn fingerprint(&self) -> Option<&str> {
        self.fingerprint.as_deref()
    }
}

/// The arguments without secrets: a rule is kept for good, and knows them by their fingerprint.
fn redacted(arguments: &RawValue) -> Box<RawValue> {
    let value: Value = serde_json::from_str(arguments.get()).unwrap_or_default();
    RawValue::from_string(redact::value(&value)).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// All rules, oldest first.
pub(crate) fn all(folder: &Folder) -> Result<Vec<Rule>, Error> {
    Ok(folder::read(&folder.rules_file())?.unwrap_or_default())
}

/// A rule that was to be kept.
pub enum Added {
    /// There was none like it.
    New(Rule),
    /// This one was there already.
    Known(Rule),
}

impl Added {
    /// The rule that is kept now.
    pub fn rule(self) -> Rule {
        match self {
            Self::New(rule) | Self::Known(rule) => rule,
        }
    }
}

/// Keeps a rule, unless there is one like it.
pub(crate) fn add(folder: &Folder, new: Rule) -> Result<Added, Error> {
    change(folder, |rules| {
        if let Some(rule) = rules.iter().find(|rule| rule.is_same(&new)) {
            return Ok(Added::Known(rule.clone()));
        }
        rules.push(new.clone());
        Ok(Added::New(new))
    })
}

/// Forgets a rule.
pub(crate) fn forget(folder: &Folder, id: &str) -> Result<Rule, Error> {
    change(folder, |rules| {
        let found = rules.iter().position(|rule| rule.id == id);
        found.map(|found| rules.remove(found)).ok_or_else(|| Error::NoRule(id.to_owned()))
    })
}

/// Changes the rules; whoever else wants to, waits.
fn change<T>(
    folder: &Folder,
    change: impl FnOnce(&mut Vec<Rule>) -> Result<T, Error>,
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
    let file = folder::private(&beside, &rules).map_err(Error::file("write", &beside))?;
    file.sync_all().map_err(Error::file("write", &beside))?;
    fs::rename(&beside, &path).map_err(Error::file("write", &path))?;
    Ok(changed)
}
