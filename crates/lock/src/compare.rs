//! What has changed between the lock and what a server says now, for people.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde_json::{Map, Value};

use crate::{
    definition::{DefinitionKind, LockableDefinition},
    file::LockedServer,
    important_changes,
    word_diff::{DiffBudget, Fragment, word_diff_within},
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
#[non_exhaustive]
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
    /// It says something else than in the lock in its `_meta` alone, which clients get as it is in the lock.
    Meta,
    /// The lock's text and hash contradict each other, so that nothing can be compared.
    Unsound,
    /// The server no longer has it.
    Gone,
}

impl ChangeKind {
    /// Returns whether it waits until somebody trusts it.
    pub fn waits(&self) -> bool {
        !matches!(self, Self::Gone | Self::Meta)
    }

    /// Says it for people.
    pub fn text(&self) -> String {
        match self {
            Self::New => "is not in the lock".to_owned(),
            Self::Renamed { from } => format!("is not in the lock; it is `{from}`, renamed"),
            Self::Changed => "has changed".to_owned(),
            Self::Meta => {
                "has another `_meta`; clients get the one in the lock (`lock --update` takes it)"
                    .to_owned()
            }
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
            Self::Meta => "meta",
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
pub fn compare(
    locked: Option<&LockedServer>,
    now: &[LockableDefinition],
    is_whole: bool,
) -> Vec<Change> {
    let empty = LockedServer::default();
    let locked = locked.unwrap_or(&empty);
    let there: HashSet<_> = now.iter().map(|one| (one.kind, one.name.as_str())).collect();
    let gone: Vec<_> = locked
        .definitions
        .iter()
        .filter(|((kind, name), _)| is_whole && !there.contains(&(*kind, name.as_str())))
        .map(|(_, locked)| &locked.definition)
        .collect();
    let mut twins = Twins::new(&gone);
    let mut budget = DiffBudget::default();
    let mut changes = Vec::new();
    let mut moved = HashSet::new();
    for definition in now {
        let known = locked.definitions.get(&(definition.kind, definition.name.clone()));
        match known {
            Some(known) if known.is_sound && known.hash == definition.hash() => {
                if known.definition.meta() != definition.meta() {
                    let (change, known) = (ChangeKind::Meta, Some(&known.definition));
                    changes.push(Change::new(change, known, definition, &mut budget));
                }
            }
            Some(known) => {
                let change = match known.is_sound {
                    true => ChangeKind::Changed,
                    false => ChangeKind::Unsound,
                };
                changes.push(Change::new(change, Some(&known.definition), definition, &mut budget));
            }
            None => {
                let twin = twins.of(definition);
                let change = match twin {
                    Some(twin) => ChangeKind::Renamed { from: twin.name.clone() },
                    None => ChangeKind::New,
                };
                moved.extend(twin.map(|twin| (twin.kind, twin.name.as_str())));
                changes.push(Change::new(change, twin, definition, &mut budget));
            }
        }
    }
    let left = gone.iter().filter(|gone| !moved.contains(&(gone.kind, gone.name.as_str())));
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

/// How many pairs of texts are compared to find definitions that were renamed and rewritten.
const MOST_PAIRS: usize = 10_000;

/// The definitions that are gone, by what they said.
struct Twins<'a> {
    gone: &'a [&'a LockableDefinition],
    bodies: HashMap<(DefinitionKind, String), &'a LockableDefinition>,
    /// How many pairs may still be compared: a server that renames thousands must not keep us busy.
    pairs: usize,
}

impl<'a> Twins<'a> {
    fn new(gone: &'a [&'a LockableDefinition]) -> Self {
        let bodies = gone.iter().map(|gone| ((gone.kind, gone.body_hash()), *gone)).collect();
        Self { gone, bodies, pairs: MOST_PAIRS }
    }

    /// Returns the definition that is gone and said the same, or nearly the same, under another name.
    fn of(&mut self, definition: &LockableDefinition) -> Option<&'a LockableDefinition> {
        if self.gone.is_empty() {
            return None;
        }
        if let Some(same) = self.bodies.get(&(definition.kind, definition.body_hash())) {
            return Some(*same);
        }
        let (words, parameters) = (words(definition), parameters(definition));
        for gone in self.gone.iter().filter(|gone| gone.kind == definition.kind) {
            self.pairs = self.pairs.checked_sub(1)?;
            if parameters == self::parameters(gone) && is_similar(&words, &self::words(gone)) {
                return Some(gone);
            }
        }
        None
    }
}

/// Returns the names of a definition's parameters, sorted.
fn parameters(definition: &LockableDefinition) -> Vec<&str> {
    let schema = definition.entry.get("inputSchema").and_then(|schema| schema.get("properties"));
    let names = schema.and_then(Value::as_object).into_iter().flat_map(Map::keys);
    let mut names: Vec<_> = names.map(String::as_str).collect();
    names.sort_unstable();
    names
}

/// Returns the words of a definition's description.
fn words(definition: &LockableDefinition) -> HashSet<&str> {
    let words = definition.description().split(|c: char| !c.is_alphanumeric());
    words.filter(|word| word.len() > 2).collect()
}

/// Returns whether two texts have mostly the same words.
fn is_similar(one: &HashSet<&str>, other: &HashSet<&str>) -> bool {
    /// Fewer words are alike by chance.
    const FEWEST: usize = 4;
    let most = one.len().max(other.len());
    let same = one.intersection(other).count();
    one.len().min(other.len()) >= FEWEST && same * 10 >= most * 6
}

impl Change {
    fn new(
        change: ChangeKind,
        before: Option<&LockableDefinition>,
        now: &LockableDefinition,
        budget: &mut DiffBudget,
    ) -> Self {
        let old = before.map(LockableDefinition::canonical).unwrap_or_default();
        let new = now.canonical();
        let fields = fields(&old, &new, budget);
        let notes = important_changes::notes(before, now);
        Self { kind: now.kind, name: now.name.clone(), change, fields, notes }
    }
}

fn fields(
    old: &Map<String, Value>,
    new: &Map<String, Value>,
    budget: &mut DiffBudget,
) -> Vec<FieldDiff> {
    let (old, new) = (flat(old), flat(new));
    let places: BTreeSet<_> = old.keys().chain(new.keys()).collect();
    let differs = places.into_iter().filter(|place| old.get(*place) != new.get(*place));
    let text = |texts: &BTreeMap<String, String>, place: &String| {
        texts.get(place).cloned().unwrap_or_default()
    };
    differs
        .map(|place| FieldDiff {
            place: place.clone(),
            fragments: word_diff_within(&text(&old, place), &text(&new, place), budget),
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
