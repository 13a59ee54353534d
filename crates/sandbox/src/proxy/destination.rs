//! Where a program may connect to.

use std::{net::Ipv6Addr, path::PathBuf};

/// One entry of `sandbox_allow.connect`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ConnectDestination {
    /// A host, or with `*.` before it all hosts below a name, and a port; `None` is every port.
    Host { host: String, port: Option<u16> },
    /// A Unix socket.
    Unix(PathBuf),
}

impl ConnectDestination {
    /// Reads `host:port` or `unix:/path`.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            let is_absolute = path.starts_with('/') || path.starts_with("~/");
            return match is_absolute {
                true => Ok(Self::Unix(path.into())),
                false => Err("the path of a Unix socket has to be absolute".to_owned()),
            };
        }
        if text.contains('/') {
            return Err("write host:port, without a scheme and a path".to_owned());
        }
        let (host, port) = text.rsplit_once(':').ok_or("it needs a port: host:port")?;
        let port = match port {
            "*" => None,
            port => match port.parse() {
                Ok(0) | Err(_) => {
                    return Err("it needs a port from 1 to 65535: host:port".to_owned());
                }
                Ok(port) => Some(port),
            },
        };
        let host = normal(host);
        let is_v6 = host.parse::<Ipv6Addr>().is_ok();
        let name = host.strip_prefix("*.").unwrap_or(&host);
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '.' | '_');
        match !name.is_empty() && (is_v6 || name.chars().all(is_name)) {
            true => Ok(Self::Host { host, port }),
            false => Err("it needs a host: host:port".to_owned()),
        }
    }
}

/// All that a program may connect to.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConnectList(Vec<ConnectDestination>);

impl ConnectList {
    /// Reads the entries; those that cannot be read allow nothing.
    pub(crate) fn new(entries: &[String]) -> Self {
        Self(entries.iter().filter_map(|entry| ConnectDestination::parse(entry).ok()).collect())
    }

    /// Whether the host is in the list, by this very name.
    pub(crate) fn has(&self, host: &str, port: u16) -> bool {
        let host = normal(host);
        self.0.iter().any(|entry| match entry {
            ConnectDestination::Host { host: allowed, port: on } => {
                let is_host = match allowed.strip_prefix('*') {
                    Some(suffix) => host.len() > suffix.len() && host.ends_with(suffix),
                    None => host == *allowed,
                };
                is_host && on.is_none_or(|on| on == port)
            }
            ConnectDestination::Unix(_) => false,
        })
    }

    /// Whether it has a host at all.
    pub(crate) fn has_hosts(&self) -> bool {
        self.0.iter().any(|entry| matches!(entry, ConnectDestination::Host { .. }))
    }
}

/// A host as it is compared: in lower case, without brackets and a final dot.
pub(crate) fn normal(host: &str) -> String {
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    match host.parse::<Ipv6Addr>() {
        Ok(address) => address.to_string(),
        Err(_) => host,
    }
}

/// Writes a host and a port as in a config.
pub(crate) fn text(host: &str, port: u16) -> String {
    match host.contains(':') {
        true => format!("[{host}]:{port}"),
        false => format!("{host}:{port}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // SB-1
    #[test]
    fn a_connection_is_judged_by_name_and_port() {
        let entries =
            ["api.example:443", "*.cdn.example:*", "[::1]:8080", "127.0.0.1:9000", "unix:/run/x"];
        let list = ConnectList::new(&entries.map(str::to_owned));
        for (host, port, expected) in [
            ("api.example", 443, true),
            ("API.Example.", 443, true),
            ("api.example", 80, false),
            ("evil-api.example", 443, false),
            ("api.example.evil", 443, false),
            ("a.cdn.example", 1, true),
            ("cdn.example", 1, false),
            ("evilcdn.example", 1, false),
            ("::1", 8080, true),
            ("[0:0::1]", 8080, true),
            ("127.0.0.1", 9000, true),
            ("127.0.0.1", 9001, false),
            ("/run/x", 1, false),
        ] {
            assert_eq!(list.has(host, port), expected, "{host}:{port}");
        }
    }
}
