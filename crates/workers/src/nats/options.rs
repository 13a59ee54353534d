//! Connection options for NATS from `[cluster]`, and warnings about unsafe ones.

use std::{net::IpAddr, path::Path};

use async_nats::{ConnectOptions, ServerAddr};

use crate::{Config, Error, names::token};

pub(super) fn addresses(config: &Config) -> Result<Vec<ServerAddr>, Error> {
    let wrong = |reason: String| Error::Setting { key: "nats", reason };
    let nats = config.nats.as_deref().unwrap_or_default();
    let addresses: Vec<_> = nats.split(',').map(str::trim).filter(|one| !one.is_empty()).collect();
    if addresses.is_empty() {
        return Err(wrong("it names no server (such as nats://127.0.0.1:4222)".to_owned()));
    }
    // An unparsable address may contain a password anywhere, so it is not shown.
    let read =
        |address: &str| address.parse::<ServerAddr>().map_err(|error| wrong(error.to_string()));
    addresses.into_iter().map(read).collect()
}

/// Returns the JetStream domain, which is one word of a subject.
pub(super) fn domain(config: &Config) -> Result<Option<&str>, Error> {
    let domain = config.domain.as_deref();
    match domain {
        Some(name) if name.is_empty() || token(name) != name => {
            let reason = format!("{name:?} must be letters, digits, `-` and `_` only");
            Err(Error::Setting { key: "domain", reason })
        }
        domain => Ok(domain),
    }
}

/// Returns what is unsafe about these settings, one sentence each.
///
/// # Errors
/// The addresses are invalid.
pub fn warnings(config: &Config) -> Result<Vec<String>, Error> {
    let addresses = addresses(config)?;
    let mut warnings = Vec::new();
    if config.key.is_none() {
        warnings.push(format!(
            "`[cluster] key` is not set: whoever can write to NATS at {} can run every worker's tools as any caller, make tokens \
             with all rights and answer approvals; set the same key on all nodes (`openssl rand -base64 32` makes one)",
            without_credentials(&addresses)
        ));
    }
    let is_open = |address: &&ServerAddr| !address.tls_required() && !is_loopback(address.host());
    let open: Vec<_> = addresses.iter().filter(is_open).cloned().collect();
    if !open.is_empty() {
        warnings.push(format!(
            "NATS at {} is reached without TLS: whoever is on the way can read calls and results; write `tls://…`",
            without_credentials(&open)
        ));
    }
    let has_credentials = config.credentials.is_some()
        || config.token.is_some()
        || config.nkey.is_some()
        || config.user.is_some()
        || config.certificate.is_some()
        || addresses.iter().any(|address| address.username().is_some());
    if !has_credentials {
        warnings.push(format!(
            "NATS at {} is reached without credentials: whoever reaches it can read calls and results, and delete what is kept \
             there; have the servers ask for credentials, and set `credentials`, `nkey`, `token` or `user` in [cluster]",
            without_credentials(&addresses)
        ));
    }
    Ok(warnings)
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

/// Returns the addresses without secrets.
pub(super) fn without_credentials(addresses: &[ServerAddr]) -> String {
    let one = |address: &ServerAddr| {
        let scheme = if address.tls_required() { "tls" } else { "nats" };
        format!("{scheme}://{}:{}", address.host(), address.port())
    };
    addresses.iter().map(one).collect::<Vec<_>>().join(",")
}

pub(super) async fn options(config: &Config) -> Result<ConnectOptions, Error> {
    let mut options = ConnectOptions::new().name("switchboard");
    if let Some(file) = &config.credentials {
        let unusable = |error: std::io::Error| unusable("credentials", file, &error);
        options = options.credentials_file(file).await.map_err(unusable)?;
    }
    if let Some(token) = &config.token {
        options = options.token(token.clone());
    }
    if let Some(seed) = &config.nkey {
        options = options.nkey(seed.clone());
    }
    options = match (&config.user, &config.password) {
        (Some(user), password) => {
            options.user_and_password(user.clone(), password.clone().unwrap_or_default())
        }
        (None, Some(_)) => {
            let reason = "a password needs a `user`".to_owned();
            return Err(Error::Setting { key: "password", reason });
        }
        (None, None) => options,
    };
    if let Some(file) = &config.ca {
        readable("ca", file)?;
        options = options.add_root_certificates(file.clone());
    }
    match (&config.certificate, &config.certificate_key) {
        (Some(certificate), Some(key)) => {
            readable("certificate", certificate)?;
            readable("certificate_key", key)?;
            Ok(options.add_client_certificate(certificate.clone(), key.clone()))
        }
        (None, None) => Ok(options),
        (Some(_), None) => Err(Error::Setting {
            key: "certificate",
            reason: "a certificate needs its `certificate_key` (`key` is what signs messages)"
                .to_owned(),
        }),
        (None, Some(_)) => Err(Error::Setting {
            key: "certificate_key",
            reason: "a key needs its `certificate`".to_owned(),
        }),
    }
}

fn readable(key: &'static str, file: &Path) -> Result<(), Error> {
    std::fs::File::open(file).map(drop).map_err(|error| unusable(key, file, &error))
}

fn unusable(key: &'static str, file: &Path, error: &std::io::Error) -> Error {
    Error::Setting { key, reason: format!("`{}` cannot be read: {error}", file.display()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    // RC-3
    #[test]
    fn what_is_unsafe_is_said() {
        let config = |nats: &str, key: bool| Config {
            nats: Some(nats.to_owned()),
            key: key.then(|| "a secret of the cluster with enough letters".into()),
            ..Config::default()
        };
        let begin = |config: &Config| -> Vec<String> {
            let words = |text: String| text.split(':').next().unwrap_or_default().to_owned();
            warnings(config).unwrap().into_iter().map(words).collect()
        };
        let all = ["`[cluster] key` is not set", "NATS at nats", "NATS at nats"];
        assert_eq!(begin(&config("nats://10.0.0.7:4222", false)), all);
        let said = warnings(&config("nats://me:secret@10.0.0.7,tls://b", true)).unwrap();
        assert_eq!(said.len(), 1);
        assert!(
            said[0].starts_with("NATS at nats://10.0.0.7:4222 is reached without TLS"),
            "{said:?}"
        );
        for nats in
            ["nats://127.0.0.1", "nats://localhost:1", "nats://[::1]:4222", "tls://10.0.0.7"]
        {
            let said = warnings(&config(nats, true)).unwrap();
            assert!(said[0].contains("is reached without credentials"), "{said:?}");
            assert_eq!(said.len(), 1, "{said:?}");
        }
        let token =
            Config { token: Some("t".to_owned()), ..config("tls://nats.example.com", true) };
        assert!(warnings(&token).unwrap().is_empty());
        assert!(warnings(&Config::default()).is_err());
    }
}
