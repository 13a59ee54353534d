//! The number in front of a unit: real, or complex when it has to be.

use num_complex::Complex64;

use crate::{
    complex,
    error::{Result, fail},
    number::{nearly_equal, power},
    value::Value,
};

/// A real or complex number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Scalar {
    Real(f64),
    Complex(Complex64),
}

impl Scalar {
    /// The number in `value`, which booleans and text may stand for.
    pub(crate) fn of(value: &Value) -> Result<Self> {
        match value.coerced()? {
            Value::Number(number) => Ok(Self::Real(number)),
            Value::Complex(number) => Ok(Self::Complex(number)),
            other => fail(format!(
                "Unexpected type of argument (expected: number or Complex, actual: {})",
                other.type_name()
            )),
        }
    }

    pub(crate) fn complex(self) -> Complex64 {
        match self {
            Self::Real(number) => Complex64::from(number),
            Self::Complex(number) => number,
        }
    }

    pub(crate) fn abs(self) -> f64 {
        match self {
            Self::Real(number) => number.abs(),
            Self::Complex(number) => complex::abs(number),
        }
    }

    pub(crate) fn add(self, other: Self) -> Self {
        self.combine(other, |a, b| a + b, |a, b| a + b)
    }

    pub(crate) fn sub(self, other: Self) -> Self {
        self.combine(other, |a, b| a - b, |a, b| a - b)
    }

    pub(crate) fn mul(self, other: Self) -> Self {
        self.combine(other, |a, b| a * b, complex::mul)
    }

    pub(crate) fn div(self, other: Self) -> Self {
        self.combine(other, |a, b| a / b, complex::div)
    }

    pub(crate) fn pow(self, exponent: f64) -> Self {
        match self {
            Self::Real(base) if base >= 0.0 || exponent == exponent.trunc() => {
                Self::Real(power(base, exponent))
            }
            other => Self::Complex(complex::pow(other.complex(), Complex64::from(exponent))),
        }
    }

    pub(crate) fn equals(self, other: Self) -> bool {
        let (a, b) = (self.complex(), other.complex());
        nearly_equal(a.re, b.re) && nearly_equal(a.im, b.im)
    }

    fn combine(
        self,
        other: Self,
        real: fn(f64, f64) -> f64,
        complex: fn(Complex64, Complex64) -> Complex64,
    ) -> Self {
        match (self, other) {
            (Self::Real(a), Self::Real(b)) => Self::Real(real(a, b)),
            (a, b) => Self::Complex(complex(a.complex(), b.complex())),
        }
    }
}

impl From<Scalar> for Value {
    fn from(scalar: Scalar) -> Self {
        match scalar {
            Scalar::Real(number) => Self::Number(number),
            Scalar::Complex(number) => Self::Complex(number),
        }
    }
}
