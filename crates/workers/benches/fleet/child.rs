//! A process of one role: this program, started again. It does what a line tells it, and replies with a line.

use std::{
    io::{BufRead, BufReader, Write},
    process::{self, ChildStdin, ChildStdout, Command, Stdio},
    sync::atomic::Ordering,
};

use switchboard_workers::Cluster;

/// A process of one role, which ends with its owner.
pub(crate) struct Child {
    process: process::Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// What connections have sent and received.
#[derive(Clone, Copy, Default)]
pub(crate) struct Traffic {
    pub(crate) sent: u64,
    pub(crate) sent_bytes: u64,
    pub(crate) received: u64,
    pub(crate) received_bytes: u64,
}

impl Child {
    pub(crate) fn start(role: &str, url: &str, numbers: &[usize]) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([role, url]).args(numbers.iter().map(usize::to_string));
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        Self { process, input, output: BufReader::new(output) }
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Tells it to do something, and waits until that is done. Returns what it says.
    pub(crate) fn ask(&mut self, line: &str) -> String {
        writeln!(self.input, "{line}").unwrap();
        let mut reply = String::new();
        self.output.read_line(&mut reply).unwrap();
        assert!(!reply.is_empty(), "`{line}`: it has ended");
        reply.trim().to_owned()
    }

    /// Tells it to do something that ends with `done`.
    pub(crate) fn tell(&mut self, line: &str) {
        let reply = self.ask(line);
        assert_eq!(reply, "done", "`{line}`");
    }

    pub(crate) fn traffic(&mut self) -> Traffic {
        let reply = self.ask("traffic");
        let numbers: Vec<u64> = reply.split(' ').map(|word| word.parse().unwrap()).collect();
        let [sent, sent_bytes, received, received_bytes] = numbers[..] else { panic!("{reply}") };
        Traffic { sent, sent_bytes, received, received_bytes }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Traffic {
    pub(crate) fn of<'a>(clusters: impl Iterator<Item = &'a Cluster>) -> Self {
        let mut all = Self::default();
        for cluster in clusters {
            let statistics = cluster.nats().unwrap().client().statistics();
            all.sent += statistics.out_messages.load(Ordering::Relaxed);
            all.sent_bytes += statistics.out_bytes.load(Ordering::Relaxed);
            all.received += statistics.in_messages.load(Ordering::Relaxed);
            all.received_bytes += statistics.in_bytes.load(Ordering::Relaxed);
        }
        all
    }

    pub(crate) fn since(&self, before: &Self) -> Self {
        Self {
            sent: self.sent - before.sent,
            sent_bytes: self.sent_bytes - before.sent_bytes,
            received: self.received - before.received,
            received_bytes: self.received_bytes - before.received_bytes,
        }
    }

    /// Adds what others have sent and received.
    pub(crate) fn add(&mut self, other: &Self) {
        self.sent += other.sent;
        self.sent_bytes += other.sent_bytes;
        self.received += other.received;
        self.received_bytes += other.received_bytes;
    }

    pub(crate) fn line(&self) -> String {
        format!("{} {} {} {}", self.sent, self.sent_bytes, self.received, self.received_bytes)
    }
}
