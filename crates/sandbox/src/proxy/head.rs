//! The head of a request to the proxy.

use tokio::{io::AsyncReadExt, net::TcpStream};

use super::{ProxyError, destination::normal};

/// The largest head that is read.
const LARGEST: usize = 32 * 1024;

/// What a request is for.
pub(super) enum ProxyTarget {
    /// A tunnel to a host.
    Tunnel { host: String, port: u16 },
    /// A plain request to a host.
    Request { host: String, port: u16, path: String },
}

/// What follows the head of a request in a tunnel.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ProxyBody {
    None,
    Sized(u64),
    Chunked,
    /// Another protocol, if the server agrees.
    WebSocket,
}

/// A request line and the headers.
pub(super) struct RequestHead {
    method: String,
    target: String,
    headers: Vec<(String, String)>,
}

impl RequestHead {
    /// Reads a head; returns it with what was read of the body.
    pub(super) async fn read(client: &mut TcpStream) -> Result<(Self, Vec<u8>), ProxyError> {
        let mut bytes = Vec::new();
        loop {
            if let Some(end) = end_of_head(&bytes) {
                let rest = bytes.split_off(end);
                return Ok((Self::parse(&bytes)?, rest));
            }
            if bytes.len() > LARGEST {
                return Err(ProxyError::Bad("the head of the request is too large"));
            }
            if client.read_buf(&mut bytes).await? == 0 {
                return Err(ProxyError::Bad("the request ends in its head"));
            }
        }
    }

    pub(super) fn parse(bytes: &[u8]) -> Result<Self, ProxyError> {
        let bad = || ProxyError::Bad("this is not an HTTP/1.1 request");
        let text = std::str::from_utf8(bytes).map_err(|_| bad())?;
        let mut lines = text.strip_suffix("\r\n\r\n").ok_or_else(bad)?.split("\r\n");
        let mut words = lines.next().unwrap_or_default().split(' ');
        let (Some(method), Some(target), Some(version), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(bad());
        };
        // Servers may take a lone line feed, or another control character, for the end of a line.
        let is_strange = |c: char| c.is_control() && c != '\t';
        let is_one_line = |line: &str| !line.contains(is_strange);
        let is_known = matches!(version, "HTTP/1.0" | "HTTP/1.1");
        if !is_known || !is_token(method) || target.contains(char::is_control) {
            return Err(bad());
        }
        let header = |line: &str| {
            let (name, value) = line.split_once(':').ok_or_else(bad)?;
            match is_token(name) && is_one_line(value) {
                true => Ok((name.to_ascii_lowercase(), value.trim_matches([' ', '\t']).to_owned())),
                false => Err(bad()),
            }
        };
        let headers = lines.map(header).collect::<Result<_, _>>()?;
        Ok(Self { method: method.to_owned(), target: target.to_owned(), headers })
    }

