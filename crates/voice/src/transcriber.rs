//! Runs the pipeline: speech and typed requests become turns, one after the other, and no failure ends it.

mod wiring;

use std::{collections::VecDeque, sync::Arc};

use switchboard_toolcall::BoxFuture;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::{
    Config, Error, Stage, VoiceEvent, VoiceState,
    listener::{Gate, Listener, ListenerCommand, ListenerEvent},
    mqtt::{Incoming, Mqtt},
    notifier::Notifier,
    source::{SampleSender, Source},
    turn::{TurnInput, TurnPipeline},
};

pub use wiring::TranscriberParts;

/// How many questions may be queued.
const WAITING: usize = 16;

/// The summary of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct VoiceSummary {
    /// How many answers were lost, or not played.
    pub failures: usize,
}

/// Listens in the background, transcribes speech, asks the assistant and speaks the answer.
pub struct BackgroundTranscriber {
    pipeline: Arc<TurnPipeline>,
    notifier: Arc<Notifier>,
    mqtt: Option<Mqtt>,
    incoming: mpsc::Receiver<Incoming>,
    /// Where sound from MQTT is sent to.
    feed: Option<SampleSender>,
    ear: Option<ListenerTask>,
    barge_in: bool,
    waiting: VecDeque<QueuedTurn>,
    turn: Option<RunningTurn>,
    /// Whether the current speech is ignored, because it began while we spoke.
    is_deaf: bool,
    /// Whether the source has ended.
    is_over: bool,
}

/// A running listener, and where its sound comes from.
struct ListenerTask {
    source: String,
    heard: mpsc::Receiver<ListenerEvent>,
    orders: mpsc::Sender<ListenerCommand>,
    run: tokio::task::JoinHandle<()>,
}

/// A question that waits for its turn.
struct QueuedTurn {
    question: TurnInput,
    answered: Option<oneshot::Sender<()>>,
}

/// A turn in progress.
struct RunningTurn {
    work: BoxFuture<'static, ()>,
    hush: CancellationToken,
    answered: Option<oneshot::Sender<()>>,
}

impl BackgroundTranscriber {
    /// Builds the pipeline without waiting: unreachable services are retried.
    ///
    /// # Errors
    /// Fails if the settings are invalid.
    pub fn new(parts: TranscriberParts) -> Result<Self, Error> {
        let TranscriberParts {
            config, recogniser, wake_word, assistant, synthesiser, watcher, ..
        } = parts;
        let (sender, incoming) = mpsc::channel(64);
        let connect = |address: &String| Mqtt::connect(address, &config, sender.clone());
        let mqtt = config.mqtt.as_ref().map(connect);
        let mqtt = mqtt.transpose()?;
        let (own, feed) = match parts.source {
            Some(source) => (Some(source), None),
            None => wiring::source(&config, mqtt.is_some())?,
        };
        if own.is_none() && mqtt.is_none() {
            return Err(Error::NothingToDo);
        }
        let output = match parts.output {
            Some(output) => Some(output),
            None => wiring::output(&config, mqtt.as_ref())?,
        };
        let gate = wiring::gate(&config, wake_word);
        let notifier = Arc::new(Notifier::new(watcher, mqtt.clone()));
        let pipeline =
            TurnPipeline { recogniser, assistant, synthesiser, output, notifier: notifier.clone() };
        let barge_in = config.barge_in();
        let ear = own.map(|source| ListenerTask::start(source, gate, config));
        Ok(Self {
            pipeline: Arc::new(pipeline),
            notifier,
            mqtt,
            incoming,
            feed,
            ear,
            barge_in,
            waiting: VecDeque::new(),
            turn: None,
            is_deaf: false,
            is_over: false,
        })
    }

