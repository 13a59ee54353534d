//! Numbers and other values as mathjs prints them.

use crate::{
    error::{Result, fail},
    evaluate::Context,
    matrix::Matrix,
    number::{as_count, is_integer, to_radix, to_text},
    value::{Positions, Value},
};

/// How to print a number.
#[derive(Debug, Clone, Default)]
pub(crate) struct NumberStyle {
    pub(crate) notation: Notation,
    pub(crate) precision: Option<usize>,
    pub(crate) word_size: Option<f64>,
    /// Exponents from which on the automatic notation is exponential.
    pub(crate) exponents: Option<(f64, f64)>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Notation {
    #[default]
    Automatic,
    Fixed,
    Exponential,
    Engineering,
    Base(u32),
}

impl NumberStyle {
    /// The style that the second argument of `format` asks for.
    pub(crate) fn from_option(option: Option<&Value>) -> Result<Self> {
        let mut style = Self::default();
        match option {
            None => {}
            Some(Value::Number(precision)) => style.precision = Some(count(*precision)?),
            Some(Value::Object(options)) => {
                let number = |key: &str| options.get(key).and_then(Value::as_number);
                style.precision = number("precision").map(count).transpose()?;
                style.word_size = number("wordSize");
                style.exponents =
                    Some((number("lowerExp").unwrap_or(-3.0), number("upperExp").unwrap_or(5.0)));
                if let Some(Value::Text(notation)) = options.get("notation") {
                    style.notation = notation_named(notation)?;
                }
            }
            Some(_) => {
                return fail("Unsupported type of options, number, BigNumber, or object expected");
            }
        }
        Ok(style)
    }
}

fn count(precision: f64) -> Result<usize> {
    match as_count(precision) {
        Some(count) if count <= 1_000 => Ok(count),
        _ => fail("Option \"precision\" must be an integer from 0 to 1000"),
    }
}

fn notation_named(name: &str) -> Result<Notation> {
    Ok(match name {
        "auto" => Notation::Automatic,
        "fixed" => Notation::Fixed,
        "exponential" => Notation::Exponential,
        "engineering" => Notation::Engineering,
        "bin" => Notation::Base(2),
        "oct" => Notation::Base(8),
        "hex" => Notation::Base(16),
        other => {
            let choices =
                "Choose \"auto\", \"exponential\", \"fixed\", \"bin\", \"oct\", or \"hex.";
            return fail(format!("Unknown notation \"{other}\". {choices}"));
        }
    })
}

/// Prints a number.
pub(crate) fn number(value: f64, style: &NumberStyle) -> Result<String> {
    if !value.is_finite() {
        return Ok(to_text(value));
    }
    Ok(match style.notation {
        Notation::Automatic => automatic(value, style),
        Notation::Fixed => fixed(value, style.precision),
        Notation::Exponential => exponential(value, style.precision),
        Notation::Engineering => engineering(value, style.precision),
        Notation::Base(radix) => based(value, radix, style.word_size)?,
    })
}

/// Prints any value.
pub(crate) fn value(value: &Value, style: &NumberStyle, context: &mut Context) -> Result<String> {
    context.spend(1)?;
    Ok(match value {
        Value::Undefined => "undefined".to_owned(),
        Value::Null => "null".to_owned(),
        Value::Boolean(flag) => flag.to_string(),
        Value::Number(value) => number(*value, style)?,
        Value::Complex(value) => complex(value.re, value.im, style)?,
        Value::Text(text) => serde_json::Value::from(&**text).to_string(),
        Value::Unit(unit) => unit.text(style, context.units())?,
        Value::Matrix(matrix) => grid(matrix, style, context)?,
        Value::Object(object) => {
            let mut parts = Vec::new();
            for (key, item) in &**object {
                let key = serde_json::Value::from(&**key);
                parts.push(format!("{key}: {}", self::value(item, style, context)?));
            }
            format!("{{{}}}", parts.join(", "))
        }
        Value::Function(function) => function.signature(),
        Value::Index(dimensions) => {
            format!("[{}]", dimensions.iter().map(positions).collect::<Vec<_>>().join(", "))
        }
        Value::Results(items) => list(items, style, context)?,
    })
}

fn positions(positions: &Positions) -> String {
    match positions {
        Positions::One(place) => to_text(*place),
        Positions::Many(places) => format!(
            "[{}]",
            places.iter().map(|place| to_text(*place)).collect::<Vec<_>>().join(", ")
        ),
        Positions::Key(key) => format!("\"{key}\""),
    }
}

fn grid(matrix: &Matrix, style: &NumberStyle, context: &mut Context) -> Result<String> {
    list(&matrix.parts(), style, context)
}

fn list(items: &[Value], style: &NumberStyle, context: &mut Context) -> Result<String> {
    let texts: Result<Vec<_>> = items.iter().map(|item| value(item, style, context)).collect();
    Ok(format!("[{}]", texts?.join(", ")))
}

/// Prints a complex number; with a precision, a part too small to show is left out.
pub(crate) fn complex(mut re: f64, mut im: f64, style: &NumberStyle) -> Result<String> {
    let (re_text, im_text) = (number(re, style)?, number(im, style)?);
    if let Some(precision) = style.precision {
        let epsilon = libm::pow(10.0, -(precision as f64));
        if (re / im).abs() < epsilon {
            re = 0.0;
        }
        if (im / re).abs() < epsilon {
            im = 0.0;
        }
    }
    let imaginary =
        if im.abs() == 1.0 { String::new() } else { im_text.trim_start_matches('-').to_owned() };
    Ok(match (re == 0.0, im == 0.0) {
        (_, true) => re_text,
        (true, false) => format!("{}{imaginary}i", if im < 0.0 { "-" } else { "" }),
        (false, false) => format!("{re_text} {} {imaginary}i", if im < 0.0 { "-" } else { "+" }),
    })
}

/// A number as its decimal digits: 0.d₀d₁d₂… × 10^(exponent + 1).
struct Digits {
    negative: bool,
    digits: Vec<u8>,
    exponent: i32,
}

impl Digits {
    fn of(value: f64) -> Self {
        let text = to_text(value.abs());
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let mut exponent: i32 = exponent.trim_start_matches('+').parse().unwrap_or(0);
        let dot = mantissa.find('.').unwrap_or(mantissa.len());
        exponent += dot as i32 - 1;
        let all: Vec<u8> =
            mantissa.bytes().filter(u8::is_ascii_digit).map(|byte| byte - b'0').collect();
        let zeros = all.iter().take_while(|digit| **digit == 0).count();
        let last = all.iter().rposition(|digit| *digit != 0).map_or(zeros, |last| last + 1);
        let digits = all[zeros..last.max(zeros)].to_vec();
        if digits.is_empty() {
            return Self { negative: false, digits: vec![0], exponent: 0 };
        }
        Self { negative: value < 0.0, digits, exponent: exponent - zeros as i32 }
    }

