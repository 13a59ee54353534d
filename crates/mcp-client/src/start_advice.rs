//! A hint for people whose server does not start.

use std::path::Path;

use super::config::ServerConfig;

impl ServerConfig {
    /// Returns a hint about these settings for a person whose server does not start, for this reason.
    pub(super) fn start_advice(&self, reason: &str) -> Option<String> {
        let command = self.command.as_deref()?;
        if let Some(origin) = origin_of(command).filter(|_| reason.ends_with(NO_PROGRAM)) {
            return Some(format!("`{command}` comes with {origin}"));
        }
        if command.contains(char::is_whitespace) && !Path::new(command).exists() {
            let mut words = command.split_whitespace().chain(self.args.iter().map(String::as_str));
            let program = words.next().unwrap_or_default();
            let args: Vec<_> = words.collect();
            let text = "`command` is the program alone: write";
            return Some(format!("{text} command = {program:?}, args = {args:?}"));
        }
        let few = "it gets only some environment variables (`inherit_env = true` gives all)";
        (!self.inherit_env).then(|| few.to_owned())
    }
}

/// How the reason ends if there is no program of this name.
const NO_PROGRAM: &str = "No such file or directory";

/// Where the programs come from that start most servers.
fn origin_of(command: &str) -> Option<&'static str> {
    Some(match command {
        "uv" | "uvx" => "uv, https://docs.astral.sh/uv",
        "node" | "npm" | "npx" => "Node.js, https://nodejs.org",
        "bun" | "bunx" => "Bun, https://bun.sh",
        "deno" => "Deno, https://deno.com",
        "docker" => "Docker, https://docs.docker.com/get-started/get-docker",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_launcher_that_is_not_installed_is_told_from_where_it_comes() {
        let advice = |command: &str, reason: &str| {
            let config = json!({"command": command, "args": ["mcp-server-time"]});
            serde_json::from_value::<ServerConfig>(config).unwrap().start_advice(reason)
        };
        let missing = "cannot start 'uvx': No such file or directory";
        let text = "`uvx` comes with uv, https://docs.astral.sh/uv";
        assert_eq!(advice("uvx", missing).as_deref(), Some(text));
        for (command, reason) in [("uvx", "the server exited with status 1"), ("mine", missing)] {
            let advice = advice(command, reason).unwrap();
            assert!(advice.contains("inherit_env"), "{command}: {advice}");
        }
    }
}
