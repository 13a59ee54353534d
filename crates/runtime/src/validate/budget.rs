//! Limits the size of one tool's schema, and of all schemas of one server.

use super::SchemaError;

/// The size of a schema. The memory of the compiled schema grows with these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SchemaWeight {
    pub(super) subschemas: u64,
    /// Of the schema as text.
    pub(super) bytes: u64,
    pub(super) patterns: u64,
    /// Bytes of the automata of its patterns.
    pub(super) automata: u64,
}

/// The limit for one schema.
const SCHEMA: SchemaWeight =
    SchemaWeight { subschemas: 50_000, bytes: 4 << 20, patterns: 1_000, automata: 1 << 20 };

/// The limit for the schemas of all tools of a server together.
const SERVER: SchemaWeight =
    SchemaWeight { subschemas: 500_000, bytes: 64 << 20, patterns: 10_000, automata: 16 << 20 };

impl SchemaWeight {
    /// Returns the amounts with their units.
    fn parts(&self) -> [(u64, &'static str); 4] {
        [
            (self.subschemas, "subschemas"),
            (self.bytes, "bytes"),
            (self.patterns, "patterns"),
            (self.automata, "bytes of compiled patterns"),
        ]
    }

    /// Returns the index of the first amount that exceeds the one of `most`.
    fn exceeds(&self, most: &Self) -> Option<usize> {
        self.parts().iter().zip(most.parts()).position(|(own, most)| own.0 > most.0)
    }
}

/// What is left for a server's further schemas.
#[derive(Debug)]
pub(crate) struct SchemaBudget {
    left: SchemaWeight,
}

impl Default for SchemaBudget {
    fn default() -> Self {
        Self { left: SERVER }
    }
}

impl SchemaBudget {
    /// Takes a schema's size from what is left. It is not returned if the schema turns out to be invalid: checking that
    /// costs time, too.
    ///
    /// # Errors
    /// The schema is too large, or too little is left.
    pub(super) fn take(&mut self, weight: &SchemaWeight) -> Result<(), SchemaError> {
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

    /// Returns what was taken so far.
    #[cfg(test)]
    pub(super) fn taken(&self) -> SchemaWeight {
        SchemaWeight {
            subschemas: SERVER.subschemas - self.left.subschemas,
            bytes: SERVER.bytes - self.left.bytes,
            patterns: SERVER.patterns - self.left.patterns,
            automata: SERVER.automata - self.left.automata,
        }
    }
}
