//! What `import` found and did, for people and for programs.

use serde_json::{Value, json};

use super::{
    FoundServers,
    merge::{ImportAction, ImportOutcome},
};
use crate::{
    settings::edit::ConfigEditor,
    terminal::{Paint, text},
};

pub(super) struct ImportReport<'a> {
    pub(super) found: &'a [FoundServers],
    pub(super) target: &'a ConfigEditor,
    /// In the order of what was found.
    pub(super) outcomes: &'a [ImportOutcome],
}

impl ImportReport<'_> {
    pub(super) fn json(&self) -> Value {
        let sources = self.found.iter().map(|found| {
            let program = found.source.program.map(|program| program.word);
            json!({"program": program, "file": found.source.file.display().to_string(), "servers": found.servers.len()})
        });
        let sources: Vec<_> = sources.collect();
        let mut report = json!({
            "sources": sources,
            "config": self.target.file().display().to_string(),
            "servers": self.outcomes,
        });
        if let [only] = self.found {
            report["source"] = only.source.file.display().to_string().into();
        }
        report
    }

    pub(super) fn text(&self, is_trial: bool, paint: Paint) -> String {
        let mut lines = Vec::new();
        let mut outcomes = self.outcomes.iter();
        for FoundServers { source, servers } in self.found {
            if self.found.len() > 1 {
                let title = source.program.map_or("", |program| program.title);
                let heading = format!("{title} {}", source.file.display());
                lines.push(paint.cyan(&text::one_line(heading.trim_start())));
            }
            for outcome in outcomes.by_ref().take(servers.len()) {
                lines.extend(lines_of(outcome, paint));
            }
        }
        lines.push(self.sum(is_trial));
        lines.join("\n")
    }

    fn sum(&self, is_trial: bool) -> String {
        let changed = self.outcomes.iter().filter(|outcome| outcome.is_change()).count();
        let servers = if self.outcomes.len() == 1 { "server" } else { "servers" };
        let from = match self.found {
            [] => return "no servers of other programs found".to_owned(),
            [only] => only.source.file.display().to_string(),
            many => format!("{} configs", many.len()),
        };
        let written = if is_trial { "would be written" } else { "written" };
        let total = self.outcomes.len();
        let target = self.target.file().display();
        format!("{changed} of {total} {servers} of {from} {written} to {target}")
    }
}

fn lines_of(outcome: &ImportOutcome, paint: Paint) -> Vec<String> {
    let ImportOutcome { name, action, reason, notes, .. } = outcome;
    let word = match action {
        ImportAction::Added => paint.green("added   "),
        ImportAction::Replaced => paint.yellow("replaced"),
        ImportAction::Left => paint.blue("left    "),
        ImportAction::Skipped => paint.red("skipped "),
    };
    let reason = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let first = format!("{word}  {}{}", paint.bold(name), text::one_line(&reason));
    let notes = notes.iter().map(|note| format!("          {}", text::one_line(note)));
    [first].into_iter().chain(notes).collect()
}

/// `1 server`, `2 servers`.
pub(super) fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
