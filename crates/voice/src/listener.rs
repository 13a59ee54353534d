//! Listens to a source, waits to be called where that is wanted, and hands on what was said.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{mpsc, oneshot},
    time::{sleep, timeout},
};

use crate::{
    Blocks, Clip, Config, Stage, WakeWord,
    activity::{Activity, ActivityEvent, FRAME, SegmentEnd},
    error::chain,
    source::Source,
};

/// The first and the longest time between two attempts to hear something.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(10));
/// How much silence may follow a call, in frames of 16 ms: 5 s.
const PATIENCE: usize = 312;

/// What was heard.
#[derive(Debug)]
pub enum ListenerEvent {
    /// Somebody may have begun to speak.
    Onset,
    /// Somebody speaks.
    Speech,
    /// Somebody has said this; who answers says so, and a source that can wait does until then.
    Utterance(Clip, oneshot::Sender<()>),
    /// It was nothing, for this reason.
    Ignored(String),
    /// Somebody called with this word.
    Called(String),
    /// We cannot hear; we try again.
    Failed(Stage, String),
    /// There is no more to hear.
    End,
}

/// What the listener is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListenerCommand {
    /// Listen, called or not.
    Listen,
    /// What is being said is complete.
    Enough,
}

/// How the listener learns that it is meant.
pub enum Gate {
    /// It always is.
    Open,
    /// By an order.
    Push,
    /// By a word, or an order.
    Word(Arc<dyn WakeWord>),
}

/// Listens until nobody wants to know any more, or there is no more to hear.
pub struct Listener {
    source: Box<dyn Source>,
    gate: Gate,
    config: Config,
    heard: mpsc::Sender<ListenerEvent>,
    orders: mpsc::Receiver<ListenerCommand>,
    /// What was last told of what does not work: once is enough.
    trouble: Option<String>,
}

/// Nobody is left to tell, or there is nothing left to hear.
struct ListenerClosed;

impl Listener {
    /// Creates a listener, and where to read what it hears and to give it orders.
    pub fn new(
        source: Box<dyn Source>,
        gate: Gate,
        config: Config,
    ) -> (Self, mpsc::Receiver<ListenerEvent>, mpsc::Sender<ListenerCommand>) {
        let (heard, hearing) = mpsc::channel(16);
        let (ordering, orders) = mpsc::channel(16);
        (Self { source, gate, config, heard, orders, trouble: None }, hearing, ordering)
    }

    /// Listens.
    pub async fn run(mut self) {
        // Where it is over, nobody is left to tell.
        let _ = self.listen_on().await;
    }

    async fn listen_on(&mut self) -> Result<(), ListenerClosed> {
        let mut pause = PAUSES.0;
        loop {
            let is_live = self.source.is_live();
            let failure = match self.source.open().await {
                Err(error) => Some(chain(&error)),
                Ok(mut blocks) => {
                    // It was the end of the source, or somebody is left to hear that below.
                    let _ = self.listen(&mut *blocks, &mut pause).await;
                    let ending = || self.source.ending().unwrap_or_else(|| "it ended".to_owned());
                    is_live.then(ending)
                }
            };
            if let Some(failure) = failure {
                self.fail(Stage::Source, failure).await?;
            }
            if !is_live {
                return self.tell(ListenerEvent::End).await;
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
        let mut frames = FrameReader::new(blocks);
        let mut activity = Activity::new(&self.config);
        loop {
            if !matches!(self.gate, Gate::Open) {
                self.be_called(&mut frames).await?;
                activity = Activity::new(&self.config);
            }
            self.hear_one(&mut frames, &mut activity).await?;
            // What was heard once can be heard again.
            (*pause, self.trouble) = (PAUSES.0, None);
        }
    }

    /// Waits until it is meant.
    async fn be_called(&mut self, frames: &mut FrameReader<'_>) -> Result<(), ListenerClosed> {
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
                        return self.tell(ListenerEvent::Called(word)).await;
                    }
                    Some(Err(error)) => {
                        // It may be the sound that ended, and not who listens to it.
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

    /// Hears one thing that is said; after a call, for as long as who called may be expected to speak.
    async fn hear_one(
        &mut self,
        frames: &mut FrameReader<'_>,
        activity: &mut Activity,
    ) -> Result<(), ListenerClosed> {
        let mut left = PATIENCE;
        // A live source that falls silent in the middle has no more to say; the others come when they can.
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
                    Some(ActivityEvent::Onset) => self.tell(ListenerEvent::Onset).await?,
                    Some(ActivityEvent::Speech) => self.tell(ListenerEvent::Speech).await?,
                    Some(ActivityEvent::Ended(ending)) => return self.end(Some(ending)).await,
                    None if activity.is_open() || matches!(self.gate, Gate::Open) => {}
                    None => {
                        left -= 1;
                        if left == 0 {
                            let reason = "nothing was said after the call".to_owned();
                            return self.tell(ListenerEvent::Ignored(reason)).await;
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

    async fn end(&mut self, ending: Option<SegmentEnd>) -> Result<(), ListenerClosed> {
        match ending {
            Some(SegmentEnd::Utterance(clip)) => {
                let (answered, awaited) = oneshot::channel();
                self.tell(ListenerEvent::Utterance(clip, answered)).await?;
                if !self.source.is_live() {
                    // Who has dropped the other end is done with it as well.
                    let _ = awaited.await;
                }
                Ok(())
            }
            Some(SegmentEnd::Ignored(reason)) => self.tell(ListenerEvent::Ignored(reason)).await,
            None => Ok(()),
        }
    }

    async fn tell(&mut self, heard: ListenerEvent) -> Result<(), ListenerClosed> {
        self.heard.send(heard).await.map_err(|_| ListenerClosed)
    }

    /// Tells of something that does not work, unless that is known.
    async fn fail(&mut self, stage: Stage, error: String) -> Result<(), ListenerClosed> {
        if self.trouble.as_ref() == Some(&error) {
            return Ok(());
        }
        self.trouble = Some(error.clone());
        self.tell(ListenerEvent::Failed(stage, error)).await
    }
}

/// What a source gave.
enum AudioFrame {
    Sound(Vec<i16>),
    /// Nothing, for too long.
    Nothing,
    /// There is no more.
    End,
}

/// Blocks of any length as frames.
struct FrameReader<'a> {
    blocks: &'a mut (dyn Blocks + Send),
    rest: Vec<i16>,
}

impl<'a> FrameReader<'a> {
    fn new(blocks: &'a mut (dyn Blocks + Send)) -> Self {
        Self { blocks, rest: Vec::new() }
    }

    /// The next frame, or nothing where that takes too long.
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

    /// Listens to nothing, to the end of the source.
    async fn skip(&mut self) {
        self.rest.clear();
        while self.blocks.next().await.is_some() {}
    }
}
