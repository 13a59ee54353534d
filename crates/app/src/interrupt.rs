//! Ctrl-C.

use std::fmt;

use tokio::signal;

/// Runs `work` until Ctrl-C.
///
/// # Errors
/// As `work`, or [`Interrupted`].
pub(crate) async fn unless_interrupted<T>(
    work: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<T> {
    tokio::select! {
        outcome = work => outcome,
        _ = signal::ctrl_c() => Err(Interrupted.into()),
    }
}

/// The exit status of what Ctrl-C ended, as shells report it.
pub(crate) const INTERRUPTED: u8 = 130;

/// The user pressed Ctrl-C.
#[derive(Debug)]
pub(crate) struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for Interrupted {}
