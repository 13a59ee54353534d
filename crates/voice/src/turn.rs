//! One turn: from a request to an answer that was played.

use std::{sync::Arc, time::Duration};

use switchboard_agent::AgentEvent;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use crate::{
    AnswerEvent, Clip, Recogniser, Stage, Synthesiser, Transcription, VoiceEvent, VoiceState,
    assistant::{Assistant, AssistantReply},
    error::chain,
    event::{now, seconds},
    notifier::Notifier,
    output::{Output, PlaybackError},
};

/// The longest that any speech service may take; most have a shorter timeout.
const PATIENCE: Duration = Duration::from_secs(120);

/// The request.
pub(crate) enum TurnInput {
    /// Speech.
    Spoken {
        clip: Clip,
        /// Where the sound came from.
        source: String,
    },
    /// Text.
    Typed(String),
    /// No request: the one that a process before this did not answer, if there is one.
    Interrupted,
    /// No request: a text that we say by ourselves.
    Notice(&'static str),
}

/// All that a turn needs.
pub(crate) struct TurnPipeline {
    pub(crate) recogniser: Option<Arc<dyn Recogniser>>,
    pub(crate) assistant: Assistant,
    pub(crate) synthesiser: Option<Arc<dyn Synthesiser>>,
    pub(crate) output: Option<Arc<dyn Output>>,
    pub(crate) notifier: Arc<Notifier>,
}

impl TurnPipeline {
    /// Answers the request. Speaking stops when `hush` fires.
    pub(crate) async fn take(self: Arc<Self>, question: TurnInput, hush: CancellationToken) {
        if let TurnInput::Notice(text) = question {
            self.say(text, &hush).await;
        } else {
            let text = match self.answer(question).await {
                Ok(Some(answer)) => Some(answer),
                Ok(None) => None,
                Err((stage, error)) => {
                    self.notifier.fail(stage, error);
                    stage.apology().map(str::to_owned)
                }
            };
            if let Some(text) = text {
                self.say(&text, &hush).await;
            }
        }
        self.notifier.turn(None);
    }

    /// Returns the answer; `None` if nothing was asked.
    async fn answer(&self, question: TurnInput) -> Result<Option<String>, (Stage, String)> {
        let began = Instant::now();
        let (text, source) = match question {
            TurnInput::Spoken { clip, source } => {
                let text = self.transcribe(&clip).await.map_err(|error| (Stage::Stt, error))?;
                if text.is_empty() {
                    self.notifier.notify(VoiceEvent::Ignored("nothing was understood".to_owned()));
                    return Ok(None);
                }
                let duration = seconds(clip.duration());
                let transcription = Transcription {
                    text: text.clone(),
                    timestamp: now(),
                    source: source.clone(),
                    duration,
                };
                self.notifier.notify(VoiceEvent::Transcription(transcription));
                (text, source)
            }
            TurnInput::Typed(text) => (text, "request".to_owned()),
            TurnInput::Interrupted => return self.finish(began).await,
            TurnInput::Notice(text) => return Ok(Some(text.to_owned())),
        };
        self.wait_for_tools().await;
        let reply = self.assistant.answer(&text, self.events()).await;
        self.tell(text, source, reply, began).map(Some)
    }

    /// Answers the question that a process before this did not answer; returns `None` if there is none.
    async fn finish(&self, began: Instant) -> Result<Option<String>, (Stage, String)> {
        if !self.assistant.has_unanswered() {
            return Ok(None);
        }
        self.wait_for_tools().await;
        match self.assistant.finish(self.events()).await {
            Some((text, reply)) => self.tell(text, "resumed".to_owned(), reply, began).map(Some),
            None => Ok(None),
        }
    }

    /// Returns what tells people of the calls of a turn.
    fn events(&self) -> impl Fn(AgentEvent) + Send + Sync + 'static {
        let notifier = self.notifier.clone();
        move |event| match event {
            AgentEvent::CallStarted { name, .. } => notifier.notify(VoiceEvent::Calling(name)),
            AgentEvent::CallFinished { name, outcome, content, .. } if outcome != "ok" => {
                notifier.fail(Stage::Tool, format!("{name}: {content}"));
            }
            _ => {}
        }
    }

    /// Publishes the answer to a question, and returns it.
    fn tell(
        &self,
        text: String,
        source: String,
        reply: Result<AssistantReply, String>,
        began: Instant,
    ) -> Result<String, (Stage, String)> {
        let reply = reply.map_err(|error| (Stage::Model, error))?;
        self.notifier.notify(VoiceEvent::Answer(AnswerEvent {
            question: text,
            answer: reply.answer.clone(),
            timestamp: now(),
            source,
            model: self.assistant.model.clone(),
            provider: self.assistant.provider.clone(),
            conversation_turns: reply.turns,
            duration: seconds(began.elapsed()),
        }));
        Ok(reply.answer)
    }

    /// Waits for the tools of servers that are connecting, and says so.
    async fn wait_for_tools(&self) {
        let servers = &self.assistant.servers;
        let connecting = servers.connecting();
        if !connecting.is_empty() {
            self.notifier.turn(Some(VoiceState::Connecting(connecting)));
        }
        servers.wait_until_ready().await;
        self.notifier.turn(Some(VoiceState::Thinking));
    }

    async fn transcribe(&self, clip: &Clip) -> Result<String, String> {
        let Some(recogniser) = &self.recogniser else {
            return Err("there is no speech recognition; name one with --stt ADDRESS".to_owned());
        };
        match timeout(PATIENCE, recogniser.transcribe(clip)).await {
            Ok(Ok(text)) => Ok(text.trim().to_owned()),
            Ok(Err(error)) => Err(chain(&error)),
            Err(_) => Err(format!("{} did not answer within 120s", recogniser.name())),
        }
    }

    /// Speaks a text, if there is a synthesiser.
    async fn say(&self, text: &str, hush: &CancellationToken) {
        let (Some(synthesiser), Some(output)) = (&self.synthesiser, &self.output) else { return };
        let spoken = async {
            match timeout(PATIENCE, synthesiser.speak(text)).await {
                Ok(spoken) => output.play(spoken?).await,
                Err(_) => {
                    let silent = format!("{} did not answer within 120s", synthesiser.name());
                    Err(PlaybackError::Speech(silent))
                }
            }
        };
        self.notifier.turn(Some(VoiceState::Speaking));
        tokio::select! {
            biased;
            () = hush.cancelled() => tracing::info!("somebody else speaks; the answer is cut"),
            heard = spoken => match heard {
                Ok(()) => {}
                Err(PlaybackError::Speech(error)) => self.notifier.fail(Stage::Tts, error),
                Err(PlaybackError::Output(error)) => self.notifier.fail(Stage::Output, error),
            },
        }
    }
}
