//! What the sets of `recall/` find must not get worse.

#[path = "../../examples/recall/set.rs"]
mod set;

use set::RecallSet;

// FT-1
#[cfg(feature = "embeddings")]
#[test]
fn questions_that_do_not_name_the_tool_find_it() {
    let least = [
        ("own", 0.40, 0.74),
        ("held-out", 0.64, 0.91),
        ("other", 0.46, 0.74),
        ("steps", 0.80, 0.98),
    ];
    for (name, least_first, least_of_five) in least {
        let set = RecallSet::read(&set::stored(name));
        for (question, answers) in &set.questions {
            for answer in answers {
                assert!(set.tools.iter().any(|tool| tool.name == *answer), "{question}: {answer}");
            }
        }
        let ranks = set.ranks(&set.index());
        let (first, of_five) = (set::recall(&ranks, 1), set::recall(&ranks, 5));
        assert!(first >= least_first, "{name}: {first}");
        assert!(of_five >= least_of_five, "{name}: {of_five}");
    }
}
