//! Checks whether the configured services can be reached, for `doctor`.

use std::time::Duration;

use reqwest::Url;
use switchboard_mqtt::BrokerAddress;
use tokio::{
    net::{TcpStream, UnixStream},
    time::timeout,
};

use crate::{Config, Error, config::WakeMode, recogniser, synthesiser, wake_word};

/// How long a connection may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// The status of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceStatus {
    /// The setting that names it: `mqtt`, `stt`, `tts` or `wake`.
    pub setting: &'static str,
    /// Its name and address, for people.
    pub name: String,
    /// Why it cannot be used; `None` if it can.
    pub problem: Option<String>,
}

/// Checks every service that the settings name.
pub async fn reach(config: &Config) -> Vec<ServiceStatus> {
    let word = match &config.wake {
        Some(WakeMode::Word(word)) => Some(word),
        _ => None,
    };
    let mqtt = config.mqtt.as_deref().map(|address| {
        let address = BrokerAddress::parse(address).map_err(Error::from);
        address.map(|address| address.to_string()).map_err(|error| error.to_string())
    });
    let stt = config.stt.as_ref().map(|stt| Ok(recogniser(stt)?.name().to_owned()));
    let tts = config.tts.as_ref().map(|tts| Ok(synthesiser(tts)?.name().to_owned()));
    let wake = word.map(|word| Ok(wake_word(word)?.name().to_owned()));
    let told = |named: Option<Result<String, crate::SpeechError>>| {
        named.map(|named| named.map_err(|error| error.to_string()))
    };
    let (mqtt, stt, tts, wake) = tokio::join!(
        look("mqtt", mqtt),
        look("stt", told(stt)),
        look("tts", told(tts)),
        look("wake", told(wake)),
    );
    [mqtt, stt, tts, wake].into_iter().flatten().collect()
}

async fn look(
    setting: &'static str,
    named: Option<Result<String, String>>,
) -> Option<ServiceStatus> {
    Some(match named? {
        Err(problem) => ServiceStatus { setting, name: String::new(), problem: Some(problem) },
        Ok(name) => {
            // The address is the last word of the name.
            let address = name.rsplit(' ').next().unwrap_or_default();
            let problem = match timeout(PATIENCE, connect(address)).await {
                Ok(connected) => connected.err(),
                Err(_) => Some("it does not answer".to_owned()),
            };
            ServiceStatus { setting, name, problem }
        }
    })
}

async fn connect(address: &str) -> Result<(), String> {
    let url = Url::parse(address).map_err(|error| error.to_string())?;
    if url.scheme() == "unix" {
        let connected = UnixStream::connect(url.path()).await;
        return connected.map(drop).map_err(|error| error.to_string());
    }
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    let port = url.port_or_known_default().unwrap_or_default();
    TcpStream::connect((host, port)).await.map(drop).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SpeechConfig;
    use tokio::net::TcpListener;

    // HM-2
    #[tokio::test]
    async fn each_service_is_looked_at() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let here = format!("tcp://{}", listener.local_addr().unwrap());
        let config = Config {
            mqtt: Some("mqtt://me:secret@127.0.0.1:1".to_owned()),
            stt: Some(SpeechConfig::new(here.clone())),
            tts: Some(SpeechConfig::new("piper")),
            wake: Some(WakeMode::Word(SpeechConfig::new("unix:///nobody/is/here"))),
            ..Config::default()
        };
        let found = reach(&config).await;
        let settings: Vec<_> = found.iter().map(|found| found.setting).collect();
        assert_eq!(settings, ["mqtt", "stt", "tts", "wake"]);
        assert_eq!(found[0].name, "mqtt://127.0.0.1:1");
        assert!(found[0].problem.as_ref().is_some_and(|it| it.contains("refused")), "{found:?}");
        assert_eq!(
            found[1],
            ServiceStatus { setting: "stt", name: format!("Wyoming {here}"), problem: None }
        );
        assert!(
            found[2].problem.as_ref().is_some_and(|it| it.contains("'piper' is not an address"))
        );
        assert!(found[3].problem.as_ref().is_some_and(|it| it.contains("No such file")));
        assert!(reach(&Config::default()).await.is_empty());
    }
}
