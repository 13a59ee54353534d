//! What a log store receives of a journal.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use opentelemetry_proto::tonic::{
    collector::logs::v1::ExportLogsPartialSuccess, common::v1::any_value,
};
use serde_json::{Value, json};
use switchboard_audit::{Filter, Reader, ShippingTask, Store, ship_once};
use switchboard_runtime::ToolExecutor;
use switchboard_testkit::{Fake, Logs};
use switchboard_toolcall::{CallContext, CallId, ToolCall};
use tempfile::TempDir;
use tokio::sync::watch;
use tracing::Level;

use super::*;

/// A request as it came: its head, and its log records.
type Received = (String, Vec<LogRecord>);
/// Decides what a request is answered with.
type Answer = dyn Fn(&[LogRecord]) -> (&'static str, Vec<u8>) + Send + Sync;

/// A log store that keeps what it is sent.
struct FakeStore {
    url: String,
    received: watch::Sender<Vec<Received>>,
}

impl FakeStore {
    fn start(
        answer: impl Fn(&[LogRecord]) -> (&'static str, Vec<u8>) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let received = watch::Sender::<Vec<Received>>::default();
        let (answer, sender): (Arc<Answer>, _) = (Arc::new(answer), received.clone());
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (answer, sender) = (answer.clone(), sender.clone());
                thread::spawn(move || serve(stream, &*answer, &sender));
            }
        });
        Self { url, received }
    }

    fn log(&self) -> RecordLog {
        log(&self.url)
    }

    /// The ids of the records that it has taken.
    fn ids(&self) -> Vec<String> {
        self.received
            .borrow()
            .iter()
            .flat_map(|(_, records)| records.iter().map(log_record::uid))
            .collect()
    }
}

fn log(url: &str) -> RecordLog {
    let headers = [("authorization".to_owned(), "Bearer sesame".to_owned())].into();
    let config = Config { otlp: Some(url.to_owned()), records: true, headers, ..Config::default() };
    RecordLog::new(&config).unwrap().unwrap()
}

/// Serves the requests of a connection; those that are answered with 200 are kept.
fn serve(mut stream: TcpStream, answer: &Answer, received: &watch::Sender<Vec<Received>>) {
    let mut bytes = Vec::new();
    let mut buffer = [0; 1 << 16];
    loop {
        let head = bytes.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4);
        if let Some(at) = head {
            let text = String::from_utf8_lossy(&bytes[..at]).to_lowercase();
            let length = text.lines().find_map(|line| line.strip_prefix("content-length: "));
            let end = at + length.unwrap().parse::<usize>().unwrap();
            if bytes.len() >= end {
                let request = ExportLogsServiceRequest::decode(&bytes[at..end]).unwrap();
                let logs = request.resource_logs.into_iter().flat_map(|logs| logs.scope_logs);
                let records: Vec<_> = logs.flat_map(|logs| logs.log_records).collect();
                let (status, body) = answer(&records);
                if status.starts_with("200") {
                    received.send_modify(|all| all.push((text, records)));
                }
                let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n", body.len());
                stream.write_all(&[head.as_bytes(), &body].concat()).unwrap();
                bytes.drain(..end);
                continue;
            }
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return,
            Ok(read) => bytes.extend_from_slice(&buffer[..read]),
        }
    }
}

async fn call(folder: &TempDir, tool: &str, args: Value) -> CallId {
    let store = Arc::new(Store::open(Default::default(), folder.path()));
    let executor = ToolExecutor::builder().store(store.clone()).artifacts(store).build();
    executor.tools().add(Fake::echoes("echo")).unwrap();
    let call = ToolCall::new(tool, args.as_object().cloned().unwrap());
    let mut context = CallContext::for_caller("ada");
    context.conversation = Some("weekend".into());
    executor.execute(call, &context).await.call_id
}

fn attribute(record: &LogRecord, key: &str) -> Option<String> {
    let found = record.attributes.iter().find(|attribute| attribute.key == key)?;
    match found.value.as_ref()?.value.as_ref()? {
        any_value::Value::StringValue(text) => Some(text.clone()),
        other => Some(format!("{other:?}")),
    }
}

// RC-1, RC-3: as the journal has it, without its secrets.
#[tokio::test]
async fn a_record_is_sent_as_the_journal_has_it() {
    let folder = TempDir::new().unwrap();
    let secret = "sk-ant-api03-0123456789abcdefghijklmnopqrstuvwxyz";
    let id = call(&folder, "echo", json!({"text": "hi", "api_key": secret})).await;
    let failed = call(&folder, "nobody", json!({})).await;
    let store = FakeStore::start(|_| ("200 OK", Vec::new()));
    ship_once(store.log(), folder.path().to_owned()).await.unwrap();
    assert_eq!(store.ids(), [id.to_string(), failed.to_string()]);
    let received = store.received.borrow().clone();
    let (head, records) = &received[0];
    assert!(head.starts_with("post /v1/logs "), "{head}");
    assert!(head.contains("authorization: bearer sesame") && head.contains("x-protobuf"), "{head}");
    let expect = [
        ("gen_ai.operation.name", "execute_tool"),
        ("gen_ai.tool.name", "echo"),
        ("gen_ai.tool.call.id", &id.to_string()),
        ("gen_ai.conversation.id", "weekend"),
        ("switchboard.caller", "ada"),
        ("switchboard.outcome", "ok"),
        ("log.record.uid", &id.to_string()),
    ];
    for (key, value) in expect {
        assert_eq!(attribute(&records[0], key).as_deref(), Some(value), "{key}");
    }
    assert_eq!(attribute(&records[0], "error.type"), None);
    assert_eq!(attribute(&records[1], "error.type").as_deref(), Some("not_found"));
    assert_eq!((records[0].severity_text.as_str(), records[1].severity_number), ("INFO", 17));
    assert_eq!(records[0].event_name, "switchboard.call");
    let Some(any_value::Value::StringValue(body)) = records[0].body.clone().unwrap().value else {
        panic!("{:?}", records[0].body)
    };
    assert!(!body.contains(secret), "{body}");
    let mut body: Value = serde_json::from_str(&body).unwrap();
    assert!(body.as_object_mut().unwrap().remove("node").unwrap()["id"].is_string());
    let mut reader = Reader::open(folder.path()).unwrap();
    let shown = serde_json::to_value(reader.show(id).unwrap().unwrap()).unwrap();
    assert_eq!(body, shown);
    assert_eq!(reader.list(&Filter::default()).unwrap().len(), 2);
}

