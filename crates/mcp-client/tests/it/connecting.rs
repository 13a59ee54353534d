//! Attempts to connect: how many, when, and what is said of them (MC-2, TL-6).

use std::time::Duration;

use serde_json::json;
use switchboard_mcp_client::ServerConfig;
use switchboard_process::guard::ProcessGuard;
use switchboard_runtime::toolcall::{CallContext, ErrorKind, HumanDuration, ToolCall};
use switchboard_testkit::Logs;
use tokio::time::{Instant, resume, sleep};
use tracing::Level;

use super::{TestServers, example, life::missing, misbehaving};

const NOT_THERE: &str = "cannot start 'no-such-program-anywhere': No such file or directory";
const ENVIRONMENT: &str =
    "it gets only some environment variables (`inherit_env = true` gives all)";

/// The lines of a log that tell of connecting, from the text on that the contract has.
fn told(logs: &Logs) -> Vec<String> {
    let lines = logs.lines();
    lines.iter().filter_map(|line| Some(line[line.find("MCP connection")?..].to_owned())).collect()
}

fn shell(script: &str) -> ServerConfig {
    let args = vec!["-c".to_owned(), script.to_owned()];
    ServerConfig { command: Some("sh".to_owned()), args, ..ServerConfig::default() }
}

// MC-2
#[tokio::test(start_paused = true)]
async fn three_attempts_with_growing_delays_and_nothing_more_is_said() {
    let logs = Logs::collect(Level::INFO);
    let began = Instant::now();
    let test = TestServers::with(Duration::from_secs(2), [("ghost", missing())]);
    test.servers.wait_until_ready().await;
    assert_eq!(began.elapsed().as_secs(), 6, "0 s, 2 s and 4 s");
    let failed = format!("Connection to stdio server 'ghost' failed: {NOT_THERE}; {ENVIRONMENT}");
    let expected = [
        "MCP connection attempt 1 of 3 to 'ghost' (delay 0s)".to_owned(),
        "MCP connection attempt 2 of 3 to 'ghost' (delay 2s)".to_owned(),
        "MCP connection attempt 3 of 3 to 'ghost' (delay 4s)".to_owned(),
        format!("MCP connection failed after 3 attempts: {failed}"),
    ];
    assert_eq!(told(&logs), expected);
    assert_eq!(logs.lines().iter().filter(|line| line.contains("No such file")).count(), 1);
    let told = test.failures.lock().unwrap().clone();
    assert_eq!(told.len(), 1);
    assert!(told[0].block(&[], &[]).contains(&format!("\n   Reason: {failed}\n")));
}

// MC-2: attempts and base delay are settings.
#[tokio::test(start_paused = true)]
async fn attempts_and_delays_can_be_set() {
    let logs = Logs::collect(Level::INFO);
    let began = Instant::now();
    let test = TestServers::with_deps([("ghost", missing())], |deps| {
        deps.mcp.retry_attempts = 5;
        deps.mcp.retry_base_delay = HumanDuration(Duration::from_millis(500));
    });
    test.servers.wait_until_ready().await;
    assert_eq!(began.elapsed(), Duration::from_millis(7500));
    let told = told(&logs);
    assert_eq!(told[1], "MCP connection attempt 2 of 5 to 'ghost' (delay 0.5s)");
    assert_eq!(told[4], "MCP connection attempt 5 of 5 to 'ghost' (delay 4s)");
    assert!(told[5].starts_with("MCP connection failed after 5 attempts: "), "{told:?}");
}

// MC-2: only the first start fails.
#[tokio::test(start_paused = true)]
async fn the_second_attempt_that_succeeds_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("server");
    let logs = Logs::collect(Level::INFO);
    let config = ServerConfig { command: Some(program.display().to_string()), ..misbehaving("") };
    let test = TestServers::with(Duration::from_secs(2), [("s", config)]);
    sleep(Duration::from_millis(1900)).await;
    std::os::unix::fs::symlink(example("misbehaving_server"), &program).unwrap();
    // From here on there is a process, which takes its own time.
    resume();
    test.servers.wait_until_ready().await;
    let expected = [
        "MCP connection attempt 1 of 3 to 's' (delay 0s)",
        "MCP connection attempt 2 of 3 to 's' (delay 2s)",
        "MCP connection succeeded on attempt 2",
    ];
    assert_eq!(told(&logs), expected);
    let connected = "MCP server 's' is connected: 2 tools, protocol 2025-11-25";
    assert_eq!(logs.lines().iter().filter(|line| line.contains(connected)).count(), 1);
    test.servers.close().await;
}

