//! A diff of two texts, word by word.

/// How much may be compared, in pairs of words; what is more is shown as removed and added.
const MOST_PAIRS: usize = 1_000_000;

/// A piece of a diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fragment {
    /// In both texts.
    Same(String),
    /// Only in the old text.
    Removed(String),
    /// Only in the new text.
    Added(String),
}

/// Compares two texts word by word.
pub fn word_diff(old: &str, new: &str) -> Vec<Fragment> {
    word_diff_within(old, new, &mut DiffBudget::default())
}

/// How much may still be compared.
pub(crate) struct DiffBudget(usize);

impl Default for DiffBudget {
    fn default() -> Self {
        Self(MOST_PAIRS)
    }
}

/// Compares two texts word by word, as far as the budget goes.
pub(crate) fn word_diff_within(old: &str, new: &str, budget: &mut DiffBudget) -> Vec<Fragment> {
    let (old, new) = (words(old), words(new));
    let prefix = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let suffix = old[prefix..].iter().rev().zip(new[prefix..].iter().rev());
    let suffix = suffix.take_while(|(a, b)| a == b).count();
    let (old_end, new_end) = (old.len() - suffix, new.len() - suffix);
    let mut out = FragmentList::default();
    old[..prefix].iter().for_each(|word| out.same(word));
    middle(&old[prefix..old_end], &new[prefix..new_end], budget, &mut out);
    old[old_end..].iter().for_each(|word| out.same(word));
    out.done()
}

fn middle(old: &[&str], new: &[&str], budget: &mut DiffBudget, out: &mut FragmentList) {
    if let Some(left) = budget.0.checked_sub(old.len().saturating_mul(new.len())) {
        budget.0 = left;
    } else {
        old.iter().for_each(|word| out.removed(word));
        new.iter().for_each(|word| out.added(word));
        return;
    }
    // lengths[i][j]: the longest common subsequence of old[i..] and new[j..].
    let width = new.len() + 1;
    let mut lengths = vec![0_u32; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            lengths[i * width + j] = match old[i] == new[j] {
                true => lengths[(i + 1) * width + j + 1] + 1,
                false => lengths[(i + 1) * width + j].max(lengths[i * width + j + 1]),
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            out.same(old[i]);
            (i, j) = (i + 1, j + 1);
        } else if j == new.len()
            || (i < old.len() && lengths[(i + 1) * width + j] >= lengths[i * width + j + 1])
        {
            out.removed(old[i]);
            i += 1;
        } else {
            out.added(new[j]);
            j += 1;
        }
    }
}

/// Splits a text into words, white space and single other characters.
fn words(text: &str) -> Vec<&str> {
    let class = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' => 0,
        c if c.is_whitespace() => 1,
        _ => 2,
    };
    let mut words = Vec::new();
    let mut start = 0;
    let mut last = None;
    for (at, c) in text.char_indices() {
        let now = class(c);
        if last.is_some_and(|last| last != now || now == 2) {
            words.push(&text[start..at]);
            start = at;
        }
        last = Some(now);
    }
    if start < text.len() {
        words.push(&text[start..]);
    }
    words
}

/// Fragments so far: what was removed and added between two common words is collected, so that each stands together.
#[derive(Default)]
struct FragmentList {
    fragments: Vec<Fragment>,
    same: String,
    removed: String,
    added: String,
}

impl FragmentList {
    fn same(&mut self, word: &str) {
        // White space between two changed words is part of the change.
        self.flush_changes();
        self.same.push_str(word);
    }

    fn removed(&mut self, word: &str) {
        self.flush_same();
        self.removed.push_str(word);
    }

    fn added(&mut self, word: &str) {
        self.flush_same();
        self.added.push_str(word);
    }

    fn flush_same(&mut self) {
        if !self.same.is_empty() {
            self.fragments.push(Fragment::Same(std::mem::take(&mut self.same)));
        }
    }

    fn flush_changes(&mut self) {
        if !self.removed.is_empty() {
            self.fragments.push(Fragment::Removed(std::mem::take(&mut self.removed)));
        }
        if !self.added.is_empty() {
            self.fragments.push(Fragment::Added(std::mem::take(&mut self.added)));
        }
    }

    fn done(mut self) -> Vec<Fragment> {
        self.flush_changes();
        self.flush_same();
        join(self.fragments)
    }
}

/// Joins changes that only a space separates, so that a replaced sentence reads as one.
fn join(fragments: Vec<Fragment>) -> Vec<Fragment> {
    let mut out: Vec<Fragment> = Vec::with_capacity(fragments.len());
    let mut rest = fragments.into_iter().peekable();
    while let Some(fragment) = rest.next() {
        let is_space = matches!(&fragment, Fragment::Same(text) if text.trim().is_empty());
        let is_between = is_space && rest.peek().is_some();
        match (fragment, out.last()) {
            (Fragment::Same(space), Some(Fragment::Removed(_) | Fragment::Added(_)))
                if is_between =>
            {
                let (removed, added) = take_change(&mut out);
                push_change(
                    &mut out,
                    removed.map(|text| text + &space),
                    added.map(|text| text + &space),
                    &space,
                );
            }
            (Fragment::Removed(text), Some(Fragment::Removed(_) | Fragment::Added(_))) => {
                let (removed, added) = take_change(&mut out);
                push_change(&mut out, Some(removed.unwrap_or_default() + &text), added, "");
            }
            (Fragment::Added(text), Some(Fragment::Removed(_) | Fragment::Added(_))) => {
                let (removed, added) = take_change(&mut out);
                push_change(&mut out, removed, Some(added.unwrap_or_default() + &text), "");
            }
            (fragment, _) => out.push(fragment),
        }
    }
    out
}

/// Takes the removed and added text at the end.
fn take_change(out: &mut Vec<Fragment>) -> (Option<String>, Option<String>) {
    let added = match out.last() {
        Some(Fragment::Added(text)) => Some(text.clone()),
        _ => None,
    };
    out.truncate(out.len() - usize::from(added.is_some()));
    let removed = match out.last() {
        Some(Fragment::Removed(text)) => Some(text.clone()),
        _ => None,
    };
    out.truncate(out.len() - usize::from(removed.is_some()));
    (removed, added)
}

fn push_change(
    out: &mut Vec<Fragment>,
    removed: Option<String>,
    added: Option<String>,
    space: &str,
) {
    // A space that belongs to both texts stays in both.
    let both = (!space.is_empty()).then(|| space.to_owned());
    let (removed, added) = match (removed, added) {
        (Some(removed), None) => (Some(removed), both),
        (None, Some(added)) => (both, Some(added)),
        pair => pair,
    };
    out.extend(removed.map(Fragment::Removed));
    out.extend(added.map(Fragment::Added));
}
