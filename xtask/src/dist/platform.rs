//! The platforms that packages are made for, and how each kind of package calls them.

use anyhow::{Context, Result, bail, ensure};

/// A processor's architecture; the system is always Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Architecture {
    X86_64,
    Aarch64,
}

impl Architecture {
    pub(super) const ALL: [Self; 2] = [Self::X86_64, Self::Aarch64];

    /// The architecture of this machine, if packages are made for it.
    pub(super) fn of_host() -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.kernel_name() == std::env::consts::ARCH)
    }

    /// As `uname -m`, Rust and Python's tags say it.
    pub(super) fn kernel_name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        }
    }

    /// As Debian and the specification of OCI images say it.
    pub(super) fn debian_name(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Aarch64 => "arm64",
        }
    }

    /// As Node.js says it.
    pub(super) fn node_name(self) -> &'static str {
        match self {
            Self::X86_64 => "x64",
            Self::Aarch64 => "arm64",
        }
    }

    /// The target whose programs need no library of the system.
    pub(super) fn static_target(self) -> String {
        format!("{}-unknown-linux-musl", self.kernel_name())
    }
}

/// Whether a program needs a C library to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Linkage {
    Static,
    Dynamic,
}

/// A program to package.
pub(super) struct PlatformProgram {
    pub(super) architecture: Architecture,
    pub(super) linkage: Linkage,
    pub(super) bytes: Vec<u8>,
}

impl PlatformProgram {
    /// Reads from the program itself what it runs on.
    ///
    /// # Errors
    /// It is no program for Linux on one of the architectures.
    pub(super) fn new(bytes: Vec<u8>) -> Result<Self> {
        let is_elf = bytes.starts_with(b"\x7fELF\x02\x01");
        ensure!(is_elf, "it is not a 64-bit program for Linux");
        let architecture = match number::<2>(&bytes, 18)? {
            62 => Architecture::X86_64,
            183 => Architecture::Aarch64,
            other => bail!("it is for machine {other}, neither x86-64 nor arm64"),
        };
        let linkage = match has_interpreter(&bytes)? {
            true => Linkage::Dynamic,
            false => Linkage::Static,
        };
        Ok(Self { architecture, linkage, bytes })
    }
}

/// Whether a segment names the program that loads shared libraries (`PT_INTERP`).
fn has_interpreter(bytes: &[u8]) -> Result<bool> {
    let (table, size, count) =
        (number::<8>(bytes, 32)?, number::<2>(bytes, 54)?, number::<2>(bytes, 56)?);
    for index in 0..count {
        if number::<4>(bytes, usize::try_from(table + index * size)?)? == 3 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A number of `N` bytes, the least significant first.
fn number<const N: usize>(bytes: &[u8], offset: usize) -> Result<u64> {
    let found = bytes.get(offset..offset + N).context("the program is cut off")?;
    let mut whole = [0; 8];
    whole[..N].copy_from_slice(found);
    Ok(u64::from_le_bytes(whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_says_what_it_runs_on() {
        let own = PlatformProgram::new(std::fs::read("/proc/self/exe").unwrap()).unwrap();
        assert_eq!(Some(own.architecture), Architecture::of_host());
        assert_eq!(own.linkage, Linkage::Dynamic);
    }

    #[test]
    fn what_is_no_program_is_refused() {
        let mut foreign = vec![0; 64];
        foreign[..6].copy_from_slice(b"\x7fELF\x02\x01");
        foreign[18] = 243;
        let refused =
            |bytes: &[u8]| PlatformProgram::new(bytes.to_vec()).err().unwrap().to_string();
        assert_eq!(refused(b"#!/bin/sh"), "it is not a 64-bit program for Linux");
        assert_eq!(refused(&foreign), "it is for machine 243, neither x86-64 nor arm64");
        foreign[18] = 62;
        assert_eq!(PlatformProgram::new(foreign.clone()).unwrap().linkage, Linkage::Static);
        foreign[56] = 1;
        foreign[32] = 62;
        assert_eq!(refused(&foreign), "the program is cut off");
    }
}
