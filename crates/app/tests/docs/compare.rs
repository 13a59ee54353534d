//! What a page shows of an output, compared with what there is.

use regex::Regex;
use serde_json::Value;

/// What is another one in each run, and how it is found: ids, times, durations, versions; `…` stands for anything. Addresses are
/// not versions.
const VOLATILE: [(&str, &str); 13] = [
    (r"\b(?:now|\d+[smh] ago)\b", r"(?:now|\d+[smh] ago)"),
    (r"\d+\.\d+\.\d+\.\d+", ""),
    (r"01[0-9A-Z]{2,}…?", r"[0-9A-Z]{4,26}"),
    (r"\d{4}-\d\d-\d\d(?:T[0-9:.]+(?:Z|[+-]\d\d:\d\d))?", r"\d{4}-\d\d-\d\d\S*?"),
    (r"\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b", r"[A-Z][a-z]+day"),
    (r"\b\d\d? [A-Z][a-z]{2,8} \d{4}\b", r"\d\d? [A-Z][a-z]+ \d{4}"),
    (r"[+-]\d\d:\d\d\b", r"[+-]\d\d:\d\d"),
    (r"\b1\d{9}\b", r"\d{10}"),
    (r"\b\d\d:\d\d(?::\d\d)?\b", r"\d\d:\d\d(?::\d\d)?"),
    (r#"_ms":\d+(?:\.\d+)?"#, r#"_ms":\d+(?:\.\d+)?(?:e-?\d+)?"#),
    (r"\b\d+(?:\.\d+)? ?(?:µs|ms|s|min)\b", r"\d+(?:\.\d+)? ?(?:µs|ms|s|min)"),
    (r"\b\d+\.\d+\.\d+\b", r"\d+\.\d+\.\d+\S*"),
    ("…", ".*"),
];

/// Returns the first line that is shown and not there: all must be there in their order. Others may stand between them, such as
/// warnings of the log, which say more of the machine of the tests than of the example.
pub(crate) fn first_missing<'a>(shown: &'a [String], there: &str) -> Option<&'a str> {
    let mut lines = there.lines();
    let is_missing = |line: &&'a String| {
        let pattern = pattern(line.trim_end());
        !line.trim().is_empty() && !lines.any(|line| pattern.is_match(line.trim_end()))
    };
    shown.iter().find(is_missing).map(String::as_str)
}

fn pattern(line: &str) -> Regex {
    let volatile: Vec<_> = VOLATILE.iter().map(|(text, _)| format!("({text})")).collect();
    let volatile = Regex::new(&volatile.join("|")).unwrap();
    let mut pattern = String::from("^");
    let mut end = 0;
    for found in volatile.captures_iter(line) {
        let all = found.get(0).unwrap();
        let which = (0..VOLATILE.len()).find(|index| found.get(index + 1).is_some()).unwrap();
        pattern.push_str(&regex::escape(&line[end..all.start()]));
        match VOLATILE[which].1 {
            "" => pattern.push_str(&regex::escape(all.as_str())),
            any => pattern.push_str(any),
        }
        end = all.end();
    }
    pattern.push_str(&regex::escape(&line[end..]));
    pattern.push('$');
    Regex::new(&pattern).unwrap()
}

/// Compares the shapes of two JSON values: the same members, of the same kinds. Returns where they differ.
pub(crate) fn difference(shown: &Value, there: &Value, path: &str) -> Option<String> {
    match (shown, there) {
        (Value::Object(shown), Value::Object(there)) => {
            let more = there.keys().find(|key| !shown.contains_key(*key));
            let less = shown.keys().find(|key| !there.contains_key(*key));
            let inner = || {
                shown.iter().find_map(|(key, value)| {
                    difference(value, &there[key], &format!("{path}.{key}"))
                })
            };
            more.map(|key| format!("{path}.{key} is there and not shown"))
                .or_else(|| less.map(|key| format!("{path}.{key} is shown and not there")))
                .or_else(inner)
        }
        (Value::Array(shown), Value::Array(there)) => {
            if shown.len() > there.len() {
                return Some(format!("{path} has {} items, not {}", there.len(), shown.len()));
            }
            let pairs = shown.iter().zip(there).enumerate();
            pairs.into_iter().find_map(|(index, (shown, there))| {
                difference(shown, there, &format!("{path}[{index}]"))
            })
        }
        _ if kind(shown) == kind(there) => None,
        _ => Some(format!("{path} is {there}, and shown as {shown}")),
    }
}

fn kind(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) => 4,
        Value::Object(_) => 5,
    }
}

#[test]
fn what_changes_from_run_to_run_may() {
    let check = |shown: &str, there: &str| {
        let shown: Vec<_> = shown.lines().map(str::to_owned).collect();
        first_missing(&shown, there).map(str::to_owned)
    };
    let there = "WARN x\nworker 01M7QAB3 at nats://127.0.0.1:4222\noffers resize\n";
    assert_eq!(check("worker 01KA4QY… at nats://127.0.0.1:4222\noffers resize", there), None);
    assert!(check("offers resize\nworker 01KA…", there).is_some(), "another order");
    assert!(check("worker 01KA4QY… at nats://127.0.0.1:4223", there).is_some());
    assert_eq!(
        check(r#"{"a":1,"execution_time_ms":0.31,…}"#, r#"{"a":1,"execution_time_ms":12,"b":2}"#),
        None
    );
    assert!(check("5.08 cm", "5.09 cm").is_some());
    let day = r#"{"weekday":"Sunday","unix":1794733466,"formatted":"15 November 2026, 10:04"}"#;
    assert_eq!(
        check(day, &day.replace("Sun", "Fri").replace("15 Nov", "9 Nov").replace('6', "8")),
        None
    );
    assert_eq!(
        check(
            "NATS 2.15.1, 4s ago, 2026-11-15T10:04:26+01:00",
            "NATS 2.9.0, 12s ago, 2027-01-02T03:04:05Z"
        ),
        None
    );
}

#[test]
fn shapes_are_compared_without_values() {
    let check = |shown: &str, there: &str| {
        let [shown, there] = [shown, there].map(|text| serde_json::from_str(text).unwrap());
        difference(&shown, &there, "")
    };
    assert_eq!(check(r#"[{"a":1,"b":"x"}]"#, r#"[{"a":2,"b":"y"},{}]"#), None);
    assert_eq!(check(r#"{"a":1}"#, r#"{"a":"1"}"#).unwrap(), r#".a is "1", and shown as 1"#);
    assert!(check(r#"{"a":1}"#, r#"{"a":1,"b":2}"#).unwrap().contains(".b is there"));
    assert!(check(r#"{"a":[{"b":2}]}"#, r#"{"a":[{}]}"#).unwrap().contains(".a[0].b is shown"));
}
