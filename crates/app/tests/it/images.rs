//! Images of tools and users, and models that take none (RS-6): through `ask`, `chat` and `/v1`.

use serde_json::{Value, json};
use switchboard_testkit::{OllamaModel, OllamaServer};
use tokio::task::block_in_place;

use crate::{serving::Serving, test_folder::TestFolder};

const IMAGE: &str = "iVBORw0KGgo=";
const AUDIO: &str = "UklGRiQAAABXQVZF";

/// A server whose one tool answers text, an image and audio.
const CAMERA: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\),.*/\1/')
  say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
  case $line in
    *'"method":"initialize"'*) say '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"camera","version":"1"}}' ;;
    *'"method":"tools/list"'*) say '{"tools":[{"name":"get_weather","inputSchema":{"type":"object","properties":{"city":{"type":"string"}}}}]}' ;;
    *'"method":"tools/call"'*) say '{"content":[{"type":"text","text":"the sky:"},{"type":"image","mimeType":"image/png","data":"iVBORw0KGgo="},{"type":"audio","mimeType":"audio/wav","data":"UklGRiQAAABXQVZF"}]}' ;;
    *'"id":'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}\n' "$id" ;;
  esac
done
"#;

/// An Ollama with a model that sees and one that does not.
async fn ollama() -> OllamaServer {
    OllamaServer::start([
        OllamaModel::new("blind:latest", &["completion", "tools"]),
        OllamaModel::new("sees:latest", &["completion", "tools", "vision"]),
        OllamaModel::new("plain:latest", &["completion"]),
    ])
    .await
}

fn place(ollama: &OllamaServer, more: &str) -> TestFolder {
    let model = |name: &str| {
        let url = ollama.url();
        format!("[models.{name}]\nprovider = 'ollama'\nmodel = '{name}'\nbase_url = '{url}'\n")
    };
    let camera = "[servers.camera]\ncommand = 'sh'\nargs = ['camera.sh']\nprefix = ''\n";
    let models = ["blind", "sees", "plain"].map(model).concat();
    TestFolder::with_config(&format!("{models}{more}{camera}")).file("camera.sh", CAMERA)
}

/// Whether each chat so far was sent the image.
fn sent(ollama: &OllamaServer) -> Vec<bool> {
    ollama.chats().iter().map(|body| body.to_string().contains(IMAGE)).collect()
}

// RS-6
#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_does_not_see_reads_a_line() {
    for (more, shows) in [("", 1), ("images = false\n", 0)] {
        let ollama = ollama().await;
        // What follows the table of the last model belongs to it; here it is asked by its other name.
        let last = format!(
            "[models.last]\nprovider = 'ollama'\nmodel = 'blind'\nbase_url = '{}'\n{more}",
            ollama.url()
        );
        let place = place(&ollama, &last);
        let words = ["ask", "-m", "last", "--json", "--tools", "get_weather", "The weather?"];
        let ran = block_in_place(|| place.run(&words));
        let report = ran.json();
        assert_eq!(ran.status, 0, "{ran:?}");
        let read = report["messages"][2]["content"].as_str().unwrap();
        let line = "the sky:\n[image: image/png, 8 bytes, artifact ";
        assert!(read.starts_with(line) && read.contains("\n[audio: audio/wav, 12 bytes"), "{read}");
        assert!(!ran.stdout.contains(IMAGE) && !ran.stdout.contains(AUDIO), "{ran:?}");
        assert!(report["messages"][2].get("audio").is_none(), "{report}");
        assert_eq!(sent(&ollama), [false, false]);
        assert_eq!(ollama.chats()[1]["messages"][2]["content"], read);
        let asked = ollama.captured().iter().filter(|asked| asked.path == "/api/show").count();
        assert_eq!(asked, shows, "{more}");
        // The record does not have the image that the tool returned.
        let id = report["run_id"].as_str().unwrap();
        let again = block_in_place(|| place.run(&["runs", "rerun", id]));
        assert_eq!(again.status, 1, "{again:?}");
        assert!(again.stderr.contains("a tool returned an image"), "{again:?}");
    }
}

// RS-6, ML-5: resumed ones included.
#[tokio::test(flavor = "multi_thread")]
async fn a_chat_with_an_image_goes_on_with_any_model() {
    let ollama = ollama().await;
    let place = place(&ollama, "");
    let talk = |words: &[&str], lines: &str| {
        let words = [&["chat", "--tools", "get_weather"], words].concat();
        let ran = block_in_place(|| place.run_with_stdin(&words, lines.as_bytes()));
        assert_eq!(ran.status, 0, "{ran:?}");
        ran.stdout
    };
    talk(&["-m", "sees"], "The weather?\n");
    assert_eq!(sent(&ollama), [false, true]);
    let said = talk(&["--resume", "-m", "blind"], "Hello\nAgain\n");
    assert_eq!(said, "You said: Hello\nYou said: Again\n");
    assert_eq!(sent(&ollama), [false, true, false, false]);
    // One that sees is shown it again.
    talk(&["--resume"], "/model sees\nStill there?\n");
    assert_eq!(sent(&ollama), [false, true, false, false, true]);
}

// RS-6
#[tokio::test(flavor = "multi_thread")]
async fn clients_hear_what_became_of_their_images() {
    let ollama = ollama().await;
    let place = place(&ollama, "");
    let serving = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
    let url = format!("data:image/png;base64,{IMAGE}");
    let parts = json!([{"type": "text", "text": "What is it?"},
        {"type": "image_url", "image_url": {"url": url}}]);
    let ask = |model: &str, content: &Value, stream: bool| {
        let messages = json!([{"role": "user", "content": content}]);
        let body = json!({"model": model, "messages": messages, "stream": stream}).to_string();
        block_in_place(|| serving.ask("POST", "/v1/chat/completions", "", &body))
    };
    let (status, answer) = ask("blind", &parts, false);
    assert_eq!(status, 200, "{answer}");
    let read = "What is it?\n[image: image/png, 8 bytes, which you cannot see]";
    assert_eq!(answer["choices"][0]["message"]["content"], format!("You said: {read}"));
    let warning = "the model takes no images; it reads a line that names the image";
    assert_eq!(answer["warnings"], json!([warning]), "{answer}");
    let (status, chunks) = ask("blind", &parts, true);
    assert_eq!(status, 200, "{chunks}");
    assert!(chunks.as_str().unwrap().contains(&format!(r#""warnings":["{warning}"]"#)), "{chunks}");
    let (status, answer) = ask("sees", &parts, false);
    assert_eq!((status, answer.get("warnings")), (200, None), "{answer}");
    assert_eq!(sent(&ollama), [false, false, true]);
    // Without its image it would be another question.
    let rows = block_in_place(|| place.run(&["runs", "rerun", "--since", "1h", "--json"])).json();
    assert_eq!(rows.as_array().unwrap().len(), 3, "{rows}");
    for row in rows.as_array().unwrap() {
        let error = row["after"]["error"].as_str().unwrap();
        assert!(error.starts_with("what was asked has an image"), "{rows}");
    }
    // What the provider does not take is no failure that passes.
    for stream in [false, true] {
        let (status, answer) = ask("plain", &json!("Hi"), stream);
        assert_eq!((status, &answer["error"]["code"]), (400, &json!("provider_rejected")));
        let text = answer["error"]["message"].as_str().unwrap();
        assert!(text.contains("does not support tools"), "{answer}");
    }
}
