//! The program with an Ollama that somebody runs: `cargo xtask test --ollama URL [--ollama-model NAME]`.
//!
//! Needs a machine with Ollama and the model, so it runs on demand only. Its steps are tested without one, with an Ollama made
//! of code: `tests/it/ollama.rs`.

#![expect(clippy::unwrap_used, reason = "a test that fails may panic")]

#[path = "../it/test_folder.rs"]
#[expect(dead_code, reason = "the other tests use more of it")]
mod test_folder;
#[path = "../it/serving.rs"]
#[expect(dead_code, reason = "the other tests use more of it")]
mod serving;
mod steps;

// ML-1, ML-4, ML-8
#[test]
fn a_real_ollama_is_asked_in_every_way() {
    let setting = |name: &str| {
        let value = std::env::var_os(name).and_then(|value| value.into_string().ok());
        value.unwrap_or_else(|| panic!("{name} is not set: run `cargo xtask test --ollama URL`"))
    };
    let ollama = steps::Ollama {
        url: setting("SWITCHBOARD_OLLAMA"),
        model: setting("SWITCHBOARD_OLLAMA_MODEL"),
    };
    ollama.all();
}
