//! Rollups beside the calls themselves: random calls, ends in any order, restarts, retention, and a clock that goes back.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use proptest::prelude::*;
use switchboard_toolcall::CallId;

use super::*;
use crate::{layout::Layout, reader::sums::DurationSums};

/// What happens to the journal.
#[derive(Clone, Debug)]
enum JournalStep {
    /// A call begins: tool, caller, and how many microseconds after the first day.
    Open(usize, usize, i64),
    /// One of the open calls ends: which, how, how long it took, bytes, server, and whether it was found by another name.
    End(usize, usize, u64, u64, usize, bool),
    /// The process of one of them died.
    Unknown(usize),
    /// What was written is fed.
    Feed,
    /// The next segment begins.
    Seal,
    /// Retention drops the oldest segment.
    Forget,
}

const TOOLS: [&str; 3] = ["time__now", "lamp", "pay"];
const CALLERS: [Option<&str>; 3] = [None, Some("ada"), Some("grace")];
const OUTCOMES: [&str; 4] = ["ok", "ok", "timeout", "tool_error"];
const SERVERS: [Option<&str>; 2] = [None, Some("time")];
/// The first day, in microseconds.
const BEGIN: i64 = 1_790_000_000_000_000 / 86_400_000_000 * 86_400_000_000;
const DAYS: i64 = 3 * 86_400_000_000;

fn step() -> impl Strategy<Value = JournalStep> {
    let duration =
        (0_u32..40, any::<u32>()).prop_map(|(shift, number)| (u64::from(number) << 8) >> shift);
    // Most are within two minutes, so that rollups have more than one call.
    let started = prop_oneof![3 => 0..120_000_000_i64, 1 => 0..DAYS];
    prop_oneof![
        12 => (0..3_usize, 0..3_usize, started).prop_map(|(tool, caller, at)| JournalStep::Open(tool, caller, at)),
        9 => (any::<usize>(), 0..4_usize, duration, 0..9_u64, 0..2_usize, prop::bool::weighted(0.1))
            .prop_map(|(which, how, took, bytes, server, found)| JournalStep::End(which, how, took, bytes, server, found)),
        1 => any::<usize>().prop_map(JournalStep::Unknown),
        3 => Just(JournalStep::Feed),
        1 => Just(JournalStep::Seal),
        1 => Just(JournalStep::Forget),
    ]
}

/// Writes and feeds what the steps say.
struct FedJournal {
    index: CallIndex,
    open: Vec<CallId>,
    lines: Vec<String>,
    tick: i64,
    segment: u64,
    /// The last tick of each segment.
    sealed: BTreeMap<u64, i64>,
}

impl FedJournal {
    fn new(folder: &Path) -> Self {
        let index = CallIndex::open(&Layout::new(folder)).unwrap();
        let (open, lines, sealed) = (Vec::new(), Vec::new(), BTreeMap::new());
        Self { index, open, lines, tick: BEGIN, segment: 1, sealed }
    }

    fn take(&mut self, step: &JournalStep) {
        self.tick += 1;
        match step {
            JournalStep::Open(tool, caller, at) => {
                let started = BEGIN + at;
                self.tick = self.tick.max(started);
                let at = jiff::Timestamp::from_microsecond(started).unwrap();
                let caller = CALLERS[*caller]
                    .map(|name| format!("\"caller\":\"{name}\","))
                    .unwrap_or_default();
                let (id, tool, tick) = (CallId::generate(), TOOLS[*tool], self.tick);
                self.lines.push(format!(
                    "{{\"open\":\"{id}\",\"at\":\"{at}\",\"tool\":\"{tool}\",\"arguments\":{{}},{caller}\"tick\":{tick}}}"
                ));
                self.open.push(id);
            }
            JournalStep::End(which, how, took, bytes, server, found) if !self.open.is_empty() => {
                let id = self.open.swap_remove(which % self.open.len());
                let server = SERVERS[*server]
                    .map(|name| format!("\"server\":\"{name}\","))
                    .unwrap_or_default();
                let found = if *found { "\"found\":\"found__it\"," } else { "" };
                let (outcome, tick) = (OUTCOMES[*how], self.tick);
                self.lines.push(format!(
                    "{{\"end\":\"{id}\",\"outcome\":\"{outcome}\",\"duration_ns\":{took},{server}{found}\"bytes\":{bytes},\"tick\":{tick}}}"
                ));
            }
            JournalStep::Unknown(which) if !self.open.is_empty() => {
                // It may end all the same: another process was only slow.
                let id = self.open[which % self.open.len()];
                self.lines
                    .push(format!("{{\"unknown\":\"{id}\",\"at\":\"\",\"tick\":{}}}", self.tick));
            }
            JournalStep::Feed => self.feed(),
            JournalStep::Seal => {
                self.feed();
                self.sealed.insert(self.segment, self.tick);
                self.segment += 1;
            }
            JournalStep::Forget => {
                if let Some((segment, until)) = self.sealed.pop_first() {
                    self.index.forget(segment, until.unsigned_abs()).unwrap();
                }
            }
            _ => {}
        }
    }

