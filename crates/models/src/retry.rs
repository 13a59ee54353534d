//! Asks again after failures that pass.

use std::time::{Duration, SystemTime};

use reqwest::header::HeaderMap;
use switchboard_toolcall::BoxFuture;

use crate::{
    FailureKind, ModelError,
    model::{ModelEvent, ModelEvents},
};

/// The longest that a provider may make us wait; beyond it the user should know now.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// How often and how soon a request is sent again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retries {
    pub(crate) most: u32,
    pub(crate) base_delay: Duration,
    pub(crate) max_delay: Duration,
}

impl Default for Retries {
    fn default() -> Self {
        Self { most: 4, base_delay: Duration::from_millis(500), max_delay: Duration::from_secs(20) }
    }
}

/// One attempt that failed.
pub(crate) struct FailedAttempt {
    pub(crate) error: ModelError,
    /// Whether the user has seen a part of it, so that a second one would not fit.
    pub(crate) has_emitted: bool,
}

/// Repeats `attempt` until it succeeds, shows something or fails for good.
pub(crate) async fn run<'a, T>(
    retries: Retries,
    events: ModelEvents<'_>,
    mut attempt: impl FnMut() -> BoxFuture<'a, Result<T, FailedAttempt>> + Send,
) -> Result<T, FailedAttempt> {
    let mut failures = 0;
    loop {
        let FailedAttempt { error, has_emitted } = match attempt().await {
            Ok(done) => return Ok(done),
            Err(failed) => failed,
        };
        let most = retries.most.min(match error.kind {
            // A model that cannot write the call is asked once more, not until it can.
            FailureKind::BrokenCall => 1,
            // Usually nothing listens there; if Ollama is not running, the user should know soon.
            FailureKind::Connect => 2,
            _ => u32::MAX,
        });
        let too_long = error.retry_after.is_some_and(|wait| wait > LONGEST_WAIT);
        if has_emitted || too_long || failures >= most || !error.is_passing() {
            return Err(FailedAttempt { error, has_emitted });
        }
        let after = error.retry_after.unwrap_or_else(|| backoff(&retries, failures));
        tracing::warn!(?after, error = %error, "the model is asked again");
        events(ModelEvent::Retry { reason: error.message, after });
        tokio::time::sleep(after).await;
        failures += 1;
    }
}

/// Doubles each time; a random half of it is left out, so that many clients do not return as one.
fn backoff(retries: &Retries, failures: u32) -> Duration {
    let full = retries.base_delay.saturating_mul(1 << failures.min(16)).min(retries.max_delay);
    full.mul_f64(0.5 + fastrand::f64() / 2.0)
}