    /// Runs until it is stopped, or until the source has ended and everything is answered.
    pub async fn run(mut self, stop: &CancellationToken) -> VoiceSummary {
        self.notifier.recording(false);
        if self.pipeline.assistant.has_unanswered() {
            self.waiting.push_back(QueuedTurn { question: TurnInput::Interrupted, answered: None });
        }
        loop {
            self.begin_turn();
            if self.is_over && self.turn.is_none() {
                break;
            }
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                () = under_way(&mut self.turn) => self.end_turn(),
                heard = hearing(&mut self.ear), if self.waiting.len() < WAITING => self.hear(heard),
                Some(incoming) = self.incoming.recv() => self.receive(incoming),
            }
        }
        if let Some(ear) = &self.ear {
            ear.run.abort();
        }
        self.turn = None;
        let ended = VoiceSummary { failures: self.notifier.failures() };
        self.notifier.notify(VoiceEvent::State(VoiceState::Offline));
        if let Some(mqtt) = &self.mqtt {
            mqtt.close().await;
        }
        ended
    }

    fn begin_turn(&mut self) {
        if self.turn.is_some() {
            return;
        }
        let Some(QueuedTurn { question, answered }) = self.waiting.pop_front() else { return };
        if !matches!(question, TurnInput::Notice(_)) {
            self.notifier.turn(Some(VoiceState::Thinking));
        }
        let hush = CancellationToken::new();
        let work = Box::pin(self.pipeline.clone().take(question, hush.clone()));
        self.turn = Some(RunningTurn { work, hush, answered });
    }

    fn end_turn(&mut self) {
        if let Some(RunningTurn { answered: Some(answered), .. }) = self.turn.take() {
            // A live source does not wait for it.
            let _ = answered.send(());
        }
    }

    /// Handles an event of the listener.
    fn hear(&mut self, heard: Option<ListenerEvent>) {
        match heard {
            Some(ListenerEvent::Onset) => {
                self.is_deaf = self.notifier.is_speaking() && !self.barge_in;
                self.notifier.recording(!self.is_deaf);
            }
            Some(ListenerEvent::Speech) if self.barge_in => self.hush(),
            Some(ListenerEvent::Speech) => {}
            Some(ListenerEvent::Called(word)) => {
                self.notifier.notify(VoiceEvent::Called(word));
                self.hush();
            }
            Some(ListenerEvent::Utterance(clip, answered)) => {
                let source = self.ear.as_ref().map(|ear| ear.source.clone()).unwrap_or_default();
                let question = TurnInput::Spoken { clip, source };
                match self.is_deaf {
                    true => self.ignore("it was heard while we spoke".to_owned()),
                    // The turn is started first, so that the state does not go back to listening between recording and thinking.
                    false => self.ask(question, Some(answered)),
                }
                self.notifier.recording(false);
            }
            Some(ListenerEvent::Ignored(reason)) => self.ignore(reason),
            Some(ListenerEvent::Failed(stage, error)) => {
                self.notifier.recording(false);
                self.fail(stage, error);
            }
            Some(ListenerEvent::End) | None => {
                self.ear = None;
                self.is_over = true;
            }
        }
    }

    fn ignore(&self, reason: String) {
        self.notifier.notify(VoiceEvent::Ignored(reason));
        self.notifier.recording(false);
    }

    fn receive(&mut self, incoming: Incoming) {
        match incoming {
            Incoming::Request(Ok(text)) => {
                self.hush();
                match self.waiting.len() < WAITING {
                    true => self.ask(TurnInput::Typed(text), None),
                    false => self.notifier.fail(
                        Stage::Request,
                        format!("{WAITING} requests are waiting; this one was dropped: {text}"),
                    ),
                }
            }
            Incoming::Request(Err(problem)) => self.notifier.fail(Stage::Request, problem),
            Incoming::Listen => {
                self.hush();
                self.order(ListenerCommand::Listen);
            }
            Incoming::Enough => self.order(ListenerCommand::Enough),
            Incoming::Sound(bytes) => {
                if self.feed.as_ref().is_some_and(|feed| !feed.give(bytes)) {
                    tracing::warn!(
                        "sound over MQTT comes faster than it can be heard; some is lost"
                    );
                }
            }
            Incoming::Lost(reason) => self.fail(Stage::Mqtt, reason),
        }
    }

    fn order(&self, order: ListenerCommand) {
        let is_heard = self.ear.as_ref().is_some_and(|ear| ear.orders.try_send(order).is_ok());
        if !is_heard && order == ListenerCommand::Listen {
            let problem = "there is nothing to listen to; name a source with --source";
            self.notifier.fail(Stage::Request, problem);
        }
    }

    /// Reports a failure; also aloud, unless something else is being said.
    fn fail(&mut self, stage: Stage, error: String) {
        self.notifier.fail(stage, error);
        if let Some(apology) = stage.apology().filter(|_| self.waiting.is_empty()) {
            self.waiting
                .push_back(QueuedTurn { question: TurnInput::Notice(apology), answered: None });
        }
    }

    fn ask(&mut self, question: TurnInput, answered: Option<oneshot::Sender<()>>) {
        self.waiting.push_back(QueuedTurn { question, answered });
        self.begin_turn();
    }

    /// Stops the answer that is being spoken.
    fn hush(&self) {
        if let Some(turn) = self.turn.as_ref().filter(|_| self.notifier.is_speaking()) {
            turn.hush.cancel();
        }
    }
}

impl ListenerTask {
    fn start(source: Box<dyn Source>, gate: Gate, config: Config) -> Self {
        let name = source.name().to_owned();
        let (ear, heard, orders) = Listener::new(source, gate, config);
        Self { source: name, heard, orders, run: tokio::spawn(ear.run()) }
    }
}

/// Waits for the end of the turn; forever, if there is none.
async fn under_way(turn: &mut Option<RunningTurn>) {
    match turn {
        Some(turn) => turn.work.as_mut().await,
        None => std::future::pending().await,
    }
}

/// Waits for the listener; forever, if there is none.
async fn hearing(ear: &mut Option<ListenerTask>) -> Option<ListenerEvent> {
    match ear {
        Some(ear) => ear.heard.recv().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
