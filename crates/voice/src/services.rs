//! The speech services of the settings; the scheme of the URL decides which protocol is used.

use std::{fmt, sync::Arc, sync::OnceLock, time::Duration};

use reqwest::Url;
use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, Visitor, value::MapAccessDeserializer},
};
use serde_json::{Map, json};
use switchboard_models::Secret;
use switchboard_toolcall::HumanDuration;

use crate::{Recogniser, SpeechError, Synthesiser, WakeWord, openai, wyoming};

/// The forms that can be written.
const POSSIBLE: &str = "write tcp://HOST:PORT or unix:///PATH for a Wyoming service, http://HOST:PORT/v1 for an OpenAI-compatible one";
const POSSIBLE_WAKE_WORD: &str =
    "wake words are heard by Wyoming services: write tcp://HOST:PORT or unix:///PATH";

/// How a speech service is reached and asked: in TOML its address alone, or a table.
#[derive(Clone, Debug, PartialEq, schemars::JsonSchema)]
#[schemars(deny_unknown_fields, transform = or_address)]
pub struct SpeechConfig {
    /// Where it is: `tcp://HOST:PORT` (Wyoming) or `http://HOST:PORT/v1` (OpenAI-compatible).
    pub url: String,
    /// Its model; of a wake word service, the word.
    pub model: Option<String>,
    /// The voice that speaks.
    pub voice: Option<String>,
    /// The speaker, if the voice has several (Wyoming).
    pub speaker: Option<String>,
    /// The spoken language, such as `en`.
    pub language: Option<String>,
    /// The key (OpenAI-compatible).
    pub api_key: Option<Secret>,
    /// How long a connection may take to stand; 5 s by default.
    pub connect_timeout: Option<HumanDuration>,
    /// How long it may be silent when it should answer; 60 s by default, because a model may have to be loaded.
    pub timeout: Option<HumanDuration>,
}

impl SpeechConfig {
    /// Creates the settings of a service at this URL, with defaults for everything else.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            model: None,
            voice: None,
            speaker: None,
            language: None,
            api_key: None,
            connect_timeout: None,
            timeout: None,
        }
    }

    fn connect_timeout(&self) -> Duration {
        self.connect_timeout.map_or(Duration::from_secs(5), |time| time.0)
    }

    fn timeout(&self) -> Duration {
        self.timeout.map_or(Duration::from_secs(60), |time| time.0)
    }
}

/// Creates the speech-to-text service. Opens no connection yet.
///
/// # Errors
/// The address is invalid.
pub fn recogniser(config: &SpeechConfig) -> Result<Arc<dyn Recogniser>, SpeechError> {
    Ok(match place(config, 10_300, POSSIBLE)? {
        ServiceAddress::Wyoming(service) => {
            let options = [("name", &config.model), ("language", &config.language)];
            Arc::new(wyoming::WyomingRecogniser { service, options: set_options(&options) })
        }
        ServiceAddress::OpenAi(endpoint) => Arc::new(openai::OpenAiRecogniser {
            endpoint,
            model: config.model.clone().unwrap_or_else(|| "whisper-1".to_owned()),
            language: config.language.clone(),
        }),
    })
}

/// Creates the text-to-speech service. Opens no connection yet.
///
/// # Errors
/// The address is invalid.
pub fn synthesiser(config: &SpeechConfig) -> Result<Arc<dyn Synthesiser>, SpeechError> {
    Ok(match place(config, 10_200, POSSIBLE)? {
        ServiceAddress::Wyoming(service) => {
            let options = [
                ("name", &config.voice),
                ("speaker", &config.speaker),
                ("language", &config.language),
            ];
            Arc::new(wyoming::WyomingSynthesiser { service, voice: set_options(&options) })
        }
        ServiceAddress::OpenAi(endpoint) => Arc::new(openai::OpenAiSynthesiser {
            endpoint: Arc::new(endpoint),
            model: config.model.clone().unwrap_or_else(|| "tts-1".to_owned()),
            voice: config.voice.clone().unwrap_or_else(|| "alloy".to_owned()),
        }),
    })
}

