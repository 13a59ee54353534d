//! Listens to a source, waits for the wake word if there is one, and passes on speech.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{mpsc, oneshot},
    time::{sleep, timeout},
};

use crate::{
    Blocks, Clip, Config, Stage, WakeWord,
    activity::{Activity, ActivityEvent, FRAME, SpeechEnd},
    error::chain,
    source::Source,
};

/// The first and the longest pause between two attempts to open the source.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(10));
/// How much silence may follow a wake word, in frames of 16 ms: 5 s.
const PATIENCE: usize = 312;

/// What was detected.
#[derive(Debug)]
pub(crate) enum ListenerEvent {
    /// Speech may have begun.
    Onset,
    /// There is speech.
    Speech,
    /// Complete speech; a source that is not live waits until it is answered.
    Utterance(Clip, oneshot::Sender<()>),
    /// The sound was ignored, for this reason.
    Ignored(String),
    /// The wake word was detected.
    Called(String),
    /// The source failed; it is opened again.
    Failed(Stage, String),
    /// The source has ended.
    End,
}

/// Commands to the listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListenerCommand {
    /// Listen, even without a wake word.
    Listen,
    /// The speech is complete.
    Enough,
}

/// What starts the listening.
pub(crate) enum Gate {
    /// Always listens.
    Open,
    /// A command.
    Push,
    /// A wake word, or a command.
    Word(Arc<dyn WakeWord>),
}

/// Listens until its receiver is gone, or the source has ended.
pub(crate) struct Listener {
    source: Box<dyn Source>,
    gate: Gate,
    config: Config,
    heard: mpsc::Sender<ListenerEvent>,
    orders: mpsc::Receiver<ListenerCommand>,
    /// The last reported failure, so that it is reported once.
    trouble: Option<String>,
}

/// The receiver is gone, or the source has ended.
struct ListenerClosed;

impl Listener {
    /// Creates a listener, with a receiver of its events and a sender of commands.
    pub(crate) fn new(
        source: Box<dyn Source>,
        gate: Gate,
        config: Config,
    ) -> (Self, mpsc::Receiver<ListenerEvent>, mpsc::Sender<ListenerCommand>) {
        let (heard, hearing) = mpsc::channel(16);
        let (ordering, orders) = mpsc::channel(16);
        (Self { source, gate, config, heard, orders, trouble: None }, hearing, ordering)
    }

    /// Runs the listener.
    pub(crate) async fn run(mut self) {
        // An error only means that the receiver is gone.
        let _ = self.listen_on().await;
    }

