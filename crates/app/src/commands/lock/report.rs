//! How a server differs from the lock, for people and programs.

use serde_json::{Value, json};
use switchboard_lock::{Change, ChangeKind, DefinitionKind, Finding, Fragment};

use crate::terminal::{Paint, text};

/// How a server differs from the lock.
pub(in crate::commands) struct ServerComparison {
    pub(in crate::commands) name: String,
    pub(in crate::commands) separator: String,
    /// How many definitions it has.
    pub(in crate::commands) count: usize,
    /// Whether the lock does not have it.
    pub(in crate::commands) is_new: bool,
    /// Why it could not be reached.
    pub(in crate::commands) error: Option<String>,
    /// What differs in its identity.
    pub(in crate::commands) identity: Vec<String>,
    /// What differs in its definitions, and what the screen found there.
    pub(in crate::commands) changes: Vec<(Change, Vec<Finding>)>,
}

impl ServerComparison {
    /// Whether anything has to be trusted.
    pub(in crate::commands) fn waits(&self) -> bool {
        self.changes.iter().any(|(change, _)| change.change.waits())
    }

    /// The findings as lines, in the form that SPEC LK-2 gives them.
    pub(in crate::commands) fn warnings(&self) -> impl Iterator<Item = String> {
        let found = self.changes.iter().flat_map(|(_, findings)| findings);
        found.map(|finding| text::one_line(&finding.line(&self.name, &self.separator)))
    }

    pub(in crate::commands) fn error_line(&self) -> Option<String> {
        let error = self.error.as_ref()?;
        Some(format!(
            "server `{}` cannot be reached: {}",
            text::one_line(&self.name),
            text::one_line(error)
        ))
    }

    /// What differs, as far as it is shown, in lines.
    pub(in crate::commands) fn lines(
        &self,
        shows: impl Fn(&Change) -> bool,
        paint: Paint,
    ) -> Vec<String> {
        let mut lines = Vec::new();
        if !self.identity.is_empty() {
            let name = text::one_line(&self.name);
            lines.push(format!("{} is another program than in the lock", paint.bold(&name)));
            lines.extend(self.identity.iter().map(|line| format!("  {}", text::one_line(line))));
        }
        for (change, _) in self.changes.iter().filter(|(change, _)| shows(change)) {
            lines.extend(change_lines(&self.name, &self.separator, change, paint));
        }
        lines
    }

    /// The same for programs.
    pub(in crate::commands) fn json(&self) -> Value {
        let changes = self.changes.iter().map(|(change, findings)| {
            let from = match &change.change {
                ChangeKind::Renamed { from } => Some(from),
                _ => None,
            };
            json!({
                "kind": change.kind,
                "name": change.name,
                "change": change.change.name(),
                "from": from,
                "diff": change.fields.iter().map(|field| field.text()).collect::<Vec<_>>(),
                "notes": change.notes,
                "findings": findings.iter().map(|finding| &finding.sentence).collect::<Vec<_>>(),
            })
        });
        let changes: Vec<_> = changes.collect();
        json!({"name": self.name, "error": self.error, "identity": self.identity, "definitions": self.count, "changes": changes, "is_new": self.is_new})
    }
}

/// A change in lines: what it is about, what matters, and the words.
pub(in crate::commands) fn change_lines(
    server: &str,
    separator: &str,
    change: &Change,
    paint: Paint,
) -> Vec<String> {
    let name = text::one_line(&format!("{server}{separator}{}", change.name));
    let noun = match change.kind {
        DefinitionKind::Tool | DefinitionKind::Instructions => String::new(),
        kind => format!(" ({})", kind.noun()),
    };
    let mut lines =
        vec![format!("{}{noun} {}", paint.bold(&name), text::one_line(&change.change.text()))];
    lines.extend(
        change
            .notes
            .iter()
            .map(|note| format!("  {}", paint.red(&format!("! {}", text::one_line(note))))),
    );
    lines.extend(change.fields.iter().map(|field| {
        let words = field.fragments.iter().map(|fragment| match fragment {
            Fragment::Same(same) => excerpt(same),
            Fragment::Removed(removed) => paint.red(&format!("[-{}-]", words(removed))),
            Fragment::Added(added) => paint.green(&format!("{{+{}+}}", words(added))),
        });
        format!("  {}: {}", paint.dim(&text::one_line(&field.place)), words.collect::<String>())
    }));
    lines
}

/// Returns words on one line, with the spaces at both ends.
fn words(text: &str) -> String {
    let line = text::one_line(text);
    if line.is_empty() {
        return " ".to_owned();
    }
    let space = |is_there: bool| if is_there { " " } else { "" };
    let starts = text.starts_with(char::is_whitespace);
    let ends = text.ends_with(char::is_whitespace);
    format!("{}{line}{}", space(starts), space(ends))
}

/// Returns what is the same, without the middle of a long text.
fn excerpt(same: &str) -> String {
    const SIDE: usize = 60;
    let line = words(same);
    let count = line.chars().count();
    if count <= 2 * SIDE + 3 {
        return line;
    }
    let start: String = line.chars().take(SIDE).collect();
    let end: String = line.chars().skip(count - SIDE).collect();
    format!("{start} … {end}")
}
