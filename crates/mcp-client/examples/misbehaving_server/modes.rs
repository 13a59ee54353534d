//! Which misbehaviour is wanted.

use std::{collections::HashMap, env};

/// Modes and their values.
pub(crate) struct Modes(HashMap<String, String>);

impl Modes {
    pub(crate) fn from_arguments() -> Self {
        let argument = env::args().nth(1).unwrap_or_default();
        let modes = argument.split(',').filter(|mode| !mode.is_empty());
        let pairs = modes.map(|mode| mode.split_once('=').unwrap_or((mode, "")));
        Self(pairs.map(|(mode, value)| (mode.to_owned(), value.to_owned())).collect())
    }

    pub(crate) fn has(&self, mode: &str) -> bool {
        self.0.contains_key(mode)
    }

    /// The mode's value, where the mode is on.
    pub(crate) fn text(&self, mode: &str) -> Option<&str> {
        self.0.get(mode).map(String::as_str)
    }

    /// The mode's value as a number, where the mode is on; a default where none is given.
    pub(crate) fn number(&self, mode: &str, default: u64) -> Option<u64> {
        self.text(mode).map(|value| value.parse().unwrap_or(default))
    }
}
