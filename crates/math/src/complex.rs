//! Functions of complex numbers, with the branches and the zero imaginary parts mathjs has.

use std::f64::consts::{FRAC_PI_2, PI};

use num_complex::Complex64;

use crate::number::{self, power as real_power};

fn c(re: f64, im: f64) -> Complex64 {
    Complex64::new(re, im)
}

/// The absolute value.
pub(crate) fn abs(z: Complex64) -> f64 {
    let (large, small) =
        if z.re.abs() < z.im.abs() { (z.im.abs(), z.re.abs()) } else { (z.re.abs(), z.im.abs()) };
    if large < 1e8 {
        return (large * large + small * small).sqrt();
    }
    let ratio = small / large;
    large * (1.0 + ratio * ratio).sqrt()
}

/// The angle.
pub(crate) fn arg(z: Complex64) -> f64 {
    libm::atan2(z.im, z.re)
}

fn log_abs(z: Complex64) -> f64 {
    if z.re == 0.0 {
        return libm::log(z.im.abs());
    }
    if z.im == 0.0 {
        return libm::log(z.re.abs());
    }
    if z.re.abs() < 3000.0 && z.im.abs() < 3000.0 {
        return libm::log(z.re * z.re + z.im * z.im) * 0.5;
    }
    let half = z * 0.5;
    0.5 * libm::log(half.re * half.re + half.im * half.im) + std::f64::consts::LN_2
}

pub(crate) fn mul(a: Complex64, b: Complex64) -> Complex64 {
    if a.im == 0.0 && b.im == 0.0 {
        return c(a.re * b.re, 0.0);
    }
    c(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re)
}

pub(crate) fn div(a: Complex64, b: Complex64) -> Complex64 {
    let zero = |z: Complex64| z.re == 0.0 && z.im == 0.0;
    if zero(b) {
        return if zero(a) { c(f64::NAN, f64::NAN) } else { c(f64::INFINITY, f64::INFINITY) };
    }
    if b.im == 0.0 {
        return c(a.re / b.re, a.im / b.re);
    }
    if b.re.abs() < b.im.abs() {
        let ratio = b.re / b.im;
        let scale = b.re * ratio + b.im;
        return c((a.re * ratio + a.im) / scale, (a.im * ratio - a.re) / scale);
    }
    let ratio = b.im / b.re;
    let scale = b.im * ratio + b.re;
    c((a.re + a.im * ratio) / scale, (a.im - a.re * ratio) / scale)
}

pub(crate) fn pow(base: Complex64, exponent: Complex64) -> Complex64 {
    if exponent.re == 0.0 && exponent.im == 0.0 {
        return c(1.0, 0.0);
    }
    if exponent.im == 0.0 {
        if base.im == 0.0 && base.re > 0.0 {
            return c(real_power(base.re, exponent.re), 0.0);
        }
        if base.re == 0.0 {
            let magnitude = real_power(base.im, exponent.re);
            // Whole powers of an imaginary number turn by quarters.
            match exponent.re.rem_euclid(4.0) {
                0.0 => return c(magnitude, 0.0),
                1.0 => return c(0.0, magnitude),
                2.0 => return c(-magnitude, 0.0),
                3.0 => return c(0.0, -magnitude),
                _ => {}
            }
        }
    }
    if base.re == 0.0 && base.im == 0.0 && exponent.re > 0.0 {
        return c(0.0, 0.0);
    }
    let (angle, size) = (arg(base), log_abs(base));
    let magnitude = number::exp(exponent.re * size - exponent.im * angle);
    let turned = exponent.im * size + exponent.re * angle;
    c(magnitude * libm::cos(turned), magnitude * libm::sin(turned))
}

pub(crate) fn sqrt(z: Complex64) -> Complex64 {
    if z.im == 0.0 {
        return if z.re >= 0.0 { c(z.re.sqrt(), 0.0) } else { c(0.0, (-z.re).sqrt()) };
    }
    let large = (0.5 * (abs(z) + z.re.abs())).sqrt();
    let small = z.im.abs() / (2.0 * large);
    let signed = |part: f64| if z.im < 0.0 { -part } else { part };
    if z.re >= 0.0 { c(large, signed(small)) } else { c(small, signed(large)) }
}

pub(crate) fn exp(z: Complex64) -> Complex64 {
    let size = number::exp(z.re);
    if z.im == 0.0 {
        return c(size, 0.0);
    }
    c(size * libm::cos(z.im), size * libm::sin(z.im))
}

pub(crate) fn log(z: Complex64) -> Complex64 {
    if z.im == 0.0 && z.re > 0.0 {
        return c(libm::log(z.re), 0.0);
    }
    c(log_abs(z), arg(z))
}

