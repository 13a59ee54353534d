//! Which environment variables a program that Switchboard starts gets (SPEC MC-7).
//!
//! Only names are judged here; who starts the program reads the variables.

/// Variables that every program gets.
const NAMES: [&str; 13] = [
    "PATH",
    "HOME",
    "LANG",
    "TZ",
    "TMPDIR",
    "USER",
    "SHELL",
    "TERM",
    // What lets programs through the network of a company.
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "DOCKER_HOST",
];

/// The prefixes of further variables.
const PREFIXES: [&str; 2] = ["LC_", "XDG_"];

/// The suffixes of further variables, in both cases.
const SUFFIXES: [&str; 2] = ["_PROXY", "_proxy"];

/// Returns whether a program gets the variable `name` of our environment if its settings do not name it.
pub fn is_inherited(name: &str) -> bool {
    NAMES.contains(&name)
        || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || SUFFIXES.iter().any(|suffix| name.ends_with(suffix))
}

#[cfg(test)]
mod tests {
    use super::is_inherited;

    // MC-7
    #[test]
    fn few_variables_are_inherited_and_no_secrets() {
        let inherited = "PATH HOME LANG LC_ALL LC_CTYPE TZ TMPDIR USER SHELL TERM XDG_RUNTIME_DIR XDG_CONFIG_HOME \
            HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy SSL_CERT_FILE \
            SSL_CERT_DIR NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE DOCKER_HOST";
        for name in inherited.split_whitespace() {
            assert!(is_inherited(name), "{name}");
        }
        let withheld = "AWS_SECRET_ACCESS_KEY ANTHROPIC_API_KEY GITHUB_TOKEN SSH_AUTH_SOCK LD_PRELOAD path Path LCD_X \
            PROXY_PASSWORD DOCKER_CONFIG";
        for name in withheld.split_whitespace() {
            assert!(!is_inherited(name), "{name}");
        }
    }
}
