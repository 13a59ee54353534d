//! Walks a whole schema once: its size, its patterns, and the possible targets of its references.

use std::{
    collections::{HashMap, HashSet},
    iter,
};

use serde_json::Value;
use switchboard_toolcall::text::percent_decoded;

/// What a schema contains, at any depth, including data such as `examples`.
pub(super) struct SchemaDocument<'a> {
    root: &'a Value,
    /// How many objects it has: at least as many as subschemas.
    pub(super) objects: u64,
    /// Its approximate size as text, in bytes.
    pub(super) bytes: u64,
    /// The distinct patterns.
    pub(super) patterns: HashSet<&'a str>,
    /// The objects that have an `$id` and so their own base URI, except for the root.
    resources: Vec<&'a Value>,
    /// The objects that references find by name.
    anchors: HashMap<&'a str, Vec<&'a Value>>,
    /// The objects with `$recursiveAnchor`.
    recursive_anchors: Vec<&'a Value>,
}

impl<'a> SchemaDocument<'a> {
    pub(super) fn new(root: &'a Value) -> Self {
        let mut document = Self {
            root,
            objects: 0,
            bytes: 0,
            patterns: HashSet::new(),
            resources: Vec::new(),
            anchors: HashMap::new(),
            recursive_anchors: Vec::new(),
        };
        let mut old_ids = Vec::new();
        let is_draft_4 = document.walk(root, &mut old_ids);
        // In other drafts `id` is not a keyword, and data is full of it.
        if is_draft_4 {
            old_ids.into_iter().for_each(|(id, value)| document.identify(id, value));
        }
        document
    }

    /// Adds a value. Returns whether it or anything in it declares draft 4.
    fn walk(&mut self, value: &'a Value, old_ids: &mut Vec<(&'a str, &'a Value)>) -> bool {
        let mut is_draft_4 = false;
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => self.bytes += 4,
            Value::String(text) => self.bytes += text.len() as u64 + 2,
            Value::Array(items) => {
                self.bytes += 2;
                for item in items {
                    is_draft_4 |= self.walk(item, old_ids);
                }
            }
            Value::Object(object) => {
                self.objects += 1;
                self.bytes += 2;
                for (key, inner) in object {
                    self.bytes += key.len() as u64 + 4;
                    self.note(key, inner, value);
                    match (key.as_str(), inner) {
                        ("id", Value::String(id)) => old_ids.push((id, value)),
                        ("$schema", Value::String(dialect)) => {
                            is_draft_4 |= super::is_draft_4(dialect);
                        }
                        _ => {}
                    }
                    is_draft_4 |= self.walk(inner, old_ids);
                }
            }
        }
        is_draft_4
    }

    /// Remembers a key of an object, if it is a keyword.
    fn note(&mut self, key: &'a str, value: &'a Value, object: &'a Value) {
        match (key, value) {
            ("pattern", Value::String(pattern)) => {
                self.patterns.insert(pattern);
            }
            ("patternProperties", Value::Object(patterns)) => {
                self.patterns.extend(patterns.keys().map(String::as_str));
            }
            ("$anchor" | "$dynamicAnchor", Value::String(name)) => {
                self.anchors.entry(name).or_default().push(object);
            }
            ("$recursiveAnchor", Value::Bool(true)) => self.recursive_anchors.push(object),
            ("$id", Value::String(id)) => self.identify(id, object),
            _ => {}
        }
    }

    /// Remembers an object that has an identifier: a URI, an anchor (`#name`, up to draft 7), or both.
    fn identify(&mut self, id: &'a str, object: &'a Value) {
        let (uri, name) = id.split_once('#').unwrap_or((id, ""));
        if !name.is_empty() {
            self.anchors.entry(name).or_default().push(object);
        }
        if !uri.is_empty() && !std::ptr::eq(object, self.root) {
            self.resources.push(object);
        }
    }

    /// Returns whether parts of it have their own base URI.
    pub(super) fn has_resources(&self) -> bool {
        !self.resources.is_empty()
    }

    /// Returns the possible targets of a reference: exactly one if the document has one base URI, and the targets under
    /// each base URI otherwise.
    pub(super) fn targets(&self, keyword: &str, reference: &str) -> Vec<&'a Value> {
        let (_, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let fragment = percent_decoded(fragment);
        let bases = || iter::once(self.root).chain(self.resources.iter().copied());
        match &*fragment {
            "" if keyword == "$recursiveRef" => {
                bases().chain(self.recursive_anchors.iter().copied()).collect()
            }
            "" => bases().collect(),
            pointer if pointer.starts_with('/') => {
                bases().filter_map(|base| base.pointer(pointer)).collect()
            }
            name => self.anchors.get(name).cloned().unwrap_or_default(),
        }
    }
}
