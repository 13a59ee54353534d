//! Calls that outlive who asks, with real processes around a real NATS: what becomes of them is compared with what the
//! tools themselves wrote down.

use std::{
    io::{BufRead, BufReader},
    process::Stdio,
    sync::mpsc,
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use crate::{
    serving::{Ending, http, switchboard, wait_for},
    workers::worker_setup::{Gateway, WorkerSetup, timed},
};

/// Workers count as lost soon.
const MORTAL: &str = "[cluster.jobs]\nlost_after = \"4s\"\nretry_delay = \"100ms\"\n";

/// Submits a call over REST; a key goes with it where there is one.
fn submit(gateway: &Gateway, tool: &str, args: &Value, key: Option<&str>) -> Value {
    let path = format!("/api/tools/gpu__w__{tool}/call?wait=0");
    let key = key.map(|key| [("Idempotency-Key", key)]);
    gateway.serving.post(&path, key.as_ref().map_or(&[], |key| &key[..]), args)
}

fn id(accepted: &Value) -> String {
    accepted["call_id"].as_str().unwrap_or_else(|| panic!("{accepted}")).to_owned()
}

fn look(gateway: &Gateway, id: &str) -> Value {
    gateway.get(&format!("/api/calls/{id}"))
}

/// The call once it has ended.
fn ended(gateway: &Gateway, id: &str) -> Value {
    wait_for(&format!("the end of {id}"), || {
        let call = look(gateway, id);
        matches!(call["state"].as_str(), Some("done" | "dead" | "cancelled")).then_some(call)
    })
}

// GW-1, RC-2
#[test]
fn calls_are_queued_followed_and_cancelled_from_everywhere() {
    let place = WorkerSetup::new();
    let _worker = place.worker("one", &[]);
    let gateway = place.gateway(1);
    let mut follow = switchboard(&gateway.folder, &["calls", "--follow", "--json"]);
    let mut follow = Ending(follow.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
    let (lines, followed) = mpsc::channel();
    let stdout = BufReader::new(follow.0.stdout.take().unwrap());
    thread::spawn(move || {
        for line in stdout.lines().map_while(Result::ok) {
            // Nobody reads on once the test is over.
            let _ = lines.send(serde_json::from_str::<Value>(&line).unwrap_or_default());
        }
    });
    // It follows from some moment on: calls are made until it has seen one.
    let watched = wait_for("a call that is followed", || {
        let call = id(&submit(&gateway, "look", &timed("watched", 0.0), None));
        ended(&gateway, &call);
        followed.try_iter().find(|line| line["state"] == "done").map(|line| line["id"].clone())
    });
    assert!(watched.is_string());

    let accepted = submit(&gateway, "look", &timed("rest", 0.2), None);
    // A worker may have begun it by the time it is told.
    assert!(accepted["state"] == "queued" || accepted["state"] == "running", "{accepted}");
    let call = ended(&gateway, &id(&accepted));
    assert_eq!((&call["state"], &call["attempts"]), (&json!("done"), &json!(1)), "{call}");
    assert_eq!(call["result"]["result"], "done rest", "{call}");

    // What might run twice needs a key, and with it runs once.
    let refused = submit(&gateway, "do", &timed("keyless", 0.0), None);
    assert_eq!(refused["error_kind"], "invalid_parameters", "{refused}");
    let first = id(&submit(&gateway, "do", &timed("keyed", 0.0), Some("k")));
    assert_eq!(id(&submit(&gateway, "do", &timed("keyed", 0.0), Some("k"))), first);
    assert_eq!(ended(&gateway, &first)["result"]["result"], "done keyed");
    assert_eq!((place.count("begun keyed"), place.count("begun keyless")), (1, 0));

    // The command line.
    let (status, said) = gateway.run(&["call", "gpu__w__look", "id=line", "--no-wait"]);
    assert_eq!(status, Some(0), "{said}");
    let line = said.trim();
    let shown = wait_for("the end of the call from the command line", || {
        let (status, said) = gateway.run(&["calls", "show", line, "--json"]);
        assert_eq!(status, Some(0), "{said}");
        let shown: Value = serde_json::from_str(&said).unwrap();
        (shown["state"] == "done").then_some(shown)
    });
    assert_eq!(shown["result"]["result"], "done line", "{shown}");
    let (_, page) = gateway.run(&["calls", "show", line]);
    assert!(page.contains("done line") && page.contains("attempts"), "{page}");
    let (status, said) = gateway.run(&["call", "math_eval", "expression=1", "--no-wait", "--json"]);
    assert_eq!(status, Some(1));
    assert!(said.contains("only tools of workers can"), "{said}");

    // Cancelled while it runs: the tool is told.
    let long = id(&submit(&gateway, "look", &timed("long", 600.0), None));
    place.saw("begun long");
    let path = format!("/api/calls/{long}");
    http(&gateway.serving.address, "DELETE", &path, "", "");
    assert_eq!(ended(&gateway, &long)["state"], "cancelled");
    place.saw("cancelled long");
}

/// Calls are queued; then their gateway is killed, a worker in the middle of them, and NATS. What comes after ends them all.
#[test]
fn queued_calls_survive_the_death_of_gateway_worker_and_broker() {
    const CALLS: usize = 12;
    let mut place = WorkerSetup::new();
    let words = ["--concurrency", "4"];
    let one = place.worker_with("one", MORTAL, &words);
    let gateway = place.gateway(1);
    let mut calls = Vec::new();
    for number in 0..CALLS {
        let (looks, acts) = (format!("look{number}"), format!("act{number}"));
        let call = id(&submit(&gateway, "look", &timed(&looks, 1.0), None));
        calls.push((call, looks, true));
        let call = id(&submit(&gateway, "do", &timed(&acts, 1.0), Some(&acts)));
        calls.push((call, acts, false));
    }
    // Killed when it is dropped.
    drop(gateway);
    wait_for("a call has begun", || {
        place.seen().iter().any(|line| line.starts_with("begun ")).then_some(())
    });
    one.kill();
    let two = place.worker_with("two", MORTAL, &words);
    place.nats.kill();
    thread::sleep(Duration::from_millis(500));
    place.nats.restart();
    let three = place.worker_with("three", MORTAL, &words);
    let gateway = place.gateway_called("other", 2);

    let mut unknown = 0;
    for (call, name, may_repeat) in &calls {
        let call = ended(&gateway, call);
        let (begun, finished) =
            (place.count(&format!("begun {name}")), place.count(&format!("finished {name}")));
        let result = &call["result"];
        match result["error_kind"].as_str() {
            None => {
                assert_eq!(result["result"], format!("done {name}"), "{call}");
                assert!(begun >= 1 && finished >= 1, "{name}: {call}");
            }
            Some("outcome_unknown") if !may_repeat => unknown += 1,
            Some(other) => panic!("{name}: {other}: {call}"),
        }
        assert!(*may_repeat || begun <= 1, "{name} ran {begun} times: {call}");
    }
    println!("{} calls, {unknown} of unknown outcome", calls.len());
    // The same key after all this is still the same call, and nothing runs again.
    let (call, name, _) = &calls[1];
    let begun = place.count(&format!("begun {name}"));
    assert_eq!(id(&submit(&gateway, "do", &timed(name, 1.0), Some(name))), *call);
    assert_eq!(place.count(&format!("begun {name}")), begun);
    drop((two, three));
}

/// What a gateway answers an MCP client of 2026-07-28 that knows of tasks; `name` is what the request is about.
fn ask(gateway: &Gateway, method: &str, name: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities":
            {"extensions": {"io.modelcontextprotocol/tasks": {}}},
    });
    let head = format!(
        "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\nMcp-Name: {name}\r\n"
    );
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let text = http(&gateway.serving.address, "POST", "/mcp", &head, &request.to_string());
    serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}"))
}