// MC-2: a dead server is started three times, not more.
#[tokio::test]
async fn a_dead_server_is_started_three_times() {
    let folder = tempfile::tempdir().unwrap();
    let starts = folder.path().join("starts");
    let script = format!("echo started >> '{}'; echo no broker >&2; exit 3", starts.display());
    let test = TestServers::with_deps([("dead", shell(&script))], |deps| {
        deps.mcp.retry_base_delay = HumanDuration(Duration::from_millis(100));
    });
    test.servers.wait_until_ready().await;
    let started = std::fs::read_to_string(&starts).unwrap();
    assert_eq!(started.lines().count(), 3);
    let told = test.failures.lock().unwrap().clone();
    let expected = format!("the server exited with status 3; {ENVIRONMENT}");
    assert_eq!((told.len(), &told[0].reason), (1, &expected));
    assert_eq!(told[0].stderr, ["no broker"]);
    test.servers.close().await;
}

// MC-2: an attempt takes at most `connect_timeout`, by default that of `[mcp]`.
#[tokio::test]
async fn a_silent_server_is_left_after_its_time() {
    let own = ServerConfig {
        connect_timeout: Some(HumanDuration(Duration::from_millis(150))),
        ..shell("sleep 1000")
    };
    let test = TestServers::with_deps([("own", own), ("usual", shell("sleep 1001"))], |deps| {
        deps.mcp.retry_attempts = 2;
        deps.mcp.retry_base_delay = HumanDuration(Duration::from_millis(1));
        deps.mcp.connect_timeout = HumanDuration(Duration::from_millis(250));
    });
    test.servers.wait_until_ready().await;
    let told = test.failures.lock().unwrap().clone();
    for (server, limit) in [("own", "0.15s"), ("usual", "0.25s")] {
        let told = told.iter().find(|told| told.server == server).unwrap();
        assert_eq!(told.reason, format!("no answer within {limit}; {ENVIRONMENT}"));
        assert_eq!((told.attempts, told.stderr.len()), (2, 0));
    }
    test.servers.close().await;
}

// TL-6: what waiting cannot mend is tried once where nothing runs on; a spawn error is not the server's stderr.
#[tokio::test]
async fn what_waiting_cannot_mend_is_tried_once() {
    let url = |url: &str| ServerConfig { url: Some(url.to_owned()), ..ServerConfig::default() };
    let spaced = ServerConfig {
        command: Some("uvx mcp-server-time".to_owned()),
        args: vec!["--local-timezone=UTC".to_owned()],
        ..ServerConfig::default()
    };
    let elsewhere = ServerConfig { cwd: Some("/nonexistent/place".into()), ..misbehaving("") };
    let split = "cannot start 'uvx mcp-server-time': No such file or directory; `command` is the program alone: \
                 write command = \"uvx\", args = [\"mcp-server-time\", \"--local-timezone=UTC\"]";
    let cases = [
        ("missing", missing(), format!("{NOT_THERE}; {ENVIRONMENT}")),
        ("spaced", spaced, split.to_owned()),
        (
            "elsewhere",
            elsewhere,
            format!("the working directory '/nonexistent/place' does not exist; {ENVIRONMENT}"),
        ),
        (
            "word",
            url("docs"),
            "`url` is not an http or https address: relative URL without a base".to_owned(),
        ),
        (
            "scheme",
            url("ftp://docs.example"),
            "`url` is not an http or https address: its scheme is `ftp`".to_owned(),
        ),
    ];
    for guard in [None, Some(ProcessGuard { program: example("guard"), args: Vec::new() })] {
        let logs = Logs::collect(Level::INFO);
        let configs = cases.iter().map(|(name, config, _)| (*name, config.clone()));
        let test = TestServers::with_deps(configs, |deps| {
            deps.guard = guard;
            deps.retries_permanent = false;
        });
        test.servers.wait_until_ready().await;
        let told = test.failures.lock().unwrap().clone();
        for (name, _, reason) in &cases {
            let told = told.iter().find(|told| told.server == *name).unwrap();
            assert_eq!((told.attempts, &told.reason), (1, reason));
            assert!(told.stderr.is_empty(), "{:?}", told.stderr);
            assert!(
                told.error().starts_with("MCP connection failed after 1 attempt: Connection to ")
            );
        }
        assert!(!logs.lines().iter().any(|line| line.contains("attempt 2")));
        test.servers.close().await;
    }
}

