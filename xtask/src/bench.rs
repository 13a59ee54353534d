//! Measures the gateway beside the direct way to the same server, in turn in one run: `cargo xtask bench`.
//!
//! Load generator, gateway and server share the machine, so the ratios and the processor time say more than calls per second.

mod process;
mod report;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde_json::Value;

use crate::{
    program,
    serving::{Serving, free_port, serve},
    shell::{Run, bold, root},
};
use process::{BenchUpstream, cpu_seconds, resident_mib};
use report::{BenchReport, Sample};

/// What to measure.
#[derive(Args)]
pub(crate) struct BenchOptions {
    /// How often each target is measured; medians are shown
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// How long each measurement takes
    #[arg(long, default_value_t = 2.0, value_name = "SECONDS")]
    secs: f64,
    /// How many clients call at the same time
    #[arg(long, value_delimiter = ',', default_values_t = [1, 16, 64])]
    clients: Vec<usize>,
    /// Another build of the program to measure in the same run
    #[arg(long, value_name = "PROGRAM")]
    beside: Vec<PathBuf>,
    /// Measure only the programs of `--beside`; build no gateway
    #[arg(long, requires = "beside")]
    only_beside: bool,
}

/// What is called: the server itself, or a gateway before it.
struct Target {
    name: String,
    url: String,
    tool: &'static str,
    process: u32,
    /// Memory before the first call.
    idle_mib: f64,
    /// Ends the gateway when dropped.
    _gateway: Option<Serving>,
}

/// Builds all that is needed, measures, and prints a table.
pub(crate) fn run(options: &BenchOptions) -> Result<()> {
    eprintln!("{}", bold("Building the load generator and the server"));
    Run::cargo(["build", "--release", "--package", "switchboard-bench"]).stream()?;
    let mut programs = Vec::new();
    if !options.only_beside {
        eprintln!("{}", bold("Building the gateway"));
        programs.push(("gateway".to_owned(), program::build("release")?));
    }
    for (number, path) in options.beside.iter().enumerate() {
        programs.push((format!("beside {}", number + 1), path.clone()));
    }
    let tools = target_folder()?.join("release");
    let loadgen = tools.join("loadgen");
    let upstream = BenchUpstream::start(&tools.join("upstream"), free_port()?)?;
    ready(&loadgen, &upstream.url)?;
    let mut targets = vec![Target {
        name: "direct".to_owned(),
        url: upstream.url.clone(),
        tool: "echo",
        process: upstream.id(),
        idle_mib: resident_mib(upstream.id())?,
        _gateway: None,
    }];
    for (name, program) in &programs {
        targets.push(gateway(name, program, &upstream, &loadgen)?);
    }
    let mut report = BenchReport::default();
    for round in 0..=options.rounds {
        for clients in &options.clients {
            for target in &targets {
                let sample = measure(&loadgen, target, *clients, options.secs)?;
                // The first round warms up.
                if round > 0 {
                    report.add(&target.name, *clients, sample);
                }
            }
        }
        eprintln!("round {round} of {}", options.rounds);
    }
    let memory = targets
        .iter()
        .map(|target| Ok((target.name.clone(), target.idle_mib, resident_mib(target.process)?)));
    report.print(&options.clients, &memory.collect::<Result<Vec<_>>>()?);
    Ok(())
}

/// Starts a gateway before the server, with records and policy on, and waits until it has listed the server's tools.
fn gateway(name: &str, program: &Path, upstream: &BenchUpstream, loadgen: &Path) -> Result<Target> {
    let folder = target_folder()?.join("bench").join(name.replace(' ', "-"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder)?;
    let config = fs::read_to_string(root().join("benches/gateway.toml"))?;
    let config = config.replace("http://127.0.0.1:9100/mcp", &upstream.url);
    fs::write(folder.join("switchboard.toml"), config)?;
    let port = free_port()?;
    let gateway = serve(&mut Command::new(program), &folder, port)?;
    let url = format!("http://127.0.0.1:{port}/mcp");
    ready(loadgen, &url)?;
    let process = gateway.id();
    let idle_mib = resident_mib(process)?;
    let (name, tool) = (name.to_owned(), "bench__echo");
    Ok(Target { name, url, tool, process, idle_mib, _gateway: Some(gateway) })
}

fn ready(loadgen: &Path, url: &str) -> Result<()> {
    Run::new(loadgen).arguments(["ready", "--url", url]).quiet()
}

fn measure(loadgen: &Path, target: &Target, clients: usize, secs: f64) -> Result<Sample> {
    let before = cpu_seconds(target.process)?;
    let output = Command::new(loadgen)
        .args(["http", "--url", &target.url, "--tool", target.tool, "--warm", "0"])
        .args(["--concurrency", &clients.to_string(), "--secs", &secs.to_string()])
        .stderr(Stdio::inherit())
        .output()
        .context("failed to start the load generator")?;
    let cpu = cpu_seconds(target.process)? - before;
    let told: Value = serde_json::from_slice(&output.stdout)
        .context("the load generator did not print its figures")?;
    let figure = |name: &str| told[name].as_f64().with_context(|| format!("no `{name}` in {told}"));
    ensure!(figure("errors")? == 0.0, "{}: calls failed: {told}", target.name);
    let calls = figure("calls")?;
    ensure!(calls > 0.0, "{}: no call was answered: {told}", target.name);
    Ok(Sample {
        rate: figure("rps")?,
        p50_ms: figure("p50_us")? / 1000.0,
        cpu_per_thousand: cpu / calls * 1000.0,
    })
}

/// Where cargo puts what it builds.
fn target_folder() -> Result<PathBuf> {
    let metadata = Run::cargo(["metadata", "--no-deps", "--format-version", "1"]).text()?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    metadata["target_directory"].as_str().map(PathBuf::from).context("cargo names no target folder")
}