// GW-1, RC-1: the tasks extension over the same queue.
#[test]
fn a_task_outlives_the_gateway_that_began_it() {
    let place = WorkerSetup::new();
    let _worker = place.worker("one", &[]);
    let (first, second) = (place.gateway_called("first", 1), place.gateway_called("second", 1));
    let params = json!({"name": "gpu__w__look", "arguments": timed("task", 3.0)});
    let begun = ask(&first, "tools/call", "gpu__w__look", params);
    assert_eq!(begun["result"]["resultType"], "task", "{begun}");
    let task = begun["result"]["taskId"].as_str().unwrap().to_owned();
    drop(first);
    let ended = wait_for("the end of the task", || {
        let answer = ask(&second, "tasks/get", &task, json!({"taskId": task}));
        (answer["result"]["status"] != "working").then_some(answer)
    });
    assert_eq!(ended["result"]["status"], "completed", "{ended}");
    assert_eq!(ended["result"]["result"]["content"][0]["text"], "done task", "{ended}");
    // A tool that might run twice is no task without a key: it is answered as always.
    let params = json!({"name": "gpu__w__do", "arguments": timed("now", 0.0)});
    let answered = ask(&second, "tools/call", "gpu__w__do", params);
    assert_eq!(answered["result"]["content"][0]["text"], "done now", "{answered}");
}
