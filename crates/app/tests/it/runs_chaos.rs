//! Runs that are killed at random in the middle of their turns, again and again, until they have an answer (SPEC RN-2), judged by
//! what the tools themselves wrote down.
//!
//! `SWITCHBOARD_RUN_KILLS` sets how often, `SWITCHBOARD_RUN_SEED` repeats a round (CONTRIBUTING.md); the default is what fits into CI.

mod conversations;
#[cfg(feature = "real-parts")]
mod workers;

use std::{
    collections::HashMap,
    fs::{self, File},
    io::{ErrorKind, Read},
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{ask::scripted, fixture::wait_until, serving::Serving, test_folder::TestFolder};

/// How many turns a run has, with one call or two each.
const TURNS: usize = 6;

/// For how many milliseconds the first attempt at a run goes on at most, beside fifty: most runs are killed in the middle at least once.
const LONGEST: u64 = 300;

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
      if [ -e chained ] && ! grep -qx "refund $n" written; then
        say '{"content":[{"type":"text","text":"no refund"}],"isError":true}'
        continue
      fi
      echo "post__notify $n" >> written
      sleep 0.02
      say '{"content":[{"type":"text","text":"notified"}]}' ;;
    *'"id":'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
  esac
done
"#;

/// Tools of which each needs what the one before did, if the file `chained` is there.
const TOOLS: &str = r#"
[models.m]
provider = "script"
model = "script.json"
[[tools]]
name = "charge"
description = "Charges"
parameters = { type = "object", properties = { n = { type = "integer" } } }
implementation = { type = "command", program = "sh", args = ["-c", "echo charge $0 >> written; sleep 0.02; echo charged $0", "{n}"] }
[[tools]]
name = "refund"
description = "Refunds"
parameters = { type = "object", properties = { n = { type = "integer" } } }
implementation = { type = "command", program = "sh", args = ["-c", "if [ -e chained ] && ! grep -qx \"charge $0\" written; then echo no charge >&2; exit 3; fi; sleep 0.02; echo refund $0 >> written; echo refunded $0", "{n}"] }
"#;

const STDIO: &str = r#"
[servers.post]
command = "sh"
args = ["server.sh"]
protocol = "legacy"
"#;

/// How many kills a test is to survive.
fn kills(usual: usize) -> usize {
    let kills = std::env::var_os("SWITCHBOARD_RUN_KILLS");
    kills.map_or(usual, |kills| kills.to_str().unwrap().parse().unwrap())
}

/// Numbers that look random, the same for the same seed.
struct Random(u64);

impl Random {
    /// Returns numbers with the seed of `SWITCHBOARD_RUN_SEED`, or a new one.
    fn seeded() -> (u64, Self) {
        let given = std::env::var_os("SWITCHBOARD_RUN_SEED");
        let new = || u64::from(std::process::id());
        let seed = given.map_or_else(new, |seed| seed.to_str().unwrap().parse().unwrap());
        (seed, Self((seed | 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }

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

/// A script that charges, refunds that charge and notifies of the refund, twice.
fn chain() -> Value {
    let names = ["charge", "refund", "post__notify"];
    let calls = (0..TURNS).map(|turn| {
        let (name, number) = (names[turn % names.len()], turn / names.len() + 1);
        json!({"tool_calls": [{"id": format!("c{turn}"), "name": name, "args": {"n": number}}]})
    });
    let mut turns: Vec<Value> = calls.collect();
    turns.push(json!({"text": "Done."}));
    json!(turns)
}

/// Who asks the model.
#[derive(Clone, Copy, Debug)]
enum Entrance {
    Ask,
    Chat,
    /// A client of `/v1`, which repeats its request under the same key.
    Client,
}

/// Runs the command, and kills it after a while. Returns whether it had ended by then.
fn run_for(command: &mut Command, after: Duration) -> bool {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
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

/// Asks a gateway, and kills it after a while. Returns whether it had answered by then.
fn serve_for(place: &TestFolder, after: Duration) -> bool {
    let mut gateway = Serving::start(place, &["--listen", "127.0.0.1:0"]);
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "Pay"}]}).to_string();
    let headers = "Connection: close\r\nIdempotency-Key: k\r\n";
    let mut stream = gateway.begin_with("/v1/chat/completions", headers, &body);
    stream.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
    let (began, mut answer, mut part) = (Instant::now(), Vec::new(), [0; 4096]);
    let ended = loop {
        match stream.read(&mut part) {
            Ok(0) => break true,
            Ok(length) => answer.extend_from_slice(&part[..length]),
            Err(error) if error.kind() != ErrorKind::WouldBlock => panic!("{error}"),
            Err(_) if began.elapsed() >= after => break false,
            Err(_) => {}
        }
    };
    gateway.child.kill().unwrap();
    gateway.child.wait().unwrap();
    let answer = String::from_utf8(answer).unwrap();
    assert!(!ended || answer.contains(" 200 ") && answer.contains("Done."), "{answer}");
    ended
}

/// Begins a run, or goes on with this one, and kills it after a while. Returns whether it had ended by then.
fn attempt(place: &TestFolder, entrance: Entrance, run: Option<&str>, after: Duration) -> bool {
    let words: &[&str] = match (entrance, run) {
        (Entrance::Ask, None) => &["ask", "-m", "m", "Pay"],
        (Entrance::Ask, Some(id)) => &["runs", "resume", id],
        (Entrance::Chat, None) => &["chat", "-m", "m"],
        (Entrance::Chat, Some(_)) => &["chat", "--resume"],
        (Entrance::Client, _) => return serve_for(place, after),
    };
    let mut command = place.command(words);
    if let (Entrance::Chat, None) = (entrance, run) {
        command.stdin(File::open(place.path().join("said")).unwrap());
    } else {
        command.stdin(Stdio::null());
    }
    run_for(&mut command, after)
}

/// Returns how many bytes the file of the run has that goes on.
fn written_down(place: &TestFolder) -> u64 {
    let files = fs::read_dir(place.path().join("state/switchboard/runs"));
    let files = files.into_iter().flatten().map(|file| file.unwrap());
    let live = files.filter(|file| file.path().extension().is_some_and(|end| end == "live"));
    live.map(|file| file.metadata().unwrap().len()).sum()
}

/// Kills a run until it has ended; returns its messages, and how often it was killed in the middle: a kill counts if the run is
/// interrupted after it and the killed process had written some of it down, so not one before the run began or after it ended.
fn survive(
    place: &TestFolder,
    entrance: Entrance,
    random: &mut Random,
    longest: u64,
) -> (Vec<Value>, usize) {
    let (mut kills, mut attempts, mut begun) = (0, 0, None::<String>);
    let id = loop {
        // Later attempts get more time, so that each run ends.
        let patience = Duration::from_millis(50 + random.below(longest) + 40 * attempts);
        let before = written_down(place);
        let is_killed = !attempt(place, entrance, begun.as_deref(), patience);
        let has_begun = written_down(place) > before;
        attempts += 1;
        let runs = place.run(&["runs", "--json"]).json();
        let Some(run) = runs.as_array().unwrap().first() else { continue };
        assert_eq!(runs.as_array().unwrap().len(), 1, "{runs}");
        let id = run["id"].as_str().unwrap().to_owned();
        match run["state"].as_str().unwrap() {
            "ended" => break id,
            "interrupted" => {
                kills += usize::from(is_killed && has_begun);
                begun = Some(id);
            }
            state => panic!("{state}: {run}"),
        }
    };
    let shown = place.run(&["runs", "show", &id, "--json"]).json();
    assert_eq!(shown["answer"], "Done.", "{shown}");
    (shown["messages"].as_array().unwrap().clone(), kills)
}

/// Returns how often each call had its effect.
fn effects(place: &TestFolder) -> HashMap<String, usize> {
    let text = fs::read_to_string(place.path().join("written")).unwrap_or_default();
    let mut effects = HashMap::new();
    for line in text.lines() {
        *effects.entry(line.to_owned()).or_default() += 1;
    }
    effects
}

/// Compares what the model was told with what happened, and with the records of calls.
fn judge(place: &TestFolder, messages: &[Value]) -> usize {
    conversations::check(messages);
    // Whatever was killed, every file of a run that has ended has its line in the journal.
    let verified = place.run(&["calls", "verify", "--json"]).json();
    assert_eq!((&verified["damage"], &verified["runs"]), (&json!([]), &json!(1)), "{verified}");
    let effects = effects(place);
    let recorded = place.run(&["calls", "--json", "--limit", "1000"]).json();
    let (mut unknown, mut is_uncertain) = (0, false);
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
        } else if content.contains("no refund") || content.contains("no charge") {
            // Nobody knows of the call before, or it failed: it may have its effect later.
            assert_eq!((happened, reply["is_error"].as_bool()), (0, Some(true)), "{reply}");
            assert!(is_uncertain, "{messages:?}");
        } else {
            assert_eq!((reply["is_error"].as_bool(), happened), (Some(false), 1), "{reply}");
        }
        is_uncertain = reply["is_error"] == true;
    }
    assert!(replies.next().is_none());
    unknown
}

