//! The gamma function and its logarithm, by the Lanczos approximation.

use std::f64::consts::PI;

use num_complex::Complex64;

use crate::{
    complex,
    number::{self, is_integer, power},
};

/// Pugh's coefficients for g = 607/128.
const G: f64 = 4.7421875;
#[expect(clippy::excessive_precision, reason = "the coefficients as they were published")]
const COEFFICIENTS: [f64; 15] = [
    0.99999999999999709182,
    57.156235665862923517,
    -59.597960355475491248,
    14.136097974741747174,
    -0.49191381609762019978,
    0.33994649984811888699e-4,
    0.46523628927048575665e-4,
    -0.98374475304879564677e-4,
    0.15808870322491248884e-3,
    -0.21026444172410488319e-3,
    0.21743961811521264320e-3,
    -0.16431810653676389022e-3,
    0.84418223983852743293e-4,
    -0.26190838401581408670e-4,
    0.36899182659531622704e-5,
];

/// The product of the whole numbers from `from` to `to`, halves multiplied with halves.
pub(super) fn product(from: f64, to: f64) -> f64 {
    if to < from {
        return 1.0;
    }
    if to == from {
        return to;
    }
    let half = ((from + to) / 2.0).floor();
    product(from, half) * product(half + 1.0, to)
}

/// The gamma function of a real number.
pub(super) fn gamma(n: f64) -> f64 {
    if is_integer(n) {
        return match n {
            n if n <= 0.0 || n > 171.0 => f64::INFINITY,
            n => product(1.0, n - 1.0),
        };
    }
    if n < 0.5 {
        return PI / (libm::sin(PI * n) * gamma(1.0 - n));
    }
    if n >= 171.35 || n.is_nan() {
        return if n.is_nan() { n } else { f64::INFINITY };
    }
    if n > 85.0 {
        return stirling(n);
    }
    let n = n - 1.0;
    let mut sum = COEFFICIENTS[0];
    for (place, coefficient) in COEFFICIENTS.iter().enumerate().skip(1) {
        sum += coefficient / (n + place as f64);
    }
    let t = n + G + 0.5;
    (2.0 * PI).sqrt() * power(t, n + 0.5) * number::exp(-t) * sum
}

fn stirling(n: f64) -> f64 {
    let (n2, n3, n4, n5) = (n * n, n * n * n, n * n * n * n, n * n * n * n * n);
    let series = 1.0 + 1.0 / (12.0 * n) + 1.0 / (288.0 * n2)
        - 139.0 / (51840.0 * n3)
        - 571.0 / (2488320.0 * n4)
        + 163879.0 / (209018880.0 * n5)
        + 5246819.0 / (75246796800.0 * n5 * n);
    (2.0 * PI / n).sqrt() * power(n / std::f64::consts::E, n) * series
}

/// The gamma function of a complex number.
pub(super) fn complex_gamma(n: Complex64) -> Complex64 {
    if n.im == 0.0 {
        return gamma(n.re).into();
    }
    if n.re < 0.5 {
        let reflected = complex_gamma(Complex64::new(1.0 - n.re, -n.im));
        return complex::div(complex::div(PI.into(), complex::sin(n * PI)), reflected);
    }
    let n = n - 1.0;
    let mut sum = Complex64::from(COEFFICIENTS[0]);
    for (place, coefficient) in COEFFICIENTS.iter().enumerate().skip(1) {
        sum += complex::div((*coefficient).into(), n + place as f64);
    }
    let t = n + G + 0.5;
    let scaled = complex::mul(sum, (2.0 * PI).sqrt().into());
    complex::mul(complex::mul(scaled, complex::pow(t, n + 0.5)), complex::exp(-t))
}

/// The logarithm of the gamma function of a real number, by Lanczos' own coefficients.
pub(super) fn log_gamma(n: f64) -> f64 {
    const LOG_SQRT_TAU: f64 = 0.918_938_533_204_672_8;
    const SERIES: [f64; 7] = [
        1.000000000190015,
        76.18009172947146,
        -86.50532032941677,
        24.01409824083091,
        -1.231739572450155,
        0.1208650973866179e-2,
        -0.5395239384953e-5,
    ];
    match n {
        n if n < 0.0 => return f64::NAN,
        0.0 => return f64::INFINITY,
        n if !n.is_finite() => return n,
        n if n < 0.5 => return libm::log(PI / libm::sin(PI * n)) - log_gamma(1.0 - n),
        _ => {}
    }
    let n = n - 1.0;
    let base = n + 5.5;
    let mut sum = SERIES[0];
    for place in (1..SERIES.len()).rev() {
        sum += SERIES[place] / (n + place as f64);
    }
    LOG_SQRT_TAU + (n + 0.5) * libm::log(base) - base + libm::log(sum)
}
