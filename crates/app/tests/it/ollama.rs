//! The steps of the test with a real Ollama, with one made of code: they pass where they should, and fail where they should.
//! Then what an Ollama refuses, and what is said of it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::json;
use switchboard_testkit::{OllamaModel, OllamaServer, ProviderServer, Reply};
use tokio::task::block_in_place;

use crate::{
    fixture::wait_until,
    test_folder::{CommandOutput, TestFolder},
};

#[path = "../ollama/steps.rs"]
mod steps;

async fn server() -> OllamaServer {
    OllamaServer::start([
        OllamaModel::new("home:latest", &["completion", "tools"]),
        OllamaModel::new("plain:latest", &["completion"]),
    ])
    .await
}

// ML-1, ML-4, ML-8
#[tokio::test(flavor = "multi_thread")]
async fn an_ollama_is_asked_in_every_way() {
    let server = server().await;
    let ollama = steps::Ollama { url: server.url(), model: "home".to_owned() };
    block_in_place(|| {
        ollama.all();
        // Ctrl-C, and a client of `/v1` that hangs up: Ollama hears of both.
        wait_until("both requests are abandoned", || server.abandoned() == 2);
    });
    let fails = |model: &str| {
        let ollama = steps::Ollama { url: server.url(), model: model.to_owned() };
        block_in_place(|| catch_unwind(AssertUnwindSafe(|| ollama.all())).is_err())
    };
    assert!(fails("missing"), "a model that is not there");
    assert!(fails("plain"), "a model that cannot call tools");
}

/// Runs the program with the model `m` of the config.
async fn run(server: &OllamaServer, model: &str, more: &str, words: &[&str]) -> CommandOutput {
    let config = format!(
        "[models.m]\nprovider = 'ollama'\nmodel = '{model}'\nbase_url = '{}'\n{more}",
        server.url()
    );
    block_in_place(|| TestFolder::with_config(&config).run(words))
}

// ML-10: what cannot be asked is told before it is asked.
#[tokio::test(flavor = "multi_thread")]
async fn doctor_knows_which_models_cannot_call_tools() {
    let server = server().await;
    let ran = run(&server, "plain", "", &["doctor", "--json"]).await;
    let report = ran.json();
    assert_eq!((ran.status, &report["ok"]), (1, &json!(false)), "{ran:?}");
    let problem = report["models"][0]["problem"].as_str().unwrap_or_default();
    assert!(problem.starts_with("plain cannot call tools, and is offered "), "{problem}");
    assert!(problem.ends_with("; choose another model, or set `tools = []` for it"), "{problem}");
    for (model, more) in [("plain", "tools = []"), ("home", "")] {
        let ran = run(&server, model, more, &["doctor", "--json"]).await;
        assert_eq!(ran.json()["ok"], true, "{ran:?}");
    }
    // Builds that list no capabilities tell them of one model.
    let tags = Reply::json(200, &json!({"models": [{"name": "old:latest"}]}));
    let show = Reply::json(200, &json!({"capabilities": ["completion"]}));
    let old = ProviderServer::start([tags, show]).await;
    let config =
        format!("[models.m]\nprovider = 'ollama'\nmodel = 'old'\nbase_url = '{}'\n", old.url());
    let ran = block_in_place(|| TestFolder::with_config(&config).run(&["doctor"]));
    assert!(ran.stdout.contains("old cannot call tools"), "{ran:?}");
}

// ML-7: what happened, in the words that count, and what to do about it.
#[tokio::test(flavor = "multi_thread")]
async fn hints_fit_what_happened() {
    let server = server().await;
    let long = "word ".repeat(4_000);
    let ask = async |model: &str, more: &str, words: &[&str]| {
        let ran = run(&server, model, more, &[&["ask"], words].concat()).await;
        (ran.status, ran.stderr)
    };
    let (status, says) = ask("home", "num_ctx = 2048", &["--tools", "", &long]).await;
    assert_eq!(status, 1, "{says}");
    assert!(says.contains("ollama answered 400: request ("), "{says}");
    assert!(says.contains("set a larger `num_ctx`") && !says.contains("tools"), "{says}");
    let (_, says) = ask("home", "num_ctx = 2048", &["--tools", "echo", &long]).await;
    assert!(says.contains("offer fewer tools (--tools), or set a larger `num_ctx`"), "{says}");
    let (_, says) = ask("plain", "think = true", &["--tools", "", "Hi"]).await;
    assert!(says.contains("does not support thinking; leave `think` out"), "{says}");
    let (_, says) = ask("plain", "", &["Hi"]).await;
    assert!(says.contains("does not support tools; choose another model"), "{says}");
    let (status, says) = ask("home", "max_tokens = 2", &["--tools", "", "one two three"]).await;
    assert_eq!((status, says.contains("`max_tokens` of the model sets it")), (0, true), "{says}");
}

// ML-7
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_cut_by_its_context_does_not_blame_max_tokens() {
    let cut = json!({"message": {"role": "assistant", "content": "Half"}, "done": true,
        "done_reason": "length", "prompt_eval_count": 2000, "eval_count": 48});
    let server = ProviderServer::start([Reply::lines(&[cut.to_string()])]).await;
    let model = format!("ollama:m@{}", server.url());
    let ran = block_in_place(|| TestFolder::new().run(&["ask", "--tools", "", "-m", &model, "?"]));
    assert_eq!((ran.status, &*ran.stdout), (0, "Half\n"), "{ran:?}");
    let says =
        "the answer was cut: the model's context is full; `num_ctx` of the model sets its size";
    assert!(ran.stderr.contains(says) && !ran.stderr.contains("max_tokens"), "{ran:?}");
}

// ML-7: a killed runner reports its error after HTTP 200; the turn is retried if nothing was shown yet.
#[tokio::test(flavor = "multi_thread")]
async fn an_error_in_a_stream_is_retried_if_nothing_was_shown() {
    let half =
        json!({"message": {"role": "assistant", "content": "Ha"}, "done": false}).to_string();
    let error = json!({"error": "llama runner process has terminated: signal: killed"}).to_string();
    let whole =
        json!({"message": {"role": "assistant", "content": "Whole."}, "done": true}).to_string();
    for (form, status) in [("--json", 0), ("--stream", 1)] {
        let replies = [Reply::lines(&[&half, &error]), Reply::lines(&[&whole])];
        let server = ProviderServer::start(replies).await;
        let model = format!("ollama:m@{}", server.url());
        let ran = block_in_place(|| TestFolder::new().run(&["ask", form, "-m", &model, "?"]));
        assert_eq!(ran.status, status, "{ran:?}");
        assert_eq!(server.captured().len(), 2 - usize::try_from(status).unwrap(), "{ran:?}");
        assert!(server.captured().iter().all(|asked| asked.body["stream"] == true));
    }
}
