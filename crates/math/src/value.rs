//! The values that expressions evaluate to.

use std::{fmt, rc::Rc};

use indexmap::IndexMap;
use num_complex::Complex64;

use crate::{
    error::{Result, fail},
    evaluate::Function,
    matrix::Matrix,
    parser::parse_number,
    units::Unit,
};

/// A property bag; keys keep their order.
pub(crate) type Object = IndexMap<Rc<str>, Value>;

/// The value of an expression, or of a part of one. Cheap to clone: anything large is shared.
#[derive(Clone)]
pub(crate) enum Value {
    Undefined,
    Null,
    Boolean(bool),
    Number(f64),
    Complex(Complex64),
    Text(Rc<str>),
    Unit(Rc<Unit>),
    Matrix(Rc<Matrix>),
    Object(Rc<Object>),
    Function(Rc<Function>),
    /// Zero-based positions made by `index(…)`.
    Index(Rc<Vec<Positions>>),
    /// The visible values of several statements.
    Results(Rc<Vec<Value>>),
}

/// The places one dimension of an index picks.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Positions {
    One(f64),
    Many(Vec<f64>),
    /// A key of an object.
    Key(Rc<str>),
}

impl Value {
    pub(crate) fn text(text: impl Into<Rc<str>>) -> Self {
        Self::Text(text.into())
    }

    pub(crate) fn vector(items: Vec<Self>) -> Self {
        Self::Matrix(Rc::new(Matrix::vector(items)))
    }

    pub(crate) fn numbers(items: impl IntoIterator<Item = f64>) -> Self {
        Self::vector(items.into_iter().map(Self::Number).collect())
    }

    pub(crate) fn complex(re: f64, im: f64) -> Self {
        Self::Complex(Complex64::new(re, im))
    }

    /// The name mathjs gives the type.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Undefined => "undefined",
            Self::Null => "null",
            Self::Boolean(_) => "boolean",
            Self::Number(_) => "number",
            Self::Complex(_) => "Complex",
            Self::Text(_) => "string",
            Self::Unit(_) => "Unit",
            Self::Matrix(_) => "DenseMatrix",
            Self::Object(_) => "Object",
            Self::Function(_) => "function",
            Self::Index(_) => "Index",
            Self::Results(_) => "ResultSet",
        }
    }

    /// Booleans and text as the numbers they stand for; anything else as it is.
    pub(crate) fn coerced(&self) -> Result<Self> {
        match self {
            Self::Boolean(flag) => Ok(Self::Number(f64::from(u8::from(*flag)))),
            Self::Text(text) => match as_plain_number(text) {
                Some(number) => Ok(Self::Number(number)),
                None => fail(format!("Cannot convert \"{text}\" to a number")),
            },
            other => Ok(other.clone()),
        }
    }

    /// The number this is or stands for, if it is one.
    pub(crate) fn as_number(&self) -> Option<f64> {
        match self.coerced() {
            Ok(Self::Number(number)) => Some(number),
            _ => None,
        }
    }

    /// The value as a complex number, if it is a number at all.
    pub(crate) fn as_complex(&self) -> Option<Complex64> {
        match self {
            Self::Complex(complex) => Some(*complex),
            other => other.as_number().map(Complex64::from),
        }
    }
}

/// The number a text stands for: fractions in other bases and word sizes are for literals only.
fn as_plain_number(text: &str) -> Option<f64> {
    const LONGEST: usize = 400;
    let other_base = text.starts_with('0') && text.contains(['x', 'o', 'b']);
    if text.len() > LONGEST || (other_base && text.contains(['.', 'i'])) {
        return None;
    }
    parse_number(text).ok().filter(|number| !number.is_nan())
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => write!(f, "{text:?}"),
            other => f.write_str(other.type_name()),
        }
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Boolean(flag)
    }
}

impl From<Complex64> for Value {
    fn from(complex: Complex64) -> Self {
        Self::Complex(complex)
    }
}

impl From<Unit> for Value {
    fn from(unit: Unit) -> Self {
        Self::Unit(Rc::new(unit))
    }
}

impl From<Matrix> for Value {
    fn from(matrix: Matrix) -> Self {
        Self::Matrix(Rc::new(matrix))
    }
}
