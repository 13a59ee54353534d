//! The functions and constants that have names.
//!
//! Each file holds a table of one theme; [`named`] looks a name up in all of them.

mod arguments;
mod arithmetic;
mod combinatorics;
mod complex;
mod convert;
mod decompose;
mod gamma;
mod higher;
mod integers;
mod linear;
mod logic;
mod matrices;
mod polynomials;
mod predicates;
mod random;
mod reshape;
mod rounding;
mod sets;
mod special;
mod statistics;
mod summaries;
mod texts;
mod trigonometry;
mod units;
mod unsupported;

use std::{
    collections::HashMap,
    f64::consts::{self, PI, TAU},
    rc::Rc,
    sync::LazyLock,
};

use crate::{
    error::Result,
    evaluate::{Builtin, Context, Function},
    units::physical_constant,
    value::Value,
};

pub(crate) use combinatorics::factorial;
pub(crate) use complex::parse as parse_complex;
pub(crate) use matrices::conjugate_transpose;

static FUNCTIONS: LazyLock<HashMap<&str, &Builtin>> = LazyLock::new(|| {
    let tables = [
        arithmetic::FUNCTIONS,
        combinatorics::FUNCTIONS,
        complex::FUNCTIONS,
        convert::FUNCTIONS,
        decompose::FUNCTIONS,
        higher::FUNCTIONS,
        integers::FUNCTIONS,
        linear::FUNCTIONS,
        logic::FUNCTIONS,
        matrices::FUNCTIONS,
        polynomials::FUNCTIONS,
        predicates::FUNCTIONS,
        random::FUNCTIONS,
        reshape::FUNCTIONS,
        rounding::FUNCTIONS,
        sets::FUNCTIONS,
        special::FUNCTIONS,
        statistics::FUNCTIONS,
        summaries::FUNCTIONS,
        texts::FUNCTIONS,
        trigonometry::FUNCTIONS,
        units::FUNCTIONS,
        unsupported::FUNCTIONS,
    ];
    tables.into_iter().flatten().map(|builtin| (builtin.name, builtin)).collect()
});

/// The function called `name`.
pub(crate) fn builtin(name: &str) -> Option<&'static Builtin> {
    FUNCTIONS.get(name).copied()
}

/// The constant or function called `name`.
pub(crate) fn named(name: &str, context: &mut Context) -> Option<Result<Value>> {
    if let Some(value) = constant(name) {
        return Some(Ok(value));
    }
    if let Some(builtin) = builtin(name) {
        return Some(Ok(Value::Function(Rc::new(Function::Builtin(builtin)))));
    }
    physical_constant(name, context.units_mut())
}

fn constant(name: &str) -> Option<Value> {
    let number = match name {
        "pi" | "PI" => PI,
        "tau" => TAU,
        "e" | "E" => consts::E,
        "phi" => 1.618_033_988_749_895,
        "LN2" => consts::LN_2,
        "LN10" => consts::LN_10,
        "LOG2E" => consts::LOG2_E,
        "LOG10E" => consts::LOG10_E,
        "SQRT1_2" => consts::FRAC_1_SQRT_2,
        "SQRT2" => consts::SQRT_2,
        "i" => return Some(Value::complex(0.0, 1.0)),
        "version" => return Some(Value::text("15.2.0")),
        _ => return None,
    };
    Some(Value::Number(number))
}

/// A row of a function table.
const fn function(
    name: &'static str,
    fewest: usize,
    most: usize,
    run: fn(&[Value], &mut Context) -> Result<Value>,
) -> Builtin {
    Builtin { name, fewest, most, run }
}

/// Any number of arguments.
const ANY: usize = usize::MAX;
