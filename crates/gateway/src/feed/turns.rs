//! The latest turns of models, which the records do not have: those have only calls.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use serde::Serialize;
use switchboard_runtime::ModelTurn;
use switchboard_toolcall::CallId;
use utoipa::ToSchema;

use super::timestamp;

/// How many turns are kept.
const MOST: usize = 2000;

/// A turn of a model.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ShownTurn {
    /// Sorts as turns ended.
    id: String,
    /// The model's name at its provider.
    model: String,
    provider: String,
    /// The conversation that it is part of, as for calls.
    pub(crate) conversation: Option<String>,
    /// Who asked.
    #[schema(value_type = Option<String>)]
    pub(crate) caller: Option<Arc<str>>,
    started: String,
    duration_ms: f64,
    /// What went wrong; none if nothing did.
    error_kind: Option<String>,
    /// How many tokens went in; 0 if the provider does not say.
    input_tokens: u64,
    /// How many tokens came out; 0 if the provider does not say.
    output_tokens: u64,
}

impl ShownTurn {
    fn new(turn: &ModelTurn<'_>) -> Self {
        Self {
            id: CallId::generate().to_string(),
            model: turn.model.to_owned(),
            provider: turn.provider.to_owned(),
            conversation: turn.conversation.map(str::to_owned),
            caller: turn.caller.cloned(),
            started: timestamp(turn.started),
            duration_ms: turn.duration.as_nanos() as f64 / 1e6,
            error_kind: turn.error.map(str::to_owned),
            input_tokens: turn.input_tokens,
            output_tokens: turn.output_tokens,
        }
    }
}

/// The event about a turn.
#[derive(Serialize)]
pub(super) struct TurnEndedMessage<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(flatten)]
    turn: &'a ShownTurn,
}

impl<'a> TurnEndedMessage<'a> {
    pub(super) fn new(turn: &'a ShownTurn) -> Self {
        Self { kind: "turn_ended", turn }
    }
}

/// The turns, oldest first.
#[derive(Default)]
pub(super) struct LatestTurns(Mutex<VecDeque<Arc<ShownTurn>>>);

impl LatestTurns {
    /// Adds a turn; drops the oldest if there are too many.
    pub(super) fn add(&self, turn: &ModelTurn<'_>) -> Arc<ShownTurn> {
        let turn = Arc::new(ShownTurn::new(turn));
        let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if turns.len() == MOST {
            turns.pop_front();
        }
        turns.push_back(turn.clone());
        turn
    }

    /// Returns all turns, oldest first.
    pub(super) fn all(&self) -> Vec<Arc<ShownTurn>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn the_oldest_turn_makes_room() {
        let turns = LatestTurns::default();
        let of = |input_tokens| ModelTurn {
            started: SystemTime::UNIX_EPOCH,
            duration: Duration::from_millis(2),
            error: None,
            caller: None,
            conversation: Some("c"),
            model: "m",
            provider: "openai",
            input_tokens,
            output_tokens: 1,
        };
        for number in 0..=MOST as u64 {
            turns.add(&of(number));
        }
        let all = turns.all();
        assert_eq!((all.len(), all[0].input_tokens), (MOST, 1));
        let message = serde_json::to_value(TurnEndedMessage::new(&all[0])).unwrap();
        assert_eq!(
            (&message["type"], &message["duration_ms"]),
            (&"turn_ended".into(), &2.0.into())
        );
    }
}
