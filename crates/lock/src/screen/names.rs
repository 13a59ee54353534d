//! Names that look like those of another server's tools.

use std::collections::{BTreeSet, HashMap};

use switchboard_toolcall::text::visible;

use super::{Suspicion, characters::latin};
use crate::definition::LockableDefinition;

/// The shortest name of another server's tool that is looked for in texts.
const SHORTEST_MENTION: usize = 6;

/// How many names two servers may share until one finding stands for all of them: they do the same for two services, or one takes
/// the other's place.
const MANY_SHARED: usize = 3;

/// The tools of all servers.
#[derive(Debug, Default)]
pub(super) struct KnownNames {
    /// The names of each server's tools.
    servers: HashMap<String, BTreeSet<String>>,
    /// Those of them that wait to be trusted.
    waiting: HashMap<String, BTreeSet<String>>,
    /// Tools by what their names look like.
    skeletons: HashMap<String, BTreeSet<(String, String)>>,
}

impl KnownNames {
    pub(super) fn new<'a>(tools: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let mut skeletons: HashMap<String, BTreeSet<(String, String)>> = HashMap::new();
        let mut servers: HashMap<String, BTreeSet<String>> = HashMap::new();
        for (server, tool) in tools {
            servers.entry(server.to_owned()).or_default().insert(tool.to_owned());
            let own = skeletons.entry(skeleton(tool)).or_default();
            own.insert((server.to_owned(), tool.to_owned()));
        }
        Self { servers, waiting: HashMap::new(), skeletons }
    }

    /// Says which of the tools wait, each with its server.
    pub(super) fn set_waiting<'a>(&mut self, tools: impl Iterator<Item = (&'a str, &'a str)>) {
        for (server, tool) in tools {
            self.waiting.entry(server.to_owned()).or_default().insert(tool.to_owned());
        }
    }

    /// How many names both servers have, if that is many; `None` if another one of them stands for this one: the first that
    /// waits, as the others were told when they were locked, or else the first.
    fn shared(&self, server: &str, other: &str, name: &str) -> Option<usize> {
        let (Some(own), Some(others)) = (self.servers.get(server), self.servers.get(other)) else {
            return Some(1);
        };
        let both: Vec<_> = own.intersection(others).collect();
        if both.len() < MANY_SHARED || !own.contains(name) {
            return Some(1);
        }
        let waiting = self.waiting.get(server);
        let waits = |one: &&&String| waiting.is_some_and(|waiting| waiting.contains(**one));
        let stands_for_all = both.iter().find(waits).or_else(|| both.first());
        stands_for_all.filter(|first| **first == name).map(|_| both.len())
    }

    pub(super) fn find(
        &self,
        server: &str,
        definition: &LockableDefinition,
        add: &mut impl FnMut(Suspicion, String),
    ) {
        let name = &definition.name;
        let alike = self.skeletons.get(&skeleton(name)).into_iter().flatten();
        let mut others = alike.filter(|(other, tool)| other != server || tool != name);
        let told = others.find_map(|(other, tool)| match tool == name {
            true => Some((other, tool, "is also that", self.shared(server, other, name)?)),
            false => Some((other, tool, "looks like that", 1)),
        });
        if let Some((other, tool, how, shared)) = told {
            let (other, tool) = (visible(other), visible(tool));
            let more = match shared {
                2.. => format!(", and so are {} more of its server's names", shared - 1),
                _ => String::new(),
            };
            add(Suspicion::Shadow, format!("its name {how} of `{tool}` of server `{other}`{more}"));
        }
        // A description that speaks of another server's tool may want its calls changed.
        let text = definition.description();
        let others = self.skeletons.values().flatten().filter(|(other, tool)| {
            other != server && tool.len() >= SHORTEST_MENTION && tool.contains(['_', '-'])
        });
        // Servers leave out the prefix that their own names have.
        let is_own = |tool: &str| {
            let is_same = |own: &String| {
                let prefix = own.strip_suffix(tool);
                prefix.is_some_and(|prefix| prefix.is_empty() || prefix.ends_with(['_', '-']))
            };
            self.servers.get(server).is_some_and(|own| own.iter().any(is_same))
        };
        for (other, tool) in others {
            if mentions(text, tool) && !is_own(tool) {
                let (other, tool) = (visible(other), visible(tool));
                add(
                    Suspicion::Shadow,
                    format!("its description speaks of `{tool}`, a tool of server `{other}`"),
                );
                return;
            }
        }
    }
}

/// Returns whether a text has a name as a whole word.
fn mentions(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// Returns what a name looks like: look-alikes as the letters that they look like, case and invisible characters left out.
fn skeleton(name: &str) -> String {
    name.chars()
        .filter(|c| !switchboard_toolcall::text::is_hidden(*c))
        .map(|c| latin(c).unwrap_or(c))
        .flat_map(char::to_lowercase)
        .map(|c| match c {
            '0' => 'o',
            '1' | 'i' | '|' => 'l',
            '5' => 's',
            '-' | '.' | ' ' => '_',
            c => c,
        })
        .collect::<String>()
        .replace("rn", "m")
        .replace("vv", "w")
}
