//! What a profile would have done to recorded calls.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
    time::Duration,
};

use serde::Serialize;
use serde_json::{Map, Value};
use switchboard_audit::Record;
use switchboard_runtime::ToolManager;
use switchboard_toolcall::{CallId, ErrorKind, Visibility};

use crate::{
    commands::{calls::format::counted, lists},
    terminal::{Paint, text},
};

/// How long one check of arguments may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a profile would have done to recorded calls.
#[derive(Debug, Default, Serialize)]
pub(super) struct ProfileReport {
    profile: String,
    /// How many calls were compared.
    calls: u64,
    /// How many would be run.
    ok: u64,
    /// How many of those would be run with other arguments.
    changed: u64,
    /// How many would fail.
    failed: u64,
    /// How many were not compared: they failed before their tool ran, or their arguments are not in the records.
    skipped: u64,
    /// Why calls would fail, those of the most calls first.
    failures: Vec<FailureReason>,
    /// The tools of the profile that none of the calls was to, as the profile calls them.
    unused: Vec<String>,
}

/// Why calls of a tool would fail.
#[derive(Debug, Serialize)]
struct FailureReason {
    /// The tool, as the config names it.
    tool: String,
    reason: String,
    calls: u64,
    /// The latest of the calls.
    example: CallId,
}

/// What would become of a call.
enum CallFate {
    Same,
    Changed,
    Fails(String),
    Skipped,
}

/// Compares recorded calls with a profile, one at a time.
pub(super) struct ProfileComparison<'a> {
    tools: &'a ToolManager,
    visibility: &'a Visibility,
    report: ProfileReport,
    /// By tool and reason.
    failures: BTreeMap<(String, String), FailureReason>,
    /// The full names of the tools that were called.
    used: HashSet<Arc<str>>,
}

impl<'a> ProfileComparison<'a> {
    pub(super) fn new(profile: &str, tools: &'a ToolManager, visibility: &'a Visibility) -> Self {
        let report = ProfileReport { profile: profile.to_owned(), ..ProfileReport::default() };
        Self { tools, visibility, report, failures: BTreeMap::new(), used: HashSet::new() }
    }

    /// Compares a call that is older than those before it.
    pub(super) async fn add(&mut self, record: &Record) {
        let Self { tools, visibility, report, failures, used } = self;
        let outcome = replay_outcome(record, tools, visibility).await;
        if !matches!(outcome, CallFate::Skipped) {
            report.calls += 1;
            used.extend(tools.get(&record.tool).map(|tool| tool.full_name().clone()));
        }
        match outcome {
            CallFate::Skipped => report.skipped += 1,
            CallFate::Same => report.ok += 1,
            CallFate::Changed => {
                report.ok += 1;
                report.changed += 1;
            }
            CallFate::Fails(reason) => {
                report.failed += 1;
                let first = || FailureReason {
                    tool: record.tool.clone(),
                    reason: reason.clone(),
                    calls: 0,
                    example: record.id,
                };
                let key = (record.tool.clone(), reason.clone());
                failures.entry(key).or_insert_with(first).calls += 1;
            }
        }
    }

    /// Returns what came of all calls.
    pub(super) fn report(self) -> ProfileReport {
        let Self { tools, visibility, mut report, failures, used } = self;
        report.failures = failures.into_values().collect();
        report.failures.sort_by_key(|failure| std::cmp::Reverse(failure.calls));
        let listed = tools.listed_for(visibility);
        let unused = listed.iter().filter(|tool| !used.contains(tool.full_name()));
        report.unused = unused.map(|tool| tool.name().to_string()).collect();
        report
    }
}

impl ProfileReport {
    /// The report for people.
    pub(super) fn text(&self, paint: Paint) -> String {
        let mut lines = Vec::new();
        if !self.failures.is_empty() {
            let rows = self.failures.iter().map(|failure| {
                let calls = counted(usize::try_from(failure.calls).unwrap_or(usize::MAX), "call");
                [text::one_line(&failure.tool), calls, text::one_line(&failure.reason)]
            });
            lines.push(lists::table(&rows.collect::<Vec<_>>(), paint));
        }
        let Self { calls, ok, changed, failed, skipped, .. } = self;
        lines.push(format!(
            "{calls} calls: {ok} would be run, {changed} of them with other arguments, {failed} would fail; {skipped} were \
             not compared"
        ));
        if !self.unused.is_empty() {
            lines.push(format!("nobody called: {}", text::one_line(&self.unused.join(", "))));
        }
        lines.join("\n")
    }
}

/// Returns what would become of a recorded call.
async fn replay_outcome(record: &Record, tools: &ToolManager, visibility: &Visibility) -> CallFate {
    use ErrorKind::{InvalidParameters, NotFound, UnknownServer};
    if matches!(record.outcome.error_kind(), Some(InvalidParameters | NotFound | UnknownServer)) {
        return CallFate::Skipped;
    }
    let Some(tool) = tools.get(&record.tool) else {
        return match visibility.sees_name(&record.tool) {
            true => CallFate::Fails("the tool does not exist any more".to_owned()),
            false => CallFate::Fails("the tool is not in the profile".to_owned()),
        };
    };
    let Some(shown) = tools.view(&tool, visibility) else {
        return CallFate::Fails("the tool is not in the profile".to_owned());
    };
    let Ok(arguments) = serde_json::from_str::<Map<String, Value>>(&record.arguments) else {
        return CallFate::Skipped;
    };
    if arguments.contains_key("[omitted]") {
        return CallFate::Skipped;
    }
    let sent = shown.sent_arguments(arguments.clone());
    // What the profile shows is checked first, then whether the tool gets what it needs.
    for (checked, arguments) in [(&shown, &arguments), (&tool, &sent)] {
        match checked.validate(arguments.clone(), PATIENCE).await {
            Ok(None) => {}
            Ok(Some(invalid)) => return CallFate::Fails(invalid.error.for_model),
            Err(_) => return CallFate::Skipped,
        }
    }
    if sent == arguments { CallFate::Same } else { CallFate::Changed }
}
