//! An Ollama that somebody runs: `cargo xtask test --ollama URL [--ollama-model NAME]`.
//!
//! Needs a machine with Ollama and the model, so it runs on demand only. Its own steps are tested without one, with
//! recordings: `tests/it/opt_in.rs`.

#![expect(clippy::unwrap_used, reason = "a test that fails may panic")]

mod steps;

// ML-1, ML-2, ML-3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_ollama_lists_the_tools_and_calls_one() {
    let setting = |name: &str| {
        let value = std::env::var_os(name).and_then(|value| value.into_string().ok());
        value.unwrap_or_else(|| panic!("{name} is not set: run `cargo xtask test --ollama URL`"))
    };
    let (url, model) = (setting("SWITCHBOARD_OLLAMA"), setting("SWITCHBOARD_OLLAMA_MODEL"));
    steps::is_installed(&url, &model).await;
    steps::lists_its_tools(&url, &model).await;
    steps::calls_one(&url, &model).await;
}
