//! What a test's thread logs.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex, PoisonError},
};

use tracing::{
    Event, Level, Metadata, Subscriber,
    level_filters::LevelFilter,
    span::{Attributes, Id, Record},
    subscriber::{DefaultGuard, Interest},
};
use tracing_subscriber::fmt::MakeWriter;

/// Collects the log of this thread for as long as it lives.
pub struct Logs {
    text: LogText,
    _guard: DefaultGuard,
}

impl Logs {
    /// Starts to collect lines of `level` and above.
    pub fn collect(level: Level) -> Self {
        // Set once; a program with a global subscriber of its own has what this is for.
        _ = tracing::subscriber::set_global_default(Undecided);
        let text = LogText::default();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(level)
            .without_time()
            .with_ansi(false)
            .with_writer(text.clone())
            .finish();
        Self { text, _guard: tracing::subscriber::set_default(subscriber) }
    }

    /// The lines so far, each beginning with its level.
    pub fn lines(&self) -> Vec<String> {
        let bytes = self.text.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&bytes);
        text.lines().map(|line| line.trim_start().to_owned()).collect()
    }
}

/// Logs nothing, but keeps the interest of every callsite open. Without it, tracing may cache that a callsite has no
/// subscriber, if threads start or stop to collect while others reach that callsite for the first time.
struct Undecided;

impl Subscriber for Undecided {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::TRACE)
    }

    fn enabled(&self, _: &Metadata<'_>) -> bool {
        false
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[derive(Clone, Default)]
struct LogText(Arc<Mutex<Vec<u8>>>);

impl Write for LogText {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for LogText {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}
