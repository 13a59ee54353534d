//! Names of at most 64 characters of `[a-zA-Z0-9_-]`, and the way back.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

const LONGEST: usize = 64;

/// Which name was sent for which tool, both ways.
#[derive(Clone, Debug, Default)]
pub struct Names {
    wire_name: HashMap<String, String>,
    tool_name: HashMap<String, String>,
}

impl Names {
    /// Names for these tools. One that can be sent is sent; the others make way, by the same rule every time.
    pub fn new<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Self {
        let mut taken: HashSet<String> =
            names.clone().filter(|name| is_plain(name)).map(str::to_owned).collect();
        let mut found = Self::default();
        for name in names {
            if found.wire_name.contains_key(name) {
                continue;
            }
            let wire = if is_plain(name) { name.to_owned() } else { free(name, &taken) };
            taken.insert(wire.clone());
            found.tool_name.insert(wire.clone(), name.to_owned());
            found.wire_name.insert(name.to_owned(), wire);
        }
        found
    }

    /// The name to send. Tools of earlier turns that are no longer offered get a name that can be sent.
    pub(crate) fn wire_name<'a>(&'a self, name: &'a str) -> Cow<'a, str> {
        match self.wire_name.get(name) {
            Some(wire) => Cow::Borrowed(wire),
            None if is_plain(name) => Cow::Borrowed(name),
            None => Cow::Owned(plain(name)),
        }
    }

    /// The tool's own name; a name that was never sent stays what the model wrote.
    pub(crate) fn tool_name<'a>(&'a self, wire: &'a str) -> &'a str {
        self.tool_name.get(wire).map_or(wire, String::as_str)
    }

    /// The tool's own name, if this one was sent.
    pub(crate) fn known(&self, wire: &str) -> Option<&str> {
        self.tool_name.get(wire).map(String::as_str)
    }
}

fn is_plain(name: &str) -> bool {
    (1..=LONGEST).contains(&name.len()) && name.bytes().all(is_allowed)
}

fn is_allowed(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// Replaces the characters that are not allowed in a name, and shortens it with a hash if it would be too long.
fn plain(name: &str) -> String {
    let replaced: String =
        name.chars().map(|c| if c.is_ascii() && is_allowed(c as u8) { c } else { '_' }).collect();
    if is_plain(&replaced) { replaced } else { marked(&replaced, name, 0) }
}

fn free(name: &str, taken: &HashSet<String>) -> String {
    let first = plain(name);
    if !taken.contains(&first) {
        return first;
    }
    let mut round = 0;
    loop {
        let candidate = marked(&first, name, round);
        if !taken.contains(&candidate) {
            return candidate;
        }
        round += 1;
    }
}

/// As much of `start` as leaves room for a mark that only `name` has.
fn marked(start: &str, name: &str, round: u32) -> String {
    let hash = hash(name).wrapping_add(u64::from(round)) & 0xffff_ffff;
    let room = start.len().min(LONGEST - 9);
    format!("{}_{hash:08x}", &start[..room])
}

/// FNV-1a: the same on every machine and in every version, unlike the standard library's.
pub(crate) fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