    /// The value of a header.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(is, _)| is == name).map(|(_, value)| value.as_str())
    }

    /// The value of a header that must not be there twice.
    fn only_value(&self, name: &str) -> Result<Option<&str>, ProxyError> {
        let mut values = self.headers.iter().filter(|(is, _)| is == name);
        match (values.next(), values.next()) {
            (_, Some(_)) => Err(ProxyError::Bad("a header is there twice")),
            (value, None) => Ok(value.map(|(_, value)| value.as_str())),
        }
    }

    pub(super) fn target(&self) -> Result<ProxyTarget, ProxyError> {
        if self.method == "CONNECT" {
            let (host, port) = authority(&self.target, None)?;
            return Ok(ProxyTarget::Tunnel { host, port });
        }
        let bad = ProxyError::Bad("write the whole address of the request, with http://");
        let rest = self.target.strip_prefix("http://").ok_or(bad)?;
        let (name, path) = rest.find(['/', '?']).map_or((rest, "/"), |at| rest.split_at(at));
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        let (host, port) = authority(name, Some(80))?;
        Ok(ProxyTarget::Request { host, port, path })
    }

    /// Returns the length of the body, and the head as the server gets it.
    pub(super) fn for_server(
        &self,
        host: &str,
        port: u16,
        path: &str,
    ) -> Result<(u64, Vec<u8>), ProxyError> {
        if self.value("transfer-encoding").is_some() {
            return Err(ProxyError::Bad("send the length of the body (content-length)"));
        }
        let length = match self.only_value("content-length")? {
            None => 0,
            Some(length) => {
                let is_number = length.bytes().all(|byte| byte.is_ascii_digit());
                let length = is_number.then(|| length.parse().ok()).flatten();
                length.ok_or(ProxyError::Bad("this is not the length of a body"))?
            }
        };
        if !self.is_for(host, port)? {
            return Err(ProxyError::Bad("the Host header names another host than the address"));
        }
        let mut head = format!("{} {path} HTTP/1.1\r\n", self.method);
        let ours = [
            "connection",
            "proxy-connection",
            "proxy-authorization",
            "keep-alive",
            "upgrade",
            "te",
        ];
        for (name, value) in self.headers.iter().filter(|(name, _)| !ours.contains(&name.as_str()))
        {
            head += &format!("{name}: {value}\r\n");
        }
        head += "connection: close\r\n\r\n";
        Ok((length, head.into_bytes()))
    }

    /// Returns what its body is, if it may go to the host of a tunnel, as it is.
    ///
    /// # Errors
    /// The other host that it is for, or what cannot be judged.
    pub(super) fn in_tunnel(&self, host: &str, port: u16) -> Result<ProxyBody, String> {
        let unreadable = |_: ProxyError| "a request that cannot be read".to_owned();
        if !self.is_for(host, port).map_err(unreadable)? {
            return Err(normal(self.value("host").unwrap_or_default()));
        }
        let (target, wanted) = (self.target.as_str(), (normal(host), port));
        let absolute = target.strip_prefix("http://");
        let absolute = absolute.map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
        match absolute {
            Some(name) if authority(name, Some(80)).is_ok_and(|named| named == wanted) => {}
            Some(name) => return Err(normal(name)),
            None if target.starts_with('/') => {}
            None if target == "*" && self.method == "OPTIONS" => {}
            None => return Err(target.to_owned()),
        }
        let lengths = (self.only_value("content-length"), self.only_value("transfer-encoding"));
        let lengths = (lengths.0.map_err(unreadable)?, lengths.1.map_err(unreadable)?);
        match (lengths, self.only_value("upgrade").map_err(unreadable)?) {
            ((None, None), Some(protocol)) if protocol.eq_ignore_ascii_case("websocket") => {
                Ok(ProxyBody::WebSocket)
            }
            (_, Some(_)) => Err("another protocol than HTTP/1.1".to_owned()),
            ((None, None), None) => Ok(ProxyBody::None),
            ((Some(length), None), None) if length.bytes().all(|byte| byte.is_ascii_digit()) => {
                let wrong = |_| "a request that cannot be read".to_owned();
                length.parse().map(ProxyBody::Sized).map_err(wrong)
            }
            ((None, Some(coding)), None) if coding.eq_ignore_ascii_case("chunked") => {
                Ok(ProxyBody::Chunked)
            }
            _ => Err("a request that cannot be read".to_owned()),
        }
    }

    /// Whether its `Host` names this host; HTTP/1.1 demands one.
    pub(super) fn is_for(&self, host: &str, port: u16) -> Result<bool, ProxyError> {
        let Some(named) = self.only_value("host")? else { return Ok(false) };
        Ok(authority(named, Some(port)).is_ok_and(|named| named == (normal(host), port)))
    }
}

/// Whether a text is what methods and names of headers are made of.
fn is_token(text: &str) -> bool {
    let is_of_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    !text.is_empty() && text.chars().all(is_of_token)
}

/// Where the body begins.
fn end_of_head(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4)
}

