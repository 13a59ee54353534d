//! Secrets that this process has itself, known by their value: those of the vault and of sign-ins.
//!
//! A value is found by its last bytes, which are random in most tokens. So each value is in memory once, another one costs
//! only itself, and one that is forgotten is overwritten.

use std::{
    borrow::Cow,
    collections::{HashMap, VecDeque},
    fmt,
    ops::Range,
    sync::{
        LazyLock, PoisonError, RwLock, RwLockWriteGuard,
        atomic::{AtomicBool, Ordering},
    },
};

use zeroize::Zeroizing;

use super::REDACTED;

/// Shorter values are words that occur anyway. A value is found by so many bytes at its end.
const SHORTEST: usize = 8;
/// How many values are remembered that nothing uses any more: a replaced token may be valid for a while, or be in an error.
const MOST_PAST: usize = 1024;
/// The binary logarithm of how many bits tell whether a value may end here.
const FILTER: u32 = 17;

static ANY: AtomicBool = AtomicBool::new(false);
static KNOWN: LazyLock<RwLock<KnownSecrets>> = LazyLock::new(RwLock::default);

struct KnownSecrets {
    by_end: HashMap<u64, Vec<KnownSecret>>,
    /// A bit for each end, as most positions of a text are no end.
    filter: Vec<u64>,
    /// The end, the id and the time of values that nothing used any more then, the oldest first.
    past: VecDeque<(u64, u64, u64)>,
    count: u64,
}

struct KnownSecret {
    value: Zeroizing<String>,
    id: u64,
    /// What still uses it; it is forgotten only if nothing does.
    users: usize,
    /// When nothing used it any more for the last time.
    past_since: u64,
}

/// A value that is redacted while this exists. Afterwards it is one of the last 1,024 that are redacted a while longer.
#[must_use = "the value counts as unused once this is dropped"]
pub struct RememberedSecret {
    end: u64,
    /// `None` if the value is too short to be remembered.
    id: Option<u64>,
}

/// Redacts this value until the process ends, wherever it occurs. Values of less than 8 bytes are not remembered.
pub fn remember(secret: &str) {
    // One more user, which never ends.
    std::mem::forget(remember_while_used(secret));
}

/// Redacts this value, wherever it occurs, at least until what is returned is dropped. Values of less than 8 bytes are not
/// remembered.
pub fn remember_while_used(secret: &str) -> RememberedSecret {
    let Some(end) = secret.as_bytes().last_chunk().copied().map(u64::from_le_bytes) else {
        return RememberedSecret { end: 0, id: None };
    };
    let id = known().add(end, secret);
    ANY.store(true, Ordering::Release);
    RememberedSecret { end, id: Some(id) }
}

/// Returns the text with remembered values replaced.
pub(super) fn hide(text: &str) -> Cow<'_, str> {
    if text.len() < SHORTEST || !ANY.load(Ordering::Acquire) {
        return Cow::Borrowed(text);
    }
    let spans = KNOWN.read().unwrap_or_else(PoisonError::into_inner).spans(text.as_bytes());
    if spans.is_empty() {
        return Cow::Borrowed(text);
    }
    let (mut shown, mut from) = (String::with_capacity(text.len()), 0);
    for span in spans {
        shown.push_str(&text[from..span.start]);
        shown.push_str(REDACTED);
        from = span.end;
    }
    shown.push_str(&text[from..]);
    Cow::Owned(shown)
}

fn known() -> RwLockWriteGuard<'static, KnownSecrets> {
    KNOWN.write().unwrap_or_else(PoisonError::into_inner)
}

impl Default for KnownSecrets {
    fn default() -> Self {
        let filter = vec![0; 1 << (FILTER - 6)];
        Self { by_end: HashMap::new(), filter, past: VecDeque::new(), count: 0 }
    }
}

impl KnownSecrets {
    /// Adds a user of the value; returns the value's id.
    fn add(&mut self, end: u64, value: &str) -> u64 {
        let same_end = self.by_end.entry(end).or_default();
        if let Some(known) = same_end.iter_mut().find(|known| *known.value == value) {
            known.users += 1;
            return known.id;
        }
        self.count += 1;
        let (value, id) = (Zeroizing::new(value.to_owned()), self.count);
        same_end.push(KnownSecret { value, id, users: 1, past_since: 0 });
        let (word, bit) = place(end);
        self.filter[word] |= bit;
        id
    }

    /// Removes a user of the value, and forgets the oldest value that has none if there are too many.
    fn release(&mut self, end: u64, id: u64) {
        let same_end = self.by_end.get_mut(&end).map(Vec::as_mut_slice).unwrap_or_default();
        let Some(known) = same_end.iter_mut().find(|known| known.id == id) else { return };
        known.users -= 1;
        if known.users > 0 {
            return;
        }
        self.count += 1;
        known.past_since = self.count;
        self.past.push_back((end, id, self.count));
        if self.past.len() > MOST_PAST
            && let Some((end, id, since)) = self.past.pop_front()
        {
            self.forget(end, id, since);
        }
    }

