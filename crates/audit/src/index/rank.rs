//! Compact numbers in the index: a call's rank, and a line's position.

/// How many bits of a rank are the segment's.
const SEGMENTS: u32 = 10;
/// How many bits of a position are the offset's: more than a segment ever has.
const OFFSETS: u32 = 40;

/// How many ranks are tried if one is taken: by a call of the same microsecond and a segment a thousand earlier.
pub(super) const TRIES: i64 = 1 << 16;

/// Returns the rank of a call among all calls: its tick, and, since several processes may write within the same
/// microsecond, the last digits of its segment's number. Works until the year 2255.
pub(crate) fn rank(tick: u64, segment: u64) -> i64 {
    first_rank(tick) | (segment % (1 << SEGMENTS)).cast_signed()
}

/// Returns the lowest rank of a tick.
pub(crate) fn first_rank(tick: u64) -> i64 {
    tick.min((1 << (63 - SEGMENTS)) - 1).cast_signed() << SEGMENTS
}

/// Returns the highest rank of a tick, including those used if the first is taken.
pub(crate) fn last_rank(tick: u64) -> i64 {
    first_rank(tick).saturating_add(TRIES + (1 << SEGMENTS))
}

/// Packs a line's position into one number.
pub(crate) fn place(segment: u64, offset: u64) -> i64 {
    (segment << OFFSETS | offset).cast_signed()
}

/// Unpacks the segment and the offset of a position.
pub(crate) fn apart(place: i64) -> (u64, u64) {
    let place = place.cast_unsigned();
    (place >> OFFSETS, place & ((1 << OFFSETS) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_go_by_tick_and_then_differ_by_segment() {
        let now = 1_794_000_000_000_000;
        assert!(rank(now, 1023) < rank(now + 1, 0));
        assert!(rank(now, 7) < rank(now, 8) && rank(now, 7) >= first_rank(now));
        assert!(rank(now, 1023) + TRIES <= last_rank(now));
        assert!(rank(u64::MAX, 5) > 0);
    }

    #[test]
    fn places_come_apart_again() {
        for found in [(1, 0), (8, 12), (4_000_000, (1 << 40) - 1)] {
            assert_eq!(apart(place(found.0, found.1)), found);
        }
    }
}
