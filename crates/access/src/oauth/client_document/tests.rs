use std::{
    io::{Read, Write},
    net::TcpListener,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use super::*;

/// Serves `response` to every request. Returns the address, and counts requests.
fn serving(response: impl Fn(&str) -> String + Send + 'static) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let id = format!("http://{}/client.json", listener.local_addr().unwrap());
    let (count, own) = (Arc::new(AtomicUsize::new(0)), id.clone());
    let told = count.clone();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            told.fetch_add(1, Ordering::SeqCst);
            let mut head = [0; 4096];
            let _ = stream.read(&mut head);
            let _ = stream.write_all(response(&own).as_bytes());
        }
    });
    (id, count)
}

fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

fn document(id: &str) -> String {
    serde_json::json!({"client_id": id, "client_name": "A", "redirect_uris": ["https://a.example/cb"]}).to_string()
}

// AU-4
#[tokio::test]
async fn a_document_is_fetched_once_and_must_be_of_its_address() {
    let (id, count) = serving(|id| ok(&document(id)));
    let documents = ClientDocuments::new(true);
    for _ in 0..3 {
        let client = documents.client(&id).await.unwrap();
        assert_eq!((client.name.as_str(), client.domain().as_deref()), ("A", Some("127.0.0.1")));
    }
    assert_eq!(count.load(Ordering::SeqCst), 1);
    let (other, count) = serving(|_| ok(&document("https://other.example/client.json")));
    for _ in 0..3 {
        assert!(documents.client(&other).await.unwrap_err().description.contains("another client"));
    }
    assert_eq!(count.load(Ordering::SeqCst), 1, "failures are cached too");
}

// AU-4
#[tokio::test]
async fn a_document_that_is_large_elsewhere_or_no_document_is_refused() {
    let large = format!("{{\"x\": \"{}\"}}", "x".repeat(MOST));
    let secret = r#"{"client_id": "ID", "redirect_uris": ["https://a.example/"], "token_endpoint_auth_method": "client_secret_post"}"#;
    let cases: [(String, &str); 4] = [
        (ok(&large), "larger"),
        (ok("<html>"), "cannot be read"),
        ("HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n".to_owned(), "302"),
        (secret.to_owned(), "secret"),
    ];
    let documents = ClientDocuments::new(true);
    for (response, word) in cases {
        let (id, _) = serving(move |id| match response.starts_with("HTTP") {
            true => response.clone(),
            false => ok(&response.replace("ID", id)),
        });
        let error = documents.client(&id).await.unwrap_err();
        assert!(error.description.contains(word), "{error}");
    }
}

// AU-4
#[tokio::test]
async fn private_addresses_are_never_reached() {
    let documents = ClientDocuments::new(false);
    let (local, count) = serving(|id| ok(&document(id)));
    let port = local.split(':').nth(2).unwrap().to_owned();
    for id in [
        local.clone(),
        format!("https://127.0.0.1:{port}"),
        format!("https://[::1]:{port}"),
        format!("https://[::ffff:127.0.0.1]:{port}"),
        // Names are resolved, and what they resolve to is checked.
        format!("https://localhost:{port}"),
        "https://169.254.169.254/latest/meta-data".to_owned(),
        "https://10.0.0.1/client.json".to_owned(),
        // Other ways to write 127.0.0.1.
        format!("https://2130706433:{port}"),
        format!("https://0x7f.1:{port}"),
        format!("https://127.1:{port}"),
    ] {
        let id = if id.starts_with("http://") || id.matches('/').count() > 2 {
            id
        } else {
            format!("{id}/client.json")
        };
        let error = documents.client(&id).await.unwrap_err();
        assert_eq!(error.code, "invalid_client", "{id}");
    }
    assert_eq!(count.load(Ordering::SeqCst), 0);
}

// AU-4
#[tokio::test]
async fn only_plain_urls_are_ids() {
    let documents = ClientDocuments::new(true);
    for id in [
        "https://a.example",
        "https://a.example/",
        "https://a.example/x#y",
        "https://u:p@a.example/x",
        "https://a.example/../x",
        "https://A.example/x",
        "http://a.example/x",
        "https://",
    ] {
        assert_eq!(documents.client(id).await.unwrap_err().code, "invalid_client", "{id}");
    }
}
