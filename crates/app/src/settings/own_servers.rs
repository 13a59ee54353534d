//! A server that is Switchboard again, `switchboard zwave`: it reads the config that names it.
//!
//! It looks for a config as we do, but from its own folder and without our variables. So if our config was named by a flag or
//! by a variable, the server would not find its `[zwave]`.

use std::path::{Path, PathBuf};

use switchboard_mcp_client::ServerConfig;

const VARIABLE: &str = "SWITCHBOARD_CONFIG";

/// Passes the config's path to the server if it is a `switchboard zwave` and the config has `[zwave]`.
pub(crate) fn share(config: &mut ServerConfig, file: &Path, has_zwave: bool) {
    let is_told = config.env.contains_key(VARIABLE)
        || config.args.iter().any(|arg| arg == "--config" || arg.starts_with("--config="));
    if !has_zwave || is_told || !is_ours(config) {
        return;
    }
    let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    if let Some(file) = file.to_str() {
        config.env.insert(VARIABLE.to_owned(), file.to_owned());
    }
}

fn is_ours(config: &ServerConfig) -> bool {
    let program = config.command.as_ref().map(PathBuf::from);
    let name = program.as_deref().and_then(Path::file_stem);
    name.is_some_and(|name| name == "switchboard") && config.args.iter().any(|arg| arg == "zwave")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared(command: &str, args: &[&str], has_zwave: bool) -> Option<String> {
        let mut config = ServerConfig {
            command: Some(command.to_owned()),
            args: args.iter().map(|&arg| arg.to_owned()).collect(),
            ..ServerConfig::default()
        };
        share(&mut config, Path::new("/etc/switchboard.toml"), has_zwave);
        config.env.remove(VARIABLE)
    }

    // HM-1
    #[test]
    fn only_our_own_server_gets_the_config_that_means_it() {
        let file = Some("/etc/switchboard.toml".to_owned());
        assert_eq!(shared("switchboard", &["zwave"], true), file);
        assert_eq!(shared("/usr/local/bin/switchboard", &["zwave", "--prefix", "z"], true), file);
        let others = [
            ("switchboard", vec!["zwave"], false),
            ("switchboard", vec!["zwave", "--config", "other.toml"], true),
            ("switchboard", vec!["zwave", "--config=other.toml"], true),
            ("switchboard", vec!["serve", "--stdio"], true),
            ("npx", vec!["zwave"], true),
        ];
        for (command, args, has_zwave) in others {
            assert_eq!(shared(command, &args, has_zwave), None, "{command} {args:?}");
        }
    }
}
