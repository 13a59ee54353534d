//! Speech to text: `transcribe`, the samples, then the `transcript`.

use std::{future::pending, time::Duration};

use serde_json::{Map, Value, json};
use switchboard_toolcall::BoxFuture;
use tokio::time::timeout;

use super::{
    WyomingService,
    connection::{EventWriter, connect, silent},
    event::WyomingEvent,
};
use crate::{Clip, SpeechError};

/// Samples in one event: a tenth of a second.
const BLOCK: usize = 1_600;
/// How long events are still read from a service that closed its input.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A service such as wyoming-faster-whisper.
pub(crate) struct WyomingRecogniser {
    pub(crate) service: WyomingService,
    /// The request's data: `name` and `language`, if they are set.
    pub(crate) options: Map<String, Value>,
}

impl crate::Recogniser for WyomingRecogniser {
    fn name(&self) -> &str {
        &self.service.name
    }

    fn transcribe<'a>(&'a self, clip: &'a Clip) -> BoxFuture<'a, Result<String, SpeechError>> {
        Box::pin(async move {
            let whole = timeout(self.service.timeout, self.ask(clip));
            whole.await.unwrap_or_else(|_| Err(silent(&self.service)))
        })
    }
}

impl WyomingRecogniser {
    async fn ask(&self, clip: &Clip) -> Result<String, SpeechError> {
        let (mut reader, mut writer) = connect(&self.service).await?;
        let mut answer = Box::pin(reader.next_of(&["transcript"]));
        let trouble = async {
            match self.send(&mut writer, clip).await {
                Ok(()) => pending().await,
                Err(error) => error,
            }
        };
        let event = tokio::select! {
            event = &mut answer => event,
            // A service that disconnects in the middle may have sent the reason before.
            trouble = trouble => timeout(LAST_WORDS, answer).await.unwrap_or(Err(trouble)),
        }?;
        Ok(event.text("text").unwrap_or_default().trim().to_owned())
    }

    async fn send(&self, writer: &mut EventWriter, clip: &Clip) -> Result<(), SpeechError> {
        writer.send(WyomingEvent::new("transcribe", json!(self.options))).await?;
        writer.send(WyomingEvent::audio_start(clip.format)).await?;
        for samples in clip.samples.chunks(BLOCK) {
            writer.send(WyomingEvent::audio_chunk(clip.format, samples)).await?;
        }
        writer.send(WyomingEvent::audio_stop()).await
    }
}
