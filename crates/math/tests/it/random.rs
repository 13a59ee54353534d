//! LT-3: expressions nobody thought of.

use proptest::prelude::*;
use serde_json::Value;
use switchboard_math::{Limits, evaluate, evaluate_within};

/// Pieces that expressions are made of, so that random text gets past the parser now and then.
const PIECES: [&str; 74] = [
    "1",
    "2",
    "0.5",
    "1e3",
    "0xff",
    "x",
    "y",
    "f",
    "pi",
    "i",
    "e",
    "cm",
    "inch",
    "deg",
    "degC",
    "s",
    "kg",
    "true",
    "null",
    "NaN",
    "\"ab\"",
    "'",
    "\"",
    "+",
    "-",
    "*",
    "/",
    "%",
    "^",
    "!",
    "=",
    "==",
    "<",
    ">=",
    "&",
    "|",
    "^|",
    "~",
    "<<",
    ">>>",
    "?",
    ":",
    "??",
    "?.",
    ".",
    ".*",
    "./",
    ".^",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ";",
    "\n",
    "#",
    " ",
    " to ",
    " in ",
    " mod ",
    " and ",
    " not ",
    "sin(",
    "sqrt(",
    "map(",
    "max(",
    "format(",
    "f(x)=",
    "x=",
    "[1,2;3,4]",
    "zeros(",
    "é𝒜√",
];

fn small() -> Limits {
    Limits { operations: 100_000, elements: 10_000, ..Limits::default() }
}

/// Arithmetic with its brackets written out, and what it is worth.
fn arithmetic() -> impl Strategy<Value = (String, f64)> {
    let leaf = (-1000i32..1000, 0u32..4).prop_map(|(digits, places)| {
        let value = f64::from(digits) / 10f64.powi(places as i32);
        (format!("({value})"), value)
    });
    leaf.prop_recursive(6, 64, 2, |inner| {
        (inner.clone(), inner, 0..4usize).prop_map(|((a, x), (b, y), operator)| match operator {
            0 => (format!("({a}+{b})"), x + y),
            1 => (format!("({a} - {b})"), x - y),
            2 => (format!("({a}*{b})"), x * y),
            _ => (format!("({a} / {b})"), x / y),
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    // LT-3
    #[test]
    fn any_text_has_an_end(text in any::<String>()) {
        let result = evaluate_within(&text, &small());
        prop_assert!(!matches!(&result, Err(error) if error.to_string().contains("unexpectedly")), "{text:?}");
    }

    // LT-3
    #[test]
    fn any_pieces_have_an_end(pieces in prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..40)) {
        let text = pieces.concat();
        let result = evaluate_within(&text, &small());
        prop_assert!(!matches!(&result, Err(error) if error.to_string().contains("unexpectedly")), "{text:?}");
    }

    // LT-3
    #[test]
    fn arithmetic_is_that_of_floats((text, expected) in arithmetic()) {
        match evaluate(&text) {
            Ok(Value::Number(number)) => prop_assert_eq!(number.as_f64(), Some(expected + 0.0)),
            other => prop_assert!(!expected.is_finite(), "{} gave {:?}", text, other),
        }
    }
}
