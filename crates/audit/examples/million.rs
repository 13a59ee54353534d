//! A million recorded calls: how fast, how much memory, and how long questions about them take.
//!
//! `million FOLDER [CALLS [RATE]]`, built with `--profile bench`. With a rate, so many calls are made each second, and it is
//! measured by how many seconds the index is behind the journal.
//!
//! `million FOLDER generate CALLS` writes so many calls into segments directly, compressed, and prints how the store grows.
//!
//! `million FOLDER days DAYS` afterwards asks for figures as if as many calls had been made on each of so many days.

#[path = "million/days.rs"]
mod days;
#[path = "million/generated.rs"]
mod generated;
#[path = "million/lag.rs"]
mod lag;

use std::{
    env, fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use lag::LagMeter;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use switchboard_audit::{Config, Filter, Reader, Store};
use switchboard_runtime::ToolExecutor;
use switchboard_toolcall::{CallContext, HumanDuration, HumanSize, ToolCall, ToolError, tool_fn};
use tokio::time::{Instant, interval};

/// Tells the weather.
#[derive(Deserialize, JsonSchema)]
struct Weather {
    city: String,
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let mut arguments = env::args().skip(1);
    let folder = PathBuf::from(arguments.next().ok_or("usage: million FOLDER [CALLS [RATE]]")?);
    let next = arguments.next();
    if next.as_deref() == Some("days") {
        return days::ask(&folder, arguments.next().ok_or("DAYS is missing")?.parse()?);
    }
    if next.as_deref() == Some("generate") {
        let calls = arguments.next().ok_or("CALLS is missing")?.parse()?;
        return generated::write(&folder, calls);
    }
    let calls: u64 = next.as_deref().unwrap_or("1000000").parse()?;
    let rate: Option<u32> = arguments.next().as_deref().map(str::parse).transpose()?;
    // Retention must not drop what is measured.
    let max_size = HumanSize(u64::MAX);
    let max_age = HumanDuration(Duration::from_secs(100 * 365 * 86_400));
    let config = Config { max_size, max_age, compress: false, ..Config::default() };
    let store = Store::open(config.clone(), &folder);
    store.start_upkeep()?;
    let meter = rate.map(|_| LagMeter::start(&folder));
    write(store, calls, rate).await?;
    if let Some(meter) = meter {
        meter.print()?;
    }
    // As many as `write` makes.
    ask(&folder, calls / 10 / 64 * 64 * 10, SystemTime::now())?;
    let started = Instant::now();
    switchboard_audit::gc(&folder, &Config { compress: true, ..config })?;
    println!("compressed in {:.1?}, {} MB", started.elapsed(), size(&folder.join("journal"))?);
    check(&folder)
}

/// Makes the calls, 64 at a time, of a hundred tools; `rate` in each second, or as many as can be made.
async fn write(store: Store, calls: u64, rate: Option<u32>) -> Result<(), Failure> {
    let store = Arc::new(store);
    let executor = ToolExecutor::builder().store(store.clone()).artifacts(store).build();
    for number in 0..100 {
        let weather = |Weather { city }, _: CallContext| async move {
            match city.ends_with("99") {
                true => Err(ToolError::failed(format!("There is no weather in {city}."))),
                false => Ok(format!("It rains in {city}.")),
            }
        };
        executor.tools().add(tool_fn(format!("weather_{number}"), weather))?;
    }
    let tenth = calls / 10;
    for part in 1..=10 {
        let started = Instant::now();
        let tasks = (0..64).map(|task| {
            let executor = executor.clone();
            tokio::spawn(async move {
                let cx = CallContext::for_caller("million");
                let mut due = rate.map(|rate| interval(Duration::from_secs(64) / rate));
                for number in 0..tenth / 64 {
                    if let Some(due) = &mut due {
                        due.tick().await;
                    }
                    let args = json!({"city": format!("City {number}")});
                    let args = args.as_object().cloned().unwrap_or_default();
                    let tool = format!("weather_{}", (number + task) % 100);
                    executor.execute(ToolCall::new(tool, args), &cx).await;
                }
            })
        });
        for task in tasks.collect::<Vec<_>>() {
            task.await?;
        }
        let rate = (tenth / 64 * 64) as f64 / started.elapsed().as_secs_f64();
        println!("{:>8} calls: {rate:.0} calls/s, {} KiB resident", part * tenth, resident()?);
    }
    Ok(())
}

/// Asks what people ask.
fn ask(folder: &Path, made: u64, now: SystemTime) -> Result<(), Failure> {
    let timed = |what: &str, started: Instant| println!("{what}: {:.1?}", started.elapsed());
    let started = Instant::now();
    let mut reader = Reader::open(folder)?;
    timed("the index took in the rest", started);
    let hour = now - Duration::from_secs(3600);
    let recent = Filter { since: Some(hour), limit: Some(100), ..Filter::default() };
    let one = Filter { tool: Some("weather_7".to_owned()), ..recent.clone() };
    let questions = [
        ("list one tool since 1h, 100 records", one.clone()),
        ("list one tool since 1h, all records", Filter { limit: None, ..one }),
        (
            "list tools by glob, 100",
            Filter { tool: Some("weather_1*".to_owned()), ..recent.clone() },
        ),
        ("list the latest 100", recent.clone()),
        ("list failures", Filter { failed: true, ..recent.clone() }),
        ("list unknown", Filter { unknown: true, ..recent.clone() }),
        ("list slower than 1 s", Filter { slower_than: Some(Duration::from_secs(1)), ..recent }),
        ("search what every call has", searched("city")),
        ("search what a few hundred calls have", searched("1234")),
        ("search what no call has", searched("snows")),
        ("search words in their order", searched("\"rains in city 77\"")),
        ("search the beginning of a word", searched("rai*")),
        ("search what every call has, failures", Filter { failed: true, ..searched("city") }),
        ("search what no failure has, failures", Filter { failed: true, ..searched("rains") }),
        ("search what every call has, of one tool", {
            Filter { tool: Some("weather_7".to_owned()), ..searched("city") }
        }),
        ("search what every call has, of a caller", {
            Filter { caller: Some("million".to_owned()), ..searched("city") }
        }),
    ];
    for (what, filter) in questions {
        let started = Instant::now();
        let found = reader.list(&filter)?.len();
        println!("{what}: {found} in {:.1?}", started.elapsed());
    }
    for _ in 0..3 {
        let started = Instant::now();
        let figures = reader.stats(&Filter::default())?;
        let calls = figures.iter().map(|tool| tool.calls).sum::<u64>();
        println!("stats of {calls} calls in {:.1?}", started.elapsed());
        if calls < made {
            return Err(format!("{calls} of {made} calls are there").into());
        }
    }
    println!("{} KiB resident", resident()?);
    check(folder)?;
    println!(
        "{made} calls take {} MB of journal and {} MB of index",
        size(&folder.join("journal"))?,
        fs::metadata(folder.join("index.db"))?.len() / 1_000_000
    );
    Ok(())
}

/// Reads every line, and single calls.
fn check(folder: &Path) -> Result<(), Failure> {
    let mut reader = Reader::open(folder)?;
    let some = Filter { limit: Some(10_000), ..Filter::default() };
    let calls: Vec<_> = reader.list(&some)?.into_iter().step_by(100).map(|call| call.id).collect();
    let started = Instant::now();
    for id in &calls {
        reader.show(*id)?.ok_or("it is not there")?;
    }
    println!("show one call: {:.1?}", started.elapsed() / u32::try_from(calls.len().max(1))?);
    let (started, mut count) = (Instant::now(), 0);
    let newest = Filter { limit: Some(100_000), ..Filter::default() };
    reader.for_each_call(&newest, |_| {
        count += 1;
        ControlFlow::Continue(())
    })?;
    println!("export the newest {count}: {:.1?}", started.elapsed());
    let started = Instant::now();
    let report = switchboard_audit::verify(folder)?;
    println!(
        "verify: {} lines, clean: {}, in {:.1?}",
        report.lines,
        report.is_clean(),
        started.elapsed()
    );
    println!("{} KiB resident", resident()?);
    Ok(())
}

/// Searches as a list does that people see.
fn searched(words: &str) -> Filter {
    Filter { search: Some(words.to_owned()), limit: Some(100), ..Filter::default() }
}

fn size(folder: &Path) -> Result<u64, Failure> {
    let files: Vec<_> = fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    let sizes: Vec<u64> = files
        .iter()
        .map(|file| Ok(file.metadata()?.len()))
        .collect::<Result<_, std::io::Error>>()?;
    Ok(sizes.iter().sum::<u64>() / 1_000_000)
}

/// How much memory the process has, in KiB, as the system says.
fn resident() -> Result<u64, Failure> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}
