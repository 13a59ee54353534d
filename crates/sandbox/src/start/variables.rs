//! Environment variables that lead programs to what is theirs.

use std::path::Path;

/// The variables that lead programs to their own folder for temporary files.
pub(super) fn temp_variables(temp: &Path) -> [(String, String); 3] {
    let temp = temp.display().to_string();
    ["TMPDIR", "TMP", "TEMP"].map(|name| (name.to_owned(), temp.clone()))
}

/// The variables that lead programs to a home folder.
pub(super) fn home_variables(home: &Path) -> Vec<(String, String)> {
    let below = [
        ("HOME", ""),
        ("XDG_CONFIG_HOME", ".config"),
        ("XDG_CACHE_HOME", ".cache"),
        ("XDG_DATA_HOME", ".local/share"),
        ("XDG_STATE_HOME", ".local/state"),
    ];
    let path = |folder: &str| match folder {
        "" => home.display().to_string(),
        folder => home.join(folder).display().to_string(),
    };
    below.map(|(name, folder)| (name.to_owned(), path(folder))).into()
}

/// The variables that lead programs to a proxy.
pub(crate) fn proxy_variables(address: &str) -> Vec<(String, String)> {
    let names =
        ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
    let more = [
        "npm_config_proxy",
        "npm_config_https_proxy",
        "GLOBAL_AGENT_HTTP_PROXY",
        // Browsers do not use one for loopback unless they are told to.
        "PLAYWRIGHT_MCP_PROXY_SERVER",
    ];
    let fixed = [
        ("NO_PROXY", ""),
        ("no_proxy", ""),
        ("npm_config_noproxy", ""),
        // Node's own fetch and http.
        ("NODE_USE_ENV_PROXY", "1"),
    ];
    let proxies = names.iter().chain(&more).map(|&name| (name, address));
    proxies.chain(fixed).map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}
