//! A service of one connection that answers with the bytes it was given.

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpListener,
    task::JoinHandle,
};

use super::event::WyomingEvent;
use crate::SpeechConfig;

/// What the service does when it has said everything.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum ScriptStep {
    /// Ends the connection.
    Close,
    /// Says nothing more, and waits until the other side leaves.
    Hang,
}

/// A service under way.
pub(super) struct Scripted {
    pub(super) config: SpeechConfig,
    task: JoinHandle<Vec<WyomingEvent>>,
}

impl Scripted {
    /// Hears the caller out until an event of kind `until`, then sends `answer`.
    pub(super) async fn start(
        until: &'static str,
        answer: impl Into<Vec<u8>>,
        then: ScriptStep,
    ) -> Self {
        let answer = answer.into();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let config = SpeechConfig::new(format!("tcp://{}", listener.local_addr().unwrap()));
        let task = tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let (reader, mut writer) = stream.into_split();
            let mut reader = BufReader::new(reader);
            let mut heard: Vec<WyomingEvent> = Vec::new();
            while heard.last().is_none_or(|event| event.kind != until) {
                heard.push(WyomingEvent::read(&mut reader).await.unwrap());
            }
            // The caller may have left in the middle.
            let _ = writer.write_all(&answer).await;
            if then == ScriptStep::Hang {
                let _ = reader.read_to_end(&mut Vec::new()).await;
            }
            heard
        });
        Self { config, task }
    }

    /// What the caller told, when the service has ended.
    pub(super) async fn heard(self) -> Vec<WyomingEvent> {
        self.task.await.unwrap()
    }
}

/// An event as the `wyoming` package of Python writes it.
pub(super) fn python(kind: &str, data: &str, payload: &[u8]) -> Vec<u8> {
    let lengths = match payload.len() {
        0 => format!("\"data_length\": {}", data.len()),
        length => format!("\"data_length\": {}, \"payload_length\": {length}", data.len()),
    };
    let line = format!("{{\"type\": \"{kind}\", \"version\": \"1.10.2\", {lengths}}}\n{data}");
    [line.as_bytes(), payload].concat()
}
