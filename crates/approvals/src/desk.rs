//! The desk: questions are laid down, answered, and waited for.

use std::{
    path::PathBuf,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use jiff::Timestamp;
use serde::Deserialize;
use switchboard_runtime::{
    Approver, Ruling,
    approval::{Asked, Decision, Held, Question},
};
use switchboard_toolcall::BoxError;
use tokio::{
    sync::Notify,
    time::{Instant, timeout_at},
};

use crate::{
    error::Error,
    folder::{self, Folder, Laid},
    question::{Answer, Decided, Pending},
    rules::{self, Rule},
};

/// How often an answer of another process is looked for. Those of this one are heard at once.
const LOOK: Duration = Duration::from_millis(200);
/// How many calls of one process may wait.
const MOST: usize = 1000;
/// How often old answers are removed.
const SWEEP: Duration = Duration::from_secs(60 * 60);

/// Where held calls wait for a person.
pub struct Desk {
    folder: Folder,
    bell: Notify,
    waiting: AtomicUsize,
    swept: Mutex<Option<Instant>>,
}

/// What a person says of a held call.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// Whether the call may run.
    pub allow: bool,
    /// Who says so.
    pub by: String,
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

impl Desk {
    /// The desk in this folder, which need not be there yet.
    pub fn open(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: Folder::new(folder.into()),
            bell: Notify::new(),
            waiting: AtomicUsize::new(0),
            swept: Mutex::default(),
        }
    }

    /// The calls that wait, in any process, oldest first.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn pending(&self) -> Result<Vec<Pending>, Error> {
        let mut pending = Vec::new();
        for id in self.folder.ids()? {
            // What was answered waits only for its process to see it.
            if let (None, Some(question)) = (self.folder.answer(&id)?, self.folder.question(&id)?) {
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
        let question = self.folder.question(id)?;
        match self.folder.answer(id)? {
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
        let mut found: Vec<_> = self.pending()?.into_iter().map(|question| question.id).collect();
        found.retain(|id| id.starts_with(beginning));
        match found.len() {
            1 => Ok(found.remove(0)),
            // Perhaps it is one that is over; whoever looks for it is told.
            0 => Ok(beginning.to_owned()),
            _ => Err(Error::Several { id: beginning.to_owned(), found }),
        }
    }

    /// Answers a question, once and for all.
    ///
    /// # Errors
    /// Nobody waits for the answer, somebody was faster, or the folder cannot be written.
    pub fn decide(&self, id: &str, verdict: Verdict) -> Result<Decided, Error> {
        if verdict.remember.is_some() && !verdict.allow {
            return Err(Error::DenialForGood);
        }
        let pending = self.find(id)?;
        let answer = Answer {
            decision: if verdict.allow { Ruling::Allow } else { Ruling::Deny },
            by: Some(verdict.by.clone()),
            reason: verdict.reason,
            decided: Timestamp::now(),
            fingerprint: pending.fingerprint.clone(),
        };
        if let Some(answer) = self.folder.answer_once(id, &answer)? {
            return Err(Error::Over { id: id.to_owned(), answer: Box::new(answer) });
        }
        self.bell.notify_waiters();
        let rule = verdict.remember.map(|remember| {
            rules::add(&self.folder, &pending, remember, &verdict.by)
                .map_err(|error| Error::NotRemembered(Box::new(error)))
        });
        Ok(Decided { rule: rule.transpose()?, pending, answer })
    }

    /// What is allowed for good, oldest first.
    ///
    /// # Errors
    /// The rules cannot be read.
    pub fn rules(&self) -> Result<Vec<Rule>, Error> {
        rules::all(&self.folder)
    }

    /// Forgets a rule: calls that it allowed are asked about again.
    ///
    /// # Errors
    /// There is none of this id, or the rules cannot be written.
    pub fn forget(&self, id: &str) -> Result<Rule, Error> {
        rules::forget(&self.folder, id)
    }

    /// The answer that a rule gives to a question.
    ///
    /// # Errors
    /// The rules cannot be read.
    pub fn allowed_for_good(&self, question: &Question) -> Result<Option<Decision>, Error> {
        let rule = rules::that_allows(&self.folder, question)?;
        Ok(rule.map(|rule| {
            let by = Some(format!("rule {} of {}", rule.id, rule.by));
            Decision { ruling: Ruling::Allow, by, reason: None }
        }))
    }

    fn sweep(&self) {
        let mut swept = self.swept.lock().unwrap_or_else(PoisonError::into_inner);
        if swept.is_none_or(|swept| swept.elapsed() >= SWEEP) {
            *swept = Some(Instant::now());
            self.folder.sweep();
        }
    }
}

impl Approver for Desk {
    fn ask(&self, question: Question) -> Result<Asked<'_>, BoxError> {
        if let Some(decision) = self.allowed_for_good(&question)? {
            return Ok(Asked::Decided(decision));
        }
        let waiting = Waiting::lay(self, &question)?;
        let id = waiting.id.as_str().into();
        let expires = waiting.expires;
        Ok(Asked::Held(Held { id, expires, decision: Box::pin(waiting.decision(question.within)) }))
    }
}

/// A question that lies on the desk until this is dropped.
struct Waiting<'a> {
    desk: &'a Desk,
    id: String,
    fingerprint: String,
    expires: std::time::SystemTime,
    _laid: Laid,
    is_over: bool,
}