    /// Rounds half up to `precision` digits.
    fn rounded(mut self, mut precision: i64) -> Self {
        while precision <= 0 {
            self.digits.insert(0, 0);
            self.exponent += 1;
            precision += 1;
        }
        let precision = precision as usize;
        if self.digits.len() <= precision {
            return self;
        }
        let up = self.digits[precision] >= 5;
        self.digits.truncate(precision);
        if up {
            self.carry();
        }
        self
    }

    fn carry(&mut self) {
        while let Some(last) = self.digits.pop() {
            if last < 9 {
                self.digits.push(last + 1);
                return;
            }
        }
        self.digits.push(1);
        self.exponent += 1;
    }

    fn pad(&mut self, length: usize) {
        if self.digits.len() < length {
            self.digits.resize(length, 0);
        }
    }

    fn sign(&self) -> &'static str {
        if self.negative { "-" } else { "" }
    }

    fn text(digits: &[u8]) -> String {
        digits.iter().map(|digit| char::from(b'0' + digit)).collect()
    }
}

fn automatic(value: f64, style: &NumberStyle) -> String {
    let (lower, upper) = style.exponents.unwrap_or((-3.0, 5.0));
    let digits = Digits::of(value);
    let mut digits = match style.precision {
        Some(precision) if precision > 0 => digits.rounded(precision as i64),
        _ => digits,
    };
    let exponent = f64::from(digits.exponent);
    if exponent < lower || exponent >= upper {
        return without_trailing_zeros(exponential(value, style.precision));
    }
    digits.pad(style.precision.unwrap_or(0).max((digits.exponent + 1).max(0) as usize));
    let sign = digits.sign();
    let text = place_dot(&digits);
    without_trailing_zeros(format!("{sign}{text}"))
}

