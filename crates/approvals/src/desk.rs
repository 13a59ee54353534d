//! The desk: questions are laid down, answered, and waited for.

mod counts;
mod waiting;

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use serde::Deserialize;
use switchboard_runtime::{
    Approver, Ruling,
    approval::{Asked, Decision, Question},
};
use switchboard_toolcall::BoxError;
use tokio::time::Instant;

use crate::{
    decider::Decider,
    error::Error,
    folder::{self, Folder},
    place::Place,
    question::{Answer, Decided, Pending},
    rules::{Added, Rule},
};
use counts::Counts;
use waiting::Waiting;

/// How often old answers are removed.
const SWEEP: Duration = Duration::from_secs(60 * 60);

/// Where held calls wait for a person.
pub struct Desk {
    place: Arc<dyn Place>,
    waiting: Counts,
    swept: Mutex<Option<Instant>>,
}

/// What a person says of a held call.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// Whether the call may run.
    pub allow: bool,
    /// Who says so, for the record.
    pub by: String,
    /// Who that is, where who asked cannot allow.
    pub decider: Decider,
    /// Why.
    pub reason: Option<String>,
    /// Whether that holds for later calls too.
    pub remember: Option<Remember>,
}

/// For which later calls a yes holds too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Remember {
    /// For those of the tool with exactly these arguments.
    Arguments,
    /// For all of the tool.
    Tool,
}

/// What rules say of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recalled {
    /// A person allowed such calls for good.
    Allowed(Decision),
    /// A person has to be asked.
    Ask {
        /// Why a rule that was left for such calls does not hold for this one.
        note: Option<String>,
    },
}

impl Desk {
    /// The desk in this folder, which need not be there yet.
    pub fn open(folder: impl Into<PathBuf>) -> Self {
        Self::at(Arc::new(Folder::new(folder.into())))
    }

    /// The desk at this place.
    pub fn at(place: Arc<dyn Place>) -> Self {
        Self { place, waiting: Counts::default(), swept: Mutex::default() }
    }