// RN-2
#[test]
fn whenever_a_run_is_killed_nothing_happens_twice() {
    let (seed, mut random) = Random::seeded();
    eprintln!("SWITCHBOARD_RUN_SEED={seed}");
    let (mut killed, mut unknown, mut runs) = (0, 0, 0);
    while killed < kills(20) {
        let config = format!("{TOOLS}{STDIO}");
        let place = scripted(&config, script(&mut random)).file("server.sh", SERVER);
        let (messages, kills) = survive(&place, Entrance::Ask, &mut random, LONGEST);
        unknown += judge(&place, &messages);
        killed += kills;
        runs += 1;
    }
    eprintln!("{runs} runs, {killed} kills, {unknown} calls of which nobody knows");
}

/// The tool `notify` of another process, as it stands in a config: it writes where the other tools write.
fn notify_tool(written: &Path) -> String {
    format!(
        r#"
[[tools]]
name = "notify"
description = "Notifies"
parameters = {{ type = "object", properties = {{ n = {{ type = "integer" }} }} }}
implementation = {{ type = "command", program = "sh", args = ["-c", "if ! grep -qx \"refund $0\" {0}; then echo no refund >&2; exit 3; fi; echo post__notify $0 >> {0}; sleep 0.02; echo notified", "{{n}}"] }}
"#,
        written.display()
    )
}

