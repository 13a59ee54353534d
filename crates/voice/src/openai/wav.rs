//! WAV files, read while they come.
//!
//! A file that is sent while it is made has no known length: services write 0 or the largest number. So samples are read to
//! the end of the response, or to the length if that comes first. WAV libraries seek, and trust the length.

use crate::{Clip, Format};

/// The most bytes before the samples.
const LONGEST_HEAD: usize = 64 << 10;

/// Why it is not a playable WAV file: what the service did, as a verb phrase.
#[derive(Debug)]
pub(super) struct WavError(pub(super) String);

/// Reads a file piece by piece.
#[derive(Default)]
pub(super) struct WavReader {
    /// Unused input: an incomplete header, or half a frame.
    rest: Vec<u8>,
    /// Known from the head on.
    sound: Option<Sound>,
}

struct Sound {
    format: Format,
    /// Bytes of samples that are still to come, as far as the file says.
    left: u64,
}

impl WavReader {
    /// Takes the next piece. Returns what can be played of it.
    pub(super) fn read(&mut self, piece: &[u8]) -> Result<Option<Clip>, WavError> {
        self.rest.extend_from_slice(piece);
        if self.sound.is_none() {
            let Some((sound, used)) = head(&self.rest)? else { return Ok(None) };
            self.rest.drain(..used);
            self.sound = Some(sound);
        }
        let Some(sound) = &mut self.sound else { return Ok(None) };
        let frame = usize::from(sound.format.channels) * 2;
        let most = usize::try_from(sound.left).unwrap_or(usize::MAX);
        let here = self.rest.len().min(most) / frame * frame;
        let samples: Vec<i16> = self.rest[..here]
            .chunks_exact(2)
            .map(|pair| i16::from_le_bytes([pair[0], pair[1]]))
            .collect();
        self.rest.drain(..here);
        sound.left -= here as u64;
        if sound.left < frame as u64 {
            // What follows the samples, such as titles, is not sound.
            self.rest.clear();
        }
        Ok((!samples.is_empty()).then_some(Clip { format: sound.format, samples }))
    }

    /// Says that nothing more comes.
    pub(super) fn end(&mut self) -> Result<Option<Clip>, WavError> {
        match self.sound {
            Some(_) => Ok(None),
            None => Err(WavError("ended its answer before any sound".to_owned())),
        }
    }
}

/// Returns the header, and its length; `None` if it is incomplete.
fn head(bytes: &[u8]) -> Result<Option<(Sound, usize)>, WavError> {
    let unreadable = |reason: &str| Err(WavError(reason.to_owned()));
    if bytes.len() >= 12 && (&bytes[..4] != b"RIFF" || &bytes[8..12] != b"WAVE") {
        return unreadable("answered with something that is not a WAV file");
    }
    let mut at = 12;
    let mut format = None;
    while let Some(chunk) = bytes.get(at..at + 8) {
        let length = u32::from_le_bytes([chunk[4], chunk[5], chunk[6], chunk[7]]);
        let body = at + 8;
        match &chunk[..4] {
            b"data" => {
                let Some(format) = format else {
                    return unreadable("sent samples before it said what they are");
                };
                // 0 and the largest number mean an unknown length.
                let left = if matches!(length, 0 | u32::MAX) { u64::MAX } else { length.into() };
                return Ok(Some((Sound { format, left }, body)));
            }
            b"fmt " => {
                let Some(fields) = bytes.get(body..body + 16) else { break };
                format = Some(described(fields)?);
            }
            _ => {}
        }
        // Chunks begin at even places.
        at = body + length as usize + (length % 2) as usize;
        if at > LONGEST_HEAD {
            return unreadable("sent a WAV file whose samples are too far from its beginning");
        }
    }
    Ok(None)
}

/// What samples are, by the `fmt ` chunk.
fn described(fields: &[u8]) -> Result<Format, WavError> {
    let number = |at: usize| u16::from_le_bytes([fields[at], fields[at + 1]]);
    let rate = u32::from_le_bytes([fields[4], fields[5], fields[6], fields[7]]);
    let (kind, channels, bits) = (number(0), number(2), number(14));
    // 1 is PCM, 0xFFFE is PCM with a longer description.
    match (kind, channels, bits, rate) {
        (1 | 0xFFFE, 1..=8, 16, 1..=384_000) => Ok(Format { rate, channels }),
        _ => Err(WavError(format!(
            "sent a WAV file of kind {kind} with {channels} channels, {bits} bits and {rate} frames a second; PCM of 16 bits is needed"
        ))),
    }
}
