use std::path::Path;

use super::super::{LoadedConfig, ParsedConfig, missing::LookupError, read, toml};

fn loaded(config: &str) -> Result<LoadedConfig, String> {
    let variable = |name: &str| match name {
        "HOST" => Ok("example.org".to_owned()),
        "BYTES" => Err(LookupError::NotUnicode),
        _ => Err(LookupError::NotPresent),
    };
    let root = toml::parse(config).map(ParsedConfig::Ours);
    root.and_then(|root| read(root, Path::new("c.toml"), &variable)).map_err(|e| e.to_string())
}

fn sentences(config: &str) -> Vec<String> {
    loaded(config).unwrap().skipped.sentences().collect()
}

// MC-8
#[test]
fn each_kind_is_skipped_by_itself() {
    let config = "
        [servers.docs]
        url = 'https://${HOST}/mcp'
        headers = { Authorization = 'Bearer ${DOCS_TOKEN}' }
        [servers.time]
        command = 'uvx'
        [models.cloud]
        provider = 'openai'
        model = 'm'
        api_key = '${CLOUD_KEY}'
        [models.near]
        provider = 'ollama'
        model = '${MODEL:-m}'
        [builtins.search_web]
        provider = 'brave'
        api_key = '${BRAVE_API_KEY}'
        [[tools]]
        name = 'first'
        description = '${A} and ${B}, ${A}'
        implementation = { type = 'builtin', handler = 'echo' }
        [[tools]]
        name = 'second'
        description = 'd'
        implementation = { type = 'mock', mock_response = '${LEFT_ALONE}' }";
    let loaded = loaded(config).unwrap();
    let expected = [
        "Server 'docs' is skipped: the environment variable DOCS_TOKEN is not set",
        "Model 'cloud' is skipped: the environment variable CLOUD_KEY is not set",
        "Tool 'search_web' is skipped: the environment variable BRAVE_API_KEY is not set",
        "Tool 'first' is skipped: the environment variable A is not set; the environment variable B is not set",
    ];
    let mut sentences: Vec<_> = loaded.skipped.sentences().collect();
    // TOML's tables come in an order of their own.
    sentences.sort_by_key(|sentence| expected.iter().position(|expected| sentence == expected));
    assert_eq!(sentences, expected);
    let settings = loaded.settings;
    assert!(
        settings.servers["docs"].skipped.is_some() && settings.servers["time"].skipped.is_none()
    );
    assert_eq!(settings.models.keys().collect::<Vec<_>>(), ["near"]);
    assert!(settings.builtins.search_web.is_none());
    assert_eq!(settings.tools.iter().map(|tool| &tool.name).collect::<Vec<_>>(), ["second"]);
}

// MC-8, TL-4
#[test]
fn a_skipped_server_keeps_its_name_its_prefix_and_its_kind() {
    let config = "[servers.s]\nprefix = 'p'\nurl = 'http://${GONE}/'\ntimeout = '${TIME}'\n";
    let loaded = loaded(config).unwrap();
    let server = &loaded.settings.servers["s"];
    assert_eq!(server.prefix.as_deref(), Some("p"));
    assert!(server.kind().is_ok() && server.timeout.is_none(), "{server:?}");
    let reason =
        "the environment variable GONE is not set; the environment variable TIME is not set";
    assert_eq!(server.skipped.as_deref(), Some(reason));
}

// MC-8
#[test]
fn what_needs_no_variable_is_not_skipped() {
    for config in [
        "[servers.s]\nenabled = false\ncommand = '${GONE}'\n",
        "[servers.s]\ncommand = '${GONE:-x}'\n",
        "[servers.s]\ncommand = '$${GONE}'\n",
    ] {
        assert!(sentences(config).is_empty(), "{config}");
    }
    let bytes = "[servers.s]\ncommand = '${BYTES}'\n";
    let says = "Server 's' is skipped: the environment variable BYTES is not valid Unicode";
    assert_eq!(sentences(bytes), [says]);
}

// MC-8
#[test]
fn elsewhere_a_missing_value_is_an_error() {
    for (config, says) in [
        (
            "[policy]\ndeny = ['a', '${GONE}']",
            ":2: `policy.deny[1]`: the environment variable `GONE` is not set",
        ),
        (
            "[audit]\npath = '${GONE}'",
            ":2: `audit.path`: the environment variable `GONE` is not set",
        ),
        (
            "[builtins.serch_web]\napi_key = '${GONE}'",
            ":2: `builtins.serch_web.api_key`: the environment variable `GONE` is not set",
        ),
        ("[[tools]]\ndescription = '${GONE}'", ":1: tool number 1: `name` is missing"),
        ("[servers.s]\ncommand = '${'", ":2: `servers.s.command`: `${` has no `}`"),
        ("[models.m]\nmodel = '${a b}'", ":2: `models.m.model`: `${a b}` does not name"),
        ("[[tools]]\nname = 't'\ndescription = '${'", ":3: tool `t`: `description`: `${` has no"),
        ("servers = '${GONE}'", ":1: `servers`: the environment variable `GONE` is not set"),
    ] {
        let error = loaded(config).unwrap_err();
        assert!(error.starts_with(says), "{config}\n{error}");
    }
}