/// Where notifications go: the tool of a gateway that lives on.
fn post(place: &TestFolder) -> (TestFolder, Serving) {
    let post = TestFolder::with_config(&notify_tool(&place.path().join("written")));
    let serving = Serving::start(&post, &["--listen", "127.0.0.1:0"]);
    (post, serving)
}

// RN-2: charge, refund, notify: each once, whoever asks, and wherever the tools run.
#[test]
fn a_chain_of_effects_survives_every_kill() {
    let (seed, mut random) = Random::seeded();
    eprintln!("SWITCHBOARD_RUN_SEED={seed}");
    for entrance in [Entrance::Ask, Entrance::Chat, Entrance::Client] {
        for is_over_http in [false, true] {
            let (mut killed, mut unknown, mut runs) = (0, 0, 0);
            while killed < kills(12).div_ceil(6) {
                let place =
                    scripted(TOOLS, chain()).file("server.sh", SERVER).file("said", "Pay\n");
                let place = place.file("chained", "").file("written", "");
                let other = is_over_http.then(|| post(&place));
                let servers = match &other {
                    Some((_, post)) => {
                        format!("[servers.post]\nurl = \"http://{}/mcp\"\n", post.address)
                    }
                    None => STDIO.to_owned(),
                };
                let place = place.file("switchboard.toml", format!("{TOOLS}{servers}"));
                let (messages, kills) = survive(&place, entrance, &mut random, LONGEST);
                unknown += judge(&place, &messages);
                killed += kills;
                runs += 1;
            }
            eprintln!(
                "{entrance:?}, HTTP {is_over_http}: {runs} runs, {killed} kills, {unknown} unknown"
            );
        }
    }
}

/// Returns the id of the one call that waits for a person, as soon as there is one.
fn held(place: &TestFolder) -> String {
    let waiting = || place.run(&["approve", "--json"]).json().as_array().unwrap().clone();
    wait_until("a call waits", || waiting().len() == 1);
    waiting()[0]["id"].as_str().unwrap().to_owned()
}

// RN-2: a call that waited for a person had not begun; a person is asked again, and it runs once.
#[test]
fn a_call_that_was_held_is_asked_for_again() {
    let script = json!([
        {"tool_calls": [{"id": "c0", "name": "refund", "args": {"n": 1}}]},
        {"tool_calls": [{"id": "c1", "name": "charge", "args": {"n": 2}}]},
        {"text": "Done."},
    ]);
    let config = format!("[policy]\nask = [\"charge\"]\n{TOOLS}");
    let place = scripted(&config, script);
    let mut gateway = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "Pay"}]}).to_string();
    let headers = "Idempotency-Key: k\r\n";
    let _waiting = gateway.begin_with("/v1/chat/completions", headers, &body);
    let first = held(&place);
    // The turn is written down although none of its calls has begun.
    let shown = |place: &TestFolder| {
        let runs = place.run(&["runs", "--json"]).json();
        place.run(&["runs", "show", runs[0]["id"].as_str().unwrap(), "--json"]).json()
    };
    let call = shown(&place)["timeline"][1]["calls"][0].clone();
    assert_eq!((&call["tool"], &call["outcome"]), (&json!("charge"), &json!("not begun")));
    gateway.child.kill().unwrap();
    gateway.child.wait().unwrap();
    let run = shown(&place);
    assert_eq!(run["state"], "interrupted", "{run}");
    // Nobody waits for that decision any more.
    place.run(&["approve", &first]);
    assert_eq!(effects(&place), HashMap::from([("refund 1".to_owned(), 1)]));
    // The gateway goes on by itself.
    let gateway = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
    wait_until("another call waits", || {
        let waiting = place.run(&["approve", "--json"]).json();
        waiting.as_array().unwrap().iter().any(|call| call["id"] != first)
    });
    let waiting = place.run(&["approve", "--json"]).json();
    let second = waiting.as_array().unwrap().iter().find(|call| call["id"] != first).unwrap();
    let allowed = place.run(&["approve", second["id"].as_str().unwrap()]);
    assert_eq!(allowed.status, 0, "{allowed:?}");
    let (status, answer) = gateway.ask("POST", "/v1/chat/completions", headers, &body);
    assert_eq!(status, 200, "{answer}");
    let run = shown(&place);
    assert_eq!((&run["state"], &run["answer"]), (&json!("ended"), &json!("Done.")), "{run}");
    let expected = ["refund 1", "charge 2"].map(|effect| (effect.to_owned(), 1));
    assert_eq!(effects(&place), HashMap::from(expected));
    assert_eq!(judge(&place, run["messages"].as_array().unwrap()), 0);
}
