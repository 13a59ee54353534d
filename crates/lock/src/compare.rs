//! What has changed between the lock and what a server says now, for people.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::{
    definition::{Definition, DefinitionKind},
    file::LockedServer,
    weight,
    word_diff::{Fragment, word_diff},
};

/// A definition that differs from the lock.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// What the definition describes.
    pub kind: DefinitionKind,
    /// Its name now; of one that is gone, its name in the lock.
    pub name: String,
    /// What happened to it.
    pub change: ChangeKind,
    /// What differs, field by field; of a new definition, all that it says.
    pub fields: Vec<FieldDiff>,
    /// What matters most about it, each as a sentence without a full stop.
    pub notes: Vec<String>,
}

/// What happened to a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// It is not in the lock.
    New,
    /// It is not in the lock, but says what another one said that is gone.
    Renamed {
        /// The name in the lock.
        from: String,
    },
    /// It says something else than in the lock.
    Changed,
    /// The lock's text and hash contradict each other, so that nothing can be compared.
    Unsound,
    /// The server no longer has it.
    Gone,
}

impl ChangeKind {
    /// Returns whether it waits until somebody trusts it.
    pub fn waits(&self) -> bool {
        *self != Self::Gone
    }

    /// Says it for people.
    pub fn text(&self) -> String {
        match self {
            Self::New => "is not in the lock".to_owned(),
            Self::Renamed { from } => format!("is not in the lock; it is `{from}`, renamed"),
            Self::Changed => "has changed".to_owned(),
            Self::Unsound => "is in the lock with a hash that is not that of its text".to_owned(),
            Self::Gone => "is gone".to_owned(),
        }
    }

    /// Its name for programs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Renamed { .. } => "renamed",
            Self::Changed => "changed",
            Self::Unsound => "unsound",
            Self::Gone => "gone",
        }
    }
}

/// A field of a definition that differs, as a word diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldDiff {
    /// Where it stands, such as `description` or `inputSchema.properties.path.type`.
    pub place: String,
    /// The words.
    pub fragments: Vec<Fragment>,
}

impl FieldDiff {
    /// Writes it as `git diff --word-diff` does: `[-removed-]{+added+}`.
    pub fn text(&self) -> String {
        let each = self.fragments.iter().map(|fragment| match fragment {
            Fragment::Same(text) => text.clone(),
            Fragment::Removed(text) => format!("[-{text}-]"),
            Fragment::Added(text) => format!("{{+{text}+}}"),
        });
        format!("{}: {}", self.place, each.collect::<String>())
    }
}

/// Compares what a server says now with the lock. Definitions that are the same are not in the result; `is_whole` says whether
/// `now` has all of its definitions, so that others are gone.
pub fn compare(locked: Option<&LockedServer>, now: &[Definition], is_whole: bool) -> Vec<Change> {
    let empty = LockedServer::default();
    let locked = locked.unwrap_or(&empty);
    let is_there = |kind, name: &str| now.iter().any(|one| one.kind == kind && one.name == name);
    let gone: Vec<_> = locked
        .definitions
        .iter()
        .filter(|((kind, name), _)| is_whole && !is_there(*kind, name))
        .map(|(_, locked)| &locked.definition)
        .collect();
    let mut changes = Vec::new();
    let mut moved = Vec::new();
    for definition in now {
        let known = locked.definitions.get(&(definition.kind, definition.name.clone()));
        match known {
            Some(known) if known.is_sound && known.hash == definition.hash() => {}
            Some(known) => {
                let change = match known.is_sound {
                    true => ChangeKind::Changed,
                    false => ChangeKind::Unsound,
                };
                changes.push(Change::new(change, Some(&known.definition), definition));
            }
            None => {
                let twin = twin(definition, &gone);
                let change = match twin {
                    Some(twin) => ChangeKind::Renamed { from: twin.name.clone() },
                    None => ChangeKind::New,
                };
                moved.extend(twin.map(|twin| (twin.kind, twin.name.clone())));
                changes.push(Change::new(change, twin, definition));
            }
        }
    }
    let left = gone.iter().filter(|gone| !moved.contains(&(gone.kind, gone.name.clone())));
    changes.extend(left.map(|gone| Change {
        kind: gone.kind,
        name: gone.name.clone(),
        change: ChangeKind::Gone,
        fields: Vec::new(),
        notes: Vec::new(),
    }));
    changes.sort_by(|one, other| (one.kind, &one.name).cmp(&(other.kind, &other.name)));
    changes
}

/// Returns the definition that is gone and said the same, or nearly the same, under another name.
fn twin<'a>(definition: &Definition, gone: &[&'a Definition]) -> Option<&'a Definition> {
    let same_kind = || gone.iter().filter(|gone| gone.kind == definition.kind);
    let body = definition.body_hash();
    let equal = same_kind().find(|gone| gone.body_hash() == body);
    let similar = || same_kind().find(|gone| is_similar(gone, definition));
    equal.or_else(similar).copied()
}

/// Returns whether two definitions take the same parameters and have mostly the same words.
fn is_similar(one: &Definition, other: &Definition) -> bool {
    let parameters = |definition: &Definition| {
        let schema =
            definition.entry.get("inputSchema").and_then(|schema| schema.get("properties"));
        let names = schema.and_then(Value::as_object).map(Map::keys);
        let mut names: Vec<_> = names.into_iter().flatten().cloned().collect();
        names.sort();
        names
    };
    let (old, new) = (one.description(), other.description());
    if parameters(one) != parameters(other) || old.len() < 20 || new.len() < 20 {
        return false;
    }
    let same: usize = word_diff(old, new)
        .iter()
        .map(|fragment| match fragment {
            Fragment::Same(text) => text.len(),
            _ => 0,
        })
        .sum();
    same * 10 >= old.len().max(new.len()) * 6
}

impl Change {
    fn new(change: ChangeKind, before: Option<&Definition>, now: &Definition) -> Self {
        let old = before.map(Definition::canonical).unwrap_or_default();
        let new = now.canonical();
        let fields = fields(&old, &new);
        let notes = weight::notes(before, now);
        Self { kind: now.kind, name: now.name.clone(), change, fields, notes }
    }
}

fn fields(old: &Map<String, Value>, new: &Map<String, Value>) -> Vec<FieldDiff> {
    let (old, new) = (flat(old), flat(new));
    let places: std::collections::BTreeSet<_> = old.keys().chain(new.keys()).collect();
    let differs = places.into_iter().filter(|place| old.get(*place) != new.get(*place));
    let text = |texts: &BTreeMap<String, String>, place: &String| {
        texts.get(place).cloned().unwrap_or_default()
    };
    differs
        .map(|place| FieldDiff {
            place: place.clone(),
            fragments: word_diff(&text(&old, place), &text(&new, place)),
        })
        .collect()
}

/// Returns the scalar values of an object by their places, such as `inputSchema.properties.path.type`.
fn flat(fields: &Map<String, Value>) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    for (key, value) in fields {
        flatten(key, value, &mut out);
    }
    out
}

fn flatten(place: &str, value: &Value, out: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (key, value) in map {
                flatten(&format!("{place}.{key}"), value, out);
            }
        }
        Value::Array(values) if values.iter().any(Value::is_object) => {
            for (index, value) in values.iter().enumerate() {
                let own = value.get("name").and_then(Value::as_str);
                let own = own.map_or_else(|| index.to_string(), str::to_owned);
                flatten(&format!("{place}.{own}"), value, out);
            }
        }
        Value::String(text) => _ = out.insert(place.to_owned(), text.clone()),
        other => _ = out.insert(place.to_owned(), other.to_string()),
    }
}
