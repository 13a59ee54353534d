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

/// Returns how many of the questions have their tool among the first `most`.
pub(crate) fn recall(ranks: &[usize], most: usize) -> f64 {
    ranks.iter().filter(|rank| **rank < most).count() as f64 / ranks.len() as f64
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

    /// Returns how many tools come before the right one, per question.
    pub(crate) fn ranks(&self, index: &Index) -> Vec<usize> {
        let rank = |(question, answers): &(String, Vec<String>)| {
            let mut found = index.search(question).into_iter();
            let is_right = |name: &str| answers.iter().any(|answer| answer == name);
            let rank = found.position(|found| index.name(found.document).is_some_and(is_right));
            rank.unwrap_or(usize::MAX)
        };
        self.questions.iter().map(rank).collect()
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
