//! A process of a test: started, heard, held up, killed; it ends with the test.

use std::{
    io::{BufRead, BufReader, Read},
    net::{TcpListener, TcpStream},
    ops::RangeInclusive,
    process::{self, Child, Command, Stdio},
    sync::{
        atomic::{AtomicU16, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

/// How long a process may take until it can be used, on a machine that is busy with other tests.
const START: Duration = Duration::from_secs(120);

/// A process that ends with its owner.
#[derive(Debug)]
pub struct Process(Child);

impl Process {
    /// Starts it and waits until it prints a line with this word.
    ///
    /// # Panics
    /// It does not start, or never says it.
    pub fn saying(mut command: Command, word: &str) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
        let stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                // There is no receiver once the process has started.
                let _ = sender.send(line);
            }
        });
        let mut stderr = child.stderr.take().expect("it is piped");
        let said = thread::spawn(move || {
            let mut said = String::new();
            // Its stderr has to be read, or it blocks on a full pipe.
            let _ = stderr.read_to_string(&mut said);
            said
        });
        let mut process = Self(child);
        loop {
            match lines.recv_timeout(START) {
                Ok(line) if line.contains(word) => return process,
                Ok(_) => {}
                Err(error) => {
                    process.kill();
                    let said = said.join().unwrap_or_default();
                    panic!("{command:?} never said {word:?} ({error}): {said}");
                }
            }
        }
    }

    /// Starts it and waits until something listens on this port.
    ///
    /// # Panics
    /// It does not start, or never listens.
    #[expect(clippy::disallowed_methods, reason = "processes live in real time")]
    pub fn listening(mut command: Command, port: u16) -> Self {
        // Some services end when their input does, so that they do not outlive a test that is killed.
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let spawned = command.spawn();
        let mut process =
            Self(spawned.unwrap_or_else(|error| panic!("{command:?} does not start: {error}")));
        let pause = Duration::from_millis(20);
        for _ in 0..START.as_millis() / pause.as_millis() {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return process;
            }
            if let Ok(Some(status)) = process.0.try_wait() {
                panic!("{command:?} ended with {status} before it listened");
            }
            thread::sleep(pause);
        }
        panic!("{command:?} does not listen");
    }

    /// Lets it neither go on nor end.
    pub fn pause(&self) {
        self.signal("-STOP");
    }

    /// Lets it go on.
    pub fn resume(&self) {
        self.signal("-CONT");
    }

    /// Asks it to end, and waits until it has.
    ///
    /// # Panics
    /// It cannot be waited for.
    pub fn terminate(&mut self) {
        self.signal("-TERM");
        self.0.wait().expect("it can be waited for");
    }

    /// Ends it at once.
    pub fn kill(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }

    fn signal(&self, name: &str) {
        let pid = self.0.id().to_string();
        let sent = Command::new("kill").args([name, &pid]).status();
        assert!(sent.is_ok_and(|status| status.success()), "kill {name} {pid}");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Returns a port that is free now.
///
/// # Panics
/// Panics if there is none.
pub fn free_port() -> u16 {
    // Not one that the system gives to connections: what is killed and started again wants the same port twice.
    const PORTS: RangeInclusive<u16> = 20_000..=32_000;
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let own = u16::try_from(process::id() % 1500).unwrap_or_default() * 8;
    let ports = PORTS.end() - PORTS.start();
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let port = |_| PORTS.start() + own.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % ports;
    (0..ports).map(port).find(is_free).expect("there is a free port")
}
