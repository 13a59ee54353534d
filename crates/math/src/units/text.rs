//! Quantities as text, in the unit and with the prefix that mathjs would pick.

use super::{Prefix, Scalar, System, Unit, UnitPart, find::named};
use crate::{
    error::Result,
    format::{self, NumberStyle},
    number::to_text,
};

/// Prefer values a little above one.
const OFFSET: f64 = 1.2;

impl Unit {
    /// The quantity as mathjs prints it.
    pub(crate) fn text(&self, style: &NumberStyle, system: &System) -> Result<String> {
        let best = self.best(system);
        let value = match best.numeric() {
            None => String::new(),
            Some(Scalar::Real(value)) => format::number(value, style)?,
            Some(Scalar::Complex(value)) => format::complex(value.re, value.im, style)?,
        };
        // Depends on the stored value, which is complex for reactive power although the printed one is real.
        let value = if matches!(best.value, Some(Scalar::Complex(_))) {
            format!("({value})")
        } else {
            value
        };
        let units = best.unit_text();
        let space = if value.is_empty() || units.is_empty() { "" } else { " " };
        Ok(format!("{value}{space}{units}"))
    }

    /// The quantity in the units and with the prefix to print it with.
    pub(crate) fn best(&self, system: &System) -> Self {
        let mut best = if self.keep_units || self.value.is_none() {
            self.clone()
        } else {
            system.simplified(self)
        };
        best.choose_reactive_units();
        if let ([part], false) = (&best.parts[..], best.fix_prefix)
            && (part.power - part.power.round()).abs() < 1e-14
        {
            best.parts[0].prefix = best.best_prefix();
        }
        best
    }

    /// Apparent power along the imaginary axis is reactive power, and the other way round.
    fn choose_reactive_units(&mut self) {
        let imaginary =
            matches!(self.value, Some(Scalar::Complex(value)) if value.re.abs() < 1e-14);
        for part in &mut self.parts {
            let name = match part.unit.name {
                "VA" if imaginary => "VAR",
                "VAR" if !imaginary => "VA",
                _ => continue,
            };
            if let Some((unit, _)) = named(name) {
                part.unit = unit;
            }
        }
    }

    fn best_prefix(&self) -> &'static Prefix {
        let UnitPart { unit, prefix, power } = self.parts[0];
        let size = self.value.map_or(0.0, Scalar::abs);
        if size == 0.0 {
            return prefix;
        }
        let distance = |prefix: &Prefix| {
            let scale = libm::pow(prefix.value * unit.value.abs(), power);
            libm::log(size / scale) / std::f64::consts::LN_10 - OFFSET
        };
        let current = distance(prefix);
        if current > -2.200001 && current < 1.800001 {
            return prefix;
        }
        let mut best = (prefix, current.abs());
        for candidate in unit.prefixes.all().filter(|candidate| candidate.scientific) {
            let difference = distance(candidate).abs();
            let shorter = difference == best.1 && candidate.name.len() < best.0.name.len();
            if difference < best.1 || shorter {
                best = (candidate, difference);
            }
        }
        best.0
    }

    /// The units alone, as in `(kg m) / s^2`.
    pub(crate) fn unit_text(&self) -> String {
        let above: Vec<_> = self.parts.iter().filter(|part| part.power > 0.0).collect();
        let below: Vec<_> = self.parts.iter().filter(|part| part.power < 0.0).collect();
        if above.is_empty() {
            // With nothing above the line the powers stay negative.
            return below
                .iter()
                .map(|part| part.text(part.power, true))
                .collect::<Vec<_>>()
                .join(" ");
        }
        let join = |parts: &[&UnitPart], sign: f64, brackets: bool| {
            let text = parts
                .iter()
                .map(|part| part.text(sign * part.power, false))
                .collect::<Vec<_>>()
                .join(" ");
            if brackets { format!("({text})") } else { text }
        };
        let numerator = join(&above, 1.0, above.len() > 1 && !below.is_empty());
        if below.is_empty() {
            return numerator;
        }
        format!("{numerator} / {}", join(&below, -1.0, below.len() > 1))
    }
}

impl UnitPart {
    fn text(&self, power: f64, always: bool) -> String {
        let name = format!("{}{}", self.prefix.name, self.unit.name);
        if !always && (power - 1.0).abs() <= 1e-15 {
            name
        } else {
            format!("{name}^{}", to_text(power))
        }
    }
}
