//! Finds units by name, and reads compound units such as `5 kg m/s^2`.

use super::{Prefix, Scalar, System, Unit, UnitPart, table::Definition, table::UNITS};
use crate::error::{Result, fail};

/// The unit and prefix that `name` means.
pub(super) fn named(name: &str) -> Option<(&'static Definition, &'static Prefix)> {
    if let Some(unit) = UNITS.iter().find(|unit| unit.name == name) {
        return unit.prefixes.find("").map(|prefix| (unit, prefix));
    }
    UNITS.iter().find_map(|unit| {
        let prefix = unit.prefixes.find(name.strip_suffix(unit.name)?)?;
        Some((unit, prefix))
    })
}

/// Whether `name` is a unit.
pub(crate) fn is_unit(name: &str) -> bool {
    named(name).is_some()
}

/// Reads a unit, with or without a value; `system` will prefer the units it names.
pub(crate) fn find(text: &str, system: &mut System) -> Result<Unit> {
    const LONGEST: usize = 400;
    if text.len() > LONGEST {
        return fail("The text is too long for a unit");
    }
    let mut reader = UnitReader { text, rest: text.trim_start_matches([' ', '\t']) };
    let mut unit = Unit::bare(None);
    let value = reader.number();
    let mut sign = 1.0;
    let mut expecting = false;
    if value.is_some() {
        (sign, expecting) = reader.sign();
    }
    let mut open: Vec<f64> = Vec::new();
    loop {
        while reader.take('(') {
            open.push(sign);
            sign = 1.0;
        }
        let Some(name) = reader.name()? else { break };
        let Some((definition, prefix)) = named(name) else {
            return fail(format!("Unit \"{name}\" not found."));
        };
        let mut power = sign * open.iter().product::<f64>();
        if reader.take('^') {
            let Some(exponent) = reader.number() else {
                return fail(format!(
                    "In \"{text}\", \"^\" must be followed by a floating-point number"
                ));
            };
            power *= exponent;
        }
        unit.parts.push(UnitPart { unit: definition, prefix, power });
        for (mine, theirs) in unit.dimensions.iter_mut().zip(definition.base.dimensions()) {
            *mine += theirs * power;
        }
        while reader.take(')') {
            if open.pop().is_none() {
                return fail(format!("Unmatched \")\" in \"{text}\""));
            }
        }
        (sign, expecting) = reader.sign();
        system.prefer(definition, prefix);
    }
    if expecting {
        return fail(format!("Trailing characters: \"{text}\""));
    }
    if !open.is_empty() {
        return fail(format!("Unmatched \"(\" in \"{text}\""));
    }
    unit.value = value.map(|value| unit.normalised(Scalar::Real(value)));
    Ok(unit)
}

struct UnitReader<'a> {
    text: &'a str,
    rest: &'a str,
}

impl<'a> UnitReader<'a> {
    fn skip(&mut self, length: usize) {
        self.rest = self.rest[length..].trim_start_matches([' ', '\t']);
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.rest.starts_with(wanted);
        if found {
            self.skip(1);
        }
        found
    }

    /// Whether the next factor multiplies or divides, and whether there was a sign for it.
    fn sign(&mut self) -> (f64, bool) {
        if self.take('*') {
            (1.0, true)
        } else if self.take('/') {
            (-1.0, true)
        } else {
            (1.0, false)
        }
    }

    fn number(&mut self) -> Option<f64> {
        let bytes = self.rest.as_bytes();
        let digits =
            |from: usize| bytes.iter().skip(from).take_while(|byte| byte.is_ascii_digit()).count();
        let mut length = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
        let whole = digits(length);
        length += whole;
        if bytes.get(length) == Some(&b'.') {
            let fraction = digits(length + 1);
            if whole + fraction == 0 {
                return None;
            }
            length += 1 + fraction;
        } else if whole == 0 {
            return None;
        }
        if matches!(bytes.get(length), Some(b'e' | b'E')) {
            let start =
                length + 1 + usize::from(matches!(bytes.get(length + 1), Some(b'+' | b'-')));
            if digits(start) > 0 {
                length = start + digits(start);
            }
        }
        let number = self.rest[..length].parse().ok();
        self.skip(length);
        number
    }

    fn name(&mut self) -> Result<Option<&'a str>> {
        let Some(first) = self.rest.chars().next() else { return Ok(None) };
        if !first.is_ascii_alphabetic() {
            return fail(format!("Unexpected \"{first}\" in \"{}\"", self.text));
        }
        let length =
            self.rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(self.rest.len());
        let name = &self.rest[..length];
        self.skip(length);
        Ok(Some(name))
    }
}
