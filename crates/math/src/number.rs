//! Numbers as JavaScript has them: comparison with a tolerance, 32-bit integers, powers, and text.
//!
//! The `libm` crate descends from the same library as the functions in JavaScript engines, so its
//! last digits agree where those of the system's library often do not.

/// How far apart, relative to their size, numbers may be and still count as equal.
const RELATIVE_TOLERANCE: f64 = 1e-12;
const ABSOLUTE_TOLERANCE: f64 = 1e-15;

/// Whether `a` and `b` count as equal.
pub(crate) fn nearly_equal(a: f64, b: f64) -> bool {
    if a == b {
        return true;
    }
    if !a.is_finite() || !b.is_finite() {
        return false;
    }
    (a - b).abs() <= (RELATIVE_TOLERANCE * a.abs().max(b.abs())).max(ABSOLUTE_TOLERANCE)
}

pub(crate) fn is_integer(number: f64) -> bool {
    number.is_finite() && number == number.trunc()
}

/// `number` as a size or count, if it is a whole number that is not negative.
pub(crate) fn as_count(number: f64) -> Option<usize> {
    (is_integer(number) && (0.0..9e15).contains(&number)).then_some(number as usize)
}

/// The low 32 bits of an integer, as JavaScript's bitwise operators see it.
pub(crate) fn to_int32(number: f64) -> i32 {
    const SPAN: f64 = 4_294_967_296.0;
    if !number.is_finite() {
        return 0;
    }
    number.trunc().rem_euclid(SPAN) as u32 as i32
}

/// `base` to the power of `exponent`, as JavaScript computes it.
pub(crate) fn power(base: f64, exponent: f64) -> f64 {
    let square = base * base;
    if (square < 1.0 && exponent == f64::INFINITY)
        || (square > 1.0 && exponent == f64::NEG_INFINITY)
    {
        return 0.0;
    }
    if exponent.is_nan() || (square == 1.0 && exponent.is_infinite()) {
        return f64::NAN;
    }
    libm::pow(base, exponent)
}

/// The exponential function; JavaScript makes sure that `exp(1)` is `e`.
pub(crate) fn exp(x: f64) -> f64 {
    if x == 1.0 { std::f64::consts::E } else { libm::exp(x) }
}

/// The hyperbolic cosine, grouped as JavaScript does.
pub(crate) fn cosh(x: f64) -> f64 {
    let x = x.abs();
    if x < 0.5 * std::f64::consts::LN_2 {
        let small = libm::expm1(x);
        return 1.0 + small * small / (2.0 * (1.0 + small));
    }
    if x < 22.0 { 0.5 * exp(x) + 0.5 / exp(x) } else { libm::cosh(x) }
}

/// The whole number at or below `x`; a hair below the next one counts as the next one.
pub(crate) fn floor(x: f64) -> f64 {
    let (down, near) = (x.floor(), (x + 0.5).floor());
    if down != near && nearly_equal(x, near) && !nearly_equal(x, down) { near } else { down }
}

/// The modulus, which has the sign of the divisor; a divisor of zero leaves `x` as it is.
pub(crate) fn modulus(x: f64, y: f64) -> f64 {
    if y == 0.0 { x } else { x - y * floor(x / y) }
}

/// The number as JavaScript writes it, `1e+21` and all.
pub(crate) fn to_text(number: f64) -> String {
    ryu_js::Buffer::new().format(number).to_owned()
}

/// The number in base `radix`, fraction included.
pub(crate) fn to_radix(number: f64, radix: u32) -> String {
    let digit = |value: f64| char::from_digit(value as u32, radix).unwrap_or('0');
    let base = f64::from(radix);
    let mut whole = number.trunc();
    let mut fraction = number - whole;
    let mut text = Vec::new();
    while whole >= 1.0 {
        text.push(digit(whole % base));
        whole = (whole / base).trunc();
    }
    if text.is_empty() {
        text.push('0');
    }
    let mut text: String = text.into_iter().rev().collect();
    // A power of two has an exact expansion of at most as many digits as the number has bits.
    if fraction > 0.0 {
        text.push('.');
    }
    while fraction > 0.0 {
        fraction *= base;
        text.push(digit(fraction.trunc()));
        fraction -= fraction.trunc();
    }
    text
}
