//! Physical constants by name.

use super::{Scalar, System, find};
use crate::{error::Result, value::Value};

/// The physical constant called `name`, if there is one.
pub(crate) fn physical_constant(name: &str, system: &mut System) -> Option<Result<Value>> {
    let (_, value, unit) = CONSTANTS.iter().find(|(constant, ..)| *constant == name)?;
    if unit.is_empty() {
        return Some(Ok(Value::Number(*value)));
    }
    Some(find(unit, system).map(|unit| {
        let mut quantity = unit.with_value(Scalar::Real(*value));
        quantity.fix_prefix = true;
        quantity.into()
    }))
}

/// Names, values and units.
#[rustfmt::skip]
static CONSTANTS: &[(&str, f64, &str)] = &[
    ("speedOfLight", 299792458.0, "m s^-1"),
    ("gravitationConstant", 6.6743e-11, "m^3 kg^-1 s^-2"),
    ("planckConstant", 6.62607015e-34, "J s"),
    ("reducedPlanckConstant", 1.0545718176461565e-34, "J s"),
    ("magneticConstant", 1.25663706212e-6, "N A^-2"),
    ("electricConstant", 8.8541878128e-12, "F m^-1"),
    ("vacuumImpedance", 376.730313667, "ohm"),
    ("coulomb", 8987551792.261171, "N m^2 C^-2"),
    ("coulombConstant", 8987551792.261171, "N m^2 C^-2"),
    ("elementaryCharge", 1.602176634e-19, "C"),
    ("bohrMagneton", 9.2740100783e-24, "J T^-1"),
    ("conductanceQuantum", 7.748091729863649e-5, "S"),
    ("inverseConductanceQuantum", 12906.403729652257, "ohm"),
    ("magneticFluxQuantum", 2.0678338484619295e-15, "Wb"),
    ("nuclearMagneton", 5.0507837461e-27, "J T^-1"),
    ("klitzing", 25812.807459304513, "ohm"),
    ("josephson", 483597848416983.6, "Hz V^-1"),
    ("bohrRadius", 5.29177210903e-11, "m"),
    ("classicalElectronRadius", 2.8179403262e-15, "m"),
    ("electronMass", 9.1093837015e-31, "kg"),
    ("fermiCoupling", 1.1663787e-5, "GeV^-2"),
    ("fineStructure", 0.0072973525693, ""),
    ("hartreeEnergy", 4.3597447222071e-18, "J"),
    ("protonMass", 1.67262192369e-27, "kg"),
    ("deuteronMass", 3.3435830926e-27, "kg"),
    ("neutronMass", 1.6749271613e-27, "kg"),
    ("quantumOfCirculation", 0.00036369475516, "m^2 s^-1"),
    ("rydberg", 10973731.56816, "m^-1"),
    ("thomsonCrossSection", 6.6524587321e-29, "m^2"),
    ("weakMixingAngle", 0.2229, ""),
    ("efimovFactor", 22.7, ""),
    ("atomicMass", 1.6605390666e-27, "kg"),
    ("avogadro", 6.02214076e23, "mol^-1"),
    ("boltzmann", 1.380649e-23, "J K^-1"),
    ("faraday", 96485.33212331001, "C mol^-1"),
    ("firstRadiation", 3.7417718521927573e-16, "W m^2"),
    ("loschmidt", 2.686780111798444e25, "m^-3"),
    ("gasConstant", 8.31446261815324, "J K^-1 mol^-1"),
    ("molarPlanckConstant", 3.990312712893431e-10, "J s mol^-1"),
    ("molarVolume", 0.022413969545014137, "m^3 mol^-1"),
    ("sackurTetrode", -1.16487052358, ""),
    ("secondRadiation", 0.014387768775039337, "m K"),
    ("stefanBoltzmann", 5.67037441918443e-8, "W m^-2 K^-4"),
    ("wienDisplacement", 0.002897771955, "m K"),
    ("molarMass", 0.00099999999965, "kg mol^-1"),
    ("molarMassC12", 0.0119999999958, "kg mol^-1"),
    ("gravity", 9.80665, "m s^-2"),
    ("planckLength", 1.616255e-35, "m"),
    ("planckMass", 2.176435e-8, "kg"),
    ("planckTime", 5.391245e-44, "s"),
    ("planckCharge", 1.87554603778e-18, "C"),
    ("planckTemperature", 1.416785e32, "K"),
];
