//! Text to speech: `synthesize`, then samples as they are made.

use serde_json::{Map, Value, json};
use switchboard_toolcall::BoxFuture;
use tokio::{sync::mpsc, time::timeout};

use super::{
    WyomingService,
    connection::{EventReader, EventWriter, connect, refused, silent},
    event::WyomingEvent,
};
use crate::{
    Clip, SpeechError, SpeechStream,
    clips::{self, Clips},
};

/// A service such as wyoming-piper.
pub(crate) struct WyomingSynthesiser {
    pub(crate) service: WyomingService,
    /// The requested voice: `name`, `speaker`, `language`, if they are set.
    pub(crate) voice: Map<String, Value>,
}

impl crate::Synthesiser for WyomingSynthesiser {
    fn name(&self) -> &str {
        &self.service.name
    }

    fn speak<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<SpeechStream, SpeechError>> {
        Box::pin(async move {
            if text.trim().is_empty() {
                return Ok(mpsc::channel(1).1);
            }
            clips::hand_on(self.start(text).await?).await
        })
    }
}

impl WyomingSynthesiser {
    async fn start(&self, text: &str) -> Result<WyomingSpeech, SpeechError> {
        let (reader, mut writer) = connect(&self.service).await?;
        let mut request = json!({"text": text});
        if !self.voice.is_empty() {
            request["voice"] = json!(self.voice);
        }
        let sent = writer.send(WyomingEvent::new("synthesize", request));
        timeout(self.service.timeout, sent).await.unwrap_or_else(|_| Err(silent(&self.service)))?;
        Ok(WyomingSpeech { service: self.service.clone(), reader, _writer: writer })
    }
}

/// An answer in progress.
struct WyomingSpeech {
    service: WyomingService,
    reader: EventReader,
    /// Open as long as the answer: closed early, it would mean that we left.
    _writer: EventWriter,
}

impl Clips for WyomingSpeech {
    fn service(&self) -> &str {
        &self.service.name
    }

    fn next(&mut self) -> BoxFuture<'_, Result<Option<Clip>, SpeechError>> {
        Box::pin(async {
            let waiting = self.reader.next_of(&["audio-chunk", "audio-stop"]);
            let event = timeout(self.service.timeout, waiting).await;
            let event = event.unwrap_or_else(|_| Err(silent(&self.service)))?;
            if event.kind == "audio-stop" {
                return Ok(None);
            }
            let clip = event.clip().map_err(|reason| refused(&self.service.name, reason))?;
            Ok(Some(clip))
        })
    }
}
