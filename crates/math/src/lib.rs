//! The expression engine behind `math_eval`: it answers as mathjs does.
//!
//! [`evaluate`] takes one expression in the mathjs language and gives a JSON value. Expressions come
//! from models, so time, memory and depth are bounded by [`Limits`]; what mathjs has and we do not is
//! listed in `docs/math.md`. Parsing is in `parser`, values in `value`, `matrix`, `complex` and
//! `units`, the operators in `operators` and the named functions in `functions`.
//!
//! ```
//! use switchboard_math::{Error, evaluate};
//!
//! # fn main() -> Result<(), Error> {
//! assert_eq!(evaluate("2 * (3 + 4)")?, 14);
//! assert_eq!(evaluate("sqrt(-4)")?, serde_json::json!({"re": 0, "im": 2}));
//! assert_eq!(evaluate("[1, 2; 3, 4] * 2")?, serde_json::json!([[2, 4], [6, 8]]));
//! assert_eq!(evaluate("5 cm > 40 mm")?, true);
//! assert!(evaluate("1 +").is_err());
//! # Ok(()) }
//! ```

mod error;
mod limits;
mod lexer;
mod syntax;
mod parser;
mod value;
mod matrix;
mod number;
mod format;
mod complex;
mod units;
mod evaluate;
mod operators;
mod functions;
mod output;

pub use error::Error;
pub use limits::Limits;

/// Evaluates `expression` as mathjs would, within the default [`Limits`].
///
/// # Errors
///
/// Says what is wrong with the expression and where, or which limit it ran into.
pub fn evaluate(expression: &str) -> Result<serde_json::Value, Error> {
    evaluate_within(expression, &Limits::default())
}

/// Evaluates `expression` as mathjs would, within `limits`.
///
/// # Errors
///
/// Says what is wrong with the expression and where, or which limit it ran into.
pub fn evaluate_within(expression: &str, limits: &Limits) -> Result<serde_json::Value, Error> {
    limits.check_length(expression)?;
    // Parsing and evaluation recurse as deep as the limits allow, and the caller's stack may be small.
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .name("math".to_owned())
            .stack_size(limits.stack_size())
            .spawn_scoped(scope, || answer(expression, limits))
            .map_err(|error| Error::Limit(format!("no thread to evaluate on: {error}")))?
            .join()
            .unwrap_or_else(|_| {
                Err(Error::Evaluation("the evaluation failed unexpectedly".to_owned()))
            })
    })
}

fn answer(expression: &str, limits: &Limits) -> Result<serde_json::Value, Error> {
    let node = parser::parse(expression, limits)?;
    let mut context = evaluate::Context::new(limits);
    let value = evaluate::evaluate(&node, &mut context)?;
    output::to_json(&value, &mut context)
}
