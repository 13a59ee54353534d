//! How much the schema of one tool, and those of all tools of one server, may take.

use super::SchemaError;

/// How large a schema is. The memory that it takes when it is compiled grows with these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Weight {
    pub(super) subschemas: u64,
    /// Of the schema as text.
    pub(super) bytes: u64,
    pub(super) patterns: u64,
    /// Bytes of the automata of its patterns.
    pub(super) automata: u64,
}

/// What one schema may take.
const SCHEMA: Weight =
    Weight { subschemas: 50_000, bytes: 4 << 20, patterns: 1_000, automata: 1 << 20 };

/// What the schemas of all tools of a server may take together.
const SERVER: Weight =
    Weight { subschemas: 500_000, bytes: 64 << 20, patterns: 10_000, automata: 16 << 20 };

impl Weight {
    /// The amounts, with what they are amounts of.
    fn parts(&self) -> [(u64, &'static str); 4] {
        [
            (self.subschemas, "subschemas"),
            (self.bytes, "bytes"),
            (self.patterns, "patterns"),
            (self.automata, "bytes of compiled patterns"),
        ]
    }

    /// Returns the index of the first amount that is larger than the one of `most`.
    fn exceeds(&self, most: &Self) -> Option<usize> {
        self.parts().iter().zip(most.parts()).position(|(own, most)| own.0 > most.0)
    }
}

/// What is left for the schemas of a server's further tools.
#[derive(Debug)]
pub(crate) struct Budget {
    left: Weight,
}

impl Default for Budget {
    fn default() -> Self {
        Self { left: SERVER }
    }
}

impl Budget {
    /// Takes what a schema needs from what is left. It is not given back if the schema turns out to be bad: looking
    /// at a bad one costs time, too.
    ///
    /// # Errors
    /// The schema is too large, or too little is left for it.
    pub(super) fn take(&mut self, weight: &Weight) -> Result<(), SchemaError> {
        if let Some(part) = weight.exceeds(&SCHEMA) {
            let (most, what) = SCHEMA.parts()[part];
            return Err(SchemaError::TooLarge { most, what });
        }
        if let Some(part) = weight.exceeds(&self.left) {
            let (most, what) = SERVER.parts()[part];
            return Err(SchemaError::ServerTooLarge { most, what });
        }
        self.left.subschemas -= weight.subschemas;
        self.left.bytes -= weight.bytes;
        self.left.patterns -= weight.patterns;
        self.left.automata -= weight.automata;
        Ok(())
    }

    /// What was taken so far.
    #[cfg(test)]
    pub(super) fn taken(&self) -> Weight {
        Weight {
            subschemas: SERVER.subschemas - self.left.subschemas,
            bytes: SERVER.bytes - self.left.bytes,
            patterns: SERVER.patterns - self.left.patterns,
            automata: SERVER.automata - self.left.automata,
        }
    }
}
