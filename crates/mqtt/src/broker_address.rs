//! If the broker is, and how to get in.

use std::{fmt, path::Path, sync::Arc};

use rumqttc::{MqttOptions, TlsConfiguration, Transport};
use rustls::ClientConfig;
use ulid::Ulid;
use url::Url;

use crate::trust::{TrustError, trust};

/// The largest message that is read: all nodes of a big network with all their values.
const LARGEST: usize = 64 << 20;
/// How soon a broker that has gone silent is missed, in seconds.
const KEEP_ALIVE: u16 = 10;

/// The address of a broker. Shown without its password.
#[derive(Clone)]
pub struct BrokerAddress {
    host: String,
    port: u16,
    is_secure: bool,
    /// Whom to believe if it is not for the machine to say.
    tls: Option<Arc<ClientConfig>>,
    user: String,
    password: String,
}

impl BrokerAddress {
    /// Reads `mqtt://[USER:PASSWORD@]HOST[:PORT]`, or `mqtts://…` for TLS.
    ///
    /// # Errors
    /// It is invalid.
    pub fn parse(address: &str) -> Result<Self, BrokerAddressError> {
        let wrong = |address: String, reason: String| BrokerAddressError { address, reason };
        // An unparsable address may contain a password anywhere.
        let url = Url::parse(address).map_err(|error| wrong("…".to_owned(), error.to_string()))?;
        let shown = || {
            let mut url = url.clone();
            let _ = url.set_password(None);
            url.to_string()
        };
        let is_secure = match url.scheme() {
            "mqtt" | "tcp" => false,
            "mqtts" | "ssl" => true,
            other => {
                let reason = format!("`{other}` is not `mqtt` or `mqtts`");
                return Err(wrong(shown(), reason));
            }
        };
        let Some(host) = url.host_str().filter(|host| !host.is_empty()) else {
            return Err(wrong(shown(), "it names no host".to_owned()));
        };
        Ok(Self {
            host: host.trim_matches(['[', ']']).to_owned(),
            port: url.port().unwrap_or(if is_secure { 8883 } else { 1883 }),
            is_secure,
            tls: None,
            user: decoded(url.username()),
            password: decoded(url.password().unwrap_or_default()),
        })
    }

    /// Trusts only certificates that are signed by one in the PEM file `ca`.
    ///
    /// # Errors
    /// The file cannot be used, or the broker is reached without TLS.
    pub fn trusting(mut self, ca: &Path) -> Result<Self, TrustError> {
        if !self.is_secure {
            let address = self.to_string();
            let meant = address.replacen("mqtt://", "mqtts://", 1);
            return Err(TrustError::Unused { address, meant });
        }
        self.tls = Some(trust(Some(ca))?);
        Ok(self)
    }

    /// Returns the options of a new connection.
    ///
    /// # Errors
    /// This machine trusts no certificates.
    pub fn options(&self) -> Result<MqttOptions, String> {
        let id = format!("switchboard-{}", Ulid::generate());
        let mut options = MqttOptions::new(id, (self.host.clone(), self.port));
        options.set_keep_alive(KEEP_ALIVE).set_max_packet_size(LARGEST, LARGEST);
        options.set_clean_session(true);
        if !self.user.is_empty() {
            options.set_credentials(self.user.clone(), self.password.clone());
        }
        if self.is_secure {
            let tls = match &self.tls {
                Some(tls) => tls.clone(),
                None => trust(None).map_err(|error| error.to_string())?,
            };
            options.set_transport(Transport::tls_with_config(TlsConfiguration::Rustls(tls)));
        }
        Ok(options)
    }
}

/// An address that cannot be used.
#[derive(Clone, Debug, thiserror::Error)]
#[error("`{address}` is not an address of {}: {reason}", Self::WHAT)]
#[non_exhaustive]
pub struct BrokerAddressError {
    /// As it was given, without its password.
    pub address: String,
    /// What is wrong with it.
    pub reason: String,
}

impl BrokerAddressError {
    /// Returns what the address should look like, with an example.
    pub const WHAT: &str = "an MQTT broker (such as mqtt://127.0.0.1:1883)";
}

/// Decodes `%40` and the like.
fn decoded(text: &str) -> String {
    // A pair of a form is encoded in the same way, apart from `+`.
    let pair = text.replace('+', "%2B");
    url::form_urlencoded::parse(pair.as_bytes())
        .next()
        .map(|(key, _)| key.into_owned())
        .unwrap_or_default()
}

impl fmt::Display for BrokerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_secure { "mqtts" } else { "mqtt" };
        let host =
            if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        write!(f, "{scheme}://{host}:{}", self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // HM-1, HM-2
    #[test]
    fn addresses_are_read_and_shown_without_their_password() {
        let cases = [
            ("mqtt://127.0.0.1:1899", "mqtt://127.0.0.1:1899", ("", "")),
            ("mqtt://broker", "mqtt://broker:1883", ("", "")),
            ("mqtts://me:s%40cret@broker", "mqtts://broker:8883", ("me", "s@cret")),
            ("tcp://a+b:c%26d=e@[::1]:2", "mqtt://[::1]:2", ("a+b", "c&d=e")),
        ];
        for (given, shown, (user, password)) in cases {
            let address = BrokerAddress::parse(given).unwrap();
            assert_eq!(address.to_string(), shown);
            assert_eq!(
                (address.user.as_str(), address.password.as_str()),
                (user, password),
                "{given}"
            );
        }
        for wrong in ["broker:1883", "http://broker", "mqtt://", "nonsense", "ws://me:secret@x"] {
            let error = BrokerAddress::parse(wrong).err().unwrap().to_string();
            assert!(error.contains("an MQTT broker") && !error.contains("secret"), "{error}");
        }
    }
    // HM-1, HM-2
    #[test]
    fn certificates_are_for_tls() {
        let address = BrokerAddress::parse("mqtt://me:secret@broker").unwrap();
        let error = address.trusting(Path::new("ca.pem")).err().unwrap().to_string();
        let expected = "`ca` is set, but `mqtt://broker:1883` is reached without TLS; did you mean `mqtts://broker:1883`?";
        assert_eq!(error, expected);
        let address = BrokerAddress::parse("mqtts://broker").unwrap();
        let error = address.trusting(Path::new("/nowhere/ca.pem")).err().unwrap().to_string();
        assert!(error.contains("/nowhere/ca.pem"), "{error}");
    }
}
