//! Processor time of processes, as Linux counts it.

use std::{fs, time::Duration};

/// Processor time.
pub(crate) type ProcessorTime = Duration;

/// Returns the processor time of a process.
pub(crate) fn of(process: u32) -> ProcessorTime {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let fields: Vec<&str> = fields(&text);
    let ticks = |place: usize| fields.get(place).and_then(|field| field.parse::<u64>().ok());
    // Linux shows hundredths of a second everywhere.
    Duration::from_millis(10 * (ticks(11).unwrap_or(0) + ticks(12).unwrap_or(0)))
}

/// Returns the processor time of the NATS servers that this process has started.
pub(crate) fn of_servers() -> ProcessorTime {
    let own = std::process::id().to_string();
    let is_server = |process: &u32| {
        let text = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        text.contains("(nats-server") && fields(&text).get(1) == Some(&own.as_str())
    };
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    processes.filter(is_server).map(of).sum()
}

/// Returns the fields after the program's name, which may have spaces.
fn fields(text: &str) -> Vec<&str> {
    text.rsplit(')').next().unwrap_or_default().split_whitespace().collect()
}
