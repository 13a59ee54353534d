//! One POST to a service, with a timeout and a size limit; error messages never contain the key.

use std::{sync::OnceLock, time::Duration};

use reqwest::{Client, Response, Url, header};
use serde_json::Value;
use switchboard_models::{Secret, client};
use tokio::time::timeout;

use crate::SpeechError;

/// How much of a refusal is read, and shown.
const REFUSAL: usize = 64 << 10;
const SHOWN: usize = 300;

/// Where a service is and how it is asked.
pub(crate) struct SpeechEndpoint {
    /// For people: `OpenAI-compatible http://127.0.0.1:8000/v1`.
    pub(crate) name: String,
    /// The address with `/v1`.
    pub(crate) base: Url,
    pub(crate) api_key: Option<Secret>,
    pub(crate) connect_timeout: Duration,
    /// How long it may be silent.
    pub(crate) timeout: Duration,
    pub(crate) client: OnceLock<Client>,
}

impl SpeechEndpoint {
    /// Sends `body` to `path` below the URL; a response without success is an error with its message.
    pub(super) async fn post(
        &self,
        path: &str,
        content_type: &str,
        body: Vec<u8>,
    ) -> Result<Response, SpeechError> {
        let mut url = self.base.clone();
        url.set_path(&format!("{}{path}", self.base.path().trim_end_matches('/')));
        let mut request = self.client()?.post(url).header(header::CONTENT_TYPE, content_type);
        if let Some(key) = &self.api_key {
            request = request.bearer_auth(key.reveal());
        }
        let sent = self.patient(request.body(body).send()).await?;
        let response = sent.map_err(|error| self.unreachable(error))?;
        if response.status().is_success() { Ok(response) } else { Err(self.no(response).await) }
    }

    /// Returns the next piece of a response; `None` at the end.
    pub(super) async fn piece(
        &self,
        answer: &mut Response,
    ) -> Result<Option<Vec<u8>>, SpeechError> {
        let piece = self.patient(answer.chunk()).await?;
        let piece = piece.map_err(|error| {
            let error = error.without_url();
            self.refused(format!("broke the connection in the middle of its answer: {error}"))
        })?;
        Ok(piece.map(|piece| piece.to_vec()))
    }

    /// Returns the whole body of a response.
    pub(super) async fn whole(
        &self,
        mut answer: Response,
        most: usize,
    ) -> Result<Vec<u8>, SpeechError> {
        let mut bytes = Vec::new();
        while let Some(piece) = self.piece(&mut answer).await? {
            bytes.extend(piece);
            if bytes.len() > most {
                return Err(self.refused(format!("sent more than {most} bytes")));
            }
        }
        Ok(bytes)
    }

    /// The error of a service that did something wrong: a verb phrase.
    pub(super) fn refused(&self, reason: impl Into<String>) -> SpeechError {
        SpeechError::Refused { service: self.name.clone(), reason: reason.into() }
    }

    /// Returns the client, created at the first request: loading certificates would slow down the start.
    fn client(&self) -> Result<&Client, SpeechError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let client = client(&self.base, self.connect_timeout);
        let client = client.map_err(|error| self.unreachable(error))?;
        Ok(self.client.get_or_init(|| client))
    }

    async fn patient<F: Future>(&self, waiting: F) -> Result<F::Output, SpeechError> {
        let limit = self.timeout.as_secs_f32();
        let silent = |_| self.refused(format!("did not answer within {limit} s"));
        timeout(self.timeout, waiting).await.map_err(silent)
    }

    fn unreachable(&self, error: reqwest::Error) -> SpeechError {
        SpeechError::Unreachable { service: self.name.clone(), source: error.without_url().into() }
    }

    /// Returns the message of an error response.
    async fn no(&self, mut answer: Response) -> SpeechError {
        let status = answer.status().as_u16();
        let mut bytes = Vec::new();
        while bytes.len() < REFUSAL
            && let Ok(Ok(Some(piece))) = timeout(Duration::from_secs(5), answer.chunk()).await
        {
            bytes.extend_from_slice(&piece);
        }
        let mut reason = reason_of(&bytes);
        // Some services quote unknown keys in their errors.
        if let Some(key) = self.api_key.as_ref().filter(|key| !key.reveal().is_empty()) {
            reason = reason.replace(key.reveal(), "…");
        }
        let reason: String = reason.chars().take(SHOWN).collect();
        let separator = if reason.is_empty() { "" } else { ": " };
        self.refused(format!("answered {status}{separator}{reason}"))
    }
}

/// Returns the reason of an error body: `{"error":{"message":…}}`, FastAPI's `{"detail":…}`, or its text.
fn reason_of(body: &[u8]) -> String {
    let text = || String::from_utf8_lossy(body).trim().to_owned();
    let Ok(body) = serde_json::from_slice::<Value>(body) else { return text() };
    [&body["error"]["message"], &body["error"], &body["detail"], &body["message"]]
        .into_iter()
        .find_map(Value::as_str)
        .map_or_else(text, str::to_owned)
}
