//! Converts bytes to samples: signed 16 bits, little-endian.

/// Makes samples of bytes that come in pieces of any length.
#[derive(Debug, Default)]
pub struct Pcm {
    /// The first half of a sample.
    half: Option<u8>,
}

impl Pcm {
    /// The samples that are complete with these bytes.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<i16> {
        let bytes = self.half.take().into_iter().chain(bytes.iter().copied());
        let bytes: Vec<u8> = bytes.collect();
        let (pairs, rest) = bytes.as_chunks::<2>();
        self.half = rest.first().copied();
        pairs.iter().map(|pair| i16::from_le_bytes(*pair)).collect()
    }
}

/// Samples as bytes.
pub(crate) fn bytes(samples: &[i16]) -> Vec<u8> {
    samples.iter().flat_map(|sample| sample.to_le_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // HM-2
    #[test]
    fn samples_are_whole_however_bytes_come() {
        let samples = [0, 1, -1, i16::MAX, i16::MIN, 12_345];
        let all = bytes(&samples);
        for size in 1..=all.len() {
            let mut pcm = Pcm::default();
            let read: Vec<i16> = all.chunks(size).flat_map(|piece| pcm.push(piece)).collect();
            assert_eq!(read, samples, "pieces of {size}");
        }
    }
}
