//! Quantities with units: arithmetic, conversion, and the text mathjs gives them.
//!
//! A [`Unit`] keeps its value in SI units beside the units it was written in. `table`, `prefixes` and
//! `base` are what mathjs knows, `find` looks names up, `system` remembers which units to prefer,
//! `text` prints.

mod base;
mod prefixes;
mod table;
mod scalar;
mod find;
mod system;
mod text;
mod constants;

use std::iter;

use crate::{
    error::{Error, Result, fail},
    value::Value,
};

pub(crate) use base::Base;
pub(crate) use constants::physical_constant;
pub(crate) use find::{find, is_unit};
pub(crate) use scalar::Scalar;
pub(crate) use system::System;

use base::{Dimensions, same};
use prefixes::Prefix;
use table::Definition;

/// A quantity, or with no value just a unit.
#[derive(Debug, Clone)]
pub(crate) struct Unit {
    /// In SI units.
    pub(crate) value: Option<Scalar>,
    parts: Vec<UnitPart>,
    dimensions: Dimensions,
    /// Print with the prefix as given, as after a conversion.
    pub(crate) fix_prefix: bool,
    /// Print in the units as given, unless arithmetic has mixed them.
    keep_units: bool,
}

/// Most factors of a compound unit; multiplying by itself would soon use up all memory.
const MOST_PARTS: usize = 100;

/// One factor of a compound unit.
#[derive(Debug, Clone, Copy, PartialEq)]
struct UnitPart {
    unit: &'static Definition,
    prefix: &'static Prefix,
    power: f64,
}

impl UnitPart {
    /// The factor in SI units.
    fn scale(&self) -> Scalar {
        let size = Scalar::Real(self.unit.value).mul(Scalar::Real(self.prefix.value));
        // Reactive power is measured along the imaginary axis.
        let size = if self.unit.name == "VAR" {
            size.mul(Scalar::Complex(num_complex::Complex64::I))
        } else {
            size
        };
        size.pow(self.power)
    }
}

impl Unit {
    /// A number without units yet.
    pub(crate) fn bare(value: Option<Scalar>) -> Self {
        Self {
            value,
            parts: Vec::new(),
            dimensions: [0.0; base::DIMENSIONS],
            fix_prefix: false,
            keep_units: true,
        }
    }

    /// `value` times this unit, which has no value of its own.
    pub(crate) fn with_value(&self, value: Scalar) -> Self {
        Self { value: Some(self.normalised(value)), ..self.clone() }
    }

    pub(crate) fn is_of(&self, base: Base) -> bool {
        same(&self.dimensions, &base.dimensions())
    }

    pub(crate) fn same_kind(&self, other: &Self) -> bool {
        same(&self.dimensions, &other.dimensions)
    }

    fn normalised(&self, value: Scalar) -> Scalar {
        self.parts.iter().fold(value, |value, part| value.mul(part.scale()))
    }

    fn denormalised(&self, value: Scalar) -> Scalar {
        self.parts.iter().fold(value, |value, part| value.div(part.scale()))
    }

    fn value_or_one(&self) -> Scalar {
        self.value.unwrap_or_else(|| self.normalised(Scalar::Real(1.0)))
    }

    fn is_compound(&self) -> bool {
        self.parts.len() > 1 || self.parts.iter().any(|part| (part.power - 1.0).abs() > 1e-15)
    }

    /// The offset of the scale, for a lone temperature.
    fn offset(&self) -> f64 {
        match self.parts[..] {
            [part] if !self.is_compound() => part.unit.value * part.unit.offset,
            _ => 0.0,
        }
    }

    pub(crate) fn multiply(&self, other: &Self) -> Result<Value> {
        self.combined(other, 1.0, Scalar::mul)
    }

    pub(crate) fn divide(&self, other: &Self) -> Result<Value> {
        self.combined(other, -1.0, Scalar::div)
    }

    fn combined(
        &self,
        other: &Self,
        sign: f64,
        operation: fn(Scalar, Scalar) -> Scalar,
    ) -> Result<Value> {
        if self.parts.len() + other.parts.len() > MOST_PARTS {
            return Err(Error::Limit(format!(
                "The unit is made of too many parts, at most {MOST_PARTS}"
            )));
        }
        let mut result = self.clone();
        for (mine, theirs) in iter::zip(&mut result.dimensions, &other.dimensions) {
            *mine += sign * theirs;
        }
        result
            .parts
            .extend(other.parts.iter().map(|part| UnitPart { power: sign * part.power, ..*part }));
        result.value = match (self.value, other.value) {
            (None, None) => None,
            _ => Some(operation(self.value_or_one(), other.value_or_one())),
        };
        result.keep_units = false;
        Ok(result.or_number())
    }

