//! The addresses that a browser may be sent back to: exactly as the client named them, but for the port on loopback (RFC 8252).

use reqwest::Url;

/// Schemes of programs, besides those that look like a reversed domain name.
const PROGRAMS: [&str; 7] =
    ["cursor", "vscode", "vscode-insiders", "windsurf", "claude", "zed", "raycast"];

/// Checks an address that a client names.
pub(super) fn check(address: &str) -> Result<(), String> {
    let url: Url = address.parse().map_err(|error| format!("`{address}` is not a URL: {error}"))?;
    if url.fragment().is_some() || !url.username().is_empty() || url.password().is_some() {
        return Err(format!("`{address}` has a fragment or user information"));
    }
    let scheme = url.scheme();
    let is_allowed = match scheme {
        "https" => url.host_str().is_some(),
        "http" => is_loopback(&url),
        _ => scheme.contains('.') || PROGRAMS.contains(&scheme),
    };
    match is_allowed {
        true => Ok(()),
        false => Err(format!(
            "`{address}` is neither https, nor http on this machine, nor of a known program"
        )),
    }
}

/// Returns whether `wanted` is one of the addresses that the client named.
pub(super) fn is_registered(wanted: &str, registered: &[String]) -> bool {
    check(wanted).is_ok()
        && registered.iter().any(|one| one == wanted || differs_in_port(one, wanted))
}

/// Returns whether both are on loopback, and equal but for the port: programs take any that is free.
fn differs_in_port(one: &str, other: &str) -> bool {
    let (Ok(mut one), Ok(mut other)) = (one.parse::<Url>(), other.parse::<Url>()) else {
        return false;
    };
    let are_local = [&one, &other].iter().all(|url| url.scheme() == "http" && is_loopback(url));
    are_local && one.set_port(None).is_ok() && other.set_port(None).is_ok() && one == other
}

/// Returns whether the address is on the browser's own machine.
pub(super) fn is_loopback(url: &Url) -> bool {
    matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    // AU-4
    #[test]
    fn addresses_are_exact_and_ports_of_loopback_are_free() {
        let named = ["https://a.example/cb", "http://127.0.0.1:3000/cb", "http://localhost/x?y=1"];
        let named = named.map(str::to_owned);
        for good in [
            "https://a.example/cb",
            "http://127.0.0.1:3000/cb",
            "http://127.0.0.1:49152/cb",
            "http://127.0.0.1/cb",
            "http://localhost:9/x?y=1",
        ] {
            assert!(is_registered(good, &named), "{good}");
        }
        for wrong in [
            "https://a.example/cb/",
            "https://a.example/cb?x=1",
            "https://a.example/cb#x",
            "https://a.example:8443/cb",
            "https://a.example.evil.example/cb",
            "https://evil.example/cb",
            "https://a.example@evil.example/cb",
            "https://a.example/../cb",
            "https://A.example/cb",
            "http://a.example/cb",
            "http://127.0.0.1:3000/other",
            "http://localhost:3000/cb",
            "http://127.0.0.1.evil.example:3000/cb",
            "http://localhost:9/x?y=2",
            "javascript:alert(1)",
            "",
        ] {
            assert!(!is_registered(wrong, &named), "{wrong}");
        }
    }

    // AU-4
    #[test]
    fn only_safe_addresses_can_be_named() {
        for good in
            ["https://a.example/cb", "http://localhost:1/", "cursor://x/cb", "com.example.app:/cb"]
        {
            assert!(check(good).is_ok(), "{good}");
        }
        for wrong in [
            "http://a.example/",
            "javascript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "about:blank",
            "ms-msdt:/x",
            "https://u:p@a.example/",
            "https://a.example/#x",
            "a.example/cb",
        ] {
            assert!(check(wrong).is_err(), "{wrong}");
        }
    }
}
