//! Has the linker pack relocations where the system's loader takes them that way: an idle process then keeps two
//! megabytes less in memory. Other systems get what they always got.

use std::{env, process::Command};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if is_for_this_system() && takes_packed_relocations() {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// Whether the program is built for a system like this one, and that has glibc.
#[expect(clippy::disallowed_methods, reason = "cargo tells build scripts through the environment")]
fn is_for_this_system() -> bool {
    let told = |key| env::var(key).unwrap_or_default();
    told("HOST") == told("TARGET")
        && told("CARGO_CFG_TARGET_OS") == "linux"
        && told("CARGO_CFG_TARGET_ENV") == "gnu"
}

/// Whether the loader is new enough: glibc knows packed relocations since 2.36.
fn takes_packed_relocations() -> bool {
    let asked = Command::new("getconf").arg("GNU_LIBC_VERSION").output();
    let version = asked.ok().and_then(|output| String::from_utf8(output.stdout).ok());
    let numbers = |version: String| {
        let (major, minor) = version.trim().strip_prefix("glibc ")?.split_once('.')?;
        Some((major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?))
    };
    version.and_then(numbers).is_some_and(|version| version >= (2, 36))
}