/// Creates the wake word service. Opens no connection yet.
///
/// # Errors
/// The address is invalid, or of a service without wake words.
pub fn wake_word(config: &SpeechConfig) -> Result<Arc<dyn WakeWord>, SpeechError> {
    match place(config, 10_400, POSSIBLE_WAKE_WORD)? {
        ServiceAddress::Wyoming(service) => Ok(Arc::new(wyoming::WyomingWakeWord {
            service,
            words: config.model.iter().cloned().collect(),
        })),
        ServiceAddress::OpenAi(_) => Err(wrong(&config.url, POSSIBLE_WAKE_WORD)),
    }
}

/// A parsed address.
enum ServiceAddress {
    Wyoming(wyoming::WyomingService),
    OpenAi(openai::SpeechEndpoint),
}

/// Parses the URL. For Wyoming services the port is optional: the default is Home Assistant's.
fn place(config: &SpeechConfig, port: u16, possible: &str) -> Result<ServiceAddress, SpeechError> {
    let wrong = |reason: &str| wrong(&config.url, reason);
    let url = Url::parse(config.url.trim()).map_err(|_| wrong(possible))?;
    let host = url.host_str().unwrap_or_default().to_owned();
    let wyoming = |name: String, place| {
        ServiceAddress::Wyoming(wyoming::WyomingService {
            name: format!("Wyoming {name}").into(),
            place,
            connect_timeout: config.connect_timeout(),
            timeout: config.timeout(),
        })
    };
    match url.scheme() {
        "tcp" if host.is_empty() => Err(wrong("it names no host")),
        "tcp" => {
            let port = url.port().unwrap_or(port);
            let bare = host.trim_matches(['[', ']']).to_owned();
            Ok(wyoming(format!("tcp://{host}:{port}"), wyoming::WyomingAddress::Tcp(bare, port)))
        }
        "unix" if host.is_empty() && url.path().len() > 1 => {
            let path = url.path().to_owned();
            Ok(wyoming(format!("unix://{path}"), wyoming::WyomingAddress::Unix(path)))
        }
        "unix" => Err(wrong("it names no file; write three slashes: unix:///run/piper.sock")),
        "http" | "https" => Ok(ServiceAddress::OpenAi(openai::SpeechEndpoint {
            name: format!("OpenAI-compatible {}", without_credentials(&config.url)),
            base: url,
            api_key: config.api_key.clone(),
            connect_timeout: config.connect_timeout(),
            timeout: config.timeout(),
            client: OnceLock::new(),
        })),
        _ => Err(wrong(possible)),
    }
}

fn wrong(address: &str, reason: &str) -> SpeechError {
    SpeechError::Address { address: without_credentials(address), reason: reason.to_owned() }
}

/// Returns the URL without user and password, even if it is invalid.
fn without_credentials(address: &str) -> String {
    let (scheme, rest) = address.trim().split_once("://").unwrap_or(("", address.trim()));
    let separator = if scheme.is_empty() { "" } else { "://" };
    let rest = rest.rsplit_once('@').map_or(rest, |(_, place)| place);
    let rest = rest.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
    format!("{scheme}{separator}{rest}")
}

/// Returns the options that are set.
fn set_options(options: &[(&str, &Option<String>)]) -> Map<String, serde_json::Value> {
    let set = options.iter().filter_map(|(name, value)| Some((name, value.as_deref()?)));
    set.map(|(name, value)| ((*name).to_owned(), json!(value))).collect()
}

/// The table of a service.
#[derive(Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct SpeechTable {
    url: String,
    model: Option<String>,
    voice: Option<String>,
    speaker: Option<String>,
    language: Option<String>,
    api_key: Option<Secret>,
    connect_timeout: Option<HumanDuration>,
    timeout: Option<HumanDuration>,
}

/// An address alone stands for a table with nothing but its `url`.
fn or_address(schema: &mut schemars::Schema) {
    let table = std::mem::take(schema);
    *schema = schemars::json_schema!({"anyOf": [{"type": "string"}, table]});
}

impl<'de> Deserialize<'de> for SpeechConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AddressOrTable)
    }
}

