//! Where a span stands: its ids, and whether its trace is kept.

use switchboard_toolcall::{CallId, TraceContext};

/// Which traces are kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sampling {
    /// Of the random part of a trace's id: what lies below is not kept.
    threshold: u64,
}

/// How much of a trace's id is random, as W3C says.
const RANDOM: u64 = 1 << 56;

impl Sampling {
    /// Creates a sampler. Returns `None` if the share is not between 0 and 1.
    pub(crate) fn of(share: f64) -> Option<Self> {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "between nothing and 2^56, as just checked"
        )]
        let threshold = || ((1.0 - share) * RANDOM as f64) as u64;
        (0.0..=1.0).contains(&share).then(|| Self { threshold: threshold() })
    }

    /// Returns the context of the span `id`: under its parent, which also decides about sampling, or in a new trace.
    pub(crate) fn place(self, id: CallId, parent: Option<&TraceContext>) -> TraceContext {
        let number = id.number();
        #[expect(clippy::cast_possible_truncation, reason = "the random part of the id")]
        let low = number as u64;
        // Zero is no id.
        let span_id = low.max(1);
        match parent {
            Some(parent) => parent.child(span_id),
            None => TraceContext::root(number, span_id, self.keeps(low)),
        }
    }

    fn keeps(self, low: u64) -> bool {
        low % RANDOM >= self.threshold
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 64 traces whose ids lie evenly.
    fn kept_count(share: f64) -> usize {
        let sampling = Sampling::of(share).expect("a share");
        (0..64).filter(|step| sampling.keeps(step * (RANDOM / 64))).count()
    }

    #[test]
    fn a_share_of_the_traces_is_kept() {
        let shares = [(1.0, 64), (0.5, 32), (0.25, 16), (0.0, 0)];
        for (share, expected) in shares {
            assert_eq!(kept_count(share), expected, "{share}");
        }
        for wrong in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
            assert!(Sampling::of(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn the_caller_decides_about_its_own_traces() {
        for (share, flags) in [(0.0, "01"), (1.0, "00")] {
            let header = format!("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-{flags}");
            let parent = TraceContext::parse(&header, None).expect("a trace");
            let (sampling, id) = (Sampling::of(share).expect("a share"), CallId::generate());
            let place = sampling.place(id, Some(&parent));
            assert_eq!(place.is_sampled(), parent.is_sampled());
            assert_eq!(place.trace_id(), parent.trace_id());
            assert_ne!(place.span_id(), parent.span_id());
            // Asked again, it is the same span.
            assert_eq!(place, sampling.place(id, Some(&parent)));
        }
    }
}
