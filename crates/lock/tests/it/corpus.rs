//! What the screen finds of attacks, and how seldom it warns about real tools (SPEC LK-2).

#[path = "../../examples/screen/corpus.rs"]
pub(crate) mod texts;

use texts::{Alarms, attacks, own_attacks, own_tools, real_tools};

/// `part` is at least so many hundredths of `all`.
fn is_at_least(part: usize, all: usize, hundredths: usize) -> bool {
    part * 100 >= all * hundredths
}

// LK-2
#[test]
fn nine_of_ten_attacks_that_are_known_are_found() {
    let sets = [("attacks.tsv", 170, 90), ("held-out.tsv", 30, 86), ("held-out-2.tsv", 50, 90)];
    for (file, least, hundredths) in sets {
        let attacks = attacks(&own_attacks(file));
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
    let (mut all, mut warned) = (0, 0);
    for set in ["own", "other", "reference"] {
        let tools = real_tools(&own_tools(set));
        // Also for names that another of these servers has, as if all of them were in one config.
        let Alarms { any, lines, .. } = Alarms::of(&tools);
        assert!(is_at_least(tools.len() - any, tools.len(), 98), "{set}: {any}, {lines:#?}");
        (all, warned) = (all + tools.len(), warned + any);
    }
    assert!(all >= 500 && is_at_least(all - warned, all, 98), "{warned} of {all}");
}
