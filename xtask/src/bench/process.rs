//! The server that is called, and what the system tells of processes (Linux only).

use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
};

use anyhow::{Context, Result};

/// The server behind the gateway; ends when dropped.
pub(super) struct BenchUpstream {
    process: Child,
    pub(super) url: String,
}

impl BenchUpstream {
    pub(super) fn start(program: &Path, port: u16) -> Result<Self> {
        let address = format!("127.0.0.1:{port}");
        let process = Command::new(program)
            .args(["http", "--bind", &address])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("failed to start {}", program.display()))?;
        Ok(Self { process, url: format!("http://{address}/mcp") })
    }

    pub(super) fn id(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for BenchUpstream {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns the processor time that a process has used.
pub(super) fn cpu_seconds(process: u32) -> Result<f64> {
    // The kernel counts in hundredths of a second for programs, whatever its own clock is.
    Ok(ticks(&file(process, "stat")?).context("/proc/PID/stat cannot be read")? / 100.0)
}

/// Returns how much memory of a process is resident.
pub(super) fn resident_mib(process: u32) -> Result<f64> {
    let status = file(process, "status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB"));
    let kib: f64 = kib.context("/proc/PID/status has no VmRSS")?.trim().parse()?;
    Ok(kib / 1024.0)
}

fn file(process: u32, name: &str) -> Result<String> {
    fs::read_to_string(format!("/proc/{process}/{name}")).context("a process has ended")
}

/// User and system time; the name of the program, in parentheses, may have spaces.
fn ticks(stat: &str) -> Option<f64> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut next = || fields.next()?.parse::<f64>().ok();
    Some(next()? + next()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_what_the_system_says() {
        let stat = "12 (a (b) c) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20 0";
        assert_eq!(ticks(stat), Some(200.0));
        assert_eq!(ticks("12 (a"), None);
    }
}
