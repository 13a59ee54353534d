//! Vectors of texts, a byte per dimension.

use crate::embeddings::DIMENSIONS;

/// The sum of vectors of words.
#[derive(Clone)]
pub(crate) struct VectorSum(Vec<f32>);

impl Default for VectorSum {
    fn default() -> Self {
        Self(vec![0.0; DIMENSIONS])
    }
}

impl VectorSum {
    pub(crate) fn add(&mut self, vector: &[f32], weight: f32) {
        for (sum, value) in self.0.iter_mut().zip(vector) {
            *sum += weight * value;
        }
    }

    /// Adds the direction of another sum, whatever its length.
    pub(crate) fn add_direction(&mut self, other: &Self, weight: f32) {
        let length = other.0.iter().map(|value| value * value).sum::<f32>().sqrt();
        if length > 0.0 {
            self.add(&other.0, weight / length);
        }
    }

    /// Returns the direction, rounded.
    fn to_bytes(&self) -> ([i8; DIMENSIONS], f32) {
        let length = self.0.iter().map(|value| value * value).sum::<f32>().sqrt();
        let largest = self.0.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
        let mut bytes = [0; DIMENSIONS];
        if largest > 0.0 {
            for (byte, value) in bytes.iter_mut().zip(&self.0) {
                #[expect(clippy::cast_possible_truncation, reason = "from -127 to 127")]
                (*byte = (value / largest * 127.0).round() as i8);
            }
        }
        (bytes, if length > 0.0 { largest / 127.0 / length } else { 0.0 })
    }
}

/// The directions of many texts.
#[derive(Default)]
pub(crate) struct Vectors {
    bytes: Vec<[i8; DIMENSIONS]>,
    scales: Vec<f32>,
}

impl Vectors {
    pub(crate) fn push(&mut self, sum: &VectorSum) {
        let (bytes, scale) = sum.to_bytes();
        self.bytes.push(bytes);
        self.scales.push(scale);
    }

    /// Returns how close each text is to this one: 1 if their directions are the same.
    pub(crate) fn cosines(&self, text: &VectorSum) -> impl Iterator<Item = f32> {
        let (query, query_scale) = text.to_bytes();
        self.bytes.iter().zip(&self.scales).map(move |(bytes, scale)| {
            let pairs = bytes.iter().zip(&query);
            let dot: i32 = pairs.map(|(one, other)| i32::from(*one) * i32::from(*other)).sum();
            dot as f32 * scale * query_scale
        })
    }
}
