//! Connections: kept, made, redirected, refused.

use std::time::Duration;

use switchboard_mcp_client::{HttpConfig, HttpTransport, Proxies, Transport};
use switchboard_mcp_wire::Era;
use tokio::{
    net::{TcpListener, TcpStream},
    time::timeout,
};

use super::{
    client::{RecordingInbox, call, client, config, told},
    server::Server,
};

const OK: &str = r#"{"jsonrpc":"2.0","id":2,"result":{"ok":true}}"#;

async fn call_at(config: &HttpConfig) -> String {
    let client =
        HttpTransport::new("docs", config, std::sync::Arc::new(RecordingInbox::default())).unwrap();
    told(client.request(call(2)).await)
}

// MC-1
#[tokio::test]
async fn a_proxy_forwards_plain_http_that_names_the_server() {
    let mut proxy = Server::start().await;
    let proxies = proxy.url.replace("http://", "http://ada:x@");
    let config = HttpConfig {
        proxies: Proxies::all(&proxies, "direct.example"),
        ..config("http://tools.example:81/mcp?a=b")
    };
    let (told, ()) = tokio::join!(call_at(&config), async {
        let asked = proxy.next().await;
        assert_eq!(asked.line(), "POST http://tools.example:81/mcp?a=b HTTP/1.1");
        assert_eq!(asked.header("host"), Some("tools.example:81"));
        assert_eq!(asked.header("proxy-authorization"), Some("Basic YWRhOng="));
        asked.json("200 OK", OK).await;
    });
    assert_eq!(told, r#"{"ok":true}"#);
}

/// Waits until this thread's event loop has seen what arrived before: it reports a new connection no earlier. While the second
/// one is waited for, the tasks run that the first one's turn has woken.
async fn what_arrived_is_handled() {
    for _ in 0..2 {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (made, accepted) = tokio::join!(TcpStream::connect(address), listener.accept());
        made.and(accepted).unwrap();
    }
}

// MC-1
#[tokio::test]
async fn one_connection_serves_many_requests() {
    let mut server = Server::start().await;
    let (client, _) = client(&server, Some(Era::Modern));
    for _ in 0..3 {
        let (_, ()) = tokio::join!(client.request(call(2)), async {
            let asked = server.next().await;
            assert_eq!(asked.connection, 0);
            asked.json("200 OK", OK).await;
        });
        let (_, ()) = tokio::join!(client.request(call(2)), async {
            let asked = server.next().await;
            assert_eq!(asked.connection, 0);
            let mut stream = asked.stream("").await;
            stream.message(OK).await;
            tokio::task::yield_now().await;
            stream.end().await;
        });
        // The end of the stream.
        what_arrived_is_handled().await;
        let (_, ()) = tokio::join!(client.notify("n", None), async {
            let asked = server.next().await;
            assert_eq!(asked.connection, 0);
            asked.accept().await;
        });
    }
}

// MC-6: a server may close a connection that nobody uses, and is called again.
#[tokio::test]
async fn a_connection_that_was_closed_is_replaced() {
    let mut server = Server::start().await;
    let (client, _) = client(&server, Some(Era::Modern));
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{OK}",
        OK.len()
    );
    for connection in 0..3 {
        let (result, ()) = tokio::join!(client.request(call(2)), async {
            let asked = server.next().await;
            assert_eq!(asked.connection, connection);
            asked.raw_and_close(&answer).await;
        });
        assert_eq!(told(result), r#"{"ok":true}"#);
        what_arrived_is_handled().await;
    }
}

// MC-1: many at once, each on its own connection, each with its own answer.
#[tokio::test]
async fn requests_do_not_wait_for_each_other() {
    let mut server = Server::start().await;
    let (client, _) = client(&server, Some(Era::Modern));
    let asking = (1..=20).map(|id| {
        let client = client.clone();
        tokio::spawn(async move { told(client.request(call(id)).await) })
    });
    let asking: Vec<_> = asking.collect();
    let mut asked = Vec::new();
    for _ in 0..20 {
        asked.push(server.next().await);
    }
    // The last is answered first.
    while let Some(asked) = asked.pop() {
        let message: serde_json::Value = serde_json::from_str(&asked.body).unwrap();
        let id = &message["id"];
        asked.json("200 OK", &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{id}}}"#)).await;
    }
    for (id, asking) in (1..=20).zip(asking) {
        assert_eq!(asking.await.unwrap(), id.to_string());
    }
}

