//! `ask` over each provider's wire, against a provider that says what it is told to.

use serde_json::{Value, json};
use switchboard_testkit::{ProviderServer, Reply};

use crate::test_folder::{CommandOutput, TestFolder};

/// A call of `math_eval`, and then an answer, as each provider streams them.
fn replies(provider: &str) -> [Reply; 2] {
    let events = |events: &[Value]| {
        let events: Vec<_> = events.iter().map(ToString::to_string).collect();
        Reply::events(&events).in_pieces(7)
    };
    let lines = |lines: &[Value]| {
        let lines: Vec<_> = lines.iter().map(ToString::to_string).collect();
        Reply::lines(&lines).in_pieces(7)
    };
    let arguments = r#"{"expression":"2+2"}"#;
    match provider {
        "openai" => {
            let call = json!([{"index": 0, "id": "c1", "function": {"name": "math_eval", "arguments": arguments}}]);
            let usage = json!({"prompt_tokens": 10, "completion_tokens": 5});
            [
                events(&[
                    json!({"choices": [{"index": 0, "delta": {"tool_calls": call}}]}),
                    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
                    json!({"choices": [], "usage": usage}),
                ]),
                events(&[
                    json!({"choices": [{"index": 0, "delta": {"content": "It is 4."}, "finish_reason": "stop"}]}),
                    json!({"choices": [], "usage": usage}),
                ]),
            ]
        }
        "openai-responses" => {
            let call = json!({"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "math_eval", "arguments": arguments});
            let usage = json!({"input_tokens": 10, "output_tokens": 5});
            let end = json!({"type": "response.completed", "response": {"status": "completed", "usage": usage}});
            [
                events(&[
                    json!({"type": "response.output_item.done", "output_index": 0, "item": call}),
                    end.clone(),
                ]),
                events(&[
                    json!({"type": "response.output_text.delta", "output_index": 0, "delta": "It is 4."}),
                    end,
                ]),
            ]
        }
        "anthropic" => {
            let begin = json!({"type": "message_start", "message": {"usage": {"input_tokens": 10, "output_tokens": 1}}});
            let end = |reason: &str| json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 5}});
            let stop = json!({"type": "message_stop"});
            let block = json!({"type": "tool_use", "id": "c1", "name": "math_eval", "input": {}});
            let delta = json!({"type": "input_json_delta", "partial_json": arguments});
            let text = json!({"type": "text_delta", "text": "It is 4."});
            [
                events(&[
                    begin.clone(),
                    json!({"type": "content_block_start", "index": 0, "content_block": block}),
                    json!({"type": "content_block_delta", "index": 0, "delta": delta}),
                    json!({"type": "content_block_stop", "index": 0}),
                    end("tool_use"),
                    stop.clone(),
                ]),
                events(&[
                    begin,
                    json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
                    json!({"type": "content_block_delta", "index": 0, "delta": text}),
                    json!({"type": "content_block_stop", "index": 0}),
                    end("end_turn"),
                    stop,
                ]),
            ]
        }
        _ => {
            let call =
                json!([{"function": {"name": "math_eval", "arguments": {"expression": "2+2"}}}]);
            let end = json!({"message": {"content": ""}, "done": true, "done_reason": "stop", "prompt_eval_count": 10, "eval_count": 5});
            [
                lines(&[
                    json!({"message": {"content": "", "tool_calls": call}, "done": false}),
                    end.clone(),
                ]),
                lines(&[json!({"message": {"content": "It is 4."}, "done": false}), end]),
            ]
        }
    }
}

/// The models that an Ollama lists.
fn tags(models: Value) -> Reply {
    Reply::json(200, &json!({"models": models}))
}