// RC-1
#[tokio::test]
async fn what_a_store_does_not_take_for_now_is_sent_again() {
    let folder = TempDir::new().unwrap();
    let first = call(&folder, "echo", json!({})).await;
    let answers = Mutex::new(vec!["503 Service Unavailable", "401 Unauthorized"]);
    let store =
        FakeStore::start(move |_| (answers.lock().unwrap().pop().unwrap_or("200 OK"), Vec::new()));
    let refused = ship_once(store.log(), folder.path().to_owned()).await.unwrap_err();
    assert!(refused.to_string().contains("it answered 401"), "{refused}");
    let task = ShippingTask::start(store.log(), folder.path().to_owned());
    let mut received = store.received.subscribe();
    received.wait_for(|received| !received.is_empty()).await.unwrap();
    let second = call(&folder, "echo", json!({})).await;
    task.finish(Duration::from_secs(60)).await;
    assert_eq!(store.ids(), [first.to_string(), second.to_string()]);
    // Nobody is there: it is said, and nothing is forgotten.
    let third = call(&folder, "echo", json!({})).await;
    assert!(ship_once(log("http://127.0.0.1:1"), folder.path().to_owned()).await.is_err());
    ship_once(store.log(), folder.path().to_owned()).await.unwrap();
    assert_eq!(store.ids()[2..], [third.to_string()]);
}

// RC-1
#[tokio::test]
async fn a_record_that_a_store_refuses_keeps_back_no_other() {
    let logs = Logs::collect(Level::WARN);
    let folder = TempDir::new().unwrap();
    let mut ids = Vec::new();
    for number in 0..7 {
        let tool = if number == 4 { "bad" } else { "echo" };
        ids.push(call(&folder, tool, json!({})).await.to_string());
    }
    let is_bad =
        |record: &LogRecord| attribute(record, "gen_ai.tool.name").as_deref() == Some("bad");
    let store = FakeStore::start(move |records| match records.iter().any(is_bad) {
        true => ("400 Bad Request", b"no such tool".to_vec()),
        false => ("200 OK", Vec::new()),
    });
    ship_once(store.log(), folder.path().to_owned()).await.unwrap();
    let bad = ids.remove(4);
    assert_eq!(store.ids(), ids);
    let lines = logs.lines().join("\n");
    assert!(lines.contains(&bad) && lines.contains("no such tool"), "{lines}");
}

// RC-1
#[tokio::test]
async fn what_a_store_drops_itself_is_said() {
    let logs = Logs::collect(Level::WARN);
    let folder = TempDir::new().unwrap();
    call(&folder, "echo", json!({})).await;
    let partial =
        ExportLogsPartialSuccess { rejected_log_records: 1, error_message: "too old".to_owned() };
    let answer = ExportLogsServiceResponse { partial_success: Some(partial) }.encode_to_vec();
    let store = FakeStore::start(move |_| ("200 OK", answer.clone()));
    ship_once(store.log(), folder.path().to_owned()).await.unwrap();
    assert_eq!(store.ids().len(), 1, "not sent again");
    let lines = logs.lines().join("\n");
    assert!(lines.contains("rejected 1 records") && lines.contains("too old"), "{lines}");
}

// RC-1
#[tokio::test]
async fn many_large_records_are_several_requests() {
    let folder = TempDir::new().unwrap();
    let text = "long ".repeat(40_000);
    let mut ids = Vec::new();
    for _ in 0..12 {
        ids.push(call(&folder, "echo", json!({"text": text})).await.to_string());
    }
    ids.push(call(&folder, "echo", json!({"text": text.repeat(3)})).await.to_string());
    let store = FakeStore::start(|_| ("200 OK", Vec::new()));
    ship_once(store.log(), folder.path().to_owned()).await.unwrap();
    assert_eq!(store.ids(), ids);
    let received = store.received.borrow();
    let sizes = received.iter().map(|(_, records)| records.iter().map(Message::encoded_len).sum());
    assert!(received.len() > 1 && sizes.max().is_some_and(|size: usize| size <= REQUEST));
    // What is too long for a record is a note.
    let last = received.last().unwrap().1.last().unwrap().encoded_len();
    assert!(last < 20_000, "{last}");
}

#[test]
fn records_are_sent_only_if_that_is_wanted() {
    let otlp = Some("http://127.0.0.1:4318".to_owned());
    let is_some = |config: &Config| RecordLog::new(config).unwrap().is_some();
    assert!(!is_some(&Config { otlp: otlp.clone(), ..Config::default() }));
    assert!(!is_some(&Config { records: true, ..Config::default() }));
    assert!(is_some(&Config { otlp, records: true, ..Config::default() }));
    let wrong = Config { otlp: Some("x".to_owned()), records: true, ..Config::default() };
    assert!(RecordLog::new(&wrong).is_err());
}
