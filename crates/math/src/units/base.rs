//! Kinds of quantity, and the basic dimensions they are made of.

/// How many basic dimensions there are.
pub(crate) const DIMENSIONS: usize = 9;

/// Powers of mass, length, time, current, temperature, luminous intensity, amount, angle and bits.
pub(crate) type Dimensions = [f64; DIMENSIONS];

/// A kind of quantity that has units of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Base {
    None,
    Mass,
    Length,
    Time,
    Current,
    Temperature,
    LuminousIntensity,
    AmountOfSubstance,
    Force,
    Surface,
    Volume,
    Energy,
    Power,
    Pressure,
    ElectricCharge,
    ElectricCapacitance,
    ElectricPotential,
    ElectricResistance,
    ElectricInductance,
    ElectricConductance,
    MagneticFlux,
    MagneticFluxDensity,
    Frequency,
    Angle,
    Bit,
}

/// The kinds that are basic dimensions, in the order of [`Dimensions`].
pub(super) const BASIC: [Base; DIMENSIONS] = [
    Base::Mass,
    Base::Length,
    Base::Time,
    Base::Current,
    Base::Temperature,
    Base::LuminousIntensity,
    Base::AmountOfSubstance,
    Base::Angle,
    Base::Bit,
];

impl Base {
    /// The powers of the basic dimensions this kind is made of.
    pub(crate) fn dimensions(self) -> Dimensions {
        if let Some(place) = BASIC.iter().position(|basic| *basic == self) {
            let mut dimensions = [0.0; DIMENSIONS];
            dimensions[place] = 1.0;
            return dimensions;
        }
        let [mass, length, time, current] = match self {
            Self::Force => [1, 1, -2, 0],
            Self::Surface => [0, 2, 0, 0],
            Self::Volume => [0, 3, 0, 0],
            Self::Energy => [1, 2, -2, 0],
            Self::Power => [1, 2, -3, 0],
            Self::Pressure => [1, -1, -2, 0],
            Self::ElectricCharge => [0, 0, 1, 1],
            Self::ElectricCapacitance => [-1, -2, 4, 2],
            Self::ElectricPotential => [1, 2, -3, -1],
            Self::ElectricResistance => [1, 2, -3, -2],
            Self::ElectricInductance => [1, 2, -2, -2],
            Self::ElectricConductance => [-1, -2, 3, 2],
            Self::MagneticFlux => [1, 2, -2, -1],
            Self::MagneticFluxDensity => [1, 0, -2, -1],
            Self::Frequency => [0, 0, -1, 0],
            _ => [0, 0, 0, 0],
        }
        .map(f64::from);
        [mass, length, time, current, 0.0, 0.0, 0.0, 0.0, 0.0]
    }
}

/// Whether two quantities are of one kind.
pub(crate) fn same(a: &Dimensions, b: &Dimensions) -> bool {
    a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-12)
}
