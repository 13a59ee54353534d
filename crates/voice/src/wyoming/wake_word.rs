//! The wake word: `detect`, then samples until there is a `detection`.

use std::pin::pin;

use serde_json::json;
use switchboard_toolcall::BoxFuture;
use tokio::time::timeout;

use super::{
    WyomingService,
    connection::{EventWriter, connect, refused, silent},
    event::WyomingEvent,
};
use crate::{Blocks, Format, SpeechError};

/// A service such as wyoming-openwakeword.
pub(crate) struct WyomingWakeWord {
    pub(crate) service: WyomingService,
    /// The words to detect; all that the service knows if empty.
    pub(crate) words: Vec<String>,
}

impl crate::WakeWord for WyomingWakeWord {
    fn name(&self) -> &str {
        &self.service.name
    }

    fn listen<'a>(
        &'a self,
        blocks: &'a mut (dyn Blocks + Send),
    ) -> BoxFuture<'a, Result<String, SpeechError>> {
        Box::pin(async move {
            let (mut reader, mut writer) = connect(&self.service).await?;
            let names = if self.words.is_empty() { json!(null) } else { json!(self.words) };
            self.send(&mut writer, WyomingEvent::new("detect", json!({"names": names}))).await?;
            self.send(&mut writer, WyomingEvent::audio_start(Format::SPEECH)).await?;
            // Held over the blocks, because half an event that was read must not be lost.
            let mut detection = pin!(reader.next_of(&["detection", "not-detected"]));
            let event = loop {
                tokio::select! {
                    // A silent service is fine: it may be hours until the word is said.
                    event = &mut detection => break event?,
                    block = blocks.next() => match block {
                        Some(samples) => {
                            let chunk = WyomingEvent::audio_chunk(Format::SPEECH, &samples);
                            self.send(&mut writer, chunk).await?;
                        }
                        None => {
                            self.send(&mut writer, WyomingEvent::audio_stop()).await?;
                            let last = timeout(self.service.timeout, detection).await;
                            break last.unwrap_or_else(|_| Err(silent(&self.service)))?;
                        }
                    },
                }
            };
            if event.kind == "not-detected" {
                let reason = "did not hear its word before the sound ended";
                return Err(refused(&self.service.name, reason));
            }
            Ok(event.text("name").unwrap_or("wake word").to_owned())
        })
    }
}

impl WyomingWakeWord {
    /// A service that takes no more samples detects nothing; it must not block the speaker.
    async fn send(&self, writer: &mut EventWriter, event: WyomingEvent) -> Result<(), SpeechError> {
        let sent = timeout(self.service.timeout, writer.send(event)).await;
        sent.unwrap_or_else(|_| {
            let limit = self.service.timeout.as_secs_f32();
            Err(refused(&self.service.name, format!("has taken no sound for {limit} s")))
        })
    }
}