pub(crate) fn sin(z: Complex64) -> Complex64 {
    c(libm::sin(z.re) * number::cosh(z.im), libm::cos(z.re) * libm::sinh(z.im))
}

pub(crate) fn cos(z: Complex64) -> Complex64 {
    c(libm::cos(z.re) * number::cosh(z.im), -libm::sin(z.re) * libm::sinh(z.im))
}

pub(crate) fn tan(z: Complex64) -> Complex64 {
    let scale = libm::cos(2.0 * z.re) + number::cosh(2.0 * z.im);
    c(libm::sin(2.0 * z.re) / scale, libm::sinh(2.0 * z.im) / scale)
}

pub(crate) fn sinh(z: Complex64) -> Complex64 {
    c(libm::sinh(z.re) * libm::cos(z.im), number::cosh(z.re) * libm::sin(z.im))
}

pub(crate) fn cosh(z: Complex64) -> Complex64 {
    c(number::cosh(z.re) * libm::cos(z.im), libm::sinh(z.re) * libm::sin(z.im))
}

pub(crate) fn tanh(z: Complex64) -> Complex64 {
    let scale = number::cosh(2.0 * z.re) + libm::cos(2.0 * z.im);
    c(libm::sinh(2.0 * z.re) / scale, libm::sin(2.0 * z.im) / scale)
}

/// One divided by `z`.
pub(crate) fn inverse(z: Complex64) -> Complex64 {
    div(c(1.0, 0.0), z)
}

fn asin_log(z: Complex64) -> Complex64 {
    let root = sqrt(c(z.im * z.im - z.re * z.re + 1.0, -2.0 * z.re * z.im));
    log(c(root.re - z.im, root.im + z.re))
}

pub(crate) fn asin(z: Complex64) -> Complex64 {
    let logarithm = asin_log(z);
    c(logarithm.im, -logarithm.re)
}

pub(crate) fn acos(z: Complex64) -> Complex64 {
    let logarithm = asin_log(z);
    c(FRAC_PI_2 - logarithm.im, logarithm.re)
}

pub(crate) fn atan(z: Complex64) -> Complex64 {
    if z.re == 0.0 && z.im.abs() == 1.0 {
        return c(0.0, z.im * f64::INFINITY);
    }
    let scale = z.re * z.re + (1.0 - z.im) * (1.0 - z.im);
    let logarithm = log(c((1.0 - z.im * z.im - z.re * z.re) / scale, -2.0 * z.re / scale));
    c(-0.5 * logarithm.im, 0.5 * logarithm.re)
}

pub(crate) fn asinh(z: Complex64) -> Complex64 {
    if z.im == 0.0 {
        let size = z.re.abs();
        return c(libm::log(size + (size * size + 1.0).sqrt()).copysign(z.re), 0.0);
    }
    let root = sqrt(c(z.re * z.re - z.im * z.im + 1.0, 2.0 * z.re * z.im));
    log(z + root)
}

pub(crate) fn acosh(z: Complex64) -> Complex64 {
    if z.im == 0.0 {
        return match z.re {
            re if re > 1.0 => c(libm::log(re + (re - 1.0).sqrt() * (re + 1.0).sqrt()), 0.0),
            re if re < -1.0 => c(libm::log(-re + (re * re - 1.0).sqrt()), PI),
            re => c(0.0, libm::acos(re)),
        };
    }
    let (below, above) = (sqrt(z - 1.0), sqrt(z + 1.0));
    log(c(
        z.re + below.re * above.re - below.im * above.im,
        z.im + below.re * above.im + below.im * above.re,
    ))
}

pub(crate) fn atanh(z: Complex64) -> Complex64 {
    if z.im == 0.0 {
        return match z.re {
            0.0 => c(0.0, 0.0),
            re if re.abs() == 1.0 => c(re * f64::INFINITY, 0.0),
            re if re.abs() < 1.0 => c(0.5 * libm::log((1.0 + re) / (1.0 - re)), 0.0),
            re if re > 1.0 => c(0.5 * libm::log((re + 1.0) / (re - 1.0)), -FRAC_PI_2),
            re => c(0.5 * libm::log(-(1.0 + re) / (1.0 - re)), FRAC_PI_2),
        };
    }
    let (minus, plus) = (1.0 - z.re, 1.0 + z.re);
    let scale = minus * minus + z.im * z.im;
    let ratio = c((plus * minus - z.im * z.im) / scale, (z.im * minus + plus * z.im) / scale);
    c(log_abs(ratio) / 2.0, arg(ratio) / 2.0)
}
