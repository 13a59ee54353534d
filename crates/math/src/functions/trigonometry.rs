//! Trigonometry: circular and hyperbolic functions, their reciprocals and inverses.

use std::f64::consts::PI;

use num_complex::Complex64;

use super::{arguments::unary, function};
use crate::{
    complex::{self, inverse},
    error::{Result, fail},
    evaluate::{Builtin, Context},
    number,
    operators::{binary, unexpected},
    units::{Base, Scalar},
    value::Value,
};

pub(super) static FUNCTIONS: &[Builtin] = &[
    function("sin", 1, 1, |arguments, _| angle("sin", &arguments[0], libm::sin, complex::sin)),
    function("cos", 1, 1, |arguments, _| angle("cos", &arguments[0], libm::cos, complex::cos)),
    function("tan", 1, 1, |arguments, _| angle("tan", &arguments[0], libm::tan, complex::tan)),
    function("cot", 1, 1, |arguments, _| {
        angle("cot", &arguments[0], |x| 1.0 / libm::tan(x), |z| inverse(complex::tan(z)))
    }),
    function("sec", 1, 1, |arguments, _| {
        angle("sec", &arguments[0], |x| 1.0 / libm::cos(x), |z| inverse(complex::cos(z)))
    }),
    function("csc", 1, 1, |arguments, _| {
        angle("csc", &arguments[0], |x| 1.0 / libm::sin(x), |z| inverse(complex::sin(z)))
    }),
    function("sinh", 1, 1, |arguments, _| whole("sinh", &arguments[0], libm::sinh, complex::sinh)),
    function("cosh", 1, 1, |arguments, _| {
        whole("cosh", &arguments[0], number::cosh, complex::cosh)
    }),
    function("tanh", 1, 1, |arguments, _| whole("tanh", &arguments[0], f64::tanh, complex::tanh)),
    function("coth", 1, 1, |arguments, _| {
        whole("coth", &arguments[0], coth, |z| inverse(complex::tanh(z)))
    }),
    function("sech", 1, 1, |arguments, _| {
        whole(
            "sech",
            &arguments[0],
            |x| 2.0 / (number::exp(x) + number::exp(-x)),
            |z| inverse(complex::cosh(z)),
        )
    }),
    function("csch", 1, 1, |arguments, _| {
        whole("csch", &arguments[0], csch, |z| inverse(complex::sinh(z)))
    }),
    function("asin", 1, 1, |arguments, _| {
        within("asin", &arguments[0], |x| x.abs() <= 1.0, libm::asin, complex::asin)
    }),
    function("acos", 1, 1, |arguments, _| {
        within("acos", &arguments[0], |x| x.abs() <= 1.0, libm::acos, complex::acos)
    }),
    function("atan", 1, 1, |arguments, _| whole("atan", &arguments[0], libm::atan, complex::atan)),
    function("atan2", 2, 2, atan2),
    function("acot", 1, 1, |arguments, _| {
        whole("acot", &arguments[0], |x| libm::atan(1.0 / x), |z| complex::atan(inverse(z)))
    }),
    function("asec", 1, 1, |arguments, _| {
        within(
            "asec",
            &arguments[0],
            |x| x.abs() >= 1.0,
            |x| libm::acos(1.0 / x),
            |z| complex::acos(inverse(z)),
        )
    }),
    function("acsc", 1, 1, |arguments, _| {
        within(
            "acsc",
            &arguments[0],
            |x| x.abs() >= 1.0,
            |x| libm::asin(1.0 / x),
            |z| complex::asin(inverse(z)),
        )
    }),
    function("asinh", 1, 1, |arguments, _| {
        whole("asinh", &arguments[0], libm::asinh, complex::asinh)
    }),
    function("acosh", 1, 1, |arguments, _| {
        within("acosh", &arguments[0], |x| x >= 1.0, libm::acosh, acosh)
    }),
    function("atanh", 1, 1, |arguments, _| {
        within("atanh", &arguments[0], |x| x.abs() <= 1.0, libm::atanh, complex::atanh)
    }),
    function("acoth", 1, 1, |arguments, _| {
        within("acoth", &arguments[0], |x| x.abs() >= 1.0, acoth, acoth_complex)
    }),
    function("asech", 1, 1, |arguments, _| asech(&arguments[0])),
    function("acsch", 1, 1, |arguments, _| {
        whole("acsch", &arguments[0], acsch, |z| complex::asinh(inverse(z)))
    }),
];

