//! Speech services with OpenAI's interface: `/audio/transcriptions` and `/audio/speech`, which many others serve as well.

mod form;
mod http;
mod recogniser;
mod synthesiser;
mod wav;

pub(crate) use http::SpeechEndpoint;
pub(crate) use recogniser::OpenAiRecogniser;
pub(crate) use synthesiser::OpenAiSynthesiser;

#[cfg(test)]
mod tests;