    fn feed(&mut self) {
        self.index.feed_lines(self.segment, &std::mem::take(&mut self.lines));
    }
}

/// A rollup: length, beginning, names, calls, bytes and durations.
type RollupRow = ((i64, i64, String), (i64, i64, DurationHistogram));

fn rollups(index: &Connection) -> BTreeMap<(i64, i64, String), (i64, i64, DurationHistogram)> {
    let question =
        "SELECT seconds, began, json_array(tool, server, caller, outcome), calls, bytes, durations
         FROM rollups JOIN rollup_keys ON id = key";
    let mut rows = index.prepare(question).unwrap();
    let row = |row: &rusqlite::Row<'_>| -> rusqlite::Result<RollupRow> {
        let durations = DurationHistogram::decode(row.get_ref(5)?.as_blob()?);
        Ok(((row.get(0)?, row.get(1)?, row.get(2)?), (row.get(3)?, row.get(4)?, durations)))
    };
    rows.query_map([], row).unwrap().collect::<Result<_, _>>().unwrap()
}

/// What the rollups should be: the sums of the rows.
fn sums_of_calls(
    index: &Connection,
) -> BTreeMap<(i64, i64, String), (i64, i64, DurationHistogram)> {
    let question =
        "SELECT started, json_array(tool, server, caller, outcome), bytes, duration FROM calls";
    let mut sums = BTreeMap::<_, (i64, i64, DurationHistogram)>::new();
    let mut rows = index.prepare(question).unwrap();
    let mut rows = rows.query([]).unwrap();
    while let Some(row) = rows.next().unwrap() {
        let (started, key): (i64, String) = (row.get(0).unwrap(), row.get(1).unwrap());
        for length in LENGTHS {
            let began = (started / SECOND).div_euclid(length) * length;
            let sums = sums.entry((length, began, key.clone())).or_default();
            sums.0 += 1;
            sums.1 += row.get::<_, Option<i64>>(2).unwrap().unwrap_or(0);
            if let Some(duration) = row.get(3).unwrap() {
                sums.2.add(duration, 1);
            }
        }
    }
    sums
}

/// Counts what matches, by rollups or one by one.
fn figures(index: &CallIndex, filter: &Filter, by_rollups: bool) -> BTreeMap<String, DurationSums> {
    let mut sums = BTreeMap::<String, DurationSums>::new();
    let mut take = |calls: CountedCalls<'_>| {
        let key =
            format!("{} {:?} {:?} {:?}", calls.tool, calls.server, calls.caller, calls.outcome);
        sums.entry(key).or_default().take(&calls);
    };
    match by_rollups {
        true => {
            _ = count(index, filter, CountedTime::of_filter(filter), None, false, &mut take)
                .unwrap()
        }
        false => _ = scan(index, filter, None, &mut take).unwrap(),
    }
    sums
}