/// A function of a number or of a quantity that is an angle.
fn angle(
    name: &str,
    value: &Value,
    real: fn(f64) -> f64,
    of_complex: fn(Complex64) -> Complex64,
) -> Result<Value> {
    let Value::Unit(unit) = value else {
        return unary(name, value, |x| real(x).into(), of_complex);
    };
    if !unit.is_of(Base::Angle) {
        return fail(format!("Unit in function {name} is no angle"));
    }
    match unit.value {
        Some(Scalar::Real(radians)) => Ok(Value::Number(real(radians))),
        Some(Scalar::Complex(radians)) => Ok(of_complex(radians).into()),
        None => fail(format!("Unit in function {name} has no value")),
    }
}

/// A function that is real for every real number.
fn whole(
    name: &str,
    value: &Value,
    real: fn(f64) -> f64,
    complex: fn(Complex64) -> Complex64,
) -> Result<Value> {
    unary(name, value, |x| real(x).into(), complex)
}

/// A function that is real only for some real numbers.
fn within(
    name: &str,
    value: &Value,
    domain: fn(f64) -> bool,
    real: fn(f64) -> f64,
    complex: fn(Complex64) -> Complex64,
) -> Result<Value> {
    unary(
        name,
        value,
        |x| if domain(x) || x.is_nan() { real(x).into() } else { complex(x.into()).into() },
        complex,
    )
}

fn coth(x: f64) -> f64 {
    let double = number::exp(2.0 * x);
    (double + 1.0) / (double - 1.0)
}

fn csch(x: f64) -> f64 {
    if x == 0.0 {
        f64::INFINITY
    } else {
        (2.0 / (number::exp(x) - number::exp(-x))).abs().copysign(x)
    }
}

fn acoth(x: f64) -> f64 {
    if x.is_finite() { (libm::log((x + 1.0) / x) + libm::log(x / (x - 1.0))) / 2.0 } else { 0.0 }
}

fn acoth_complex(z: Complex64) -> Complex64 {
    if z.re == 0.0 && z.im == 0.0 {
        Complex64::new(0.0, PI / 2.0)
    } else {
        complex::atanh(inverse(z))
    }
}

fn acsch(x: f64) -> f64 {
    let inverse = 1.0 / x;
    libm::log(inverse + (inverse * inverse + 1.0).sqrt())
}

fn acosh(z: Complex64) -> Complex64 {
    // A negative number is mirrored rather than sent through the logarithm.
    if z.im == 0.0 && z.re <= 1.0 && z.re >= -1.0 {
        Complex64::new(0.0, libm::acos(z.re))
    } else {
        complex::acosh(z)
    }
}

fn asech(value: &Value) -> Result<Value> {
    let real = |x: f64| {
        if (-1.0..=1.0).contains(&x) {
            let inverse = 1.0 / x;
            if inverse > 0.0 || inverse.is_nan() {
                return libm::log((inverse * inverse - 1.0).sqrt() + inverse).into();
            }
            let size = (inverse * inverse - 1.0).sqrt();
            return Value::complex(libm::log(size - inverse), PI);
        }
        complex::acosh(inverse(x.into())).into()
    };
    unary("asech", value, real, |z| complex::acosh(inverse(z)))
}

fn atan2(arguments: &[Value], context: &mut Context) -> Result<Value> {
    binary("atan2", &arguments[0], &arguments[1], context, |y, x, _| {
        match (y.coerced()?, x.coerced()?) {
            (Value::Number(y), Value::Number(x)) => Ok(Value::Number(libm::atan2(y, x))),
            (Value::Number(_), other) => unexpected("atan2", "number", &other, 1),
            (other, _) => unexpected("atan2", "number", &other, 0),
        }
    })
}