    /// This quantity times or divided by a plain number.
    pub(crate) fn scaled(&self, factor: Scalar, operation: fn(Scalar, Scalar) -> Scalar) -> Value {
        Self { value: Some(operation(self.value_or_one(), factor)), ..self.clone() }.or_number()
    }

    /// A plain number divided by this quantity.
    pub(crate) fn dividing(&self, numerator: Scalar) -> Result<Value> {
        Self::bare(Some(numerator)).divide(self)
    }

    pub(crate) fn power(&self, exponent: f64) -> Value {
        let mut result = self.clone();
        result.dimensions.iter_mut().for_each(|dimension| *dimension *= exponent);
        result.parts.iter_mut().for_each(|part| part.power *= exponent);
        result.value = self.value.map(|value| value.pow(exponent));
        result.keep_units = false;
        result.or_number()
    }

    /// Units that cancel out leave a number.
    fn or_number(self) -> Value {
        match self.value {
            Some(value) if self.is_of(Base::None) => value.into(),
            _ => self.into(),
        }
    }

    /// The sum or difference with another quantity of the same kind, in this one's units.
    pub(crate) fn summed(
        &self,
        other: &Self,
        operation: fn(Scalar, Scalar) -> Scalar,
    ) -> Result<Value> {
        let (Some(mine), Some(theirs)) = (self.value, other.value) else {
            return fail("Parameter x contains a unit with undefined value");
        };
        if !self.same_kind(other) {
            return fail("Units do not match");
        }
        let result =
            Self { value: Some(operation(mine, theirs)), fix_prefix: false, ..self.clone() };
        Ok(result.or_number())
    }

    /// The same quantity with its value changed.
    pub(crate) fn map_value(&self, change: impl FnOnce(Scalar) -> Scalar) -> Self {
        Self { value: self.value.map(change), ..self.clone() }
    }

    /// The absolute value; a temperature keeps its place on its own scale, and power becomes real.
    pub(crate) fn absolute(&self) -> Self {
        let offset = self.offset();
        let mut result =
            self.map_value(|value| Scalar::Real(value.add(Scalar::Real(offset)).abs() - offset));
        for part in &mut result.parts {
            if let ("VA" | "VAR", Some((watt, _))) = (part.unit.name, find::named("W")) {
                part.unit = watt;
            }
        }
        result
    }

    /// This quantity in the units of `target`.
    pub(crate) fn converted(&self, target: &Self, system: &System) -> Result<Self> {
        if !self.same_kind(target) {
            let (to, from) = (
                target.text(&Default::default(), system)?,
                self.text(&Default::default(), system)?,
            );
            return fail(format!("Units do not match ('{to}' != '{from}')"));
        }
        if target.value.is_some() {
            return fail("Cannot convert to a unit with a value");
        }
        let mut value = self.value_or_one();
        if let (Some(_), false, [mine, ..], [theirs, ..]) =
            (self.value, self.is_compound(), &self.parts[..], &target.parts[..])
        {
            // Scales that start elsewhere, such as degrees Celsius and kelvin.
            if mine.unit.offset != theirs.unit.offset {
                value = value.add(Scalar::Real(offset_between(mine.unit, theirs.unit)));
            }
        }
        Ok(Self { value: Some(value), fix_prefix: true, keep_units: true, ..target.clone() })
    }

    /// How many of its own units this quantity is.
    pub(crate) fn numeric(&self) -> Option<Scalar> {
        self.value.map(|value| self.denormalised(value))
    }
}

/// How far apart two temperature scales start, in kelvin; exact until the last division.
fn offset_between(from: &Definition, to: &Definition) -> f64 {
    // Degrees are a kelvin or five ninths of one, and the scales start at hundredths of a degree.
    let ninths = |unit: &Definition| (unit.value * 9.0).round() * (unit.offset * 100.0).round();
    (ninths(from) - ninths(to)) / 900.0
}
