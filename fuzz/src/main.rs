//! One program for all targets, since each of its own would be linked again: the variable `FUZZ_TARGET` names the one that is run.
#![no_main]

use std::sync::LazyLock;

use switchboard_fuzz::{TARGETS, Target};

#[expect(clippy::disallowed_methods, reason = "the arguments are libFuzzer's own")]
static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").expect("FUZZ_TARGET names a target");
    let target = TARGETS.iter().find(|(known, _)| *known == name);
    target.unwrap_or_else(|| panic!("there is no target `{name}`")).1
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| TARGET(data));