fn check_filter(index: &CallIndex, filter: &Filter) {
    let (mut rolled, mut exact) = (figures(index, filter, true), figures(index, filter, false));
    assert_eq!(rolled.keys().collect::<Vec<_>>(), exact.keys().collect::<Vec<_>>(), "{filter:?}");
    for (rolled, exact) in rolled.values_mut().zip(exact.values_mut()) {
        let counts = |sums: &DurationSums| (sums.calls, sums.failures, sums.bytes);
        assert_eq!(counts(rolled), counts(exact), "{filter:?}");
        for (rolled, exact) in rolled.percentiles().into_iter().zip(exact.percentiles()) {
            let (Some(rolled), Some(exact)) = (rolled, exact) else {
                assert_eq!(rolled, exact);
                continue;
            };
            assert!((rolled - exact).abs() <= exact * 0.01, "{rolled} for {exact}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    // RC-2: figures from rollups are those of a scan.
    #[test]
    fn rollups_are_the_sums_of_the_calls(
        steps in prop::collection::vec(step(), 1..120),
        times in prop::collection::vec((0..DAYS, 0..DAYS), 4),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = FedJournal::new(folder.path());
        for step in &steps {
            journal.take(step);
            if matches!(step, JournalStep::Forget | JournalStep::Seal) {
                prop_assert_eq!(rollups(&journal.index.connection), sums_of_calls(&journal.index.connection));
            }
        }
        journal.feed();
        let index = &journal.index;
        prop_assert_eq!(rollups(&index.connection), sums_of_calls(&index.connection));
        let used = "SELECT count(*) FROM rollup_keys WHERE id NOT IN (SELECT key FROM rollups)";
        let unused: u64 = index.connection.query_row(used, [], |row| row.get(0)).unwrap();
        prop_assert_eq!(unused, 0);
        check_filter(index, &Filter::default());
        check_filter(index, &Filter { tool: Some("*__*".into()), ..Filter::default() });
        check_filter(index, &Filter { server: Some("time".into()), failed: true, ..Filter::default() });
        check_filter(index, &Filter { unknown: true, ..Filter::default() });
        for (one, other) in times {
            let time = |at: i64| Some(UNIX_EPOCH + Duration::from_micros((BEGIN + at).unsigned_abs()));
            let (since, until) = (time(one.min(other)), time(one.max(other)));
            check_filter(index, &Filter { since, until, ..Filter::default() });
            let caller = Some("ada".to_owned());
            check_filter(index, &Filter { since: time(one % 120_000_000), caller, ..Filter::default() });
            check_filter(index, &Filter { until: time(other % 120_000_000), ..Filter::default() });
        }
    }

    #[test]
    fn every_time_is_counted_once(from in 0..DAYS, length in 0..DAYS, step in 1..DAYS) {
        let mut parts = CountedParts::default();
        let (until, step) = (from + length, step.max(length / 200).max(1));
        let mut at = from;
        while at < until {
            parts.cut(at, (at + step).min(until), &LENGTHS);
            at += step;
        }
        let mut all: Vec<_> = parts.rollups.iter().map(|(_, from, until)| (*from, *until)).collect();
        for (length, from, until) in &parts.rollups {
            prop_assert!(from % (length * SECOND) == 0 && until % (length * SECOND) == 0);
        }
        all.extend(&parts.calls);
        all.sort_unstable();
        prop_assert!(all.windows(2).all(|pair| pair[0].1 == pair[1].0));
        prop_assert_eq!(all.first().map_or(0, |first| first.0), if length > 0 { from } else { 0 });
        prop_assert_eq!(all.iter().map(|(from, until)| until - from).sum::<i64>(), length);
    }
}

/// As the whole test depends on it: the steps reach what they are there for.
#[test]
fn steps_of_one_journal_reach_every_outcome() {
    let folder = tempfile::tempdir().unwrap();
    let mut journal = FedJournal::new(folder.path());
    let steps = [
        JournalStep::Open(0, 1, 5),
        JournalStep::Open(1, 0, 61_000_000),
        JournalStep::Open(2, 2, 3_700_000_000),
        JournalStep::Feed,
        JournalStep::End(0, 0, 1000, 3, 1, true),
        JournalStep::Unknown(0),
        JournalStep::Seal,
        JournalStep::Open(0, 1, 7),
    ];
    steps.iter().for_each(|step| journal.take(step));
    journal.feed();
    let found = |index: &CallIndex| {
        let mut outcomes = BTreeSet::new();
        for ((length, _, names), (calls, ..)) in rollups(&index.connection) {
            outcomes.extend((length == LENGTHS[0]).then(|| format!("{names} {calls}")));
        }
        outcomes.into_iter().collect::<Vec<_>>()
    };
    let all = [
        "[\"found__it\",\"time\",\"ada\",\"ok\"] 1",
        "[\"lamp\",null,null,null] 1",
        "[\"pay\",null,\"grace\",\"outcome_unknown\"] 1",
        "[\"time__now\",null,\"ada\",null] 1",
    ];
    assert_eq!(found(&journal.index), all);
    journal.take(&JournalStep::Forget);
    assert_eq!(found(&journal.index), all[3..]);
}