/// Runs the binary while the server's tasks go on.
fn run(place: &TestFolder, words: &[&str]) -> CommandOutput {
    tokio::task::block_in_place(|| place.run(words))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_provider_makes_a_call_and_answers() {
    // ML-1, ML-8, ML-10
    for (provider, path) in
        [("openai", "/v1"), ("openai-responses", "/v1"), ("anthropic", ""), ("ollama", "")]
    {
        let server = ProviderServer::start(replies(provider)).await;
        let place = TestFolder::new();
        let model = format!("{provider}:m@{}{path}", server.url());
        let ran = run(&place, &["ask", "--json", "-m", &model, "What is 2+2?"]);
        let report = ran.json();
        assert_eq!((ran.status, &report["answer"]), (0, &json!("It is 4.")), "{ran:?}");
        assert_eq!(report["messages"][2]["content"], "{\"result\":4}", "{report}");
        assert_eq!(report["usage"], json!({"input_tokens": 20, "output_tokens": 10}), "{provider}");
        assert!(report["messages"][1].get("native").is_none(), "{report}");
        let asked = server.captured();
        assert_eq!(asked.len(), 2, "{provider}");
        assert_eq!(asked[0].body["stream"], true, "{provider}");
        let names = asked[0].body["tools"].to_string();
        assert!(names.contains("math_eval") && names.contains("echo"), "{names}");
        assert!(
            asked[0].header("authorization").is_none() && asked[0].header("x-api-key").is_none()
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_come_from_the_config_or_the_environment() {
    // ML-10
    for (provider, path, variable, header) in [
        ("openai", "/v1", "OPENAI_API_KEY", "authorization"),
        ("openai-responses", "/v1", "OPENAI_API_KEY", "authorization"),
        ("anthropic", "", "ANTHROPIC_API_KEY", "x-api-key"),
    ] {
        let server = ProviderServer::start([]).await;
        let table = format!(
            "[models.a]\nprovider = \"{provider}\"\nmodel = \"m\"\nbase_url = \"{}{path}\"\n",
            server.url()
        );
        let place = TestFolder::with_config(&table).variable(variable, "from-environment");
        let ran = run(&place, &["ask", "?"]);
        assert_eq!(ran.status, 1, "{ran:?}");
        assert!(ran.stderr.contains(&format!("{provider} answered 418")), "{ran:?}");
        let place = TestFolder::with_config(&format!("{table}api_key = \"from-config\"\n"))
            .variable(variable, "from-environment");
        assert_eq!(run(&place, &["ask", "-m", "a", "?"]).status, 1);
        let sent: Vec<_> = server
            .captured()
            .iter()
            .map(|asked| asked.header(header).unwrap().to_owned())
            .collect();
        assert!(
            sent[0].ends_with("from-environment") && sent[1].ends_with("from-config"),
            "{sent:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_is_offered_what_its_config_says() {
    // ML-9
    let server = ProviderServer::start([replies("openai"), replies("openai")].concat()).await;
    let config = format!(
        "[models.a]\nprovider = \"openai\"\nmodel = \"m\"\nbase_url = \"{}/v1\"\ntools = [\"math_*\"]\n",
        server.url()
    );
    let place = TestFolder::with_config(&config);
    assert_eq!(run(&place, &["ask", "?"]).status, 0);
    assert_eq!(run(&place, &["ask", "--tools", "math_eval,echo", "?"]).status, 0);
    let offered = server.captured().into_iter().map(|asked| {
        let tools = asked.body["tools"].as_array().unwrap().clone();
        tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
    });
    let offered: Vec<Vec<String>> = offered.collect();
    assert_eq!(offered[0], ["math_eval"]);
    assert_eq!(offered[2], ["math_eval", "echo"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ollama_is_found() {
    // ML-10
    let models = json!([{"name": "old:1b", "capabilities": ["completion"]},
                        {"name": "qwen3:0.6b", "capabilities": ["completion", "tools"]}]);
    let [call, answer] = replies("ollama");
    let server = ProviderServer::start([tags(models), call, answer]).await;
    let host = server.url().replace("http://", "");
    let place = TestFolder::new().variable("OLLAMA_HOST", &host);
    let ran = run(&place, &["ask", "?"]);
    assert_eq!((ran.status, &*ran.stdout), (0, "It is 4.\n"), "{ran:?}");
    let asked = server.captured();
    assert_eq!((&*asked[0].path, &*asked[1].path), ("/api/tags", "/api/chat"));
    assert_eq!(asked[1].body["model"], "qwen3:0.6b");
    let chosen = format!(
        "using ollama:qwen3:0.6b@{}: an Ollama is running, and its model can call tools (-m chooses another)\n",
        server.url()
    );
    assert!(ran.stderr.starts_with(&chosen), "{ran:?}");

    let server = ProviderServer::start([tags(json!([]))]).await;
    let place = TestFolder::new().variable("OLLAMA_HOST", &server.url());
    let ran = run(&place, &["ask", "?"]);
    assert_eq!((ran.status, &*ran.stdout), (2, ""), "{ran:?}");
    let says = format!("the Ollama at {} has no model yet", server.url());
    assert!(ran.stderr.contains(&says), "{ran:?}");
    for way in ["ollama pull", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "@http://", "ask -m demo"] {
        assert!(ran.stderr.contains(way), "{way}: {ran:?}");
    }
}

// ML-10: a key in the environment is enough, and what is used is said.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_in_the_environment_chooses_a_model() {
    for (provider, key, address, path, model) in [
        ("anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "", "claude-sonnet-4-5"),
        ("openai", "OPENAI_API_KEY", "OPENAI_BASE_URL", "/v1", "gpt-5-mini"),
    ] {
        let server = ProviderServer::start(replies(provider)).await;
        let url = format!("{}{path}", server.url());
        let place = TestFolder::new().variable(key, "sk-test").variable(address, &url);
        let ran = run(&place, &["ask", "?"]);
        assert_eq!((ran.status, &*ran.stdout), (0, "It is 4.\n"), "{ran:?}");
        let says = format!("using {provider}:{model}: {key} is set (-m chooses another)\n");
        assert_eq!(ran.stderr, says);
        let asked = server.captured();
        assert_eq!(asked[0].body["model"], model, "{asked:?}");
        // `doctor` knows of it, and asks nobody.
        let report = run(&place, &["doctor", "--json"]).json();
        assert_eq!(report["models"][0]["key"], "environment", "{report}");
        assert_eq!(report["models"][0]["found"], format!("{key} is set"), "{report}");
        // What the config names comes first.
        let place =
            place.file("switchboard.toml", "[models.m]\nprovider = 'script'\nmodel = 'demo'\n");
        let ran = run(&place, &["ask", "--no-stream", "?"]);
        assert!(ran.stdout.starts_with("Here is what I found") && ran.stderr.is_empty(), "{ran:?}");
    }
}

// ML-8: what cannot be asked costs no server's start.
#[tokio::test(flavor = "multi_thread")]
async fn a_model_is_checked_before_servers_are_started() {
    let server = "[servers.s]\ncommand = \"sh\"\nargs = [\"-c\", \"touch started; exec cat\"]\n";
    let refused = |replies: Vec<Reply>, provider: &'static str, path: &'static str| async move {
        let provider_server = ProviderServer::start(replies).await;
        let url = format!("{}{path}", provider_server.url());
        let place = TestFolder::with_config(server);
        let ran = run(&place, &["ask", "-m", &format!("{provider}:m@{url}"), "?"]);
        assert_eq!((ran.status, &*ran.stdout), (1, ""), "{ran:?}");
        assert!(!place.path().join("started").exists(), "{ran:?}");
        ran.stderr
    };
    let says = refused(vec![tags(json!([{"name": "other:1b"}]))], "ollama", "").await;
    assert!(
        says.contains("Ollama does not have m (it has other:1b); `ollama pull m` gets it"),
        "{says}"
    );
    let key = Reply::json(401, &json!({"error": {"message": "bad key"}}));
    let says = refused(vec![key.clone()], "openai", "/v1").await;
    assert!(says.contains("openai answered 401: bad key; check OPENAI_API_KEY"), "{says}");
    let says = refused(vec![key], "anthropic", "").await;
    assert!(says.contains("anthropic answered 401: bad key; check ANTHROPIC_API_KEY"), "{says}");
    let place = TestFolder::with_config(server);
    for (model, says) in [
        ("ollama:m@http://127.0.0.1:1", "is Ollama running?"),
        (
            "ollama:m@http://127.0.0.1:1",
            "start it (`ollama serve`), or choose another model with -m",
        ),
        ("openai:m@http://127.0.0.1:1/v1", "check the network and `base_url`"),
        ("script:gone.json", "failed to read script `gone.json`"),
    ] {
        let ran = run(&place, &["ask", "-m", model, "?"]);
        assert!(ran.status != 0 && ran.stderr.contains(says), "{model}: {ran:?}");
        assert!(!place.path().join("started").exists(), "{model}");
    }
    // A list that lacks the model is not believed, unless it is OpenAI's own.
    let list = Reply::json(200, &json!({"data": [{"id": "other"}]}));
    let [call, answer] = replies("openai");
    let provider = ProviderServer::start([list, call, answer]).await;
    let place =
        TestFolder::with_config("[servers.s]\ncommand = \"false\"\n[mcp]\nretry_attempts = 1\n");
    let model = format!("openai:m@{}/v1", provider.url());
    let ran = run(&place, &["ask", "-m", &model, "?"]);
    assert_eq!((ran.status, &*ran.stdout), (0, "It is 4.\n"), "{ran:?}");
}

// ML-9: a script is a model like others, wherever a config names one.
#[tokio::test(flavor = "multi_thread")]
async fn a_script_is_a_model_of_the_config() {
    let config = "[models.demo]\nprovider = 'script'\nmodel = 'demo'\n\
                  [models.own]\nprovider = 'script'\nmodel = 'own.json'\ntools = []\n";
    let place = TestFolder::with_config(config).file("own.json", r#"[{"text": "Mine."}]"#);
    // The file lies beside the config, wherever one stands.
    let config = place.path().join("switchboard.toml").display().to_string();
    let elsewhere = TestFolder::new();
    let ran = run(&elsewhere, &["ask", "--config", &config, "-m", "own", "?"]);
    assert_eq!((ran.status, &*ran.stdout), (0, "Mine.\n"), "{ran:?}");
    // Every question begins the demo again; in the config, by its own name, and as a script.
    for model in ["demo", "script:demo"] {
        let lines = b"one\ntwo\n";
        let ran =
            tokio::task::block_in_place(|| elsewhere.run_with_stdin(&["chat", "-m", model], lines));
        assert_eq!(ran.stdout.matches("2 inch are `5.08 cm`").count(), 2, "{ran:?}");
    }
    let report = run(&place, &["doctor", "--json"]).json();
    assert_eq!((&report["ok"], &report["models"][0]["key"]), (&json!(true), &json!("not_needed")));
    let wrong =
        place.file("switchboard.toml", "[models.x]\nprovider = 'script'\nmodel = 'gone.json'\n");
    let ran = run(&wrong, &["doctor"]);
    assert!(ran.status == 1 && ran.stdout.contains("failed to read script"), "{ran:?}");
    let ran = run(&wrong, &["ask", "?"]);
    assert!(
        ran.status == 2 && ran.stderr.contains("switchboard.toml:1: model `x`: failed to read"),
        "{ran:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_of_a_provider_say_what_to_do() {
    // ML-7
    let error = |status, text: &str| Reply::json(status, &json!({"error": {"message": text}}));
    for (provider, path, reply, expected) in [
        (
            "openai",
            "/v1",
            error(401, "bad key"),
            "openai answered 401: bad key; check OPENAI_API_KEY",
        ),
        (
            "anthropic",
            "",
            error(401, "bad key"),
            "anthropic answered 401: bad key; check ANTHROPIC_API_KEY",
        ),
        ("openai", "/v1", error(400, "maximum context length is 8"), "offer fewer tools (--tools)"),
        ("ollama", "", error(404, "model not found"), "`ollama pull` gets others"),
        ("ollama", "", error(400, "m does not support tools"), "offer no tools (--tools '')"),
    ] {
        let server = ProviderServer::start([reply]).await;
        let model = format!("{provider}:m@{}{path}", server.url());
        let ran = run(&TestFolder::new(), &["ask", "-m", &model, "?"]);
        assert_eq!((ran.status, &*ran.stdout), (1, ""), "{ran:?}");
        assert!(ran.stderr.contains(expected), "{ran:?}");
    }
    let nobody = run(&TestFolder::new(), &["ask", "-m", "openai:m@http://127.0.0.1:1/v1", "?"]);
    assert_eq!(nobody.status, 1, "{nobody:?}");
    assert!(nobody.stderr.contains("could not reach openai at http://127.0.0.1:1 ("), "{nobody:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_knows_what_an_ollama_has() {
    // ML-10
    let models = || tags(json!([{"name": "qwen3:latest"}, {"name": "other:1b"}]));
    for (model, is_there) in [("qwen3", true), ("qwen3:0.6b", false)] {
        let server = ProviderServer::start([models()]).await;
        let table = format!("[models.a]\nprovider = \"ollama\"\nmodel = \"{model}\"\n");
        let place = TestFolder::with_config(&table).variable("OLLAMA_HOST", &server.url());
        let ran = run(&place, &["doctor", "--json"]);
        let report = ran.json();
        assert_eq!(report["ok"], is_there, "{ran:?}");
        assert_eq!(report["models"][0]["installed"], json!(["qwen3:latest", "other:1b"]));
        assert_eq!(ran.stdout.contains("`ollama pull qwen3:0.6b` gets it"), !is_there, "{ran:?}");
    }
}
