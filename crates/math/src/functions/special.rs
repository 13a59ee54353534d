//! The error function and the Riemann zeta function.

use std::f64::consts::PI;

use num_complex::Complex64;

use super::{
    arguments::{not_for_matrices, unary},
    function,
    gamma::{complex_gamma, gamma},
};
use crate::{
    complex,
    error::Result,
    evaluate::{Builtin, Context},
    number::{nearly_equal, power},
    operators::{each, unexpected},
    value::Value,
};

pub(super) static FUNCTIONS: &[Builtin] = &[
    function("erf", 1, 1, |arguments, context| {
        each(&arguments[0], context, |value, _| match value.coerced()? {
            Value::Number(number) => Ok(Value::Number(libm::erf(number))),
            other => unexpected("erf", "number", &other, 0),
        })
    }),
    function("zeta", 1, 1, zeta),
];

fn zeta(arguments: &[Value], context: &mut Context) -> Result<Value> {
    if matches!(arguments[0], Value::Matrix(_)) {
        return not_for_matrices("zeta");
    }
    context.spend(2_000)?; // the series below
    unary("zeta", &arguments[0], |s| zeta_real(s).into(), zeta_complex)
}

const TERMS: f64 = 20.0;

fn zeta_real(s: f64) -> f64 {
    if nearly_equal(s, 0.0) {
        return -0.5;
    }
    if nearly_equal(s, 1.0) || s == f64::NEG_INFINITY || s.is_nan() {
        return f64::NAN;
    }
    if s == f64::INFINITY {
        return 1.0;
    }
    if s > -(TERMS - 1.0) / 2.0 {
        return series(TERMS, |k| power(k, s), 1.0 - power(2.0, 1.0 - s), |a, b| a / b);
    }
    // The functional equation reaches the left half of the plane.
    power(2.0, s)
        * power(PI, s - 1.0)
        * libm::sin(PI / 2.0 * s)
        * gamma(1.0 - s)
        * zeta_real(1.0 - s)
}

fn zeta_complex(s: Complex64) -> Complex64 {
    if s.re == 0.0 && s.im == 0.0 {
        return (-0.5).into();
    }
    if s.re == 1.0 || !s.re.is_finite() || !s.im.is_finite() || s.im.abs() > 40.0 {
        return Complex64::new(f64::NAN, f64::NAN);
    }
    let terms = (1.3 * 15.0 + 0.9 * s.im.abs()).round();
    if s.re > -(terms - 1.0) / 2.0 {
        let scale = Complex64::from(1.0) - complex::pow(2.0.into(), Complex64::from(1.0) - s);
        return series(terms, |k| complex::pow(k.into(), s), scale, complex::div);
    }
    let reflected = Complex64::from(1.0) - s;
    let scale = complex::mul(complex::pow(2.0.into(), s), complex::pow(PI.into(), s - 1.0));
    let scale = complex::mul(scale, complex::sin(s * (PI / 2.0)));
    complex::mul(complex::mul(scale, complex_gamma(reflected)), zeta_complex(reflected))
}

/// Borwein's series, over real or complex numbers.
fn series<T>(terms: f64, powers: impl Fn(f64) -> T, scale: T, divide: fn(T, T) -> T) -> T
where
    T: From<f64> + Copy + std::ops::Add<Output = T> + std::ops::Mul<Output = T>,
{
    let mut sum = T::from(0.0);
    let mut k = 1.0;
    while k <= terms {
        let sign = if k % 2.0 == 1.0 { 1.0 } else { -1.0 };
        sum = sum + divide(T::from(sign * weight(k, terms)), powers(k));
        k += 1.0;
    }
    divide(T::from(1.0), T::from(weight(0.0, terms)) * scale) * sum
}

fn weight(k: f64, terms: f64) -> f64 {
    let mut sum = k;
    let mut j = k;
    while j <= terms {
        sum += gamma(terms + j) * power(4.0, j) / (gamma(terms - j + 1.0) * gamma(2.0 * j + 1.0));
        j += 1.0;
    }
    terms * sum
}
