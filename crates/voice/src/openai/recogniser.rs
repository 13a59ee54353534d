//! Speech to text: a form with a WAV file goes out, the text comes back.

use serde_json::Value;
use switchboard_toolcall::BoxFuture;

use super::{SpeechEndpoint, form::MultipartForm};
use crate::{Clip, SpeechError, wav};

/// The most bytes of an answer: far beyond what can be said in one clip.
const LARGEST: usize = 1 << 20;

/// A service that serves `/audio/transcriptions`.
pub(crate) struct OpenAiRecogniser {
    pub(crate) endpoint: SpeechEndpoint,
    pub(crate) model: String,
    pub(crate) language: Option<String>,
}

impl crate::Recogniser for OpenAiRecogniser {
    fn name(&self) -> &str {
        &self.endpoint.name
    }

    fn transcribe<'a>(&'a self, clip: &'a Clip) -> BoxFuture<'a, Result<String, SpeechError>> {
        Box::pin(async move {
            let file = wav::written(clip);
            let file =
                file.map_err(|error| self.endpoint.refused(format!("was sent nothing: {error}")))?;
            let mut form = MultipartForm::new()
                .file("file", "speech.wav", "audio/wav", &file)
                .text("model", &self.model)
                .text("response_format", "json");
            if let Some(language) = &self.language {
                form = form.text("language", language);
            }
            let content_type = form.content_type();
            let path = "/audio/transcriptions";
            let answer = self.endpoint.post(path, &content_type, form.into_body()).await?;
            let answer = self.endpoint.whole(answer, LARGEST).await?;
            let text = serde_json::from_slice::<Value>(&answer).ok();
            let text =
                text.and_then(|answer| Some(answer.get("text")?.as_str()?.trim().to_owned()));
            text.ok_or_else(|| self.endpoint.refused("answered without a `text`"))
        })
    }
}
