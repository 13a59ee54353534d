//! What results do not show, and who may have it (SPEC RS-5, RS-6).

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use switchboard_runtime::{ArtifactSource, artifacts::ArtifactContent};
use switchboard_testkit::Fake;
use switchboard_toolcall::{Content, Part, ToolOutput};

use crate::{TestGateway, answer};

/// A picture, and a text that is too long.
async fn with_artifacts(gateway: &TestGateway) -> (String, String) {
    let picture = Part(
        json!({"type": "image", "mimeType": "image/png", "data": STANDARD.encode(b"\x89PNG picture")})
            .as_object()
            .unwrap()
            .clone(),
    );
    let picture = Content { parts: vec![picture], fields: Default::default() };
    let tools = [
        Fake::outputs("picture", ToolOutput::Content(picture)),
        Fake::answers("long", json!("äb".repeat(100)))
            .with(|spec| spec.settings.max_output = Some(50)),
    ];
    let mut ids = Vec::new();
    for tool in tools {
        let name = switchboard_toolcall::Tool::spec(&tool).name.clone();
        gateway.executor.tools().add(tool).unwrap();
        let (status, envelope) = answer(gateway.call(&name, &json!({}))).await;
        assert_eq!(status, 200, "{envelope}");
        ids.push(envelope["artifacts"][0]["id"].as_str().unwrap().to_owned());
    }
    let long = ids.pop().unwrap();
    (ids.pop().unwrap(), long)
}

#[tokio::test]
async fn content_comes_as_what_it_is_and_can_do_nothing() {
    for gateway in [TestGateway::start().await, TestGateway::recording().await] {
        let (picture, long) = with_artifacts(&gateway).await;
        let response = gateway.get(&format!("/api/artifacts/{picture}")).send().await.unwrap();
        let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
        assert_eq!(header("content-type"), "image/png");
        assert!(header("content-disposition").starts_with("inline; filename="));
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert!(header("content-security-policy").starts_with("sandbox"));
        assert_eq!(&response.bytes().await.unwrap()[..], b"\x89PNG picture");

        let (_, text) = answer(gateway.get(&format!("/api/artifacts/{long}"))).await;
        assert_eq!(text, Value::String("äb".repeat(100)));
        let part = gateway.get(&format!("/api/artifacts/{long}?offset=1&limit=3"));
        let part = part.send().await.unwrap();
        assert_eq!(part.headers()["x-total-characters"], "200");
        assert_eq!(part.text().await.unwrap(), "bäb");

        let page = ArtifactContent { media_type: "text/html".to_owned(), bytes: "<script>".into() };
        let source = ArtifactSource { tool: "page".into(), caller: None };
        let page = gateway.executor.artifacts().put(page, source).await.unwrap();
        let page = gateway.get(&format!("/api/artifacts/{page}")).send().await.unwrap();
        assert!(page.headers()["content-disposition"].to_str().unwrap().starts_with("attachment"));
    }
}

#[tokio::test]
async fn ranges_of_bytes_are_served() {
    let gateway = TestGateway::recording().await;
    let (picture, _) = with_artifacts(&gateway).await;
    let range = |range: &'static str| {
        gateway.get(&format!("/api/artifacts/{picture}")).header("range", range)
    };
    let part = range("bytes=1-3").send().await.unwrap();
    assert_eq!(
        (part.status().as_u16(), &part.headers()["content-range"]),
        (206, &"bytes 1-3/12".parse().unwrap())
    );
    assert_eq!(part.text().await.unwrap(), "PNG");
    assert_eq!(range("bytes=99-").send().await.unwrap().status(), 416);
    assert_eq!(range("bytes=0-1,3-4").send().await.unwrap().status(), 200);
}

// GW-2, GW-5
#[tokio::test]
async fn only_those_get_it_who_may_know_of_its_call() {
    for gateway in [TestGateway::recording().await, TestGateway::start().await] {
        let (picture, long) = with_artifacts(&gateway).await;
        let status = async |id: &str, token: &String| {
            answer(gateway.get(&format!("/api/artifacts/{id}")).bearer_auth(token)).await.0
        };
        let watcher = gateway.watcher("watcher", &["long"]);
        assert_eq!((status(&picture, &watcher).await, status(&long, &watcher).await), (404, 200));
        let other = gateway.token("other", &["*"]);
        assert_eq!(status(&picture, &other).await, 404, "somebody else's");
        let (_, own) = answer(gateway.call("picture", &json!({})).bearer_auth(&other)).await;
        let own = own["artifacts"][0]["id"].as_str().unwrap();
        assert_eq!(status(own, &other).await, 200);
    }
}

#[tokio::test]
async fn what_is_not_there_or_no_text_is_told() {
    let gateway = TestGateway::recording().await;
    let (picture, _) = with_artifacts(&gateway).await;
    for (path, status, says) in [
        ("nothing".to_owned(), 404, "Nothing is kept"),
        ("..%2f..%2fetc%2fpasswd".to_owned(), 404, "Nothing is kept"),
        (format!("{picture}?offset=1"), 400, "image/png, not text"),
        (format!("{picture}?offset=-1"), 400, "offset"),
        (format!("{picture}?lines=1"), 400, "lines"),
    ] {
        let (got, body) = answer(gateway.get(&format!("/api/artifacts/{path}"))).await;
        assert_eq!(got, status, "{path}: {body}");
        assert!(body["error"].as_str().unwrap().contains(says), "{path}: {body}");
    }
}
