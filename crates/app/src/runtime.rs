//! Tokio runtimes of this process.

use std::{num::NonZeroUsize, thread};

use anyhow::Context;
use tokio::runtime;

/// Runs `work` on a runtime of its own.
///
/// # Errors
/// As `work`; or the runtime cannot be started.
pub(crate) fn on_runtime<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    // Two threads: if a tool blocks one, its deadline still fires on the other.
    run_on(runtime::Builder::new_multi_thread().worker_threads(2), work)
}

/// As [`on_runtime`], on this many threads; by default half the cores, and at least two.
///
/// # Errors
/// As [`on_runtime`].
pub(crate) fn on_threads<T>(
    threads: Option<NonZeroUsize>,
    work: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<T> {
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let threads = threads.map_or_else(|| serving_threads(cores), NonZeroUsize::get);
    run_on(runtime::Builder::new_multi_thread().worker_threads(threads), work)
}

/// Returns how many threads serve on a machine with this many cores.
fn serving_threads(cores: usize) -> usize {
    // More threads would be idle, and waking them for each call costs more than it helps: on two cores the executor makes
    // 318,000 to 333,000 calls a second on two threads, and no more on eight (docs/performance.md, "On several threads").
    // But with only one, a tool that blocks would hold up all deadlines.
    cores.div_ceil(2).max(2)
}

fn run_on<T>(
    builder: &mut runtime::Builder,
    work: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<T> {
    let runtime = builder.enable_all().build().context("failed to start the runtime")?;
    let outcome = runtime.block_on(work);
    // Does not wait for a tool that runs on after its deadline.
    runtime.shutdown_background();
    outcome
}

#[cfg(test)]
mod tests {
    use super::serving_threads;

    // EX-3: a blocked thread does not hold up a deadline.
    #[test]
    fn at_least_two_threads_serve() {
        assert_eq!([1, 2, 3, 4, 16].map(serving_threads), [2, 2, 2, 2, 8]);
    }
}
