//! Runs that are killed at random in the middle of their turns, again and again, until they have an answer (SPEC RN-2), judged by
//! what the tools themselves wrote down.
//!
//! `SWITCHBOARD_RUN_KILLS` sets how often; the default is what fits into CI.

use std::{
    collections::HashMap,
    fs, thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{ask::scripted, place::Place};

/// How many turns a run has, with one call or two each.
const TURNS: usize = 6;

/// An MCP server in shell whose tool `notify` writes a line.
const SERVER: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\),.*/\1/')
  say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
  case $line in
    *'"method":"initialize"'*) say '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"post","version":"1"}}' ;;
    *'"method":"tools/list"'*) say '{"tools":[{"name":"notify","inputSchema":{"type":"object","properties":{"n":{"type":"integer"}}}}]}' ;;
    *'"method":"tools/call"'*)
      n=$(printf '%s' "$line" | sed 's/.*"n":\([0-9]*\).*/\1/')
      echo "post__notify $n" >> written
      sleep 0.02
      say '{"content":[{"type":"text","text":"notified"}]}' ;;
    *'"id":'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
  esac
done
"#;

const CONFIG: &str = r#"
[servers.post]
command = "sh"
args = ["server.sh"]
protocol = "legacy"
[[tools]]
name = "charge"
description = "Charges"
parameters = { type = "object", properties = { n = { type = "integer" } } }
implementation = { type = "command", program = "sh", args = ["-c", "echo charge $0 >> written; sleep 0.02; echo charged $0", "{n}"] }
[[tools]]
name = "refund"
description = "Refunds"
parameters = { type = "object", properties = { n = { type = "integer" } } }
implementation = { type = "command", program = "sh", args = ["-c", "sleep 0.02; echo refund $0 >> written; echo refunded $0", "{n}"] }
"#;

fn kills() -> usize {
    let kills = std::env::var_os("SWITCHBOARD_RUN_KILLS");
    kills.map_or(20, |kills| kills.to_str().unwrap().parse().unwrap())
}

/// Numbers that look random, the same for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }
}

/// A script that charges, refunds and notifies, each with a number of its own.
fn script(random: &mut Random) -> Value {
    let names = ["charge", "refund", "post__notify"];
    let mut number = 0;
    let mut turns: Vec<Value> = (0..TURNS)
        .map(|turn| {
            let calls: Vec<Value> = (0..=random.below(2))
                .map(|_| {
                    number += 1;
                    let name = names[(turn + number) % names.len()];
                    json!({"id": format!("c{number}"), "name": name, "args": {"n": number}})
                })
                .collect();
            json!({"tool_calls": calls})
        })
        .collect();
    turns.push(json!({"text": "Done."}));
    json!(turns)
}

/// Runs the command, and kills it after a while. Returns whether it had ended by then.
fn run_for(place: &Place, words: &[&str], after: Duration) -> bool {
    let mut child = place.command(words).spawn().unwrap();
    let began = Instant::now();
    while began.elapsed() < after {
        if child.try_wait().unwrap().is_some() {
            return true;
        }
        thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    false
}

/// Kills a run until it has ended; returns its messages, and how often it was killed.
fn survive(place: &Place, random: &mut Random, longest: u64) -> (Vec<Value>, usize) {
    let mut kills = 0;
    let mut words = vec!["ask".to_owned(), "-m".into(), "script:script.json".into(), "Pay".into()];
    let id = loop {
        let asked: Vec<&str> = words.iter().map(String::as_str).collect();
        // Later attempts get more time, so that each run ends.
        let patience = Duration::from_millis(50 + random.below(longest) + 40 * kills as u64);
        let ended = run_for(place, &asked, patience);
        kills += usize::from(!ended);
        let runs = place.run(&["runs", "--json"]).json();
        let Some(run) = runs.as_array().unwrap().first() else { continue };
        let id = run["id"].as_str().unwrap().to_owned();
        match run["state"].as_str().unwrap() {
            "ended" => break id,
            "interrupted" => words = vec!["runs".to_owned(), "resume".into(), id],
            state => panic!("{state}: {run}"),
        }
    };
    let shown = place.run(&["runs", "show", &id, "--json"]).json();
    assert_eq!(shown["answer"], "Done.", "{shown}");
    (shown["messages"].as_array().unwrap().clone(), kills)
}

/// Returns how often each call had its effect.
fn effects(place: &Place) -> HashMap<String, usize> {
    let text = fs::read_to_string(place.path().join("written")).unwrap_or_default();
    let mut effects = HashMap::new();
    for line in text.lines() {
        *effects.entry(line.to_owned()).or_default() += 1;
    }
    effects
}

/// Compares what the model was told with what happened, and with the records of calls.
fn judge(place: &Place, messages: &[Value]) -> usize {
    let effects = effects(place);
    let recorded = place.run(&["calls", "--json", "--limit", "1000"]).json();
    let mut unknown = 0;
    let calls: Vec<&Value> =
        messages.iter().filter_map(|message| message["tool_calls"].as_array()).flatten().collect();
    let mut replies = messages.iter().filter(|message| message["role"] == "tool");
    for call in &calls {
        // Every call has one reply, in order.
        let reply = replies.next().unwrap();
        assert_eq!(reply["tool_call_id"], call["id"], "{messages:?}");
        let (name, number) = (call["name"].as_str().unwrap(), &call["args"]["n"]);
        let happened = effects.get(&format!("{name} {number}")).copied().unwrap_or_default();
        assert!(happened <= 1, "{name} {number} happened {happened} times");
        let content = reply["content"].as_str().unwrap();
        if content.contains("may or may not have run: its process ended first") {
            unknown += 1;
            // A result that stands in the records is never lost.
            let is_this =
                |record: &&Value| record["tool"] == name && record["arguments"]["n"] == *number;
            let ended = recorded.as_array().unwrap().iter().filter(is_this);
            let ended: Vec<_> = ended.filter(|record| record["outcome"] == "ok").collect();
            assert!(ended.is_empty(), "{name} {number}: {ended:?}");
        } else {
            assert_eq!((reply["is_error"].as_bool(), happened), (Some(false), 1), "{reply}");
        }
    }
    assert!(replies.next().is_none());
    unknown
}

// RN-2
#[test]
fn whenever_a_run_is_killed_nothing_happens_twice() {
    let seed = u64::from(std::process::id()) | 1;
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    eprintln!("seed {seed}");
    let (mut killed, mut unknown, mut runs) = (0, 0, 0);
    while killed < kills() {
        let place = scripted(CONFIG, script(&mut random)).file("server.sh", SERVER);
        let (messages, kills) = survive(&place, &mut random, 700);
        unknown += judge(&place, &messages);
        killed += kills;
        runs += 1;
    }
    eprintln!("{runs} runs, {killed} kills, {unknown} calls of which nobody knows");
}
