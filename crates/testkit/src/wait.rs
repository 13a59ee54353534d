//! Waits for what other tasks, threads or processes do and nothing reports.

use std::time::Duration;

/// Far longer than anything that is waited for takes, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Asks until there is an answer, and returns it.
///
/// # Panics
/// Panics if there is none within a minute.
pub async fn until_some<T>(mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let asking = async {
        loop {
            if let Some(answer) = ask().await {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, asking).await.expect("what is waited for comes within a minute")
}

/// Waits until `holds` returns true.
///
/// # Panics
/// It does not within a minute.
pub async fn until(mut holds: impl AsyncFnMut() -> bool) {
    until_some(async || holds().await.then_some(())).await;
}
