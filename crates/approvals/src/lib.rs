//! The desk where held calls wait for a person, and people answer from any process of the same user.
//!
//! [`Desk`] is a folder, or another [`Place`] that more can see. Whoever runs a call that a person must allow lays a question
//! there and holds a lock on it for as long as it waits; whoever decides lays an answer beside it. An answer is laid down once
//! and for all (a hard link, which cannot replace another), so that of two people who decide, or of one who decides just as
//! the time is over, one wins and the other is told. What a person allows for good is a [`Rule`]. Who may decide is for the
//! entrances to say.

pub mod question;
pub mod decider;
pub mod desk;
pub mod rules;
pub mod place;
pub mod error;

mod folder;

pub use decider::Decider;
pub use desk::{Desk, Recalled, Remember, Verdict};
pub use error::Error;
pub use place::Place;
pub use question::{Answer, Decided, Pending};
pub use rules::{Added, Rule};
