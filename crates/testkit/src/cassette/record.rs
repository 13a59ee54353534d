//! Passes requests on to a real endpoint and keeps what came of them.

use std::{
    io,
    path::PathBuf,
    sync::{Arc, Mutex},
};

use reqwest::{Client, Method, Response};
use tokio::net::TcpStream;

use super::{
    CassetteError, CassetteFile, CassetteState, Chunk, RecordedAnswers, RecordedExchange,
    RecordedRequest, RecordedResponse, Scrub, body_value, lock,
};
use crate::http::{self, ReceivedRequest};

/// Headers about one connection, not about what is said over it.
const OF_THE_CONNECTION: &[&str] = &[
    "host",
    "connection",
    "keep-alive",
    "content-length",
    "transfer-encoding",
    "accept-encoding",
    "te",
    "trailer",
    "upgrade",
    "date",
    "server",
];

/// Stands between a client and an endpoint.
pub(super) struct RecordingProxy {
    upstream: String,
    file: PathBuf,
    scrub: Scrub,
    client: Client,
    state: Arc<Mutex<CassetteState>>,
}

impl RecordingProxy {
    pub(super) fn new(
        upstream: &str,
        file: PathBuf,
        scrub: Scrub,
        state: Arc<Mutex<CassetteState>>,
    ) -> Result<Self, CassetteError> {
        // Fails if the host has installed a provider already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        // What a redirect leads to would be asked with the key; the client decides.
        let client = Client::builder().redirect(reqwest::redirect::Policy::none());
        let client = client.build().map_err(|error| CassetteError::Start(Box::new(error)))?;
        let upstream = upstream.trim_end_matches('/').to_owned();
        Ok(Self { upstream, file, scrub, client, state })
    }

    async fn ask(&self, request: &ReceivedRequest) -> Result<Response, reqwest::Error> {
        let method = Method::from_bytes(request.method.as_bytes()).unwrap_or(Method::POST);
        let mut asked = self.client.request(method, format!("{}{}", self.upstream, request.path));
        for (name, value) in request.headers.iter().filter(|(name, _)| is_kept(name)) {
            asked = asked.header(name, value);
        }
        asked.body(request.body.clone()).send().await
    }

    /// Keeps an exchange at its place, and writes down all that have ended.
    fn keep(&self, place: usize, exchange: RecordedExchange) -> io::Result<()> {
        let mut state = lock(&self.state);
        state.exchanges[place] = Some(exchange);
        let exchanges = state.exchanges.iter().flatten().cloned().collect();
        CassetteFile { exchanges }.write(&self.file)
    }
}

impl RecordedAnswers for RecordingProxy {
    async fn answer(&self, stream: &mut TcpStream) -> io::Result<()> {
        let request = http::read(stream).await?;
        let place = {
            let mut state = lock(&self.state);
            state.exchanges.push(None);
            state.open += 1;
            state.exchanges.len() - 1
        };
        let outcome = self.exchange(request, place, stream).await;
        lock(&self.state).open -= 1;
        outcome
    }
}

impl RecordingProxy {
    async fn exchange(
        &self,
        request: ReceivedRequest,
        place: usize,
        stream: &mut TcpStream,
    ) -> io::Result<()> {
        let mut response = match self.ask(&request).await {
            Ok(response) => response,
            Err(error) => {
                let text =
                    format!("the cassette could not reach its endpoint: {}", error.without_url());
                return refuse(stream, 502, &text).await;
            }
        };
        let status = response.status().as_u16();
        let headers = headers(&response);
        // A client that has left is no reason to keep half of an answer.
        let _ = http::write_head(stream, status, &headers).await;
        let (chunks, cut) = pass_on(&mut response, stream).await;
        let scrub = self.scrub.with_request(&request.headers, &request.path);
        let headers =
            headers.iter().map(|(name, value)| (name.clone(), scrub.header(name, value))).collect();
        let response = RecordedResponse { status, headers, chunks: scrubbed(&scrub, chunks), cut };
        let mut body = request.body;
        scrub.bytes(&mut body);
        let asked = RecordedRequest {
            method: request.method,
            path: scrub.path(&request.path),
            body: body_value(&body),
        };
        // Before the end is told: a client that waits for it finds the answer in the file.
        self.keep(place, RecordedExchange { request: asked, response })?;
        if cut { http::write_cut(stream).await } else { http::write_end(stream).await }
    }
}

/// Passes the body on, piece by piece; returns the pieces, and whether the endpoint broke off. The client may leave before,
/// as clients do after the last message of a stream.
async fn pass_on(response: &mut Response, stream: &mut TcpStream) -> (Vec<Vec<u8>>, bool) {
    let mut chunks = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) => {
                chunks.push(chunk.to_vec());
                let _ = http::write_chunk(stream, &chunk).await;
            }
            Ok(None) => return (chunks, false),
            Err(_) => return (chunks, true),
        }
    }
}

/// The pieces with keys masked, also where two pieces share one.
fn scrubbed(scrub: &Scrub, chunks: Vec<Vec<u8>>) -> Vec<Chunk> {
    let mut whole = chunks.concat();
    scrub.bytes(&mut whole);
    let mut rest = &whole[..];
    chunks
        .iter()
        .map(|chunk| {
            let (piece, after) = rest.split_at(chunk.len());
            rest = after;
            Chunk::new(piece)
        })
        .collect()
}

fn headers(response: &Response) -> Vec<(String, String)> {
    let all = response.headers().iter();
    all.filter(|(name, _)| is_kept(name.as_str()))
        .map(|(name, value)| {
            (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        })
        .collect()
}

fn is_kept(name: &str) -> bool {
    !OF_THE_CONNECTION.contains(&name)
}

/// Says what is wrong in the shape that clients look for.
pub(super) async fn refuse(stream: &mut TcpStream, status: u16, text: &str) -> io::Result<()> {
    let json = ("content-type".to_owned(), "application/json".to_owned());
    http::write_head(stream, status, &[json]).await?;
    let body = serde_json::json!({"error": {"message": text}}).to_string();
    http::write_chunk(stream, body.as_bytes()).await?;
    http::write_end(stream).await
}
