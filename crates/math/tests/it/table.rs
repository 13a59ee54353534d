//! LT-3: our answers against those of the real mathjs, recorded in `mathjs.json`.

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::Value;
use switchboard_math::evaluate;

fn read(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Expressions and what mathjs said: a value, or that there is none.
fn recorded() -> Vec<(String, Option<Value>)> {
    let rows: Vec<Value> = serde_json::from_str(&read("mathjs.json")).expect("mathjs.json is JSON");
    let row = |row: Value| {
        (row["expr"].as_str().expect("an expression").to_owned(), row.get("value").cloned())
    };
    rows.into_iter().map(row).collect()
}

/// Expressions that we answer differently, with the reason.
fn known_differences() -> BTreeMap<String, String> {
    let text = read("known-differences.txt");
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with("# "));
    let pair = |line: &str| {
        let (expression, reason) =
            line.split_once(" ⇒ ").unwrap_or_else(|| panic!("no reason for `{line}`"));
        (expression.replace('⏎', "\n"), reason.to_owned())
    };
    lines.map(pair).collect()
}

/// Where the last digit or two depend on how the function is computed; to twelve digits they agree.
const LAST_DIGITS: [&str; 7] = [
    "gamma(100.5)",
    "10^3.5",
    "erf(1)",
    "erf([0.5,1])",
    "log1p(i)",
    "norm([2, 1; 1, 3])",
    "norm([1, 2, 3; 4, 5, 6; 7, 8, 10])",
];

/// Numbers agree to the last digit or, `close`, to twelve.
fn agree(ours: &Value, theirs: &Value, close: bool) -> bool {
    match (ours, theirs) {
        (Value::Number(a), Value::Number(b)) if close => {
            let (a, b) = (a.as_f64().expect("a number"), b.as_f64().expect("a number"));
            (a - b).abs() <= 1e-12 * a.abs().max(b.abs()).max(1.0)
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| agree(a, b, close))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| agree(a, b, close)))
        }
        _ => ours == theirs,
    }
}

// LT-3
#[test]
fn answers_are_those_of_mathjs() {
    let known = known_differences();
    let mut wrong = Vec::new();
    for (expression, theirs) in recorded() {
        let ours = evaluate(&expression);
        let close = LAST_DIGITS.contains(&expression.as_str());
        let same = match (&ours, &theirs) {
            (Ok(ours), Some(theirs)) => agree(ours, theirs, close),
            (Err(_), None) => true,
            _ => false,
        };
        if same == known.contains_key(&expression) {
            wrong.push(format!("{expression:?}: ours {ours:?}, theirs {theirs:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} differ, or no longer do:\n{}", wrong.len(), wrong.join("\n"));
}

// LT-3
#[test]
fn the_record_is_of_this_table() {
    let table = read("expressions.txt");
    let lines = table.lines().filter(|line| !line.is_empty() && !line.starts_with("# "));
    let expressions: Vec<String> = lines.map(|line| line.replace('⏎', "\n")).collect();
    let recorded: Vec<String> = recorded().into_iter().map(|(expression, _)| expression).collect();
    assert_eq!(expressions, recorded);
    assert!(expressions.len() >= 500);
    for expression in known_differences().keys() {
        assert!(expressions.contains(expression), "{expression} is not in the table");
    }
}