/// Reads `retry-after` (seconds or a date) or `retry-after-ms`.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let number =
        |name: &str| -> Option<f64> { text(name)?.parse().ok().filter(|n: &f64| *n >= 0.0) };
    if let Some(milliseconds) = number("retry-after-ms") {
        return Duration::try_from_secs_f64(milliseconds / 1000.0).ok();
    }
    if let Some(seconds) = number("retry-after") {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = |name: &str| httpdate::parse_http_date(text(name)?).ok();
    let until = date("retry-after")?;
    // By the provider's own clock if it sends the time, because ours may be wrong. A time in the past means no wait.
    let now = date("date").unwrap_or_else(SystemTime::now);
    Some(until.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use tokio::time::Instant;

    use super::*;

    /// Runs attempts that fail as told, then succeed; returns whether they did, how many there were and the seconds.
    async fn check(failures: &[(FailureKind, Option<u64>, bool)]) -> (bool, usize, f64) {
        let start = Instant::now();
        let count = Mutex::new(0);
        let outcome = run(Retries::default(), &|_| {}, || {
            let mut count = count.lock().unwrap();
            let failure = failures.get(*count).copied();
            *count += 1;
            Box::pin(async move {
                let Some((kind, wait, has_emitted)) = failure else { return Ok(()) };
                let mut error = ModelError::new(kind, "no");
                error.retry_after = wait.map(Duration::from_secs);
                Err(FailedAttempt { error, has_emitted })
            })
        })
        .await;
        (outcome.is_ok(), count.into_inner().unwrap(), start.elapsed().as_secs_f64())
    }

    // ML-7
    #[tokio::test(start_paused = true)]
    async fn what_passes_is_tried_again_with_growing_waits() {
        let (done, attempts, seconds) = check(&[(FailureKind::Overloaded, None, false); 4]).await;
        assert!(done);
        assert_eq!(attempts, 5);
        // 0.5 + 1 + 2 + 4 seconds, at least half of each.
        assert!((3.75..=7.6).contains(&seconds), "{seconds}");
        let (done, attempts, _) = check(&[(FailureKind::Server, None, false); 9]).await;
        assert_eq!((done, attempts), (false, 5));
        let (done, attempts, _) = check(&[(FailureKind::Connect, None, false); 9]).await;
        assert_eq!((done, attempts), (false, 3));
    }

    // ML-7
    #[test]
    fn the_wait_is_read_in_all_its_forms() {
        let check = |headers: &[(&'static str, &str)]| {
            let parsed = headers.iter().map(|(name, value)| {
                (reqwest::header::HeaderName::from_static(name), value.parse().unwrap())
            });
            retry_after(&parsed.collect()).map(|wait| wait.as_secs_f64())
        };
        let date = ("date", "Sun, 15 Nov 2026 12:00:00 GMT");
        assert_eq!(check(&[("retry-after", "7")]), Some(7.0));
        assert_eq!(check(&[("retry-after", "0.5")]), Some(0.5));
        assert_eq!(check(&[("retry-after-ms", "250"), ("retry-after", "7")]), Some(0.25));
        assert_eq!(check(&[date, ("retry-after", "Sun, 15 Nov 2026 12:00:30 GMT")]), Some(30.0));
        assert_eq!(check(&[date, ("retry-after", "Sunday, 15-Nov-26 12:01:00 GMT")]), Some(60.0));
        // Passed already: at once. Without the provider's clock, by ours.
        assert_eq!(check(&[date, ("retry-after", "Sun, 15 Nov 2026 11:59:00 GMT")]), Some(0.0));
        assert_eq!(check(&[("retry-after", "Thu, 01 Jan 1970 00:00:00 GMT")]), Some(0.0));
        assert!(check(&[("retry-after", "Fri, 01 Jan 2100 00:00:00 GMT")]) > Some(1e9));
        for nothing in ["soon", "-1", ""] {
            assert_eq!(check(&[("retry-after", nothing)]), None);
        }
    }

    // ML-7
    #[tokio::test(start_paused = true)]
    async fn the_providers_word_counts() {
        let (done, attempts, seconds) = check(&[(FailureKind::RateLimited, Some(7), false)]).await;
        assert_eq!((done, attempts), (true, 2));
        assert!((7.0..7.1).contains(&seconds), "{seconds}");
        // An hour is for the user to decide.
        let (done, attempts, seconds) =
            check(&[(FailureKind::RateLimited, Some(3600), false)]).await;
        assert_eq!((done, attempts), (false, 1));
        assert!(seconds < 0.1);
    }

    // ML-7
    #[tokio::test(start_paused = true)]
    async fn what_does_not_pass_or_was_shown_is_not_tried_again() {
        for kind in [
            FailureKind::Auth,
            FailureKind::Rejected,
            FailureKind::ContextFull,
            FailureKind::Timeout,
        ] {
            assert_eq!(check(&[(kind, None, false)]).await.1, 1);
        }
        assert_eq!(check(&[(FailureKind::Overloaded, None, true)]).await.1, 1);
        let (done, attempts, _) = check(&[(FailureKind::BrokenCall, None, false); 2]).await;
        assert_eq!((done, attempts), (false, 2));
    }
}
