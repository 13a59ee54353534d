//! Programs in their sandbox, for real (SB-1).

#![expect(clippy::unwrap_used, reason = "tests may")]

#[cfg(target_os = "linux")]
mod allowed;
#[cfg(target_os = "linux")]
mod boxed;
#[cfg(target_os = "linux")]
mod test_host;
#[cfg(target_os = "linux")]
mod ways_out;
