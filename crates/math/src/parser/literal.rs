//! Numbers as they are written: decimal, and hexadecimal, octal or binary with an optional word size.

use crate::error::{Result, fail};

/// The number that `text` writes.
pub(crate) fn parse_number(text: &str) -> Result<f64> {
    let radix = match text.get(..2) {
        Some("0x") => 16,
        Some("0o") => 8,
        Some("0b") => 2,
        _ => return decimal(text),
    };
    radix_number(&text[2..], radix).map_or_else(|| invalid(text), Ok)
}

fn invalid(text: &str) -> Result<f64> {
    fail(format!("String \"{text}\" is not a valid number"))
}

/// A number as JavaScript reads text: blanks around it do not count, and nothing at all is zero.
fn decimal(text: &str) -> Result<f64> {
    let trimmed = text.trim();
    let unsigned = trimmed.trim_start_matches(['+', '-']);
    match unsigned {
        "" if trimmed.is_empty() => Ok(0.0),
        "Infinity" => Ok(if trimmed.starts_with('-') { f64::NEG_INFINITY } else { f64::INFINITY }),
        "NaN" => Ok(f64::NAN),
        // Rust also reads words such as `inf`; JavaScript does not.
        _ if unsigned.starts_with(|c: char| c.is_ascii_alphabetic()) => invalid(text),
        _ => trimmed.parse().or_else(|_| invalid(text)),
    }
}

fn radix_number(text: &str, radix: u32) -> Option<f64> {
    let (digits, word_size) = match text.split_once('i') {
        Some((digits, size)) => (digits, Some(size.parse::<i32>().ok()?)),
        None => (text, None),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let base = f64::from(radix);
    let mut value = 0.0;
    for digit in whole.chars() {
        value = value * base + f64::from(digit.to_digit(radix)?);
    }
    let mut scale = 1.0;
    for digit in fraction.chars() {
        scale /= base;
        value += f64::from(digit.to_digit(radix)?) * scale;
    }
    match word_size {
        Some(size) => signed(value, size),
        None => Some(value),
    }
}

/// Reads `value` as a two's complement number of `size` bits.
fn signed(value: f64, size: i32) -> Option<f64> {
    let span = 2f64.powi(size);
    if value > span - 1.0 {
        return None;
    }
    Some(if value >= span / 2.0 { value - span } else { value })
}
