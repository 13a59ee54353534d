//! BM25 over weighted terms: what each term adds to the score of each document, computed once.

/// Saturation of repeated terms.
const K1: f32 = 1.2;

/// The weights of terms per document, while they are collected.
pub(crate) struct TermWeights {
    /// For each term, `(document, weight)` in the order of documents.
    terms: Vec<Vec<(u32, f32)>>,
    lengths: Vec<f32>,
}

impl TermWeights {
    pub(crate) fn new(documents: usize) -> Self {
        Self { terms: Vec::new(), lengths: vec![0.0; documents] }
    }

    /// Adds weight to a term of a document. Documents come in order.
    pub(crate) fn add(&mut self, term: u32, document: u32, weight: f32) {
        let term = term as usize;
        if self.terms.len() <= term {
            self.terms.resize_with(term + 1, Vec::new);
        }
        self.lengths[document as usize] += weight;
        match self.terms[term].last_mut() {
            Some((last, sum)) if *last == document => *sum += weight,
            _ => self.terms[term].push((document, weight)),
        }
    }

    /// Computes the scores. `b` is how much long documents lose.
    pub(crate) fn finish(self, b: f32) -> Postings {
        let documents = self.lengths.len() as f32;
        let average = (self.lengths.iter().sum::<f32>() / documents.max(1.0)).max(f32::EPSILON);
        let terms = self.terms.into_iter().map(|mut term| {
            let rarity = rarity(documents, term.len());
            for (document, weight) in &mut term {
                let length = self.lengths[*document as usize] / average;
                *weight = rarity * *weight * (K1 + 1.0) / (*weight + K1 * (1.0 - b + b * length));
            }
            Term { rarity, scores: term.into() }
        });
        Postings { terms: terms.collect() }
    }
}

/// How much a term says that this many documents have.
pub(crate) fn rarity(documents: f32, having: usize) -> f32 {
    let having = having as f32;
    (1.0 + (documents - having + 0.5) / (having + 0.5)).ln()
}

/// What each term adds to the score of each document that has it.
pub(crate) struct Postings {
    terms: Vec<Term>,
}

struct Term {
    rarity: f32,
    scores: Box<[(u32, f32)]>,
}

impl Postings {
    /// Returns the documents that have the term, each with the term's score.
    pub(crate) fn scores(&self, term: u32) -> &[(u32, f32)] {
        self.terms.get(term as usize).map_or(&[], |term| &term.scores)
    }

    /// Returns how much the term says.
    pub(crate) fn rarity(&self, term: u32) -> Option<f32> {
        self.terms.get(term as usize).map(|term| term.rarity)
    }
}
