//! What the sets of `recall/` find must not get worse.

#[path = "../../examples/recall/set.rs"]
mod set;

use set::RecallSet;

// FT-1
#[cfg(feature = "embeddings")]
#[test]
fn questions_that_do_not_name_the_tool_find_it() {
    for (name, least_first, least_of_five) in [("own", 0.30, 0.60), ("held-out", 0.28, 0.55)] {
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
