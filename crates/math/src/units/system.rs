//! Which unit to print each kind of quantity in.

use super::{
    Base, Definition, Unit, UnitPart,
    base::{BASIC, same},
    find::named,
    prefixes::Prefix,
};

/// The preferred units: SI to begin with, then whatever the expression has named last.
#[derive(Debug)]
pub(crate) struct System {
    preferred: Vec<(Base, &'static Definition, &'static Prefix)>,
}

const SI: [&str; 22] = [
    "m", "kg", "s", "A", "K", "cd", "mol", "rad", "bits", "N", "J", "W", "Pa", "C", "F", "V",
    "ohm", "H", "S", "Wb", "T", "Hz",
];

impl System {
    pub(crate) fn new() -> Self {
        let units = SI.iter().filter_map(|name| named(name));
        Self { preferred: units.map(|(unit, prefix)| (unit.base, unit, prefix)).collect() }
    }

    /// From now on prints quantities of this kind in `unit`.
    pub(super) fn prefer(&mut self, unit: &'static Definition, prefix: &'static Prefix) {
        match self.preferred.iter_mut().find(|(base, ..)| *base == unit.base) {
            Some(entry) => *entry = (unit.base, unit, prefix),
            None => self.preferred.push((unit.base, unit, prefix)),
        }
    }

    /// `unit` in a single preferred unit, or in fewer basic ones if there are any.
    pub(super) fn simplified(&self, unit: &Unit) -> Unit {
        let mut result = unit.clone();
        if unit.is_of(Base::None) {
            result.parts.clear();
            return result;
        }
        let whole =
            self.preferred.iter().find(|(base, ..)| same(&base.dimensions(), &unit.dimensions));
        if let Some((_, unit, prefix)) = whole {
            result.parts = vec![UnitPart { unit, prefix, power: 1.0 }];
            return result;
        }
        let basics = BASIC.iter().zip(unit.dimensions).filter(|(_, power)| power.abs() > 1e-12);
        let proposed: Option<Vec<UnitPart>> = basics
            .map(|(basic, power)| {
                let (_, unit, prefix) = self.preferred.iter().find(|(base, ..)| base == basic)?;
                Some(UnitPart { unit, prefix, power })
            })
            .collect();
        if let Some(proposed) = proposed.filter(|proposed| proposed.len() < unit.parts.len()) {
            result.parts = proposed;
        }
        result
    }

    /// `unit` as a product of basic SI units, without its value.
    pub(crate) fn basic(unit: &Unit) -> Unit {
        let si = Self::new();
        let basics = BASIC.iter().zip(unit.dimensions).filter(|(_, power)| power.abs() > 1e-12);
        let parts = basics.filter_map(|(basic, power)| {
            let (_, unit, prefix) = si.preferred.iter().find(|(base, ..)| base == basic)?;
            Some(UnitPart { unit, prefix, power })
        });
        Unit { parts: parts.collect(), value: None, ..unit.clone() }
    }
}
