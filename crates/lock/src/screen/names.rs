//! Names that look like those of another server's tools.

use std::collections::{BTreeSet, HashMap};

use switchboard_toolcall::text::visible;

use super::{Suspicion, characters::latin};
use crate::definition::LockableDefinition;

/// The shortest name of another server's tool that is looked for in texts.
const SHORTEST_MENTION: usize = 6;

/// The tools of all servers.
#[derive(Debug, Default)]
pub(super) struct KnownNames {
    /// Tools by what their names look like.
    skeletons: HashMap<String, BTreeSet<(String, String)>>,
}

impl KnownNames {
    pub(super) fn new<'a>(tools: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let mut skeletons: HashMap<String, BTreeSet<(String, String)>> = HashMap::new();
        for (server, tool) in tools {
            let own = skeletons.entry(skeleton(tool)).or_default();
            own.insert((server.to_owned(), tool.to_owned()));
        }
        Self { skeletons }
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
        if let Some((other, tool)) = others.next() {
            let how = if tool == name { "is also that" } else { "looks like that" };
            let (other, tool) = (visible(other), visible(tool));
            add(Suspicion::Shadow, format!("its name {how} of `{tool}` of server `{other}`"));
        }
        // A description that speaks of another server's tool may want its calls changed.
        let text = definition.description();
        let others = self.skeletons.values().flatten().filter(|(other, tool)| {
            other != server && tool.len() >= SHORTEST_MENTION && tool.contains(['_', '-'])
        });
        let is_own = |tool: &str| {
            self.skeletons.values().flatten().any(|(own, known)| own == server && known == tool)
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
