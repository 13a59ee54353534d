//! Settings that make no sense are refused with what would.

use std::path::PathBuf;

use switchboard_zwave::{Config, connect};

// HM-1
#[tokio::test]
async fn what_cannot_work_is_told_at_once() {
    let settings = |mqtt: Option<&str>, server: Option<&str>, ca: Option<&str>| Config {
        mqtt: mqtt.map(str::to_owned),
        server: server.map(str::to_owned),
        ca: ca.map(PathBuf::from),
        ..Config::default()
    };
    let unused = |address: &str, meant: &str| {
        format!("`ca` is set, but `{address}` is reached without TLS; did you mean `{meant}`?")
    };
    let cases = [
        (
            settings(Some("mqtt://a"), Some("ws://a"), None),
            "only one of them can be set".to_owned(),
        ),
        (
            settings(None, Some("http://a"), None),
            "it must begin with `ws://` or `wss://`".to_owned(),
        ),
        (
            settings(None, Some("ws://a:3000"), Some("ca.pem")),
            unused("ws://a:3000/", "wss://a:3000/"),
        ),
        (
            settings(Some("mqtt://a"), None, Some("ca.pem")),
            unused("mqtt://a:1883", "mqtts://a:1883"),
        ),
        // The usual broker is reached without TLS as well.
        (
            settings(None, None, Some("ca.pem")),
            unused("mqtt://127.0.0.1:1883", "mqtts://127.0.0.1:1883"),
        ),
        (
            settings(Some("mqtts://a"), None, Some("/nowhere/ca.pem")),
            "from `/nowhere/ca.pem`".to_owned(),
        ),
        (
            settings(None, Some("wss://a"), Some("/nowhere/ca.pem")),
            "from `/nowhere/ca.pem`".to_owned(),
        ),
    ];
    for (config, words) in cases {
        let error = connect(&config).err().unwrap().to_string();
        assert!(error.contains(&words), "{error} is not {words}");
    }
}
