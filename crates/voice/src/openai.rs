//! Speech services with OpenAI's interface: `/audio/transcriptions` and `/audio/speech`, which many others serve as well.

mod form;
mod http;
mod recogniser;
mod synthesiser;
mod wav;

pub(crate) use http::Endpoint;
pub(crate) use recogniser::Recogniser;
pub(crate) use synthesiser::Synthesiser;

#[cfg(test)]
mod tests;
