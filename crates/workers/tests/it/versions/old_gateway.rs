//! A gateway as 0.1.0 was.

use std::{collections::BTreeMap, time::Duration};

use futures_util::StreamExt;
use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_runtime::toolcall::{CallId, time::unix_milliseconds};
use switchboard_workers::{Bucket, Cluster, Purpose, wire};
use tokio::time::{sleep, timeout};

use crate::shared::{jobs::until, nodes::within};

/// How long a worker may be silent.
const SILENCE: Duration = Duration::from_secs(5);

/// A gateway that watches the entries of workers.
pub(super) struct OldGateway {
    cluster: Cluster,
}

/// What came of a call.
pub(super) struct OldCall {
    /// The kinds of the replies, in order.
    pub(super) replies: Vec<String>,
    pub(super) value: Value,
}

/// A worker's entry, with the fields that it had.
#[derive(Deserialize)]
struct OldPresence {
    group: String,
    tools: String,
    #[serde(default)]
    leaving: bool,
}

impl OldGateway {
    pub(super) async fn start(cluster: Cluster) -> Self {
        Self { cluster }
    }

    /// Waits until the workers of the group offer exactly these tools.
    pub(super) async fn sees(&self, group: &str, tools: &[&str]) {
        let seen = async || (self.offered(group).await == tools).then_some(());
        until("the tools are offered", seen).await;
    }

    /// Returns the tools that the entries of the group's workers lead to.
    async fn offered(&self, group: &str) -> Vec<String> {
        let (workers, tools) = (Bucket::Workers, Bucket::Tools);
        let store = self.cluster.bucket(workers).await.unwrap();
        let mut offered = Vec::new();
        for key in store.keys().await.unwrap() {
            let Some(presence) = self.read::<OldPresence>(workers, &key).await else { continue };
            if presence.leaving || presence.group != group {
                continue;
            }
            let offer = self.read::<Value>(tools, &key).await.unwrap();
            assert_eq!(offer["hash"], presence.tools);
            let names = offer["tools"].as_array().unwrap().iter();
            offered.extend(names.map(|tool| tool["name"].as_str().unwrap().to_owned()));
        }
        offered
    }

    /// Reads an entry, which must be signed.
    async fn read<T: for<'a> Deserialize<'a>>(&self, bucket: Bucket, key: &str) -> Option<T> {
        let value = self.cluster.bucket(bucket).await.unwrap().get(key).await.unwrap()?.value?;
        let opened = self.cluster.signer().open(Purpose::Entry(bucket), &[key], &value).unwrap();
        Some(wire::read("an entry", &opened.body).unwrap())
    }

    /// Calls a tool of a group, and follows the replies to the result.
    pub(super) async fn call(&self, group: &str, tool: &str, waits: bool, args: Value) -> OldCall {
        let (signer, inbox) = (self.cluster.signer(), self.cluster.new_inbox());
        let mut messages = self.cluster.subscribe(inbox.clone(), None).await.unwrap();
        let subject = self.cluster.names().calls(group, tool);
        let request = json!({"call": CallId::generate().to_string(), "tool": tool, "args": args, "waits": waits, "time_left_ms": 60_000, "wants_progress": false, "caller": "ada"});
        let request = signer.write(Purpose::Request, &[&subject, &inbox], &request).unwrap();
        self.cluster.publish(subject, Some(inbox.clone()), request).await.unwrap();
        let mut replies = Vec::new();
        loop {
            let message = timeout(SILENCE, messages.next()).await.expect("no silence").unwrap();
            assert!(!message.no_responders);
            let callers = message.reply.clone().unwrap_or_default();
            let place = [inbox.as_str(), callers.as_str()];
            let body = signer.open(Purpose::Reply, &place, &message.payload).unwrap().body;
            let reply: Value = wire::read("a reply", &body).unwrap();
            if reply == json!("alive") {
                replies.push("alive".to_owned());
                continue;
            }
            let reply: BTreeMap<String, Value> = serde_json::from_value(reply).unwrap();
            let (kind, body) = reply.into_iter().next().unwrap();
            if waits && kind == "accepted" {
                let go = signer.sign(Purpose::Word, &[&callers], &b"go"[..].into());
                self.cluster.publish(callers, None, go).await.unwrap();
            }
            replies.push(kind.clone());
            if kind == "result" {
                return OldCall { replies, value: body["answer"]["value"].clone() };
            }
        }
    }

    /// Queues a call, and waits until it has ended.
    pub(super) async fn queued(&self, group: &str, tool: &str, args: Value) -> Value {
        let (signer, call) = (self.cluster.signer(), CallId::generate().to_string());
        let subject = self.cluster.names().jobs(group, tool);
        let name = format!("{group}__{tool}");
        let request = json!({"call": call, "tool": tool, "args": args, "waits": false, "time_left_ms": u64::MAX, "wants_progress": false, "caller": "ada"});
        let job = json!({"here": {"name": name, "group": group, "may_repeat": false, "request": request}});
        let job = signer.write(Purpose::Job, &[&subject], &job).unwrap();
        let number = self.cluster.queue().publish(&subject, &call, job).await.unwrap();
        let now = unix_milliseconds();
        let state = json!({"call": call, "name": name, "group": group, "tool": tool, "caller": "ada", "state": "queued", "attempts": 0, "queued_ms": now, "changed_ms": now, "message": number, "beats": 0, "only_beats": false, "wants_cancel": false});
        let state = signer.write(Purpose::Entry(Bucket::Calls), &[&call], &state).unwrap();
        let states = self.cluster.bucket(Bucket::Calls).await.unwrap();
        // The worker may have been faster, and has written it then.
        _ = states.create(&call, state).await.unwrap();
        let ended = async {
            loop {
                let state = self.read::<Value>(Bucket::Calls, &call).await.unwrap();
                if state["state"] == "done" {
                    return state;
                }
                sleep(Duration::from_millis(50)).await;
            }
        };
        let state = within("the call has ended", ended).await;
        assert_eq!(state["attempts"], 1);
        state["ended"]["outcome"]["here"]["answer"]["value"].clone()
    }
}