    /// Forgets a value that nothing has used since then.
    fn forget(&mut self, end: u64, id: u64, since: u64) {
        let Some(same_end) = self.by_end.get_mut(&end) else { return };
        same_end.retain(|known| known.id != id || known.users > 0 || known.past_since != since);
        if same_end.is_empty() {
            self.by_end.remove(&end);
            self.filter.fill(0);
            for end in self.by_end.keys() {
                let (word, bit) = place(*end);
                self.filter[word] |= bit;
            }
        }
    }

    /// Returns where values are; those that overlap count as one.
    fn spans(&self, text: &[u8]) -> Vec<Range<usize>> {
        let mut spans: Vec<Range<usize>> = Vec::new();
        for (at, window) in text.windows(SHORTEST).enumerate() {
            let Some(end) = window.first_chunk().copied().map(u64::from_le_bytes) else { continue };
            let (word, bit) = place(end);
            if self.filter[word] & bit == 0 {
                continue;
            }
            let to = at + SHORTEST;
            let ending = self.by_end.get(&end).into_iter().flatten();
            let found = ending.filter(|known| text[..to].ends_with(known.value.as_bytes()));
            let Some(longest) = found.map(|known| known.value.len()).max() else { continue };
            let mut from = to - longest;
            while let Some(before) = spans.pop_if(|before| before.end > from) {
                from = from.min(before.start);
            }
            spans.push(from..to);
        }
        spans
    }
}

/// Returns the word and the bit of the filter for an end.
fn place(end: u64) -> (usize, u64) {
    // Fibonacci hashing: the upper bits depend on all others.
    let hash = end.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - FILTER);
    ((hash >> 6) as usize, 1 << (hash & 63))
}

impl Drop for RememberedSecret {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            known().release(self.end, id);
        }
    }
}

impl fmt::Debug for RememberedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RememberedSecret")
    }
}

#[cfg(test)]
mod tests {
    use super::super::{text, value};
    use super::*;

    // AU-2: whatever its shape and wherever it occurs.
    #[test]
    fn what_is_remembered_is_redacted() {
        let plain = "sunflower meadow at dawn";
        assert_eq!(text(plain), plain);
        remember(plain);
        remember(plain);
        remember("a word");
        assert_eq!(text("so: sunflower meadow at dawn!"), "so: [redacted]!");
        assert_eq!(text("a word"), "a word");
        let nested = serde_json::json!({"said": ["x", {"note": format!("<{plain}>")}]});
        assert_eq!(value(&nested), r#"{"said":["x",{"note":"<[redacted]>"}]}"#);
        let both = format!("password=hunter2 {plain}");
        assert_eq!(text(&both), "password=[redacted] [redacted]");
        let twice = format!("{plain}{plain} and é{plain}é");
        assert_eq!(text(&twice), "[redacted][redacted] and é[redacted]é");
    }

    // AU-2: part of a secret is left neither by one within it, nor by one that overlaps it.
    #[test]
    fn nothing_is_left_of_values_that_overlap() {
        for secret in ["blue mountain lake", "mountain lake view", "mountain", "lake and mountain"]
        {
            remember(secret);
        }
        for (written, shown) in [
            ("a blue mountain lake view.", "a [redacted]."),
            ("a blue mountain lake.", "a [redacted]."),
            ("lake and mountain lake view", "[redacted]"),
            ("the mountain view", "the [redacted] view"),
            ("the blue Mountain lake", "the blue Mountain lake"),
        ] {
            assert_eq!(text(written), shown);
        }
    }

    // AU-2: the vault's secrets and the tokens in use are redacted, however many others were renewed since.
    #[test]
    fn no_secret_in_use_is_forgotten() {
        let vault = "violet evening over the harbour";
        remember(vault);
        let current = "an amber lantern in the window";
        let used = (remember_while_used(current), remember_while_used(current));
        let renewed = |number: u32| format!("renewed {number} of the quiet river");
        for number in 0..3000 {
            drop(remember_while_used(&renewed(number)));
        }
        for secret in [vault, current, &renewed(2999), &renewed(2000)] {
            assert_eq!(text(secret), REDACTED, "{secret}");
        }
        assert_eq!(text(&renewed(0)), renewed(0));
        // In use again, it is not forgotten for having been unused before.
        let again = remember_while_used(&renewed(2999));
        drop(used.0);
        (3000..6000).for_each(|number| drop(remember_while_used(&renewed(number))));
        assert_eq!((text(current), text(&renewed(2999))), (REDACTED.into(), REDACTED.into()));
        drop((used.1, again));
        (6000..9000).for_each(|number| drop(remember_while_used(&renewed(number))));
        assert_eq!((text(current), text(vault)), (current.into(), REDACTED.into()));
    }

    // AU-2
    #[test]
    fn debug_output_has_nothing_of_a_value() {
        let guard = remember_while_used("a lighthouse keeper");
        assert_eq!(format!("{guard:?}"), "RememberedSecret");
    }
}
