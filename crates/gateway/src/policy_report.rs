//! What rules would have decided about recorded calls: for `switchboard policy test` and the console.

use std::collections::BTreeMap;

use serde::Serialize;
use switchboard_audit::Record;
use switchboard_runtime::Verdict;
use switchboard_toolcall::{CallId, ErrorKind};

/// What the rules would change.
#[derive(Debug, Default, Serialize)]
pub struct PolicyReport {
    /// How many calls were compared.
    pub calls: u64,
    /// How many of those would have the same outcome.
    pub same: u64,
    /// How many were skipped, because they never reached the rules.
    pub skipped: u64,
    /// What would change, the change with the most calls first.
    pub changes: Vec<RulingChange>,
}

/// What changes for the calls of one tool, by one rule.
#[derive(Debug, Serialize)]
pub struct RulingChange {
    /// `denied`, `asked` or `allowed`.
    pub change: &'static str,
    /// The tool.
    pub tool: String,
    /// The rule that denies or leaves it to a person; `None` if the calls are newly allowed.
    pub rule: Option<String>,
    /// How many calls.
    pub calls: u64,
    /// The latest of the calls.
    pub example: CallId,
    /// Whether the tool exists now; if not, only its name was checked.
    pub known: bool,
}

/// Compares how calls ended with what `judge` decides about them; it also returns whether the tool exists now.
///
/// # Errors
/// Fails if `was_asked`, which returns whether a person was asked about a call, fails.
pub fn policy_report<E>(
    records: &[Record],
    judge: impl Fn(&Record) -> (Verdict, bool),
    mut was_asked: impl FnMut(&Record) -> Result<bool, E>,
) -> Result<PolicyReport, E> {
    let mut report = PolicyReport::default();
    let mut changes = BTreeMap::<(&str, &'static str, Option<String>), RulingChange>::new();
    for record in records {
        use ErrorKind::{InvalidParameters, NotFound, UnknownServer};
        let kind = record.outcome.error_kind();
        if matches!(kind, Some(InvalidParameters | NotFound | UnknownServer)) {
            report.skipped += 1;
            continue;
        }
        report.calls += 1;
        let was_denied = kind == Some(ErrorKind::Denied);
        let (verdict, known) = judge(record);
        let (change, rule) = match verdict {
            Verdict::Deny(rule) if !was_denied => ("denied", Some(rule)),
            Verdict::Allow if was_denied => ("allowed", None),
            Verdict::AskFirst(ask) if !was_asked(record)? => ("asked", Some(ask.rule)),
            _ => {
                report.same += 1;
                continue;
            }
        };
        let first = || RulingChange {
            change,
            tool: record.tool.clone(),
            rule: rule.clone(),
            calls: 0,
            example: record.id,
            known,
        };
        let key = (record.tool.as_str(), change, rule.clone());
        changes.entry(key).or_insert_with(first).calls += 1;
    }
    report.changes = changes.into_values().collect();
    report.changes.sort_by_key(|change| std::cmp::Reverse(change.calls));
    Ok(report)
}
