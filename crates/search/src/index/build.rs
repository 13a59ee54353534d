//! Builds an index.

use std::collections::{BTreeSet, HashMap};

use super::{Index, IndexedTool};
use crate::{
    document::ToolDocument,
    embeddings,
    lexicon::{Lexicon, WordId},
    names::NameWords,
    postings::{Postings, TermWeights, rarity},
    vectors::{VectorSum, Vectors},
    words,
};

/// How many words of a long description, or of a server's instructions, are read.
const MOST_WORDS: usize = 120;
/// How many words of the rest of a description count as concepts.
const MOST_CONCEPT_WORDS: usize = 80;

/// The words of a tool, by where they stand.
struct Fields {
    name: Vec<WordId>,
    title: Vec<WordId>,
    first_sentence: Vec<WordId>,
    rest: Vec<WordId>,
    server: Vec<WordId>,
    parameters: Vec<WordId>,
    parameter_texts: Vec<WordId>,
}

impl Fields {
    fn read(document: &ToolDocument<'_>, lexicon: &mut Lexicon) -> Self {
        let mut read = |text: &str| lexicon.read(text, MOST_WORDS);
        let (first, rest) = document.description();
        let mut fields = Self {
            name: read(document.own_name()),
            title: read(document.title()),
            first_sentence: read(first),
            rest: read(rest),
            server: read(document.server()),
            parameters: Vec::new(),
            parameter_texts: Vec::new(),
        };
        for (name, text) in document.parameters() {
            fields.parameters.extend(read(name));
            if fields.parameter_texts.len() < MOST_WORDS {
                fields.parameter_texts.extend(read(text));
            }
        }
        fields
    }

    /// Each field with what its words weigh.
    fn word_weights(&self) -> [(&[WordId], f32); 7] {
        [
            (&self.name, 3.0),
            (&self.title, 2.0),
            (&self.server, 1.5),
            (&self.first_sentence, 1.0),
            (&self.rest, 1.0),
            (&self.parameters, 0.3),
            (&self.parameter_texts, 0.15),
        ]
    }

    /// Each field with what its concepts weigh.
    fn concept_weights(&self) -> [(&[WordId], f32); 6] {
        let rest = &self.rest[..self.rest.len().min(MOST_CONCEPT_WORDS)];
        [
            (&self.name, 4.0),
            (&self.title, 2.0),
            (&self.first_sentence, 1.0),
            (rest, 0.3),
            (&self.server, 0.5),
            (&self.parameters, 0.3),
        ]
    }
}

