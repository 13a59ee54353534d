//! Notifies observers of events.

use std::sync::{Arc, Mutex, PoisonError};

use crate::{FailureEvent, Stage, VoiceEvent, VoiceState, event::now, mqtt::Mqtt};

/// Receives events. Must not block: runs within the pipeline.
pub type Watcher = Arc<dyn Fn(&VoiceEvent) + Send + Sync>;

/// Notifies the observer and MQTT, and tracks the state.
pub(crate) struct Notifier {
    watcher: Watcher,
    mqtt: Option<Mqtt>,
    board: Mutex<NotifierState>,
}

/// The state, combined from the listener's and the turn's.
#[derive(Default)]
struct NotifierState {
    is_recording: bool,
    turn: Option<VoiceState>,
    last_state: Option<VoiceState>,
    /// How many answers were lost.
    failures: usize,
}

impl Notifier {
    pub(crate) fn new(watcher: Watcher, mqtt: Option<Mqtt>) -> Self {
        Self { watcher, mqtt, board: Mutex::default() }
    }

    pub(crate) fn notify(&self, event: VoiceEvent) {
        if let Some(mqtt) = &self.mqtt {
            mqtt.publish(&event);
        }
        (self.watcher)(&event);
    }

    /// Reports a failure.
    pub(crate) fn fail(&self, stage: Stage, error: impl Into<String>) {
        let error = error.into();
        if stage.costs_an_answer() {
            self.board.lock().unwrap_or_else(PoisonError::into_inner).failures += 1;
        }
        self.notify(VoiceEvent::Failure(FailureEvent { stage, error, timestamp: now() }));
    }

    /// Returns how many answers were lost.
    pub(crate) fn failures(&self) -> usize {
        self.board.lock().unwrap_or_else(PoisonError::into_inner).failures
    }

    /// Sets the turn's stage; `None` without a turn.
    pub(crate) fn turn(&self, state: Option<VoiceState>) {
        self.show(|board| board.turn = state);
    }

    /// Sets whether there is speech.
    pub(crate) fn recording(&self, is_recording: bool) {
        self.show(|board| board.is_recording = is_recording);
    }

    /// Whether the answer is being said.
    pub(crate) fn is_speaking(&self) -> bool {
        let board = self.board.lock().unwrap_or_else(PoisonError::into_inner);
        board.turn == Some(VoiceState::Speaking)
    }

    fn show(&self, change: impl FnOnce(&mut NotifierState)) {
        let state = {
            let mut board = self.board.lock().unwrap_or_else(PoisonError::into_inner);
            change(&mut board);
            let idle =
                if board.is_recording { VoiceState::Recording } else { VoiceState::Listening };
            let state = board.turn.clone().unwrap_or(idle);
            if board.last_state.as_ref() == Some(&state) {
                return;
            }
            board.last_state = Some(state.clone());
            state
        };
        self.notify(VoiceEvent::State(state));
    }
}