    /// The calls that wait, in any process, oldest first.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn pending(&self) -> Result<Vec<Pending>, Error> {
        let mut pending = Vec::new();
        for question in self.place.questions()? {
            // What was answered waits only for its process to see it.
            if self.place.answer(&question.id)?.is_none() {
                pending.push(question);
            }
        }
        pending.retain(|question| question.expires > Timestamp::now());
        pending.sort_by_key(|question| question.call_id);
        Ok(pending)
    }

    /// The call that waits under this id.
    ///
    /// # Errors
    /// There is none, or what it waited for is over.
    pub fn find(&self, id: &str) -> Result<Pending, Error> {
        let unknown = || Error::Unknown(id.to_owned());
        if !folder::is_id(id) {
            return Err(unknown());
        }
        let question = self.place.question(id)?;
        match self.place.answer(id)? {
            Some(answer) => Err(Error::Over { id: id.to_owned(), answer: Box::new(answer) }),
            None => match question.ok_or_else(unknown)? {
                question if question.expires <= Timestamp::now() => {
                    let answer = Box::new(late(&question));
                    Err(Error::Over { id: id.to_owned(), answer })
                }
                question => Ok(question),
            },
        }
    }

    /// The full id of the one call that waits under an id that begins so.
    ///
    /// # Errors
    /// There is none, or there are several.
    pub fn complete(&self, beginning: &str) -> Result<String, Error> {
        // A variable that a script left empty must not allow whatever happens to wait.
        if beginning.is_empty() {
            return Err(Error::Unknown(String::new()));
        }
        let mut found: Vec<_> = self.pending()?.into_iter().map(|question| question.id).collect();
        found.retain(|id| id.starts_with(beginning));
        match found.len() {
            1 => Ok(found.remove(0)),
            // Perhaps it is one that is over; whoever looks for it is told.
            0 => Ok(beginning.to_owned()),
            _ => Err(Error::Several { id: beginning.to_owned(), found }),
        }
    }

    /// Answers a question, once and for all. Blocks until that is known, so it is not for threads that serve others.
    ///
    /// # Errors
    /// Nobody waits for the answer, somebody was faster, who asked cannot allow it, or the folder cannot be written.
    pub fn decide(&self, id: &str, verdict: Verdict) -> Result<Decided, Error> {
        if verdict.remember.is_some() && !verdict.allow {
            return Err(Error::DenialForGood);
        }
        let pending = self.find(id)?;
        let is_other = verdict.decider.is_other_than(pending.asked_by.as_deref());
        if pending.four_eyes && verdict.allow && !is_other {
            return Err(Error::FourEyes(id.to_owned()));
        }
        let answer = Answer {
            decision: if verdict.allow { Ruling::Allow } else { Ruling::Deny },
            by: Some(verdict.by.clone()),
            reason: verdict.reason,
            decided: Timestamp::now(),
            fingerprint: pending.fingerprint.clone(),
        };
        // The rule first: who hears the answer may call again at once, and is not asked a second time.
        let (by, decider) = (&verdict.by, &verdict.decider);
        let add = |remember| self.place.add_rule(Rule::new(&pending, remember, by, decider)?);
        let rule = verdict.remember.map(add);
        let over = match self.place.answer_once(id, &answer) {
            Ok(None) => None,
            Ok(Some(answer)) => Some(Error::Over { id: id.to_owned(), answer: Box::new(answer) }),
            Err(error) => Some(error),
        };
        if let Some(error) = over {
            if let Some(Ok(Added::New(rule))) = rule {
                self.place.forget_rule(&rule.id)?;
            }
            return Err(error);
        }
        let rule = rule.transpose().map_err(|error| Error::NotRemembered(Box::new(error)))?;
        Ok(Decided { rule: rule.map(Added::rule), pending, answer })
    }

    /// What is allowed for good, oldest first.
    ///
    /// # Errors
    /// The rules cannot be read.
    pub fn rules(&self) -> Result<Vec<Rule>, Error> {
        self.place.rules()
    }

    /// Forgets a rule: calls that it allowed are asked about again. Blocks until that is done.
    ///
    /// # Errors
    /// There is none of this id, or the rules cannot be written.
    pub fn forget(&self, id: &str) -> Result<Rule, Error> {
        self.place.forget_rule(id)
    }

    /// Looks for a rule that answers the question.
    ///
    /// # Errors
    /// The rules cannot be read.
    pub fn recall(&self, question: &Question) -> Result<Recalled, Error> {
        let rules = self.place.rules()?;
        let Some(rule) = rules.iter().find(|rule| rule.allows(question)) else {
            let note = rules.iter().rev().find_map(|rule| rule.objection(question));
            return Ok(Recalled::Ask { note });
        };
        let by = Some(format!("rule {} of {}", rule.id, rule.by));
        Ok(Recalled::Allowed(Decision { ruling: Ruling::Allow, by, reason: None }))
    }

    fn sweep(&self) {
        let mut swept = self.swept.lock().unwrap_or_else(PoisonError::into_inner);
        if swept.is_none_or(|swept| swept.elapsed() >= SWEEP) {
            *swept = Some(Instant::now());
            self.place.sweep();
        }
    }
}

impl Approver for Desk {
    fn ask(&self, question: Question) -> Result<Asked<'_>, BoxError> {
        match self.recall(&question)? {
            Recalled::Allowed(decision) => Ok(Asked::Decided(decision)),
            Recalled::Ask { note } => {
                Ok(Asked::Held(Waiting::lay(self, &question, note)?.held(question.within)))
            }
        }
    }
}

/// What is known of a question whose time is over, although its process has not noticed yet.
fn late(question: &Pending) -> Answer {
    Answer {
        decision: Ruling::Expired,
        by: None,
        reason: None,
        decided: question.expires,
        fingerprint: question.fingerprint.clone(),
    }
}