impl<'a> Waiting<'a> {
    fn lay(desk: &'a Desk, question: &Question) -> Result<Self, Error> {
        desk.sweep();
        if desk.waiting.fetch_add(1, Ordering::Relaxed) >= MOST {
            desk.waiting.fetch_sub(1, Ordering::Relaxed);
            return Err(Error::TooMany(MOST));
        }
        let laid = folder::id().and_then(|id| {
            let pending = Pending::new(id, question);
            Ok((desk.folder.lay(&pending)?, pending))
        });
        match laid {
            Ok((laid, pending)) => Ok(Self {
                desk,
                expires: pending.expires_at(),
                id: pending.id,
                fingerprint: pending.fingerprint,
                _laid: laid,
                is_over: false,
            }),
            Err(error) => {
                desk.waiting.fetch_sub(1, Ordering::Relaxed);
                Err(error)
            }
        }
    }

    /// Waits for the answer; when the time is over that is the answer, unless somebody is just faster.
    async fn decision(mut self, within: Duration) -> Result<Decision, BoxError> {
        let end = Instant::now() + within.min(Duration::from_secs(100 * 365 * 86400));
        loop {
            let heard = self.desk.bell.notified();
            if let Some(answer) = self.desk.folder.answer(&self.id)? {
                return self.take(answer);
            }
            if Instant::now() >= end {
                let expired = self.answer(Ruling::Expired);
                let earlier = self.desk.folder.answer_once(&self.id, &expired)?;
                return self.take(earlier.unwrap_or(expired));
            }
            // Whether it is the bell, the clock or nothing at all: the folder knows.
            let _ = timeout_at(end.min(Instant::now() + LOOK), heard).await;
        }
    }

    fn take(&mut self, answer: Answer) -> Result<Decision, BoxError> {
        self.is_over = true;
        if answer.fingerprint != self.fingerprint {
            return Err("the answer is one to another question".into());
        }
        let Answer { decision: ruling, by, reason, .. } = answer;
        Ok(Decision { ruling, by, reason })
    }

    fn answer(&self, decision: Ruling) -> Answer {
        let fingerprint = self.fingerprint.clone();
        Answer { decision, by: None, reason: None, decided: Timestamp::now(), fingerprint }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.desk.waiting.fetch_sub(1, Ordering::Relaxed);
        if !self.is_over
            && let Err(error) =
                self.desk.folder.answer_once(&self.id, &self.answer(Ruling::Withdrawn))
        {
            tracing::warn!(error = &error as &dyn std::error::Error, "an approval is left open");
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