pub(super) fn build(documents: &[ToolDocument<'_>]) -> Index {
    let mut lexicon = Lexicon::default();
    let fields: Vec<_> = documents.iter().map(|one| Fields::read(one, &mut lexicon)).collect();
    let (words, concepts) = postings(&fields, &lexicon);
    let servers = ServerTable::read(documents, &mut lexicon);
    let vectors = vectors(&fields, &servers, &lexicon, &words);
    let server_words = servers.postings(&lexicon);
    let names = fields.iter().map(|fields| [&*fields.name, &fields.title]);
    let names = NameWords::new(names, &lexicon, |term| words.rarity(term).unwrap_or_default());
    let tools = documents.iter().zip(&servers.of_tools);
    let mut index = Index {
        words,
        concepts,
        vectors,
        server_words,
        tools: tools
            .map(|(document, server)| IndexedTool { name: document.name.into(), server: *server })
            .collect(),
        documents: (0..).zip(documents).map(|(at, one)| (one.name.into(), at)).collect(),
        servers: servers.name_stems(&lexicon),
        short_names: HashMap::new(),
        names,
        lexicon,
    };
    for (at, document) in (0..).zip(documents) {
        for short in short_names(document) {
            index.short_names.entry(short).or_default().push(at);
        }
    }
    index
}

/// Returns the names without separators (`getcurrenttime`) and the initials (`gct`) of a tool.
fn short_names(document: &ToolDocument<'_>) -> BTreeSet<String> {
    let all = |name: &str| words::first(name, MOST_WORDS).collect::<Vec<_>>();
    let parts = all(document.own_name());
    let mut short = BTreeSet::from([all(document.name).concat(), parts.concat()]);
    if parts.len() > 2 {
        short.insert(parts.iter().filter_map(|part| part.chars().next()).collect());
    }
    short
}

fn postings(fields: &[Fields], lexicon: &Lexicon) -> (Postings, Postings) {
    let mut words = TermWeights::new(fields.len());
    let mut concepts = TermWeights::new(fields.len());
    for (at, fields) in (0..).zip(fields) {
        for (ids, weight) in fields.word_weights() {
            for term in ids.iter().filter_map(|id| lexicon.word(*id).term) {
                words.add(term, at, weight);
            }
        }
        for (ids, weight) in fields.concept_weights() {
            let stems: Vec<_> = ids.iter().map(|id| &*lexicon.word(*id).stem).collect();
            let of_words = ids.iter().flat_map(|id| &lexicon.word(*id).concepts).copied();
            for concept in of_words.chain(lexicon.tool_phrases(&stems)) {
                concepts.add(concept, at, weight);
            }
        }
    }
    (words.finish(0.6), concepts.finish(0.7))
}

/// Makes the vector of each tool: its name, its first sentence, its description and its server count alike.
fn vectors(
    fields: &[Fields],
    servers: &ServerTable,
    lexicon: &Lexicon,
    words: &Postings,
) -> Vectors {
    if embeddings::DIMENSIONS == 0 {
        return Vectors::default();
    }
    let table = WordVectors::new(lexicon, words, fields.len());
    let own: Vec<VectorSum> = fields
        .iter()
        .map(|fields| {
            let mut own = VectorSum::default();
            own.add_direction(&table.sum([&*fields.name, &fields.title]), 1.0);
            own.add_direction(&table.sum([&*fields.first_sentence]), 1.0);
            own.add_direction(&table.sum([&*fields.first_sentence, &fields.rest]), 1.0);
            own
        })
        .collect();
    let mut of_servers = vec![VectorSum::default(); servers.names.len()];
    for (own, server) in own.iter().zip(&servers.of_tools) {
        of_servers[*server as usize].add_direction(own, 1.0);
    }
    for ((sum, name), text) in of_servers.iter_mut().zip(&servers.names).zip(&servers.instructions)
    {
        let mut server = VectorSum::default();
        server.add_direction(sum, 1.0);
        server.add_direction(&table.sum([&**name]), 1.0);
        server.add_direction(&table.sum([&**text]), 0.5);
        *sum = server;
    }
    let mut vectors = Vectors::default();
    for (mut sum, server) in own.into_iter().zip(&servers.of_tools) {
        // What three fields say, and a little of what the server is about.
        sum.add_direction(&of_servers[*server as usize], 0.4);
        vectors.push(&sum);
    }
    vectors
}

/// The vectors of all words, each weighed by how much it says.
struct WordVectors(Vec<Vec<f32>>);

impl WordVectors {
    fn new(lexicon: &Lexicon, words: &Postings, documents: usize) -> Self {
        let vector = |id| {
            let word = lexicon.word(id);
            let Some(term) = word.term else { return Vec::new() };
            let weight = words.rarity(term).unwrap_or_else(|| rarity(documents as f32, 0)).sqrt();
            embeddings::vector(&word.text).into_iter().map(|value| weight * value).collect()
        };
        Self((0..lexicon.len() as WordId).map(vector).collect())
    }

    fn sum<const N: usize>(&self, fields: [&[WordId]; N]) -> VectorSum {
        let mut sum = VectorSum::default();
        for id in fields.into_iter().flatten() {
            sum.add(&self.0[*id as usize], 1.0);
        }
        sum
    }
}

/// The servers of the tools; local tools share one without a name.
struct ServerTable {
    of_tools: Vec<u32>,
    names: Vec<Vec<WordId>>,
    instructions: Vec<Vec<WordId>>,
}

impl ServerTable {
    fn read(documents: &[ToolDocument<'_>], lexicon: &mut Lexicon) -> Self {
        let mut ids = HashMap::new();
        let (mut names, mut instructions) = (Vec::new(), Vec::new());
        let of_tools = documents.iter().map(|document| {
            *ids.entry(document.server()).or_insert_with(|| {
                names.push(lexicon.read(document.server(), MOST_WORDS));
                let text = document.instructions.unwrap_or_default();
                instructions.push(lexicon.read(text, MOST_WORDS));
                (names.len() - 1) as u32
            })
        });
        Self { of_tools: of_tools.collect(), names, instructions }
    }

    fn postings(&self, lexicon: &Lexicon) -> Postings {
        let mut weights = TermWeights::new(self.names.len());
        for (at, (name, text)) in (0..).zip(self.names.iter().zip(&self.instructions)) {
            for (ids, weight) in [(name, 2.0), (text, 1.0)] {
                for term in ids.iter().filter_map(|id| lexicon.word(*id).term) {
                    weights.add(term, at, weight);
                }
            }
        }
        weights.finish(0.3)
    }

    fn name_stems(&self, lexicon: &Lexicon) -> Vec<Vec<u32>> {
        let stems =
            |ids: &Vec<WordId>| ids.iter().filter_map(|id| lexicon.word(*id).term).collect();
        self.names.iter().map(stems).collect()
    }
}
