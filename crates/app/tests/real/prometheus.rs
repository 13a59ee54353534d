//! Prometheus scrapes what `serve` counts.

use std::{
    fs::{self, File},
    net::TcpStream,
    process::Command,
};

use serde_json::{Value, json};

use crate::serving::{Ending, Serving, free_port, http, wait_for};

// GW-4
#[test]
fn prometheus_learns_of_calls() {
    let folder = tempfile::tempdir().unwrap();
    let serving = Serving::start(folder.path(), "");
    for expression in ["2+2", "3+3", "what"] {
        serving.post("/api/tools/math_eval/call", &[], &json!({"expression": expression}));
    }
    serving.post("/api/tools/nobody/call", &[], &json!({}));

    let scrape = format!(
        "scrape_configs:\n- job_name: switchboard\n  scrape_interval: 200ms\n  scrape_timeout: 200ms\n  \
         static_configs: [{{targets: ['{}']}}]\n",
        serving.address
    );
    let config = folder.path().join("prometheus.yml");
    fs::write(&config, scrape).unwrap();
    let address = format!("127.0.0.1:{}", free_port());
    let mut command = Command::new("prometheus");
    command.arg(format!("--config.file={}", config.display()));
    command.arg(format!("--storage.tsdb.path={}", folder.path().join("series").display()));
    command.arg(format!("--web.listen-address={address}"));
    command.stderr(File::create(folder.path().join("prometheus.log")).unwrap());
    let _prometheus =
        Ending(command.spawn().expect("prometheus is installed: `cargo xtask parts`"));
    wait_for("prometheus", || TcpStream::connect(&address).ok());

    let ask = |query: &str| {
        let path = format!("/api/v1/query?query={query}");
        let answer = http(&address, "GET", &path, "", "");
        // It begins before it is ready to be asked.
        let answer: Value = serde_json::from_str(&answer).ok()?;
        answer["data"]["result"][0]["value"][1].as_str().map(str::to_owned)
    };
    for (query, value) in [
        ("switchboard_tool_calls_total%7Btool=%22math_eval%22,outcome=%22ok%22%7D", "2"),
        ("switchboard_tool_calls_total%7Btool=%22math_eval%22,outcome=%22tool_error%22%7D", "1"),
        ("switchboard_tool_calls_total%7Btool=%22(unknown)%22,outcome=%22not_found%22%7D", "1"),
        ("switchboard_tool_call_duration_seconds_count%7Btool=%22math_eval%22%7D", "3"),
        ("switchboard_tool_calls_waiting", "0"),
        ("switchboard_http_requests_total%7Bstatus=%22404%22%7D", "1"),
    ] {
        assert_eq!(wait_for(query, || ask(query)), value, "{query}");
    }
    serving.stop();
}
