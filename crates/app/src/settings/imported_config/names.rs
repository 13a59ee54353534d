//! Server names that tools can be called by.

/// The name without white space and without the separator, so that `server__tool` finds its server.
pub(super) fn usable(name: &str, separator: &str) -> String {
    let filler = if separator == "_" { "-" } else { "_" };
    let words = name.split(|c: char| c.is_whitespace() || c.is_control());
    let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    let mut name = words.join(filler);
    while !separator.is_empty() && name.contains(separator) {
        name = name.replace(separator, filler);
    }
    if name.is_empty() { "server".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    // MC-8, TL-4
    #[test]
    fn names_are_changed_only_where_they_must() {
        for (name, expected) in [
            ("time", "time"),
            ("microsoft/playwright-mcp", "microsoft/playwright-mcp"),
            ("Brave Search", "Brave_Search"),
            ("a__b", "a_b"),
            ("a____b", "a_b"),
            ("a _b", "a_b"),
            (" \n", "server"),
        ] {
            assert_eq!(usable(name, "__"), expected, "{name}");
        }
        assert_eq!(usable("a_b c", "_"), "a-b-c");
        assert_eq!(usable("a.b", "."), "a_b");
    }
}
