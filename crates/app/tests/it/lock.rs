//! `switchboard.lock`: written, compared, updated, enforced (LK-1, LK-2).

mod drift;
mod enforced;
mod trusting;
mod unusable;

use std::{fs, path::PathBuf};

use serde_json::{Value, json};

use crate::test_folder::{CommandOutput, TestFolder};

/// A server that says what files beside it have, at each request again.
const SPEAKER: &str = r#"
cd "$1" || exit 1
while read -r line; do
  id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\),.*/\1/')
  say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
  case $line in
    *'"method":"initialize"'*) say "$(cat initialize.json)" ;;
    *'"method":"server/discover"'*'2026-07-28'*)
      if [ -e discover.json ]; then say "$(cat discover.json)"; else say null; fi ;;
    *'"method":"tools/list"'*'2026-07-28'*) say "{\"resultType\":\"complete\",\"tools\":$(cat modern.json)}" ;;
    *'"method":"tools/list"'*) say "{\"tools\":$(cat tools.json)}" ;;
    *'"method":"prompts/list"'*) say "{\"prompts\":$(cat prompts.json)}" ;;
    *'"method":"resources/templates/list"'*) say "{\"resourceTemplates\":$(cat templates.json)}" ;;
    *'"method":"resources/list"'*) say '{"resources":[]}' ;;
    *'"method":"prompts/get"'*) say '{"messages":[{"role":"user","content":{"type":"text","text":"Review it"}}]}' ;;
    *'"method":"tools/call"'*)
      if [ -e next.json ]; then
        mv next.json tools.json
        printf '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n'
      fi
      say '{"content":[{"type":"text","text":"done"}]}' ;;
    *'"id":'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}\n' "$id" ;;
  esac
done
"#;

/// The tools of a new server.
fn tools() -> Value {
    let parameters = json!({"type": "object", "properties": {"path": {"type": "string", "description": "Where it is"}}, "required": ["path"]});
    json!([
        {"name": "read_file", "description": "Reads a file of the project.", "inputSchema": parameters, "annotations": {"readOnlyHint": true}},
        {"name": "list_files", "description": "Lists the files of a folder.", "inputSchema": parameters},
    ])
}

/// A config with servers that say what files have; another server may be written behind them.
struct Library {
    place: TestFolder,
}

impl Library {
    fn new(names: &[&str], more: &str) -> Self {
        let section = |name: &&str| {
            format!("[servers.{name}]\ncommand = \"sh\"\nargs = [\"speaker.sh\", \"{name}\"]\n")
        };
        let servers: String = names.iter().map(section).collect();
        let config = format!("[mcp]\nretry_base_delay = \"1ms\"\n{servers}{more}");
        let place =
            TestFolder::with_config(&config).file("speaker.sh", SPEAKER).variable("USER", "ada");
        let library = Self { place };
        for name in names {
            library.initialize(name, "1.0", "Read before you write.");
            library.says(name, "tools", &tools());
            library.says(
                name,
                "prompts",
                &json!([{"name": "review", "description": "Reviews code."}]),
            );
            library.says(
                name,
                "templates",
                &json!([{"uriTemplate": "page://{n}", "name": "page"}]),
            );
        }
        library
    }

    /// The same with a lock of what the servers say.
    fn locked(names: &[&str], more: &str) -> Self {
        let library = Self::new(names, more);
        let ran = library.run(&["lock"]);
        assert_eq!(ran.status, 0, "{ran:?}");
        library
    }

    fn run(&self, words: &[&str]) -> CommandOutput {
        self.place.run(words)
    }

    /// Lets a server say something else from its next list on.
    fn says(&self, server: &str, what: &str, value: &Value) {
        let folder = self.place.path().join(server);
        fs::create_dir_all(&folder).unwrap();
        let new = folder.join("new");
        fs::write(&new, value.to_string()).unwrap();
        fs::rename(new, folder.join(format!("{what}.json"))).unwrap();
    }

    fn initialize(&self, server: &str, version: &str, instructions: &str) {
        let capabilities = json!({"tools": {"listChanged": true}, "prompts": {}, "resources": {}});
        let info = json!({"name": "speaker", "version": version});
        let said = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info, "instructions": instructions});
        self.says(server, "initialize", &said);
    }

    fn lock_file(&self) -> PathBuf {
        self.place.path().join("switchboard.lock")
    }

    fn lock(&self) -> String {
        fs::read_to_string(self.lock_file()).unwrap()
    }
}

/// The tools with another description of the first.
fn changed() -> Value {
    let mut tools = tools();
    tools[0]["description"] = json!("Deletes a file of the project.");
    tools
}

/// The tools with the first under another name.
fn renamed() -> Value {
    let mut tools = tools();
    tools[0]["name"] = json!("load_file");
    tools
}
