//! Complex numbers: making them and taking them apart.

use num_complex::Complex64;

use super::function;
use crate::{
    complex::arg,
    error::{Result, fail},
    evaluate::{Builtin, Context},
    operators::{each, unexpected},
    units::{Base, Scalar},
    value::{Object, Value},
};

pub(super) static FUNCTIONS: &[Builtin] = &[
    function("re", 1, 1, |arguments, context| {
        each(&arguments[0], context, |value, _| part("re", value, |z| z.re.into()))
    }),
    function("im", 1, 1, |arguments, context| {
        each(&arguments[0], context, |value, _| part("im", value, |z| z.im.into()))
    }),
    function("arg", 1, 1, |arguments, context| {
        each(&arguments[0], context, |value, _| part("arg", value, |z| arg(z).into()))
    }),
    function("conj", 1, 1, |arguments, context| each(&arguments[0], context, conjugate)),
    function("complex", 0, 2, complex),
];

fn part(name: &str, value: &Value, take: fn(Complex64) -> Value) -> Result<Value> {
    match value.coerced()? {
        Value::Number(number) => Ok(take(number.into())),
        Value::Complex(number) => Ok(take(number)),
        other => unexpected(name, "number or Complex", &other, 0),
    }
}

/// The complex conjugate of a scalar.
pub(super) fn conjugate(value: &Value, _: &mut Context) -> Result<Value> {
    match value.coerced()? {
        Value::Complex(number) => Ok(number.conj().into()),
        Value::Unit(unit) if unit.value.is_none() => {
            unexpected("conj", "a unit with a value", value, 0)
        }
        value @ (Value::Number(_) | Value::Unit(_)) => Ok(value),
        other => unexpected("conj", "number or Complex or Unit", &other, 0),
    }
}

fn complex(arguments: &[Value], context: &mut Context) -> Result<Value> {
    match arguments {
        [] => Ok(Value::complex(0.0, 0.0)),
        [value] => each(value, context, |value, _| one(value)),
        [re, im] => match (re.as_number(), im.as_number()) {
            (Some(re), Some(im)) => Ok(Value::complex(re, im)),
            (None, _) => unexpected("complex", "number", re, 0),
            _ => unexpected("complex", "number", im, 1),
        },
        _ => fail("Too many arguments in function complex"),
    }
}

fn one(value: &Value) -> Result<Value> {
    match value {
        Value::Null => Ok(Value::complex(0.0, 0.0)),
        Value::Number(_) | Value::Boolean(_) => {
            Ok(Value::complex(value.as_number().unwrap_or(0.0), 0.0))
        }
        Value::Complex(_) => Ok(value.clone()),
        Value::Text(text) => parse(text),
        Value::Object(object) => from_object(object),
        other => unexpected("complex", "number or Complex or string or Object", other, 0),
    }
}

fn from_object(object: &Object) -> Result<Value> {
    let number = |key: &str| match object.get(key) {
        Some(Value::Unit(unit)) if unit.is_of(Base::Angle) => match unit.value {
            Some(Scalar::Real(radians)) => Some(radians),
            _ => None,
        },
        value => value.and_then(Value::as_number),
    };
    let pairs = [("re", "im"), ("abs", "arg"), ("r", "phi")];
    for (first, second) in pairs {
        let (Some(a), Some(b)) = (number(first), number(second)) else { continue };
        return Ok(if first == "re" {
            Value::complex(a, b)
        } else {
            Value::complex(a * libm::cos(b), a * libm::sin(b))
        });
    }
    fail("Expected object with properties (re and im) or (r and phi) or (abs and arg)")
}

/// Reads text such as `2 - 3i`.
pub(crate) fn parse(text: &str) -> Result<Value> {
    let compact: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let mut sum = Complex64::default();
    let mut rest = compact.as_str();
    if rest.is_empty() || text.len() > 400 {
        return fail("Invalid Param");
    }
    while !rest.is_empty() {
        let sign_length = rest.len() - rest.trim_start_matches(['+', '-']).len();
        let (signs, after) = rest.split_at(sign_length);
        let sign = if signs.matches('-').count() % 2 == 1 { -1.0 } else { 1.0 };
        let end = term_end(after);
        let (term, after) = after.split_at(end);
        let (digits, imaginary) = match term.strip_suffix(['i', 'I']) {
            Some(digits) => (digits, true),
            None => (term, false),
        };
        let size = if imaginary && digits.is_empty() { Ok(1.0) } else { digits.parse::<f64>() };
        let Ok(size) = size else { return fail("Invalid Param") };
        sum += if imaginary {
            Complex64::new(0.0, sign * size)
        } else {
            Complex64::new(sign * size, 0.0)
        };
        rest = after;
    }
    Ok(sum.into())
}

/// Where the term ends: at a sign that is not part of an exponent.
fn term_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    let ends = |at: &usize| {
        matches!(bytes[*at], b'+' | b'-') && !(*at > 0 && matches!(bytes[at - 1], b'e' | b'E'))
    };
    (0..bytes.len()).find(ends).unwrap_or(bytes.len())
}