struct AddressOrTable;

impl<'de> Visitor<'de> for AddressOrTable {
    type Value = SpeechConfig;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the address of a speech service, or a table with its `url`")
    }

    fn visit_str<E: de::Error>(self, url: &str) -> Result<SpeechConfig, E> {
        Ok(SpeechConfig::new(url))
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<SpeechConfig, M::Error> {
        let SpeechTable { url, model, voice, speaker, language, api_key, connect_timeout, timeout } =
            SpeechTable::deserialize(MapAccessDeserializer::new(map))?;
        Ok(SpeechConfig { url, model, voice, speaker, language, api_key, connect_timeout, timeout })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Voice {
        stt: SpeechConfig,
    }

    fn read(text: &str) -> Result<SpeechConfig, String> {
        toml::from_str::<Voice>(text).map(|voice| voice.stt).map_err(|error| error.to_string())
    }

    // HM-2
    #[test]
    fn a_service_is_an_address_or_a_table() {
        let plain = read("stt = \"tcp://127.0.0.1:10300\"").unwrap();
        assert_eq!(plain, SpeechConfig::new("tcp://127.0.0.1:10300"));
        let table = r#"stt = { url = "http://127.0.0.1:8000/v1", model = "base", language = "en", api_key = "sk-secret", timeout = "20s" }"#;
        let table = read(table).unwrap();
        assert_eq!(
            (table.model.as_deref(), table.timeout()),
            (Some("base"), Duration::from_secs(20))
        );
        assert!(!format!("{table:?}").contains("secret"), "{table:?}");
        for (wrong, reason) in [
            ("stt = 10300", "the address of a speech service, or a table with its `url`"),
            ("stt = { model = \"base\" }", "missing field `url`"),
            ("stt = { url = \"tcp://x\", modle = \"base\" }", "modle"),
            ("stt = { url = \"tcp://x\", timeout = \"soon\" }", "soon"),
        ] {
            let error = read(wrong).unwrap_err();
            assert!(error.contains(reason), "{error} is not {reason}");
        }
    }

    // HM-2
    #[test]
    fn the_address_says_who_it_is() {
        let hears = |url: &str| recogniser(&SpeechConfig::new(url)).unwrap().name().to_owned();
        assert_eq!(hears("tcp://[::1]:9"), "Wyoming tcp://[::1]:9");
        assert_eq!(hears("unix:///run/whisper.sock"), "Wyoming unix:///run/whisper.sock");
        assert_eq!(hears("https://me:pw@host/v1/"), "OpenAI-compatible https://host/v1");
        // The default ports are Home Assistant's.
        let home = SpeechConfig::new("tcp://homeassistant.local");
        assert_eq!(recogniser(&home).unwrap().name(), "Wyoming tcp://homeassistant.local:10300");
        assert_eq!(synthesiser(&home).unwrap().name(), "Wyoming tcp://homeassistant.local:10200");
        assert_eq!(wake_word(&home).unwrap().name(), "Wyoming tcp://homeassistant.local:10400");
    }

    // HM-2
    #[test]
    fn an_address_that_is_none_is_refused_with_what_is_possible() {
        for (wrong, reason) in [
            ("127.0.0.1:10300", POSSIBLE),
            ("piper", POSSIBLE),
            ("", POSSIBLE),
            ("ws://127.0.0.1:10300", POSSIBLE),
            ("tcp://", "it names no host"),
            ("unix://piper.sock", "it names no file; write three slashes: unix:///run/piper.sock"),
        ] {
            let config = SpeechConfig::new(wrong);
            let expected = format!("'{wrong}' is not an address of a speech service: {reason}");
            assert_eq!(recogniser(&config).err().unwrap().to_string(), expected);
            assert_eq!(synthesiser(&config).err().unwrap().to_string(), expected);
        }
        let error = wake_word(&SpeechConfig::new("http://me:pw@x/v1")).err().unwrap().to_string();
        assert!(error.starts_with("'http://x/v1' is not an address"), "{error}");
        assert!(error.ends_with(POSSIBLE_WAKE_WORD), "{error}");
    }
}