    async fn listen_on(&mut self) -> Result<(), ListenerClosed> {
        let mut pause = PAUSES.0;
        loop {
            let is_live = self.source.is_live();
            let failure = match self.source.open().await {
                Err(error) => Some(chain(&error)),
                Ok(mut blocks) => {
                    // The source has ended, or the receiver is checked below.
                    let _ = self.listen(&mut *blocks, &mut pause).await;
                    let ending = || self.source.ending().unwrap_or_else(|| "it ended".to_owned());
                    is_live.then(ending)
                }
            };
            if let Some(failure) = failure {
                self.fail(Stage::Source, failure).await?;
            }
            if !is_live {
                return self.send(ListenerEvent::End).await;
            }
            sleep(pause).await;
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    /// Listens to a source that is open, to its end.
    async fn listen(
        &mut self,
        blocks: &mut (dyn Blocks + Send),
        pause: &mut Duration,
    ) -> Result<(), ListenerClosed> {
        let mut frames = AudioFrameReader::new(blocks);
        let mut activity = Activity::new(&self.config);
        loop {
            if !matches!(self.gate, Gate::Open) {
                self.be_called(&mut frames).await?;
                activity = Activity::new(&self.config);
            }
            self.hear_one(&mut frames, &mut activity).await?;
            // The source worked once, so it may work again.
            (*pause, self.trouble) = (PAUSES.0, None);
        }
    }

    /// Waits for the wake word or a command.
    async fn be_called(&mut self, frames: &mut AudioFrameReader<'_>) -> Result<(), ListenerClosed> {
        let mut pause = PAUSES.0;
        loop {
            let word = match &self.gate {
                Gate::Open => return Ok(()),
                Gate::Push => None,
                Gate::Word(word) => Some(word.clone()),
            };
            let called = async {
                match &word {
                    Some(word) => Some(word.listen(frames.blocks).await),
                    None => {
                        frames.skip().await;
                        None
                    }
                }
            };
            tokio::select! {
                order = self.orders.recv() => match order {
                    Some(ListenerCommand::Listen) => return Ok(()),
                    Some(ListenerCommand::Enough) => {}
                    None => return Err(ListenerClosed),
                },
                called = called => match called {
                    Some(Ok(word)) => {
                        self.trouble = None;
                        return self.send(ListenerEvent::Called(word)).await;
                    }
                    Some(Err(error)) => {
                        // The source may have ended, not the wake word service.
                        if timeout(pause, frames.skip()).await.is_ok() {
                            return Err(ListenerClosed);
                        }
                        self.fail(Stage::Wake, chain(&error)).await?;
                        pause = (pause * 2).min(PAUSES.1);
                    }
                    None => return Err(ListenerClosed),
                },
            }
        }
    }

    /// Records one utterance; after a wake word, waits for it only for a limited time.
    async fn hear_one(
        &mut self,
        frames: &mut AudioFrameReader<'_>,
        activity: &mut Activity,
    ) -> Result<(), ListenerClosed> {
        let mut left = PATIENCE;
        // If a live source stops sending in the middle, the speech has ended; other sources may be slow.
        let silence = self.source.is_live().then_some(self.config.silence.0);
        loop {
            let frame = tokio::select! {
                biased;
                order = self.orders.recv() => match order {
                    Some(ListenerCommand::Listen) => {
                        left = PATIENCE;
                        continue;
                    }
                    Some(ListenerCommand::Enough) if activity.is_open() => {
                        return self.end(activity.finish()).await;
                    }
                    Some(ListenerCommand::Enough) => continue,
                    None => return Err(ListenerClosed),
                },
                frame = frames.next_within(silence.filter(|_| activity.is_open())) => frame,
            };
            match frame {
                AudioFrame::Sound(frame) => match activity.push(&frame) {
                    Some(ActivityEvent::Onset) => self.send(ListenerEvent::Onset).await?,
                    Some(ActivityEvent::Speech) => self.send(ListenerEvent::Speech).await?,
                    Some(ActivityEvent::Ended(ending)) => return self.end(Some(ending)).await,
                    None if activity.is_open() || matches!(self.gate, Gate::Open) => {}
                    None => {
                        left -= 1;
                        if left == 0 {
                            let reason = "nothing was said after the call".to_owned();
                            return self.send(ListenerEvent::Ignored(reason)).await;
                        }
                    }
                },
                AudioFrame::Nothing => return self.end(activity.finish()).await,
                AudioFrame::End => {
                    self.end(activity.finish()).await?;
                    return Err(ListenerClosed);
                }
            }
        }
    }

    async fn end(&mut self, ending: Option<SpeechEnd>) -> Result<(), ListenerClosed> {
        match ending {
            Some(SpeechEnd::Utterance(clip)) => {
                let (answered, awaited) = oneshot::channel();
                self.send(ListenerEvent::Utterance(clip, answered)).await?;
                if !self.source.is_live() {
                    // The other end may be gone.
                    let _ = awaited.await;
                }
                Ok(())
            }
            Some(SpeechEnd::Ignored(reason)) => self.send(ListenerEvent::Ignored(reason)).await,
            None => Ok(()),
        }
    }

    async fn send(&mut self, event: ListenerEvent) -> Result<(), ListenerClosed> {
        self.heard.send(event).await.map_err(|_| ListenerClosed)
    }

    /// Reports a failure, unless it was reported already.
    async fn fail(&mut self, stage: Stage, error: String) -> Result<(), ListenerClosed> {
        if self.trouble.as_ref() == Some(&error) {
            return Ok(());
        }
        self.trouble = Some(error.clone());
        self.send(ListenerEvent::Failed(stage, error)).await
    }
}

/// A block of a source.
enum AudioFrame {
    Sound(Vec<i16>),
    /// No sound within the timeout.
    Nothing,
    /// The end of the source.
    End,
}

/// Splits blocks of any length into frames.
struct AudioFrameReader<'a> {
    blocks: &'a mut (dyn Blocks + Send),
    rest: Vec<i16>,
}

impl<'a> AudioFrameReader<'a> {
    fn new(blocks: &'a mut (dyn Blocks + Send)) -> Self {
        Self { blocks, rest: Vec::new() }
    }

    /// Returns the next frame, or that there was none within the timeout.
    async fn next_within(&mut self, limit: Option<Duration>) -> AudioFrame {
        let next = match limit {
            Some(limit) => timeout(limit, self.next()).await,
            None => Ok(self.next().await),
        };
        match next {
            Ok(Some(frame)) => AudioFrame::Sound(frame),
            Ok(None) => AudioFrame::End,
            Err(_) => AudioFrame::Nothing,
        }
    }

    async fn next(&mut self) -> Option<Vec<i16>> {
        while self.rest.len() < FRAME {
            self.rest.extend(self.blocks.next().await?);
        }
        Some(self.rest.drain(..FRAME).collect())
    }

    /// Reads and drops all sound, to the end of the source.
    async fn skip(&mut self) {
        self.rest.clear();
        while self.blocks.next().await.is_some() {}
    }
}
