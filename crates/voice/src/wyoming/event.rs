//! Reads and writes events, with size limits: the other side is not trusted.

use std::io;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::{Clip, Format};

/// The longest first line that is read.
const LONGEST_LINE: u64 = 64 << 10;
/// The most data of one event; the largest is a server's description of all its voices.
const MOST_DATA: u64 = 4 << 20;
/// The most samples of one event, in bytes: some servers send a whole answer in one.
const MOST_PAYLOAD: u64 = 32 << 20;
/// How much of an unreadable line is shown.
const SHOWN: usize = 80;

/// An event.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct WyomingEvent {
    /// Its type: `transcribe`, `audio-chunk`.
    pub(crate) kind: String,
    /// Its data.
    pub(crate) data: Map<String, Value>,
    /// Samples, as bytes.
    pub(crate) payload: Vec<u8>,
}

/// Why there is no event.
#[derive(Debug)]
pub(crate) enum WyomingError {
    /// The connection is broken.
    Broken(io::Error),
    /// It ended between events.
    Closed,
    /// It is not an event: what the service did, as a verb phrase.
    Nonsense(String),
}

/// The first line of an event.
#[derive(Deserialize)]
struct EventHeader {
    #[serde(rename = "type")]
    kind: String,
    data: Option<Map<String, Value>>,
    data_length: Option<u64>,
    payload_length: Option<u64>,
}

impl WyomingEvent {
    /// An event without samples.
    pub(crate) fn new(kind: &str, data: Value) -> Self {
        let Value::Object(data) = data else { return Self::new(kind, json!({})) };
        Self { kind: kind.to_owned(), data, payload: Vec::new() }
    }

    /// The event before samples.
    pub(crate) fn audio_start(format: Format) -> Self {
        Self::new("audio-start", described(format))
    }

    /// Samples, as they are sent: 16 bits, the low byte first.
    pub(crate) fn audio_chunk(format: Format, samples: &[i16]) -> Self {
        let payload = samples.iter().flat_map(|sample| sample.to_le_bytes()).collect();
        Self { payload, ..Self::new("audio-chunk", described(format)) }
    }

    /// The event after samples.
    pub(crate) fn audio_stop() -> Self {
        Self::new("audio-stop", json!({}))
    }

    /// The samples of an `audio-chunk`.
    ///
    /// # Errors
    /// The samples are not playable: what the service did, as a verb phrase.
    pub(crate) fn clip(&self) -> Result<Clip, String> {
        let number = |name: &str| self.data.get(name).and_then(Value::as_u64).unwrap_or_default();
        let (rate, width, channels) = (number("rate"), number("width"), number("channels"));
        let format = match (u32::try_from(rate), u16::try_from(channels)) {
            (Ok(rate @ 1..=384_000), Ok(channels @ 1..=8)) if width == 2 => {
                Format { rate, channels }
            }
            _ => {
                return Err(format!(
                    "sent sound with {rate} frames a second of {channels} channels and {width} bytes a sample; \
                     samples of 2 bytes are needed"
                ));
            }
        };
        let frame = usize::from(format.channels) * 2;
        if !self.payload.len().is_multiple_of(frame) {
            let length = self.payload.len();
            return Err(format!("sent {length} bytes of sound, which are not whole frames"));
        }
        let pairs = self.payload.chunks_exact(2);
        let samples = pairs.map(|pair| i16::from_le_bytes([pair[0], pair[1]])).collect();
        Ok(Clip { format, samples })
    }

    /// A text of its data.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.data.get(name).and_then(Value::as_str)
    }

    /// Writes it. Nothing is flushed.
    pub(crate) async fn write(&self, stream: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        let mut header = json!({"type": self.kind});
        let data = if self.data.is_empty() { Vec::new() } else { serde_json::to_vec(&self.data)? };
        if !data.is_empty() {
            header["data_length"] = json!(data.len());
        }
        if !self.payload.is_empty() {
            header["payload_length"] = json!(self.payload.len());
        }
        let mut bytes = serde_json::to_vec(&header)?;
        bytes.push(b'\n');
        bytes.extend(data);
        stream.write_all(&bytes).await?;
        stream.write_all(&self.payload).await
    }

    /// Reads the next one. Not cancel safe: a partly read event is lost.
    pub(crate) async fn read(
        stream: &mut (impl AsyncBufRead + Unpin),
    ) -> Result<Self, WyomingError> {
        let mut line = Vec::new();
        let read = stream.take(LONGEST_LINE).read_until(b'\n', &mut line).await;
        if read.map_err(WyomingError::Broken)? == 0 {
            return Err(WyomingError::Closed);
        }
        if line.last() != Some(&b'\n') {
            let reason = if line.len() as u64 == LONGEST_LINE {
                format!("sent a line of more than {LONGEST_LINE} bytes")
            } else {
                "closed the connection in the middle of an event".to_owned()
            };
            return Err(WyomingError::Nonsense(reason));
        }
        let header: EventHeader = serde_json::from_slice(&line).map_err(|_| {
            let shown: String = String::from_utf8_lossy(&line).trim().chars().take(SHOWN).collect();
            WyomingError::Nonsense(format!("sent something that is not a Wyoming event: {shown:?}"))
        })?;
        let more = bytes(stream, "data", header.data_length, MOST_DATA).await?;
        let payload = bytes(stream, "payload", header.payload_length, MOST_PAYLOAD).await?;
        let mut data = header.data.unwrap_or_default();
        if !more.is_empty() {
            let more: Map<String, Value> = serde_json::from_slice(&more).map_err(|_| {
                WyomingError::Nonsense(format!(
                    "sent data of `{}` that is not a JSON object",
                    header.kind
                ))
            })?;
            data.extend(more);
        }
        Ok(Self { kind: header.kind, data, payload })
    }
}

fn described(format: Format) -> Value {
    json!({"rate": format.rate, "width": 2, "channels": format.channels})
}

/// Reads as many bytes as were announced. Memory is allocated as they arrive, not as they are announced.
async fn bytes(
    stream: &mut (impl AsyncBufRead + Unpin),
    what: &str,
    length: Option<u64>,
    most: u64,
) -> Result<Vec<u8>, WyomingError> {
    let length = length.unwrap_or_default();
    if length > most {
        let reason = format!("announced {length} bytes of {what}; at most {most} are read");
        return Err(WyomingError::Nonsense(reason));
    }
    let mut bytes = Vec::new();
    let read = stream.take(length).read_to_end(&mut bytes).await.map_err(WyomingError::Broken)?;
    if (read as u64) < length {
        return Err(WyomingError::Nonsense(
            "closed the connection in the middle of an event".to_owned(),
        ));
    }
    Ok(bytes)
}