// TL-6, EX-3: a call waits for its server within the limit of the server or of the tool.
#[tokio::test(start_paused = true)]
async fn connecting_keeps_to_the_servers_own_timeout() {
    let mut config = ServerConfig {
        timeout: Some(HumanDuration(Duration::from_secs(1))),
        prefix: Some("home".to_owned()),
        ..missing()
    };
    config.tools.entry("quick".to_owned()).or_default().timeout =
        Some(HumanDuration(Duration::from_millis(500)));
    let test = TestServers::with(Duration::from_secs(60), [("slow", config)]);
    let cases = [
        ("slow__x", None, "1s", 1.0),
        ("home__x", None, "1s", 1.0),
        ("slow__quick", None, "0.5s", 0.5),
        ("slow__quick", Some(2), "2s", 2.0),
    ];
    for (name, timeout, limit, seconds) in cases {
        let began = Instant::now();
        let timeout = timeout.map(Duration::from_secs);
        let cx = CallContext { timeout, ..CallContext::default() };
        let result = test.executor.execute(ToolCall::new(name, Default::default()), &cx).await;
        assert_eq!(result.text(), format!("Tool '{name}' timed out after {limit}"));
        assert_eq!(result.error_kind(), Some(ErrorKind::Timeout));
        assert_eq!(began.elapsed().as_secs_f64(), seconds);
        // EX-7: and the result says how long that was.
        assert_eq!(result.elapsed.as_secs_f64(), seconds);
    }
}

// TL-6: waiting for all servers has an end, and says who is missing; nobody waits a second time.
#[tokio::test(start_paused = true)]
async fn waiting_for_all_servers_has_an_end() {
    let test = TestServers::with(Duration::from_secs(60), [("ghost", missing())]);
    let limit = Duration::from_secs(10);
    let names = |servers: Vec<std::sync::Arc<switchboard_mcp_client::Server>>| {
        servers.iter().map(|server| server.name().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(names(test.servers.connecting(limit)), ["ghost"]);
    for seconds in [10, 0] {
        let began = Instant::now();
        assert_eq!(names(test.servers.wait_until_ready_within(limit).await), ["ghost"]);
        assert_eq!(began.elapsed().as_secs(), seconds);
    }
    assert!(test.servers.connecting(limit).is_empty());
    // One that has failed is waited for by nobody.
    test.servers.wait_until_ready().await;
    assert!(test.servers.wait_until_ready_within(Duration::MAX).await.is_empty());
}

// TL-4: an unknown server is told with the names that are close.
#[tokio::test(start_paused = true)]
async fn a_misspelt_server_is_told_with_those_that_are_close() {
    let test =
        TestServers::with(Duration::from_secs(60), [("time", missing()), ("weather", missing())]);
    let result = test.call("tme__get_time", json!({})).await;
    assert_eq!(result.error_kind(), Some(ErrorKind::UnknownServer));
    assert_eq!(result.text(), "Unknown MCP server 'tme' in tool name 'tme__get_time'");
    let hint = result.outcome.unwrap_err().hint;
    assert_eq!(hint.as_deref(), Some("Did you mean: time__get_time"));
    let result = test.call("calendar__x", json!({})).await;
    assert_eq!(result.text(), "Unknown MCP server 'calendar' in tool name 'calendar__x'");
    assert_eq!(result.outcome.unwrap_err().hint, None);
}
