//! Functions of mathjs that this engine does not have: their names are known, so that the error can say so.

use super::{ANY, function};
use crate::{error::fail, evaluate::Builtin};

macro_rules! unsupported {
    ($($name:literal),* $(,)?) => {
        pub(super) static FUNCTIONS: &[Builtin] =
            &[$(function($name, 0, ANY, |_, _| fail(concat!("Function ", $name, " is not supported")))),*];
    };
}

unsupported![
    "bignumber",
    "fraction",
    "bigint",
    "num",
    "den",
    "createUnit",
    "parse",
    "parser",
    "compile",
    "simplify",
    "simplifyCore",
    "simplifyConstant",
    "derivative",
    "rationalize",
    "resolve",
    "symbolicEqual",
    "leafCount",
    "help",
    "eigs",
    "qr",
    "slu",
    "schur",
    "sylvester",
    "lyap",
    "expm",
    "sqrtm",
    "pinv",
    "lsolveAll",
    "usolveAll",
    "fft",
    "ifft",
    "freqz",
    "zpk2tf",
    "solveODE",
    "typed",
];