fn place_dot(digits: &Digits) -> String {
    if digits.exponent < 0 {
        return format!(
            "0.{}{}",
            "0".repeat((-digits.exponent - 1) as usize),
            Digits::text(&digits.digits)
        );
    }
    let whole = digits.exponent as usize + 1;
    let (whole, fraction) = digits.digits.split_at(whole.min(digits.digits.len()));
    if fraction.is_empty() {
        Digits::text(whole)
    } else {
        format!("{}.{}", Digits::text(whole), Digits::text(fraction))
    }
}

fn without_trailing_zeros(text: String) -> String {
    let (mantissa, exponent) = text.split_at(text.find('e').unwrap_or(text.len()));
    if !mantissa.contains('.') {
        return text;
    }
    format!("{}{exponent}", mantissa.trim_end_matches('0').trim_end_matches('.'))
}

/// Prints `precision` digits after the dot, rounding half away from zero as written in decimal.
pub(crate) fn fixed(value: f64, precision: Option<usize>) -> String {
    let digits = Digits::of(value);
    let mut digits = match precision {
        Some(precision) => {
            let keep = i64::from(digits.exponent) + 1 + precision as i64;
            digits.rounded(keep)
        }
        None => digits,
    };
    let sign = digits.sign();
    let places = digits.exponent + 1 + precision.unwrap_or(0) as i32;
    digits.pad(places.max(0) as usize);
    format!("{sign}{}", place_dot(&digits))
}

fn exponential(value: f64, precision: Option<usize>) -> String {
    let digits = Digits::of(value);
    let mut digits = match precision {
        Some(precision) if precision > 0 => digits.rounded(precision as i64),
        _ => digits,
    };
    digits.pad(precision.unwrap_or(0));
    let (first, rest) = digits.digits.split_at(1);
    let dot = if rest.is_empty() { "" } else { "." };
    format!(
        "{}{}{dot}{}e{:+}",
        digits.sign(),
        Digits::text(first),
        Digits::text(rest),
        digits.exponent
    )
}

fn engineering(value: f64, precision: Option<usize>) -> String {
    let digits = Digits::of(value);
    let mut digits = match precision {
        Some(precision) => digits.rounded(precision as i64),
        None => digits,
    };
    let exponent = digits.exponent.div_euclid(3) * 3;
    let whole = (digits.exponent - exponent) as usize + 1;
    digits.pad(whole.max(precision.unwrap_or(0)));
    let (first, rest) = digits.digits.split_at(whole);
    let shown = precision.is_some() && !rest.is_empty() || rest.iter().any(|digit| *digit != 0);
    let fraction = if shown { format!(".{}", Digits::text(rest)) } else { String::new() };
    let plus = if digits.exponent >= 0 { "+" } else { "" };
    format!("{}{}{fraction}e{plus}{exponent}", digits.sign(), Digits::text(first))
}

/// Prints the number in base `radix`, as two's complement when a word size is given.
pub(crate) fn based(value: f64, radix: u32, word_size: Option<f64>) -> Result<String> {
    if !value.is_finite() {
        return Ok(to_text(value));
    }
    let prefix = match radix {
        2 => "0b",
        8 => "0o",
        _ => "0x",
    };
    let mut value = value;
    let mut suffix = String::new();
    if let Some(size) = word_size {
        if size < 1.0 {
            return fail("size must be in greater than 0");
        }
        if !is_integer(size) {
            return fail("size must be an integer");
        }
        let half = libm::exp2(size - 1.0);
        if value > half - 1.0 || value < -half {
            return fail(format!("Value must be in range [-2^{0}, 2^{0}-1]", size - 1.0));
        }
        if !is_integer(value) {
            return fail("Value must be an integer");
        }
        if value < 0.0 {
            value += 2.0 * half;
        }
        suffix = format!("i{size}");
    }
    let sign = if value < 0.0 { "-" } else { "" };
    Ok(format!("{sign}{prefix}{}{suffix}", to_radix(value.abs(), radix)))
}
