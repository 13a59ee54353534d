//! Answers from a file.

use std::{
    io,
    path::PathBuf,
    sync::{Arc, Mutex},
};

use tokio::net::TcpStream;

use super::{
    CassetteState, RecordedAnswers, RecordedRequest, RecordedResponse, Scrub, body_value,
    difference, lock, record::refuse,
};
use crate::http;

/// The status of a request that was not recorded: no client asks again after it.
const NOT_RECORDED: u16 = 400;

/// Plays one file.
pub(super) struct CassettePlayer {
    path: PathBuf,
    scrub: Scrub,
    state: Arc<Mutex<CassetteState>>,
}

impl CassettePlayer {
    pub(super) fn new(path: PathBuf, scrub: Scrub, state: Arc<Mutex<CassetteState>>) -> Self {
        Self { path, scrub, state }
    }

    /// The answer to the first request like this one that was not answered yet, or how this one differs.
    fn find(&self, asked: &RecordedRequest) -> Result<RecordedResponse, String> {
        let mut state = lock(&self.state);
        let like = |exchange: &&mut Option<_>| {
            exchange
                .as_ref()
                .is_some_and(|exchange: &super::RecordedExchange| exchange.request == *asked)
        };
        if let Some(exchange) = state.exchanges.iter_mut().find(like).and_then(Option::take) {
            return Ok(exchange.response);
        }
        let next = state
            .exchanges
            .iter()
            .enumerate()
            .find_map(|(at, exchange)| Some((at, exchange.as_ref()?)));
        let how = match next {
            Some((at, next)) => format!(
                "request {} was recorded otherwise: {}",
                at + 1,
                difference::between(&next.request, asked)
            ),
            None => format!(
                "all {} requests were asked already, and now {} {}",
                state.exchanges.len(),
                asked.method,
                asked.path
            ),
        };
        let text = format!("cassette `{}`: {how}", self.path.display());
        state.mismatches.push(text.clone());
        Err(text)
    }
}

impl RecordedAnswers for CassettePlayer {
    async fn answer(&self, stream: &mut TcpStream) -> io::Result<()> {
        let request = http::read(stream).await?;
        let scrub = self.scrub.with_request(&request.headers, &request.path);
        let path = scrub.path(&request.path);
        let mut body = request.body;
        // Masked as it was when it was recorded.
        scrub.bytes(&mut body);
        let asked = RecordedRequest { method: request.method, path, body: body_value(&body) };
        match self.find(&asked) {
            Ok(RecordedResponse { status, headers, chunks, cut }) => {
                http::write_head(stream, status, &headers).await?;
                for chunk in chunks {
                    http::write_chunk(stream, &chunk.bytes()).await?;
                }
                if cut { http::write_cut(stream).await } else { http::write_end(stream).await }
            }
            Err(text) => refuse(stream, NOT_RECORDED, &text).await,
        }
    }
}
