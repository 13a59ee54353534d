//! Turns of models: the latest of this process, and those that runs on disk have; the records have only calls.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, UNIX_EPOCH},
};

use jiff::Timestamp;
use serde::Serialize;
use switchboard_agent::RunDetail;
use switchboard_runtime::ModelTurn;
use switchboard_toolcall::CallId;
use utoipa::ToSchema;

use super::timestamp;

/// How many turns are kept.
pub(crate) const MOST_TURNS: usize = 2000;

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
    pub(crate) started: String,
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

/// A turn of a run on disk, with when it ended.
pub(crate) struct RecordedTurn {
    pub(crate) turn: ShownTurn,
    /// Written as `started` is.
    pub(crate) ended: String,
}

impl RecordedTurn {
    /// Returns the turns of a run, oldest first. A turn begins where the calls of the one before it have ended.
    pub(crate) fn all_of(run: &RunDetail) -> Vec<Self> {
        let RunDetail { summary, timeline, .. } = run;
        let conversation = summary.conversation.clone().unwrap_or_else(|| summary.id.to_string());
        let (provider, model) = match summary.model.split_once(':') {
            Some((provider, model)) => (provider, model),
            None => ("a model of the config", &*summary.model),
        };
        let began = summary.started.parse::<Timestamp>().map(Timestamp::as_millisecond);
        let mut began = began.ok().and_then(|began| u64::try_from(began).ok()).unwrap_or_default();
        let mut turns = Vec::new();
        for (number, turn) in timeline.as_array().into_iter().flatten().enumerate() {
            // Files of older versions do not say when.
            let Some(ended) = turn["ended_ms"].as_u64().filter(|ended| *ended > 0) else {
                continue;
            };
            let calls = turn["calls"].as_array().into_iter().flatten();
            let calls_ended = calls.filter_map(|call| call["ended_ms"].as_u64()).max();
            let started = began.min(ended);
            let count = |key: &str| turn[key].as_u64().unwrap_or_default();
            let shown = ShownTurn {
                id: format!("{}-{number}", summary.id),
                model: model.to_owned(),
                provider: provider.to_owned(),
                conversation: Some(conversation.clone()),
                caller: summary.caller.as_deref().map(Into::into),
                started: timestamp(UNIX_EPOCH + Duration::from_millis(started)),
                duration_ms: Duration::from_millis(ended - started).as_secs_f64() * 1e3,
                error_kind: None,
                input_tokens: count("input_tokens"),
                output_tokens: count("output_tokens"),
            };
            let ended_text = timestamp(UNIX_EPOCH + Duration::from_millis(ended));
            turns.push(Self { turn: shown, ended: ended_text });
            began = ended.max(calls_ended.unwrap_or_default());
        }
        turns
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
        if turns.len() == MOST_TURNS {
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
    use std::time::SystemTime;

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
        for number in 0..=MOST_TURNS as u64 {
            turns.add(&of(number));
        }
        let all = turns.all();
        assert_eq!((all.len(), all[0].input_tokens), (MOST_TURNS, 1));
        let message = serde_json::to_value(TurnEndedMessage::new(&all[0])).unwrap();
        assert_eq!(
            (&message["type"], &message["duration_ms"]),
            (&"turn_ended".into(), &2.0.into())
        );
    }
}
