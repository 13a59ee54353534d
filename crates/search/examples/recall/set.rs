//! Tools and questions: a folder with `tools.jsonl` (a tool a line: `server`, `name`, `title`, `description`, `parameters`) and
//! `questions.tsv` (a question, a tab, and the full names of the tools that answer it, separated by commas). In place of
//! `tools.jsonl`, `sets.txt` names other sets, whose tools are used together.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Map, Value};
use switchboard_search::{Index, ToolDocument};
use switchboard_toolcall::{ToolOrigin, ToolSpec};

/// Tools, and questions with the tools that answer them.
pub(crate) struct RecallSet {
    pub(crate) tools: Vec<ToolSpec>,
    pub(crate) questions: Vec<(String, Vec<String>)>,
}

/// Returns the folder of a set in the repository.
pub(crate) fn stored(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("recall").join(name)
}

/// Where the tools that answer a question are among those that were found, each by how many come before it. One that was not
/// found is at `usize::MAX`.
pub(crate) struct AnswerRanks(Vec<usize>);

impl AnswerRanks {
    /// `found` has the names of the tools that were found, best first.
    pub(crate) fn of(answers: &[String], found: &[&str]) -> Self {
        let rank = |answer: &String| found.iter().position(|name| name == answer);
        Self(answers.iter().map(|answer| rank(answer).unwrap_or(usize::MAX)).collect())
    }

    /// Returns how many of the answers are among the first `most`.
    fn among(&self, most: usize) -> usize {
        self.0.iter().filter(|rank| **rank < most).count()
    }

    /// Returns whether any answer is among the first `most`.
    pub(crate) fn is_hit(&self, most: usize) -> bool {
        self.among(most) > 0
    }
}

/// Returns the part of the questions of which any answer is among the first `most`.
pub(crate) fn hits(ranks: &[AnswerRanks], most: usize) -> f64 {
    ranks.iter().filter(|ranks| ranks.is_hit(most)).count() as f64 / ranks.len() as f64
}

/// Returns the part of a question's answers that is among the first `most`, on average.
pub(crate) fn recall(ranks: &[AnswerRanks], most: usize) -> f64 {
    let part = |ranks: &AnswerRanks| ranks.among(most) as f64 / ranks.0.len() as f64;
    ranks.iter().map(part).sum::<f64>() / ranks.len() as f64
}

impl RecallSet {
    pub(crate) fn read(folder: &Path) -> Self {
        let question = |line: &str| {
            let (question, answers) = line.split_once('\t').expect("a question, a tab, its tools");
            (question.to_owned(), answers.split(',').map(str::to_owned).collect())
        };
        Self {
            tools: tools(folder),
            questions: text(&folder.join("questions.tsv")).lines().map(question).collect(),
        }
    }

    pub(crate) fn index(&self) -> Index {
        let documents = self.tools.iter().map(|tool| ToolDocument::new(&tool.name, tool));
        Index::build(&documents.collect::<Vec<_>>())
    }

    /// Returns where the answers of each question are.
    pub(crate) fn ranks(&self, index: &Index) -> Vec<AnswerRanks> {
        let ranks = |(question, answers): &(String, Vec<String>)| {
            let found = index.search(question);
            let names = found.iter().filter_map(|found| index.name(found.document));
            AnswerRanks::of(answers, &names.collect::<Vec<_>>())
        };
        self.questions.iter().map(ranks).collect()
    }
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn tools(folder: &Path) -> Vec<ToolSpec> {
    let sets = folder.join("sets.txt");
    if sets.exists() {
        return text(&sets).lines().flat_map(|name| tools(&folder.with_file_name(name))).collect();
    }
    text(&folder.join("tools.jsonl")).lines().map(tool).collect()
}

fn tool(line: &str) -> ToolSpec {
    let mut tool: Map<String, Value> = serde_json::from_str(line).expect("a tool as JSON");
    let mut take = |key: &str| tool.remove(key).unwrap_or_default();
    let text = |value: Value| value.as_str().unwrap_or_default().to_owned();
    let (server, name) = (text(take("server")), text(take("name")));
    let description = text(take("description"));
    let mut spec = ToolSpec::new(format!("{server}__{name}"), description, take("parameters"));
    spec.origin = ToolOrigin::Server { server: server.into(), tool: name.into() };
    spec.extra = tool;
    spec
}
