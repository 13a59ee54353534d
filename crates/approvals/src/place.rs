//! Where a desk keeps what lies on it.

use switchboard_toolcall::BoxFuture;
use tokio::sync::Notify;

use crate::{
    error::Error,
    question::{Answer, Pending},
    rules::{Added, Rule},
};

/// Where questions, answers and rules lie: a folder for the processes of one user, or something that many machines see.
///
/// What reads must not block for long. What answers and what changes rules may wait for others.
pub trait Place: Send + Sync {
    /// Rings when an answer may have come. Who waits looks from time to time nevertheless.
    fn bell(&self) -> &Notify;

    /// Lays a question down for as long as what is returned is held, and no longer than this process lives.
    ///
    /// # Errors
    /// It cannot be laid down.
    fn lay(&self, question: &Pending) -> Result<Laid, Error>;

    /// The questions that somebody waits for, answered or not.
    ///
    /// # Errors
    /// They cannot be read.
    fn questions(&self) -> Result<Vec<Pending>, Error>;

    /// The question of this id, as long as somebody waits for an answer.
    ///
    /// # Errors
    /// It cannot be read.
    fn question(&self, id: &str) -> Result<Option<Pending>, Error>;

    /// The answer to a question, where there is one.
    ///
    /// # Errors
    /// It cannot be read.
    fn answer(&self, id: &str) -> Result<Option<Answer>, Error>;

    /// Lays an answer down, unless there is one: then that one is returned. Blocks until it is known.
    ///
    /// # Errors
    /// It cannot be laid down.
    fn answer_once(&self, id: &str, answer: &Answer) -> Result<Option<Answer>, Error>;

    /// As [`answer_once`](Self::answer_once), where nothing may block.
    fn end<'a>(&'a self, id: &'a str, answer: &'a Answer) -> BoxFuture<'a, Ended> {
        Box::pin(async move { self.answer_once(id, answer) })
    }

    /// As [`answer_once`](Self::answer_once), where nobody waits for what comes of it.
    fn withdraw(&self, id: &str, answer: Answer) {
        if let Err(error) = self.answer_once(id, &answer) {
            tracing::warn!(error = &error as &dyn std::error::Error, "an approval is left open");
        }
    }

    /// All rules, oldest first.
    ///
    /// # Errors
    /// They cannot be read.
    fn rules(&self) -> Result<Vec<Rule>, Error>;

    /// Keeps a rule, unless there is one like it. Blocks until that is done.
    ///
    /// # Errors
    /// It cannot be kept.
    fn add_rule(&self, rule: Rule) -> Result<Added, Error>;

    /// Forgets a rule. Blocks until that is done.
    ///
    /// # Errors
    /// There is none of this id, or it cannot be forgotten.
    fn forget_rule(&self, id: &str) -> Result<Rule, Error>;

    /// Removes what nobody asks for any more.
    fn sweep(&self);
}

/// The answer that was there before.
pub type Ended = Result<Option<Answer>, Error>;

/// Holds a question where it lies.
pub type Laid = Box<dyn Send + Sync>;
