//! Text to speech: the text goes out, a WAV file comes back and is played while it comes.

use reqwest::Response;
use serde_json::json;
use switchboard_toolcall::BoxFuture;
use tokio::sync::mpsc;

use super::{
    SpeechEndpoint,
    wav::{self, WavReader},
};
use crate::{
    Clip, SpeechError, SpeechStream,
    clips::{self, Clips},
};

/// A service that serves `/audio/speech`.
pub(crate) struct OpenAiSynthesiser {
    pub(crate) endpoint: std::sync::Arc<SpeechEndpoint>,
    pub(crate) model: String,
    pub(crate) voice: String,
}

impl crate::Synthesiser for OpenAiSynthesiser {
    fn name(&self) -> &str {
        &self.endpoint.name
    }

    fn speak<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<SpeechStream, SpeechError>> {
        Box::pin(async move {
            if text.trim().is_empty() {
                return Ok(mpsc::channel(1).1);
            }
            let request = json!({
                "model": self.model, "voice": self.voice, "input": text, "response_format": "wav",
            });
            let request = request.to_string().into_bytes();
            let answer = self.endpoint.post("/audio/speech", "application/json", request).await?;
            let endpoint = self.endpoint.clone();
            clips::hand_on(OpenAiSpeech { endpoint, answer, reader: WavReader::default() }).await
        })
    }
}

/// An answer in progress.
struct OpenAiSpeech {
    endpoint: std::sync::Arc<SpeechEndpoint>,
    answer: Response,
    reader: WavReader,
}

impl Clips for OpenAiSpeech {
    fn service(&self) -> &str {
        &self.endpoint.name
    }

    fn next(&mut self) -> BoxFuture<'_, Result<Option<Clip>, SpeechError>> {
        Box::pin(async {
            loop {
                let piece = self.endpoint.piece(&mut self.answer).await?;
                let is_end = piece.is_none();
                let clip = match piece {
                    Some(piece) => self.reader.read(&piece),
                    None => self.reader.end(),
                };
                let clip = clip.map_err(|wav::WavError(reason)| self.endpoint.refused(reason))?;
                if clip.is_some() || is_end {
                    return Ok(clip);
                }
            }
        })
    }
}
