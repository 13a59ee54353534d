//! The key of a call of a run.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::CallId;

/// A turn of a run of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RunTurn {
    /// The run's id.
    pub run: CallId,
    /// The number of the turn, from 1.
    pub turn: u32,
}

/// The key of a call of a run: the same if the call is made again after a crash (SPEC RN-2).
///
/// ```
/// use switchboard_toolcall::CallKey;
///
/// let key = CallKey::parse("01ARZ3NDEKTSV4RRFFQ69G5FAV.3.0").unwrap();
/// assert_eq!((key.turn.turn, key.position), (3, 0));
/// assert_eq!(key.to_string(), "01ARZ3NDEKTSV4RRFFQ69G5FAV.3.0");
/// assert_eq!(CallKey::parse("order-17"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CallKey {
    /// The turn that asked for the call.
    pub turn: RunTurn,
    /// The position of the call in the turn, from 0.
    pub position: usize,
}

impl CallKey {
    /// Parses a key as [`Display`](fmt::Display) writes it. A tool's client may send any other.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        let (run, turn, position) = (parts.next()?, parts.next()?, parts.next()?);
        let turn = RunTurn { run: CallId::parse(run)?, turn: turn.parse().ok()? };
        let key = Self { turn, position: position.parse().ok()? };
        parts.next().is_none().then_some(key)
    }
}

impl fmt::Display for CallKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { turn: RunTurn { run, turn }, position } = self;
        write!(f, "{run}.{turn}.{position}")
    }
}
