//! What a hostile server and its callers cost everybody else: 64 callers of a good server, in turns beside nothing and
//! beside a server that lists the worst schemas, floods notifications and answers 64 MiB.
//!
//! ```sh
//! cargo build --release -p switchboard
//! cargo run --release -p switchboard-mcp-server --example hostile_load -- target/release/switchboard [SECONDS [CALLERS [WHAT]]]
//! ```
//!
//! `WHAT` is a list of what the hostile side does, by default all of it: `flood,big,slow`.
//!
//! Prints one line of JSON with the durations of the good server's calls in both cases. Fails if the 99th percentile
//! beside the hostile server is more than twice the other.

mod load;
mod server;

use std::{
    env,
    error::Error,
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, ExitCode, Stdio},
    time::Duration,
};

use load::{Calls, Durations};
use serde_json::json;
use tokio::time::sleep;

type Failure = Box<dyn Error + Send + Sync>;

/// Everything that the hostile side can do.
const ALL: &str = "flood,big,slow";

/// How often both cases take turns.
const TURNS: u32 = 3;

fn main() -> Result<ExitCode, Failure> {
    let words: Vec<_> = env::args().skip(1).collect();
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["good-server"] => server::run(server::Kind::Good).map(|()| ExitCode::SUCCESS),
        ["hostile-server"] => server::run(server::Kind::Hostile).map(|()| ExitCode::SUCCESS),
        [program] => measure(program, 5.0, 64, ALL),
        [program, seconds] => measure(program, seconds.parse()?, 64, ALL),
        [program, seconds, callers] => measure(program, seconds.parse()?, callers.parse()?, ALL),
        [program, seconds, callers, what] => {
            measure(program, seconds.parse()?, callers.parse()?, what)
        }
        _ => Err("usage: hostile_load PATH_TO_SWITCHBOARD [SECONDS [CALLERS [WHAT]]]".into()),
    }
}

#[tokio::main]
async fn measure(
    program: &str,
    seconds: f64,
    callers: usize,
    what: &str,
) -> Result<ExitCode, Failure> {
    let gateway = Gateway::start(program)?;
    gateway.is_up().await?;
    let turn = Duration::from_secs_f64(seconds);
    let good = Calls::of(&gateway.address, "good__echo", json!({"text": "x".repeat(180)}));
    let (mut quiet, mut hostile) = (Durations::default(), Durations::default());
    good.many(callers, turn / 4).await?; // Everything is compiled, connected and warm.
    for _ in 0..TURNS {
        quiet.add(good.many(callers, turn).await?);
        let attack = Attack::begin(&gateway.address, what).await?;
        hostile.add(good.many(callers, turn).await?);
        attack.end(&gateway.address).await?;
    }
    let ratio = hostile.at(0.99).as_secs_f64() / quiet.at(0.99).as_secs_f64();
    let line = json!({
        "callers": callers,
        "quiet": quiet.summary(turn * TURNS),
        "hostile": hostile.summary(turn * TURNS),
        "p99_ratio": (ratio * 100.0).round() / 100.0,
    });
    println!("{line}");
    Ok(if ratio <= 2.0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The callers of the hostile server.
struct Attack(Vec<tokio::task::JoinHandle<()>>);

impl Attack {
    async fn begin(address: &str, what: &str) -> Result<Self, Failure> {
        if what.contains("flood") {
            Calls::of(address, "hostile__begin", json!({})).in_the_end().await?;
        }
        let long_list = json!({"list": vec![1; 200]});
        let calls = [
            ("hostile__big", json!({})),
            ("hostile__slow", long_list.clone()),
            ("hostile__slow", long_list.clone()),
            ("hostile__slow", long_list.clone()),
            ("hostile__slow", long_list),
        ];
        let wanted = |tool: &str| tool.split("__").nth(1).is_some_and(|name| what.contains(name));
        let calls = calls.into_iter().filter(|(tool, _)| wanted(tool));
        let callers = calls.map(|(tool, args)| {
            let calls = Calls::of(address, tool, args);
            tokio::spawn(async move { while calls.once().await.is_ok() {} })
        });
        Ok(Self(callers.collect()))
    }

    async fn end(self, address: &str) -> Result<(), Failure> {
        self.0.iter().for_each(tokio::task::JoinHandle::abort);
        // It has to come through what its server still has to say.
        Calls::of(address, "hostile__end", json!({})).in_the_end().await?;
        // What was under way comes to its end.
        sleep(Duration::from_secs(2)).await;
        Ok(())
    }
}

/// A `switchboard serve` with both servers, in a folder of its own; it ends with this.
struct Gateway {
    address: String,
    process: Child,
    folder: PathBuf,
}

impl Gateway {
    fn start(program: &str) -> Result<Self, Failure> {
        let folder = env::temp_dir().join(format!("hostile_load-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let own = env::current_exe()?;
        // The hostile server would run elsewhere: here it must not take its time from the others.
        let config = format!(
            "[servers.good]\ncommand = {own:?}\nargs = [\"good-server\"]\n\
             [servers.hostile]\ncommand = \"nice\"\nargs = [\"-n\", \"19\", {own:?}, \"hostile-server\"]\ntimeout = \"10s\"\n"
        );
        let file = folder.join("switchboard.toml");
        fs::write(&file, config)?;
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
        let process = serve(program, &address, &file, &folder)?;
        Ok(Self { address, process, folder })
    }

    async fn is_up(&self) -> Result<(), Failure> {
        for tool in ["good__echo", "hostile__begin", "hostile__end"] {
            Calls::of(&self.address, tool, json!({"text": "x"})).in_the_end().await?;
        }
        Ok(())
    }
}

fn serve(program: &str, address: &str, config: &Path, folder: &Path) -> Result<Child, Failure> {
    let log = fs::File::create(folder.join("stderr.log"))?;
    let mut command = Command::new(fs::canonicalize(program)?);
    command.args(["serve", "--listen", address, "--config"]).arg(config).current_dir(folder);
    command.env("XDG_STATE_HOME", folder).env("XDG_CONFIG_HOME", folder).env("RUST_LOG", "warn");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    Ok(command.spawn()?)
}

impl Drop for Gateway {
    fn drop(&mut self) {
        // It is of no use to anybody any more, whatever it does.
        _ = self.process.kill();
        _ = self.process.wait();
        _ = fs::remove_dir_all(&self.folder);
    }
}
