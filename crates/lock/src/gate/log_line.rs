//! What one line of the log says of definitions that wait.

use switchboard_toolcall::text::{one_line, shortened, visible};

use super::PendingDefinition;
use crate::{compare::ChangeKind, definition::DefinitionKind};

/// How many waiting definitions are named in the log.
const MOST_NAMED: usize = 5;

/// How many changed fields of a definition are named, and how many of its notes.
const MOST_DETAILS: usize = 3;

/// How much is said of one definition, in characters.
const LONGEST: usize = 300;

/// Names the definitions, each with what differs and what matters most about it.
pub(super) fn summary(pending: &[PendingDefinition]) -> String {
    let shown: Vec<_> = pending.iter().take(MOST_NAMED).map(one).collect();
    let more = match pending.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    shown.join(", ") + &more
}

fn one(pending: &PendingDefinition) -> String {
    let PendingDefinition { definition, change, .. } = pending;
    let name = match definition.kind {
        DefinitionKind::Tool => visible(&definition.name).into_owned(),
        DefinitionKind::Instructions => definition.kind.noun().to_owned(),
        kind => format!("{} {}", kind.noun(), visible(&definition.name)),
    };
    let mut details = Vec::new();
    match &change.change {
        // Everything of a new one is new.
        ChangeKind::New => {}
        ChangeKind::Renamed { from } => details.push(format!("`{from}`, renamed")),
        _ => {
            let mut fields: Vec<_> =
                change.fields.iter().take(MOST_DETAILS).map(|field| field.place.clone()).collect();
            if let more @ 1.. = change.fields.len().saturating_sub(MOST_DETAILS) {
                fields.push(format!("{more} more"));
            }
            details.extend((!fields.is_empty()).then(|| fields.join(", ")));
        }
    }
    details.extend(change.notes.iter().take(MOST_DETAILS).cloned());
    match details.is_empty() {
        true => name,
        false => format!("{name} ({})", shortened(&one_line(&details.join("; ")), LONGEST)),
    }
}
