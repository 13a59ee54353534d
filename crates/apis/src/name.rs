//! Names of tools and arguments that models take: letters, digits, `_` and `-`, 64 at most.

use std::collections::HashSet;

use sha2::{Digest, Sha256};
use switchboard_toolcall::text::hex;

/// What every provider takes (SPEC ML-6).
const LONGEST: usize = 64;

/// The names of an API's tools, without the API's own name.
pub(crate) struct OperationNames {
    longest: usize,
    taken: HashSet<String>,
}

impl OperationNames {
    /// Creates the names of an API's tools, which begin with `prefix`.
    pub(crate) fn new(prefix: &str) -> Self {
        Self { longest: LONGEST.saturating_sub(prefix.len()).max(16), taken: HashSet::new() }
    }

    /// Returns a name that no other operation has: the operation's id, or its method and path.
    pub(crate) fn name(&mut self, id: Option<&str>, method: &str, path: &str) -> String {
        let id = id.map(plain).filter(|id| !id.is_empty());
        let whole = id.unwrap_or_else(|| plain(&format!("{method}_{path}")));
        let name = match whole.len() > self.longest {
            true => {
                let hash = format!("_{}", &hex(&Sha256::digest(whole.as_bytes()))[..6]);
                let kept = whole[..self.longest - hash.len()].trim_end_matches(['_', '-']);
                format!("{kept}{hash}")
            }
            false => whole,
        };
        let room = self.longest;
        let more = (2..).map(|number: u32| {
            let end = format!("_{number}");
            let kept = &name[..name.len().min(room - end.len())];
            format!("{}{end}", kept.trim_end_matches('_'))
        });
        let mut names = std::iter::once(name.clone()).chain(more);
        let found = names.find(|name| !self.taken.contains(name)).unwrap_or_default();
        self.taken.insert(found.clone());
        found
    }
}

/// Returns the name of an argument, as no other has it.
pub(crate) fn argument(name: &str, place: &str, taken: &HashSet<String>) -> String {
    let kept = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let kept: String = name.chars().map(|c| if kept(c) { c } else { '_' }).take(LONGEST).collect();
    let own = match kept.trim_matches('_').is_empty() {
        true => place.to_owned(),
        // `filter[name]` becomes `filter_name`.
        false if kept == name => kept,
        false => kept.trim_matches('_').to_owned(),
    };
    let more = (2..).map(|number: u32| format!("{own}_{place}_{number}"));
    let others = [own.clone(), format!("{own}_{place}")].into_iter().chain(more);
    let mut free = others.filter(|name| !taken.contains(name));
    free.next().unwrap_or_default()
}

/// Returns the text with everything else as single underscores.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if c.is_ascii_alphanumeric() || c == '-' => plain.push(c),
            _ if plain.ends_with('_') => {}
            _ => plain.push('_'),
        }
    }
    plain.trim_matches('_').to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    // TK-3
    #[test]
    fn names_are_the_ids_as_models_take_them() {
        let mut names = OperationNames::new("github__");
        for (id, expected) in [
            (Some("repos/list-for-org"), "repos_list-for-org"),
            (Some("repos/list for\u{202e}org"), "repos_list_for_org"),
            (Some("a__b"), "a_b"),
            (Some("a_b"), "a_b_2"),
            (Some("../../etc"), "etc"),
            (None, "get_pets_id"),
            (Some("日本"), "get_pets_id_2"),
        ] {
            assert_eq!(names.name(id, "get", "/pets/{id}"), expected);
        }
        let long = names.name(Some(&"ab-".repeat(40)), "get", "/");
        assert_eq!(long.len(), 56);
        assert_ne!(long, names.name(Some(&"ab-".repeat(41)), "get", "/"));
        assert_eq!(names.name(Some(&"ab-".repeat(40)), "get", "/").len(), 56);
    }

    // TK-3
    #[test]
    fn arguments_have_names_of_their_own() {
        let mut taken = HashSet::new();
        for (name, expected) in [
            ("id", "id"),
            ("id", "id_query"),
            ("id", "id_query_2"),
            ("filter[name]", "filter_name"),
            ("$top", "top"),
            ("_x", "_x"),
            ("日本", "query"),
            ("", "query_query"),
        ] {
            let found = argument(name, "query", &taken);
            assert_eq!(found, expected);
            taken.insert(found);
        }
    }

    proptest! {
        // TK-3
        #[test]
        fn every_provider_takes_them(ids in prop::collection::vec(".{0,90}", 1..20), prefix in "[a-z]{1,32}__") {
            let mut names = OperationNames::new(&prefix);
            let mut seen = HashSet::new();
            for id in &ids {
                let name = format!("{prefix}{}", names.name(Some(id), "get", id));
                prop_assert!(name.len() <= 64 && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)));
                prop_assert!(!name[prefix.len()..].contains("__"));
                prop_assert!(seen.insert(name));
            }
        }
    }
}
