//! Prefixes such as `kilo`, and which units take which.

/// A prefix; a scientific one may be chosen when a quantity is printed.
#[derive(Debug, PartialEq)]
pub(crate) struct Prefix {
    pub(crate) name: &'static str,
    pub(crate) value: f64,
    pub(crate) scientific: bool,
}

/// The set of prefixes a unit takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    Plain,
    Short,
    Long,
    Squared,
    Cubic,
    Thermal,
    ShortAndLong,
    BinaryShort,
    BinaryLong,
}

impl Family {
    /// The prefixes in the order they are tried.
    pub(crate) fn all(self) -> Box<dyn Iterator<Item = &'static Prefix>> {
        match self {
            Self::Plain => Box::new(PLAIN.iter()),
            Self::Short => Box::new(PLAIN.iter().chain(SHORT)),
            Self::Long => Box::new(PLAIN.iter().chain(LONG)),
            Self::Squared => Box::new(PLAIN.iter().chain(SQUARED)),
            Self::Cubic => Box::new(PLAIN.iter().chain(CUBIC)),
            Self::Thermal => Box::new(PLAIN.iter().chain(THERMAL)),
            Self::ShortAndLong => Box::new(PLAIN.iter().chain(SHORT).chain(LONG)),
            Self::BinaryShort => Box::new(PLAIN.iter().chain(BINARY_SHORT)),
            Self::BinaryLong => Box::new(PLAIN.iter().chain(BINARY_LONG)),
        }
    }

    /// The prefix called `name`.
    pub(crate) fn find(self, name: &str) -> Option<&'static Prefix> {
        self.all().find(|prefix| prefix.name == name)
    }
}

const fn plain(name: &'static str, value: f64) -> Prefix {
    Prefix { name, value, scientific: false }
}

const fn scientific(name: &'static str, value: f64) -> Prefix {
    Prefix { name, value, scientific: true }
}

pub(crate) static PLAIN: &[Prefix] = &[scientific("", 1.0)];
static THERMAL: &[Prefix] = &[scientific("MM", 1e6)];

static SHORT: &[Prefix] = &[
    plain("da", 10.0),
    plain("h", 100.0),
    scientific("k", 1000.0),
    scientific("M", 1e6),
    scientific("G", 1e9),
    scientific("T", 1e12),
    scientific("P", 1e15),
    scientific("E", 1e18),
    scientific("Z", 1e21),
    scientific("Y", 1e24),
    scientific("R", 1e27),
    scientific("Q", 1e30),
    plain("d", 0.1),
    plain("c", 0.01),
    scientific("m", 0.001),
    scientific("u", 1e-6),
    scientific("n", 1e-9),
    scientific("p", 1e-12),
    scientific("f", 1e-15),
    scientific("a", 1e-18),
    scientific("z", 1e-21),
    scientific("y", 1e-24),
    scientific("r", 1e-27),
    scientific("q", 1e-30),
];

static LONG: &[Prefix] = &[
    plain("deca", 10.0),
    plain("hecto", 100.0),
    scientific("kilo", 1000.0),
    scientific("mega", 1e6),
    scientific("giga", 1e9),
    scientific("tera", 1e12),
    scientific("peta", 1e15),
    scientific("exa", 1e18),
    scientific("zetta", 1e21),
    scientific("yotta", 1e24),
    scientific("ronna", 1e27),
    scientific("quetta", 1e30),
    plain("deci", 0.1),
    plain("centi", 0.01),
    scientific("milli", 0.001),
    scientific("micro", 1e-6),
    scientific("nano", 1e-9),
    scientific("pico", 1e-12),
    scientific("femto", 1e-15),
    scientific("atto", 1e-18),
    scientific("zepto", 1e-21),
    scientific("yocto", 1e-24),
    scientific("ronto", 1e-27),
    scientific("quecto", 1e-30),
];

static SQUARED: &[Prefix] = &[
    plain("da", 100.0),
    plain("h", 10000.0),
    scientific("k", 1e6),
    scientific("M", 1e12),
    scientific("G", 1e18),
    scientific("T", 1e24),
    scientific("P", 1e30),
    scientific("E", 1e36),
    scientific("Z", 1e42),
    scientific("Y", 1e48),
    scientific("R", 1e54),
    scientific("Q", 1e60),
    plain("d", 0.01),
    plain("c", 0.0001),
    scientific("m", 1e-6),
    scientific("u", 1e-12),
    scientific("n", 1e-18),
    scientific("p", 1e-24),
    scientific("f", 1e-30),
    scientific("a", 1e-36),
    scientific("z", 1e-42),
    scientific("y", 1e-48),
    scientific("r", 1e-54),
    scientific("q", 1e-60),
];

static CUBIC: &[Prefix] = &[
    plain("da", 1000.0),
    plain("h", 1e6),
    scientific("k", 1e9),
    scientific("M", 1e18),
    scientific("G", 1e27),
    scientific("T", 1e36),
    scientific("P", 1e45),
    scientific("E", 1e54),
    scientific("Z", 1e63),
    scientific("Y", 1e72),
    scientific("R", 1e81),
    scientific("Q", 1e90),
    plain("d", 0.001),
    plain("c", 1e-6),
    scientific("m", 1e-9),
    scientific("u", 1e-18),
    scientific("n", 1e-27),
    scientific("p", 1e-36),
    scientific("f", 1e-45),
    scientific("a", 1e-54),
    scientific("z", 1e-63),
    scientific("y", 1e-72),
    scientific("r", 1e-81),
    scientific("q", 1e-90),
];

static BINARY_SHORT: &[Prefix] = &[
    scientific("k", 1000.0),
    scientific("M", 1e6),
    scientific("G", 1e9),
    scientific("T", 1e12),
    scientific("P", 1e15),
    scientific("E", 1e18),
    scientific("Z", 1e21),
    scientific("Y", 1e24),
    scientific("Ki", 1024.0),
    scientific("Mi", 1048576.0),
    scientific("Gi", 1073741824.0),
    scientific("Ti", 1099511627776.0),
    scientific("Pi", 1125899906842624.0),
    scientific("Ei", 1.152921504606847e18),
    scientific("Zi", 1.1805916207174113e21),
    scientific("Yi", 1.2089258196146292e24),
];

static BINARY_LONG: &[Prefix] = &[
    scientific("kilo", 1000.0),
    scientific("mega", 1e6),
    scientific("giga", 1e9),
    scientific("tera", 1e12),
    scientific("peta", 1e15),
    scientific("exa", 1e18),
    scientific("zetta", 1e21),
    scientific("yotta", 1e24),
    scientific("kibi", 1024.0),
    scientific("mebi", 1048576.0),
    scientific("gibi", 1073741824.0),
    scientific("tebi", 1099511627776.0),
    scientific("pebi", 1125899906842624.0),
    scientific("exi", 1.152921504606847e18),
    scientific("zebi", 1.1805916207174113e21),
    scientific("yobi", 1.2089258196146292e24),
];
