//! What a test's thread logs.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex, PoisonError},
};

use tracing::{Level, subscriber::DefaultGuard};
use tracing_subscriber::fmt::MakeWriter;

/// Collects the log of this thread for as long as it lives.
pub struct Logs {
    text: Text,
    _guard: DefaultGuard,
}

impl Logs {
    /// Starts to collect lines of `level` and above.
    pub fn collect(level: Level) -> Self {
        let text = Text::default();
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

#[derive(Clone, Default)]
struct Text(Arc<Mutex<Vec<u8>>>);

impl Write for Text {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Text {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}
