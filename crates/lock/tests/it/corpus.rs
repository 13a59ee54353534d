//! What the screen finds of attacks, and how seldom it warns about real tools (SPEC LK-2).

#[path = "../../examples/screen/corpus.rs"]
pub(crate) mod texts;

use texts::{Alarms, attacks, real_tools};

/// `part` is at least so many hundredths of `all`.
fn is_at_least(part: usize, all: usize, hundredths: usize) -> bool {
    part * 100 >= all * hundredths
}

// LK-2
#[test]
fn nine_of_ten_attacks_are_found() {
    // The second set was written after the patterns and never looked at: its figure must not get worse.
    for (file, least, hundredths) in [("attacks.tsv", 170, 90), ("held-out.tsv", 30, 63)] {
        let attacks = attacks(file);
        assert!(attacks.len() >= least, "{file}: {}", attacks.len());
        let (found, missed): (Vec<_>, Vec<_>) =
            attacks.iter().partition(|attack| !attack.findings().is_empty());
        let names: Vec<_> = missed.iter().map(|attack| attack.line()).collect();
        assert!(is_at_least(found.len(), attacks.len(), hundredths), "{file}: {names:#?}");
    }
}

// LK-2
#[test]
fn of_fifty_real_tools_at_most_one_is_warned_about() {
    let mut all = 0;
    for set in ["own", "other", "reference"] {
        let tools = real_tools(set);
        all += tools.len();
        let Alarms { texts, names, lines } = Alarms::of(&tools);
        assert!(is_at_least(tools.len() - texts, tools.len(), 98), "{set}: {texts}, {lines:#?}");
        // Of servers in one config, names that two of them have are told besides.
        assert!(is_at_least(tools.len() - names, tools.len(), 98), "{set}: {names}, {lines:#?}");
    }
    assert!(all >= 500, "{all}");
}