/// Reads `host:port`.
fn authority(text: &str, usual: Option<u16>) -> Result<(String, u16), ProxyError> {
    let bad = || ProxyError::Bad("this is not a host and port");
    let has_port = text.rsplit_once(':').filter(|(_, port)| !port.contains(']'));
    let (host, port) = match (has_port, usual) {
        (Some((host, port)), _) => (host, port.parse().map_err(|_| bad())?),
        (None, Some(usual)) => (text, usual),
        (None, None) => return Err(bad()),
    };
    let host = normal(host);
    // Credentials in an address, and whatever else hides a host.
    match host.is_empty() || host.contains(['@', '/', '\\', '%']) || port == 0 {
        true => Err(bad()),
        false => Ok((host, port)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(head: &str) -> Option<String> {
        let head = RequestHead::parse(head.replace('\n', "\r\n").as_bytes()).ok()?;
        match head.target().ok()? {
            ProxyTarget::Tunnel { host, port } => Some(format!("tunnel {host} {port}")),
            ProxyTarget::Request { host, port, path } => {
                let (length, head) = head.for_server(&host, port, &path).ok()?;
                let head = String::from_utf8(head).ok()?.replace("\r\n", "|");
                Some(format!("{host} {port} {length} {head}"))
            }
        }
    }

    // SB-1
    #[test]
    fn a_line_feed_alone_ends_nothing() {
        for head in [
            "GET http://a.example/x\nHost:b.example HTTP/1.1\r\nHost: a.example\r\n\r\n",
            "GET http://a.example/ HTTP/1.1\nHost:b.example\r\nHost: a.example\r\n\r\n",
            "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nX: y\nHost: b.example\r\n\r\n",
        ] {
            assert!(RequestHead::parse(head.as_bytes()).is_err(), "{head}");
        }
    }

    // SB-1
    #[test]
    fn a_request_is_for_one_host() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(check("CONNECT A.example:443 HTTP/1.1\n\n"), some("tunnel a.example 443"));
        assert_eq!(check("CONNECT [::1]:443 HTTP/1.1\n\n"), some("tunnel ::1 443"));
        assert_eq!(
            check(
                "GET http://a.example/x?y HTTP/1.1\nHost: a.example\nProxy-Connection: keep-alive\n\n"
            ),
            some("a.example 80 0 GET /x?y HTTP/1.1|host: a.example|connection: close||")
        );
        assert_eq!(
            check("POST http://a.example:81?y HTTP/1.1\nHost: A.example:81\nContent-Length: 3\n\n"),
            some(
                "a.example 81 3 POST /?y HTTP/1.1|host: A.example:81|content-length: 3|connection: close||"
            )
        );
        for wrong in [
            "CONNECT a.example HTTP/1.1\n\n",
            "CONNECT a.example:0 HTTP/1.1\n\n",
            "GET /x HTTP/1.1\nHost: a.example\n\n",
            "GET https://a.example/ HTTP/1.1\nHost: a.example\n\n",
            "GET http://a.example/ HTTP/1.1\nHost: b.example\n\n",
            "GET http://a.example/ HTTP/1.1\n\n",
            "GET http://a.example/ HTTP/1.1\nHost: a.example\nHost: b.example\n\n",
            "GET http://a.example:81/ HTTP/1.1\nHost: a.example:82\n\n",
            "GET http://a@b.example/ HTTP/1.1\nHost: b.example\n\n",
            "POST http://a.example/ HTTP/1.1\nHost: a.example\nTransfer-Encoding: chunked\n\n",
            "POST http://a.example/ HTTP/1.1\nHost: a.example\nContent-Length: 1\nContent-Length: 2\n\n",
            "GET http://a.example/ HTTP/1.1\nHost: a.example\n folded\n\n",
            "GET http://a.example/\u{b}x HTTP/1.1\nHost: a.example\n\n",
            "GET http://a.example/x\rHost:b.example HTTP/1.1\nHost: a.example\n\n",
            "GET http://a.example/ HTTP/1.1\rHost:b.example\nHost: a.example\n\n",
            "GET http://a.example/ HTTP/1.1\nHost: a.example\nX: y\rHost: b.example\n\n",
            "GET http://a.example/ HTTP/1.1\nHost: a.example\nHost : b.example\n\n",
            "POST http://a.example/ HTTP/1.1\nHost: a.example\nContent-Length: +1\n\n",
            "hello\n\n",
        ] {
            assert_eq!(check(wrong), None, "{wrong}");
        }
    }
}
