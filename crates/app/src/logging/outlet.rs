//! Writes log lines: each at once while they are rare, many in one write while there are many.
//!
//! In a busy process a line is written [`PAUSE`] after the one before it at the latest. Warnings and errors never wait.

use std::{
    io::{self, Write},
    mem,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use tokio::time::Instant;

/// How long a line may wait for others.
const PAUSE: Duration = Duration::from_millis(10);
/// How many bytes wait at most.
const MOST: usize = 32 << 10;

/// Collects lines for a writer whose calls are expensive.
pub(super) struct Outlet<W> {
    shared: Arc<SharedWriter<W>>,
    /// Whether lines may wait: a thread writes them.
    keeps: bool,
}

struct SharedWriter<W> {
    /// Locked before `waiting`, so that lines are written in the order in which they came.
    out: Mutex<Out<W>>,
    waiting: Mutex<BufferedLines>,
    /// Notified when lines begin to wait.
    bell: Condvar,
}

struct Out<W> {
    writer: W,
    /// What is being written.
    text: Vec<u8>,
}

#[derive(Default)]
struct BufferedLines {
    lines: Vec<u8>,
    /// When something was last written.
    written: Option<Instant>,
}

impl<W: Write + Send + 'static> Outlet<W> {
    /// Writes every line at once.
    pub(super) fn open(writer: W) -> Self {
        let out = Mutex::new(Out { writer, text: Vec::new() });
        let shared = SharedWriter { out, waiting: Mutex::default(), bell: Condvar::new() };
        Self { shared: Arc::new(shared), keeps: false }
    }

    /// As [`open`](Self::open), but lines that come soon after others may wait for more, and a thread writes them. If the
    /// thread cannot be started, every line is written at once.
    pub(super) fn keeping(writer: W) -> Self {
        let mut outlet = Self::open(writer);
        let shared = outlet.shared.clone();
        let thread = thread::Builder::new().name("log".to_owned());
        outlet.keeps = thread.spawn(move || shared.look_after()).is_ok();
        outlet
    }

    /// Writes a line, which ends with its newline, or keeps it for a moment.
    pub(super) fn line(&self, line: &[u8], is_urgent: bool) -> io::Result<()> {
        let mut waiting = lock(&self.shared.waiting);
        let is_first = waiting.lines.is_empty();
        waiting.lines.extend_from_slice(line);
        let is_rare = || waiting.written.is_none_or(|written| written.elapsed() >= PAUSE);
        if !self.keeps || is_urgent || waiting.lines.len() >= MOST || (is_first && is_rare()) {
            drop(waiting);
            return self.flush();
        }
        drop(waiting);
        if is_first {
            self.shared.bell.notify_one();
        }
        Ok(())
    }

    /// Writes the lines that wait.
    pub(super) fn flush(&self) -> io::Result<()> {
        self.shared.write()
    }
}

impl<W: Write> SharedWriter<W> {
    fn write(&self) -> io::Result<()> {
        let Out { writer, text } = &mut *lock(&self.out);
        let mut waiting = lock(&self.waiting);
        waiting.written = Some(Instant::now());
        mem::swap(&mut waiting.lines, text);
        // Other threads can add lines meanwhile.
        drop(waiting);
        let written = writer.write_all(text).and_then(|()| writer.flush());
        text.clear();
        written
    }

    /// Writes waiting lines after each pause, until the process ends.
    #[expect(clippy::disallowed_methods, reason = "a thread of its own")]
    fn look_after(&self) {
        loop {
            let is_empty = |waiting: &mut BufferedLines| waiting.lines.is_empty();
            drop(self.bell.wait_while(lock(&self.waiting), is_empty));
            thread::sleep(PAUSE);
            // If stderr is closed, the error cannot be reported.
            _ = self.write();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    /// Passes on each write.
    struct Writes(Sender<String>);

    impl Write for Writes {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            // A test that has seen enough does not listen any more.
            _ = self.0.send(String::from_utf8_lossy(bytes).into_owned());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn outlet(open: impl Fn(Writes) -> Outlet<Writes>) -> (Outlet<Writes>, Receiver<String>) {
        let (sender, writes) = channel();
        (open(Writes(sender)), writes)
    }

    /// As if something had just been written, and for a while.
    fn busy(outlet: &Outlet<Writes>) {
        lock(&outlet.shared.waiting).written = Some(Instant::now() + Duration::from_secs(3600));
    }

    /// All that comes until the text ends with `last`.
    fn until(writes: &Receiver<String>, last: &str) -> String {
        let mut text = String::new();
        while !text.ends_with(last) {
            text += &writes.recv_timeout(Duration::from_secs(60)).unwrap();
        }
        text
    }

    // EX-6
    #[test]
    fn every_line_comes_once_and_in_order() {
        let (outlet, writes) = outlet(Outlet::keeping);
        let lines: Vec<_> = (0..1000).map(|number| format!("{number}\n")).collect();
        for line in &lines {
            outlet.line(line.as_bytes(), false).unwrap();
        }
        assert_eq!(until(&writes, "\n999\n"), lines.concat());
    }

    #[test]
    fn lines_that_come_together_leave_together() {
        let (outlet, writes) = outlet(Outlet::open);
        // Lines may wait, and no thread writes them: `open` starts none.
        let outlet = Outlet { keeps: true, ..outlet };
        busy(&outlet);
        for line in ["a\n", "b\n"] {
            outlet.line(line.as_bytes(), false).unwrap();
        }
        assert!(writes.try_recv().is_err());
        outlet.line(b"urgent\n", true).unwrap();
        assert_eq!(writes.try_recv().unwrap(), "a\nb\nurgent\n");
        busy(&outlet);
        outlet.line(b"last\n", false).unwrap();
        outlet.flush().unwrap();
        assert_eq!(writes.try_recv().unwrap(), "last\n");
        // `MOST` bytes do not wait, however soon they come.
        busy(&outlet);
        outlet.line(&[b'x'; MOST], false).unwrap();
        assert_eq!(writes.try_recv().unwrap().len(), MOST);
    }

    #[test]
    fn a_rare_line_leaves_at_once() {
        for open in [Outlet::open, Outlet::keeping] {
            let (outlet, writes) = outlet(open);
            outlet.line(b"a\n", false).unwrap();
            assert_eq!(writes.try_recv().unwrap(), "a\n");
        }
    }
}
