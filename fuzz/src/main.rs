//! One program for all targets: the variable `FUZZ_TARGET` names the one that is run.
#![no_main]

mod targets;

use std::sync::LazyLock;

/// The target that runs; all share one program, since each of its own would be linked and instrumented anew.
static TARGET: LazyLock<targets::Target> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").expect("FUZZ_TARGET names a target");
    let target = targets::ALL.iter().find(|(known, _)| *known == name);
    target.unwrap_or_else(|| panic!("there is no target `{name}`")).1
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| TARGET(data));
