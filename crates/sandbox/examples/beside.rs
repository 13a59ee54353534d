//! What a sandbox costs beside others, in one run: starting `true`, and sending a line to `cat` and back.
//!
//! `cargo run --release -p switchboard-sandbox --example beside -- NAME='PROGRAM ARGUMENTS…'…` measures nothing, ours, ours for a browser, and each of the
//! programs that are named, which get the program to confine behind their arguments. They take turns, so that all have the
//! same machine.
//!
//! `… -- --call TOOL ARGUMENTS PROGRAM…` calls a tool of an MCP server that is not confined and one that is, in turn; `{port}` in the
//! arguments is that of a web page, which the one reaches directly and the other through the proxy.

#[path = "beside/call.rs"]
mod call;

use std::{
    collections::BTreeMap,
    env,
    error::Error,
    ffi::OsString,
    io::{BufRead, BufReader, Write},
    process::{Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

use switchboard_sandbox::{
    ARGUMENT, Sandbox, SandboxAllow, SandboxConfig, SandboxDeps, SandboxMode, SandboxPreset,
    SandboxedProgram, enter,
};

/// How often a program is started in each sandbox.
const STARTS: usize = 40;

/// How many lines are sent to a program in each sandbox.
const LINES: usize = 2000;

/// How often a tool is called in each sandbox.
const CALLS: usize = 200;

/// What stands before a program.
enum Confinement {
    Nothing,
    Ours(Vec<SandboxPreset>),
    Peer(Vec<String>),
}

fn main() -> ExitCode {
    let mut words = env::args_os().skip(1);
    let first = words.next();
    if first.as_ref().is_some_and(|word| word == ARGUMENT) {
        return enter(words);
    }
    let measured = match first.is_some_and(|word| word == "--call") {
        true => call::measure(&env::args().skip(2).collect::<Vec<_>>()),
        false => measure(),
    };
    match measured {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn measure() -> Result<(), Box<dyn Error>> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let _entered = runtime.enter();
    let mut all = vec![
        ("nothing".to_owned(), Confinement::Nothing),
        ("switchboard".to_owned(), Confinement::Ours(Vec::new())),
        ("switchboard, for a browser".to_owned(), Confinement::Ours(vec![SandboxPreset::Browser])),
    ];
    for peer in env::args().skip(1) {
        let (name, command) = peer.split_once('=').ok_or("a peer is NAME='PROGRAM ARGUMENTS…'")?;
        let command = command.split_whitespace().map(str::to_owned).collect();
        all.push((name.to_owned(), Confinement::Peer(command)));
    }
    let mut starts = vec![Vec::new(); all.len()];
    for _ in 0..STARTS {
        for (times, (_, confinement)) in starts.iter_mut().zip(&all) {
            times.push(start(confinement)?);
        }
    }
    println!(
        "| sandbox | start, median | p95 | a line there and back, median |\n|---|---|---|---|"
    );
    for (mut times, (name, confinement)) in starts.into_iter().zip(&all) {
        times.sort();
        let call = line_and_back(confinement)?;
        let (median, late) = (times[STARTS / 2], times[STARTS * 95 / 100]);
        println!(
            "| {name} | {:.1} ms | {:.1} ms | {:.0} µs |",
            ms(median),
            ms(late),
            ms(call) * 1000.0
        );
    }
    Ok(())
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

#[expect(clippy::disallowed_methods, reason = "real time is what is measured")]
fn now() -> Instant {
    Instant::now()
}

/// Starts `true`, and waits for its end.
fn start(confinement: &Confinement) -> Result<Duration, Box<dyn Error>> {
    let begin = now();
    let (mut command, _sandbox) = confined(confinement, "true", &[], SandboxAllow::default())?;
    let status = command.stdin(Stdio::null()).status()?;
    let took = begin.elapsed();
    if status.success() { Ok(took) } else { Err(format!("{command:?} failed: {status}").into()) }
}

/// Sends lines to `cat`; returns the median time of one.
fn line_and_back(confinement: &Confinement) -> Result<Duration, Box<dyn Error>> {
    let (mut command, _sandbox) = confined(confinement, "cat", &[], SandboxAllow::default())?;
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (input, output) = (child.stdin.take(), child.stdout.take());
    let (mut input, output) = input.zip(output).ok_or("no pipes")?;
    let mut output = BufReader::new(output);
    let mut times = Vec::new();
    let mut line = String::new();
    for _ in 0..LINES {
        let begin = now();
        input.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n")?;
        line.clear();
        output.read_line(&mut line)?;
        times.push(begin.elapsed());
    }
    drop(input);
    child.wait()?;
    times.sort();
    Ok(times[LINES / 2])
}

/// The command with what stands before it, and what lives as long as it runs.
fn confined(
    confinement: &Confinement,
    program: &str,
    args: &[String],
    allow: SandboxAllow,
) -> Result<(Command, Option<Sandbox>), Box<dyn Error>> {
    let mut words: Vec<OsString> = Vec::new();
    let mut sandbox = None;
    match confinement {
        Confinement::Nothing => {}
        Confinement::Peer(peer) => words.extend(peer.iter().map(Into::into)),
        Confinement::Ours(preset) => {
            let allow = SandboxAllow { preset: preset.clone(), ..allow };
            let deps = SandboxDeps {
                home: env::var_os("HOME").map(Into::into),
                ..SandboxDeps::this_program()?
            };
            let config = SandboxConfig { mode: SandboxMode::On, allow, ..SandboxConfig::default() };
            let env = BTreeMap::new();
            let of = SandboxedProgram { owner: "x", command: program, args, env: &env, cwd: None };
            let opened = Sandbox::open(&of, &config, &deps)?.ok_or("it is not confined")?;
            words.extend(opened.entry().iter().cloned());
            sandbox = Some(opened);
        }
    }
    words.push(program.into());
    let (first, rest) = words.split_first().ok_or("no program")?;
    let mut command = Command::new(first);
    command.args(rest).args(args);
    Ok((command, sandbox))
}