// MC-1: the session and the credentials are for one server alone.
#[tokio::test]
async fn redirects_are_followed_on_the_same_server_only() {
    let mut server = Server::start().await;
    let mut other = Server::start().await;
    let (client, _) = client(&server, Some(Era::Modern));
    let (result, ()) = tokio::join!(client.request(call(2)), async {
        server.next().await.answer("307 Temporary Redirect", "location: /mcp/\r\n", "").await;
        let asked = server.next().await;
        assert_eq!(asked.line(), "POST /mcp/ HTTP/1.1");
        assert_eq!(asked.body, r#"{"jsonrpc":"2.0","id":2,"method":"tools/call"}"#);
        asked.json("200 OK", OK).await;
    });
    assert_eq!(told(result), r#"{"ok":true}"#);

    let there = format!("location: {}\r\n", other.url);
    let (result, ()) = tokio::join!(client.request(call(2)), async {
        server.next().await.answer("308 Permanent Redirect", &there, "").await;
    });
    assert_eq!(told(result), format!("Http 308 redirected to {}", other.url));
    other.expect_silence().await;

    // A POST never becomes a GET, and no circle is followed for ever.
    let (result, ()) = tokio::join!(client.request(call(2)), async {
        server.next().await.answer("302 Found", "location: /mcp/\r\n", "").await;
    });
    assert_eq!(told(result), "Http 302 redirected to /mcp/");
    let (result, ()) = tokio::join!(client.request(call(2)), async {
        for _ in 0..4 {
            server.next().await.answer("307 Temporary Redirect", "location: /mcp\r\n", "").await;
        }
    });
    assert_eq!(told(result), "Http 307 redirected to /mcp");
}

// MC-2: why there is no connection, in words.
#[tokio::test]
async fn a_connection_that_cannot_be_made_says_why() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    assert_eq!(call_at(&config(&format!("http://{address}/mcp"))).await, "Lost connection refused");
    let unknown = call_at(&config("http://nowhere.invalid/mcp")).await;
    assert!(unknown.starts_with("Lost no address found: "), "{unknown}");

    // A server that takes connections and says nothing: TLS never stands.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/mcp", listener.local_addr().unwrap());
    let limit = Duration::from_millis(200);
    let silent = call_at(&HttpConfig { connect_timeout: limit, ..config(&url) }).await;
    assert_eq!(silent, "Lost no connection within 0.2 s");
}

// MC-2
#[tokio::test]
async fn a_server_of_another_kind_is_told_apart() {
    for (scheme, said, expected) in [
        ("https", "HTTP/1.1 400 Bad Request\r\n\r\n", "Lost TLS failed: "),
        ("http", "SSH-2.0-OpenSSH_9.6\r\n", "Lost the server does not speak HTTP: "),
        ("http", "", "Lost the server closed the connection before it answered"),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("{scheme}://{}/mcp", listener.local_addr().unwrap());
        let serve = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut start = [0; 16];
            tokio::io::AsyncReadExt::read_exact(&mut stream, &mut start).await.unwrap();
            tokio::io::AsyncWriteExt::write_all(&mut stream, said.as_bytes()).await.unwrap();
            tokio::io::AsyncWriteExt::shutdown(&mut stream).await.unwrap();
            // Kept until the client has read it: closing with unread bytes would reset the connection.
            let mut rest = Vec::new();
            let _ = tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut rest).await;
        };
        let (told, ()) = tokio::join!(call_at_once(&url), serve);
        assert!(told.starts_with(expected), "{told}");
    }
}

/// The client is gone when this returns, and its connections with it.
async fn call_at_once(url: &str) -> String {
    call_at(&config(url)).await
}

// MC-6: there is no connection to lose.
#[tokio::test]
async fn it_is_never_lost() {
    let server = Server::start().await;
    let (client, _) = client(&server, Some(Era::Modern));
    assert!(timeout(Duration::from_millis(50), client.lost()).await.is_err());
}

// MC-2: settings of no use are told before anything is tried, without their secrets.
#[test]
fn settings_are_checked() {
    let check = |url: &str, headers: &[(&str, &str)]| {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let config = HttpConfig { headers: headers.collect(), ..config(url) };
        let made =
            HttpTransport::new("docs", &config, std::sync::Arc::new(RecordingInbox::default()));
        made.err().map_or_else(String::new, |error| error.to_string())
    };
    let not_http = "`url` is not an http or https address";
    assert_eq!(check("ftp://host/x", &[]), format!("{not_http}: its scheme is `ftp`"));
    assert_eq!(check("localhost/mcp", &[]), format!("{not_http}: relative URL without a base"));
    let refused = "header `Authorization` has a name or a value that cannot be sent";
    assert_eq!(check("http://host/", &[("Authorization", "Bearer a\nb")]), refused);
    assert_eq!(check("http://host/", &[("Authorization", "Bearer a")]), "");
}
