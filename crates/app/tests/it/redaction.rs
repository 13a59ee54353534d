//! Secrets in calls of a running gateway are found nowhere afterwards: not in the journal, the index, the log, the events or
//! the traces.

use std::{
    fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    sync::{Arc, Mutex},
    thread,
};

use serde_json::{Value, json};

use crate::{fixture::wait_until, serve::Serving, test_folder::TestFolder};

/// A server whose one tool fails with the text that it is given.
const FAILING: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\),.*/\1/')
  say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
  case $line in
    *'"method":"initialize"'*) say '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"f","version":"1"}}' ;;
    *'"method":"tools/list"'*) say '{"tools":[{"name":"fail","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}]}' ;;
    *'"method":"tools/call"'*)
      text=$(printf '%s' "$line" | sed 's/.*"text":"\(.*\)\\nTHE END".*/\1/')
      say "{\"content\":[{\"type\":\"text\",\"text\":\"$text\"}],\"isError\":true}" ;;
    *'"id":'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}\n' "$id" ;;
  esac
done
"#;

/// The lines of a file of the runtime's corpus, comments left out.
fn corpus(file: &str) -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../runtime/tests/corpus");
    let text = fs::read_to_string(folder.join(file)).unwrap().replace('¦', "");
    let lines = text.lines().filter(|line| !line.starts_with("//"));
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn json_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Puts the secret where § stands.
fn filled(value: &Value, secret: &Value) -> Value {
    match value {
        Value::String(text) if text == "§" => secret.clone(),
        Value::String(text) => text.replace('§', &json_text(secret)).into(),
        Value::Array(items) => items.iter().map(|item| filled(item, secret)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(key, field)| (key.clone(), filled(field, secret))).collect()
        }
        other => other.clone(),
    }
}

/// An OTLP receiver that keeps the bytes it is sent.
pub(crate) fn receiver() -> (String, Arc<Mutex<Vec<u8>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let kept = Arc::new(Mutex::new(Vec::new()));
    let all = kept.clone();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, all) = (stream.unwrap(), all.clone());
            thread::spawn(move || {
                let (mut buffer, mut request) = ([0; 65536], Vec::new());
                while let Ok(length @ 1..) = stream.read(&mut buffer) {
                    request.extend_from_slice(&buffer[..length]);
                    if is_whole(&request) {
                        all.lock().unwrap().append(&mut request);
                        _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
                    }
                }
            });
        }
    });
    (address, kept)
}

fn is_whole(request: &[u8]) -> bool {
    let Some(head) = request.windows(4).position(|part| part == b"\r\n\r\n") else { return false };
    let text = String::from_utf8_lossy(&request[..head]).to_ascii_lowercase();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length: "));
    length.is_some_and(|length| request.len() >= head + 4 + length.parse::<usize>().unwrap())
}

/// Follows the events for as long as the gateway runs.
pub(crate) fn follow(serving: &Serving) -> thread::JoinHandle<Vec<u8>> {
    let mut stream: TcpStream = serving.open_stream("/api/events");
    let mut events = vec![0; 1];
    // The answer has begun, so nothing that follows is missed.
    stream.read_exact(&mut events).unwrap();
    thread::spawn(move || {
        _ = stream.read_to_end(&mut events);
        events
    })
}

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_default()
}

fn has(text: &[u8], part: &str) -> bool {
    memchr::memmem::find(text, part.as_bytes()).is_some()
}

// RC-3
#[test]
fn no_secret_of_the_corpus_is_found_after_its_calls() {
    let (collector, traces) = receiver();
    let config = format!(
        "[telemetry]\notlp = '{collector}'\narguments = true\n\
         [servers.srv]\ncommand = \"sh\"\nargs = [\"failing.sh\"]\n"
    );
    let place =
        TestFolder::with_config(&config).file("failing.sh", FAILING).variable("RUST_LOG", "debug");
    let mut serving = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
    let events = follow(&serving);
    let call = |tool: &str, arguments: Value| {
        serving.ask("POST", &format!("/api/tools/{tool}/call"), "", &arguments.to_string())
    };
    let (secrets, harmless) = (corpus("secrets.jsonl"), corpus("harmless.jsonl"));
    for case in &secrets {
        let given = filled(&case["in"], &case["secret"]);
        let (status, answer) = call("echo", json!({"case": given}));
        // The caller gets what the tool said: only what is kept is redacted.
        assert_eq!((status, &answer["result"]["echo"]["case"]), (200, &given));
        let (_, failed) =
            call("srv__fail", json!({"text": format!("{}\nTHE END", json_text(&given))}));
        assert_eq!(failed["error_kind"], "tool_error", "{failed}");
    }
    for given in &harmless {
        assert_eq!(call("echo", json!({"harmless": given})).0, 200);
    }
    assert_eq!(serving.ask("GET", "/api/calls?limit=1000", "", "").0, 200);
    serving.signal("-TERM");
    assert_eq!(serving.child.wait().unwrap().code(), Some(0));

    let state = place.path().join("state/switchboard");
    let journal = read(&state.join("journal/00000001.log"));
    let index = ["index.db", "index.db-wal"].map(|file| read(&state.join(file))).concat();
    let (log, events) = (read(&place.path().join("log")), events.join().unwrap());
    wait_until("the traces have come", || !traces.lock().unwrap().is_empty());
    let traces = traces.lock().unwrap().clone();
    let places = [
        ("journal", &journal),
        ("index", &index),
        ("log", &log),
        ("events", &events),
        ("traces", &traces),
    ];
    for (name, text) in places {
        assert!(has(text, "[redacted]") && has(text, "srv__fail"), "nothing in the {name}");
        for case in &secrets {
            let secret = json_text(&case["secret"]);
            let escaped = Value::String(secret.clone()).to_string();
            let is_found = has(text, &secret) || has(text, escaped.trim_matches('"'));
            assert!(!is_found, "{secret} of {case} is in the {name}");
        }
    }
    for given in &harmless {
        let record = json!({"harmless": given}).to_string();
        assert!(has(&journal, &record), "{record} is not in the journal");
        assert!(has(&events, &record), "{record} is not in the events");
    }
}
