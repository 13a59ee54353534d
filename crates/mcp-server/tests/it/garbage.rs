//! Whatever comes in, it is answered or ended, and nothing panics.

use http::Method;
use proptest::{collection::vec, prelude::*, test_runner::Config as Runs};
use serde_json::{Value, json};
use switchboard_mcp_server::{Config, McpCaller};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::test_server::{TestResponse, TestServer};

/// JSON of any shape, with the words of the protocol among its strings.
fn any_json() -> impl Strategy<Value = Value> {
    let words = vec![
        "2.0",
        "2026-07-28",
        "2025-11-25",
        "ping",
        "initialize",
        "tools/call",
        "tools/list",
        "server/discover",
        "say",
        "notifications/cancelled",
        "",
        "\u{0}",
        "é",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        prop::sample::select(words).prop_map(Value::from),
    ];
    let keys = vec![
        "jsonrpc",
        "id",
        "method",
        "params",
        "result",
        "error",
        "_meta",
        "name",
        "arguments",
        "cursor",
        "requestId",
        "requestState",
        "inputResponses",
        "progressToken",
        "notifications",
        "io.modelcontextprotocol/protocolVersion",
        "io.modelcontextprotocol/clientCapabilities",
    ];
    leaf.prop_recursive(4, 40, 6, move |inner| {
        let key = prop::sample::select(keys.clone());
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((key, inner), 0..6).prop_map(|pairs| {
                Value::Object(
                    pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
                )
            }),
        ]
    })
}

/// A message that is nearly right.
fn nearly() -> impl Strategy<Value = Value> {
    let methods = vec![
        "ping",
        "initialize",
        "tools/call",
        "tools/list",
        "server/discover",
        "prompts/get",
        "notifications/cancelled",
        "logging/setLevel",
        "resources/read",
        "nonsense",
    ];
    (prop::sample::select(methods), any_json(), any_json()).prop_map(|(method, id, params)| {
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
    })
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        vec(any::<u8>(), 0..200),
        any_json().prop_map(|value| value.to_string().into_bytes()),
        nearly().prop_map(|value| value.to_string().into_bytes()),
        (nearly(), any::<prop::sample::Index>()).prop_map(|(value, end)| {
            let text = value.to_string();
            text.as_bytes()[..end.index(text.len())].to_vec()
        }),
    ]
}

fn headers() -> impl Strategy<Value = Vec<(&'static str, String)>> {
    let names = vec![
        "content-type",
        "accept",
        "mcp-session-id",
        "mcp-protocol-version",
        "mcp-method",
        "mcp-name",
        "last-event-id",
    ];
    let values = prop_oneof![
        prop::sample::select(vec![
            "application/json",
            "text/event-stream",
            "2026-07-28",
            "2025-11-25",
            "tools/call",
            "server/discover",
            "1-1",
            "18446744073709551615-18446744073709551615",
            "=?base64?c2F5?=",
        ])
        .prop_map(str::to_owned),
        "[ -~]{0,20}",
    ];
    vec((prop::sample::select(names), values), 0..5)
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap()
}

proptest! {
    #![proptest_config(Runs::with_cases(300))]

    // GW-4, EX-1
    #[test]
    fn http_always_answers(body in body(), mut headers in headers(), in_session in any::<bool>()) {
        runtime().block_on(async {
            let test = TestServer::new();
            let session = test.session().await;
            if in_session {
                headers.push(("mcp-session-id", session));
            }
            let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
            for method in [Method::POST, Method::GET, Method::DELETE] {
                let response = test.send(method.clone(), &headers, body.clone(), &McpCaller::default()).await;
                let status = response.status();
                // A stream that was opened as one has no end.
                if method == Method::POST {
                    let answer = TestResponse::of(response).await;
                    let refused = status.is_client_error();
                    prop_assert!(status.is_success() || refused, "{}", status);
                    if refused && status.as_u16() != 405 {
                        prop_assert!(answer.last()["error"]["code"].is_number(), "{:?}", answer);
                    }
                }
            }
            Ok(())
        })?;
    }

    // GW-4, EX-1
    #[test]
    fn a_pipe_always_goes_on(lines in vec(body(), 0..5)) {
        runtime().block_on(async {
            let test = TestServer::with(Config::default());
            let (mut ours, theirs) = tokio::io::duplex(1 << 20);
            let (input, output) = tokio::io::split(theirs);
            let served = test.server.serve_stdio(input, output, McpCaller::default());
            let talk = async {
                for line in &lines {
                    let line: Vec<u8> = line.iter().map(|byte| if *byte == b'\n' { b' ' } else { *byte }).collect();
                    ours.write_all(&line).await.unwrap();
                    ours.write_all(b"\n").await.unwrap();
                }
                ours.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":\"last\",\"method\":\"nobody/home\"}\n").await.unwrap();
                ours.shutdown().await.unwrap();
                let mut said = String::new();
                ours.read_to_string(&mut said).await.unwrap();
                said
            };
            let (served, said) = tokio::join!(served, talk);
            prop_assert!(served.is_ok());
            let last = said.lines().any(|line| {
                serde_json::from_str::<Value>(line).is_ok_and(|message| message["id"] == "last")
            });
            prop_assert!(last, "{}", said);
            Ok(())
        })?;
    }
}
