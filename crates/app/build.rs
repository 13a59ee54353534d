//! Tells the linker what makes the program small in memory: relocations are packed where the system's loader takes them
//! that way, and in a release what a start and a call pass through lies side by side (`layout.ld`, `cargo xtask layout`).
//! Other systems get what they always got.

use std::{env, fs, process::Command};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=layout.ld");
    if is_for_this_system() && takes_packed_relocations() {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
    if is_for_this_system() && is_release() && has_the_usual_linker() {
        // A copy: cargo remembers what it is told here, and the repository may be elsewhere the next time.
        let layout = format!("{}/layout.ld", told("OUT_DIR"));
        match fs::copy("layout.ld", &layout) {
            Ok(_) => println!("cargo::rustc-link-arg-bins=-Wl,-T,{layout}"),
            Err(error) => println!("cargo::error=failed to copy layout.ld to {layout}: {error}"),
        }
    }
}

/// Whether the program is built for a system like this one, and that has glibc.
fn is_for_this_system() -> bool {
    told("HOST") == told("TARGET")
        && told("CARGO_CFG_TARGET_OS") == "linux"
        && told("CARGO_CFG_TARGET_ENV") == "gnu"
}

/// Whether the program is built to be used: placing functions takes the linker some seconds.
fn is_release() -> bool {
    told("PROFILE") == "release" && told("CARGO_CFG_TARGET_ARCH") == "x86_64"
}

/// Whether nobody has chosen another linker: not all of them place functions one by one.
fn has_the_usual_linker() -> bool {
    let flags = told("CARGO_ENCODED_RUSTFLAGS");
    told("RUSTC_LINKER").is_empty() && !flags.contains("link-arg") && !flags.contains("linker=")
}

/// What cargo tells build scripts, through the environment.
#[expect(clippy::disallowed_methods, reason = "there is no other way to hear it")]
fn told(key: &str) -> String {
    env::var(key).unwrap_or_default()
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
