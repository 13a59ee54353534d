//! Addresses as people write them.

/// The address of an Ollama, from what `OLLAMA_HOST` may hold: `host`, `host:port`, `:port`, with a scheme or without.
/// It may be the address that Ollama listens on, such as `0.0.0.0`, which is not one to connect to.
pub(super) fn of_ollama(host: &str) -> String {
    let host = host.trim().trim_matches(['"', '\'']).trim_end_matches('/');
    let (scheme, rest) = host.split_once("://").unwrap_or(("http", host));
    let (place, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let (name, port) = split(place);
    let name = match name {
        "" | "0.0.0.0" => "127.0.0.1".to_owned(),
        "::" | "[::]" => "[::1]".to_owned(),
        bare if bare.contains(':') && !bare.starts_with('[') => format!("[{bare}]"),
        other => other.to_owned(),
    };
    // As in Ollama: with a scheme, the default port is the scheme's.
    let usual = if host.contains("://") { "" } else { ":11434" };
    let port = port.map_or_else(|| usual.to_owned(), |port| format!(":{port}"));
    format!("{scheme}://{name}{port}{path}")
}

/// The host and the port that an address leads to, in lower case.
pub(crate) fn authority(url: &str) -> (String, u16) {
    let (scheme, rest) = url.trim().split_once("://").unwrap_or(("http", url.trim()));
    let place = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let place = place.rsplit('@').next().unwrap_or_default();
    let usual = if scheme.eq_ignore_ascii_case("https") { 443 } else { 80 };
    let (name, port) = split(place);
    let port = port.and_then(|port| port.parse().ok()).unwrap_or(usual);
    (name.trim_matches(['[', ']']).to_lowercase(), port)
}

/// Splits host and port; an IPv6 address has colons of its own.
fn split(place: &str) -> (&str, Option<&str>) {
    let is_bare_v6 = place.matches(':').count() > 1 && !place.starts_with('[');
    match place.rsplit_once(':') {
        Some((name, port)) if !is_bare_v6 && !port.contains(']') => (name, Some(port)),
        _ => (place, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // ML-10
    #[test]
    fn every_way_to_name_an_ollama_leads_there() {
        for (written, meant) in [
            ("127.0.0.1:11434", "http://127.0.0.1:11434"),
            ("box", "http://box:11434"),
            (":8080", "http://127.0.0.1:8080"),
            ("0.0.0.0", "http://127.0.0.1:11434"),
            ("http://box", "http://box"),
            ("https://box:8443/ollama/", "https://box:8443/ollama"),
            (" \"box:1\" ", "http://box:1"),
            ("::1", "http://[::1]:11434"),
            ("[::]:9", "http://[::1]:9"),
        ] {
            assert_eq!(of_ollama(written), meant, "{written}");
        }
    }

    #[test]
    fn addresses_have_a_host_and_a_port() {
        for (url, host, port) in [
            ("https://api.openai.com/v1", "api.openai.com", 443),
            ("http://user:secret@Box:81/x", "box", 81),
            ("[::1]:9", "::1", 9),
            ("box", "box", 80),
        ] {
            assert_eq!(authority(url), (host.to_owned(), port), "{url}");
        }
    }
}
