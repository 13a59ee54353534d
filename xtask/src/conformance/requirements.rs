//! Which scenarios a revision requires, as `conformance list --requirements REVISION` prints them.

use anyhow::{Result, bail};

/// Which side of ours the suite looks at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Leg {
    Client,
    Server,
}

/// What one revision requires.
pub(super) struct Requirements {
    pub(super) revision: &'static str,
    scored: Vec<(Leg, String)>,
    /// What runs without being counted, and the suite's word for why.
    unscored: Vec<(String, String)>,
}

impl Requirements {
    pub(super) fn parse(revision: &'static str, list: &str) -> Result<Self> {
        let mut requirements = Self { revision, scored: Vec::new(), unscored: Vec::new() };
        let mut leg = None;
        let mut kind = String::new();
        for line in list.lines() {
            match line.trim().strip_prefix("- ") {
                Some(entry) => match leg {
                    Some(leg) => requirements.scored.push((leg, entry.to_owned())),
                    // `tasks-lifecycle [server]`
                    None => {
                        let name = entry.split(' ').next().unwrap_or(entry);
                        requirements.unscored.push((name.to_owned(), kind.clone()));
                    }
                },
                None if line.starts_with("Server scenarios") => leg = Some(Leg::Server),
                None if line.starts_with("Client scenarios") => leg = Some(Leg::Client),
                None if line.starts_with("Run and reported") => leg = None,
                // `extension (16):`
                None => {
                    let word = line.trim().split(" (").next().unwrap_or_default();
                    word.clone_into(&mut kind);
                }
            }
        }
        for leg in [Leg::Client, Leg::Server] {
            if requirements.scored(leg).next().is_none() {
                bail!("the suite lists no {leg:?} scenario for {revision}; did its output change?");
            }
        }
        Ok(requirements)
    }

    pub(super) fn scored(&self, leg: Leg) -> impl Iterator<Item = &str> {
        let of_leg = move |(of, _): &&(Leg, String)| *of == leg;
        self.scored.iter().filter(of_leg).map(|(_, name)| name.as_str())
    }

    /// Why a scenario is not counted, if it is one of those.
    pub(super) fn unscored(&self, scenario: &str) -> Option<&str> {
        let entry = self.unscored.iter().find(|(name, _)| name == scenario);
        entry.map(|(_, kind)| kind.as_str())
    }
}
