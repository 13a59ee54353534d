//! Which tools clients list: all, or a few that find and call the others (SPEC FT-2).
//!
//! With [`DiscoveryMode::Search`], `tool_search` and `read_result` are the executor's own tools, if it has them, for every caller.
//! `tool_call` and `tool_call_read_only` exist here only: a call of them becomes a call of the tool that they name.

use indexmap::IndexSet;
use serde_json::{Map, Value, json, value::RawValue};
use switchboard_toolcall::{
    CallContext, DiscoveryMode, ErrorKind, ToolCall, ToolError, ToolResult, Visibility,
};

use crate::{McpCaller, ServerInner, catalog::ListedTool};

const SEARCH: &str = "tool_search";
const CALL: &str = "tool_call";
const CALL_READ_ONLY: &str = "tool_call_read_only";
const READ_RESULT: &str = "read_result";

/// How many servers the instructions name; the others are counted.
const MOST_SERVERS: usize = 25;
/// How many characters of a server's name the instructions have.
const SERVER_NAME: usize = 40;

/// What every caller may use if tools are searched for.
const SHARED: &[&str] = &[SEARCH, READ_RESULT];

/// The call that a `tools/call` requests.
pub(crate) enum RequestedCall {
    /// The tool that the client names.
    Direct(ToolCall),
    /// A tool that is called through `tool_call` or `tool_call_read_only`.
    Through(ToolCall),
    /// A call that names no tool.
    Invalid(ToolCall, ToolError),
}

impl RequestedCall {
    /// Returns what a client that searches asks for. Changes the context if it is a call of a tool of the search view.
    pub(crate) fn read(call: ToolCall, cx: &mut CallContext) -> Self {
        match &*call.name {
            SEARCH | READ_RESULT => {
                cx.visibility = std::mem::take(&mut cx.visibility).with_names(SHARED);
                Self::Direct(call)
            }
            CALL | CALL_READ_ONLY => {
                cx.read_only = &*call.name == CALL_READ_ONLY;
                match named(&call.args) {
                    Ok((name, args)) => Self::Through(ToolCall::new(name, args)),
                    Err(error) => Self::Invalid(call, error),
                }
            }
            _ => Self::Direct(call),
        }
    }
}

impl ServerInner {
    /// Returns the entries of `tools/list` with their names, if tools are searched for.
    pub(crate) fn listed_for_search(
        &self,
        all: &[ListedTool],
        caller: &McpCaller,
    ) -> Vec<(String, Box<RawValue>)> {
        let entry = |tool: &ListedTool| (tool.tool.name().to_string(), tool.entry.clone());
        // These belong to the search view, whatever the caller sees.
        let everything = self.catalog.tools(&Visibility::default());
        let own =
            |name: &str| everything.iter().find(|tool| **tool.tool.name() == *name).map(entry);
        let rules = caller.visibility.rules();
        let is_face = |name: &str| [SEARCH, CALL, CALL_READ_ONLY, READ_RESULT].contains(&name);
        let pinned = all.iter().filter(|listed| {
            let tool = &listed.tool;
            let names = [&tool.names()[..], &[&**tool.name()]].concat();
            let is_pinned = match &rules {
                Some(rules) => rules.pins(&names),
                None => names.iter().any(|name| self.config.pinned.matches(name)),
            };
            is_pinned && !is_face(tool.name()) && caller.sees(tool)
        });
        let calls = [call_entry(), read_only_entry()].into_iter().flatten();
        let view = own(SEARCH).into_iter().chain(calls).chain(own(READ_RESULT));
        view.chain(pinned.map(entry)).collect()
    }

    /// Adds the schema to the error of a call with invalid arguments, so that the next one is valid.
    pub(crate) fn with_schema(
        &self,
        mut result: ToolResult,
        visibility: &Visibility,
    ) -> ToolResult {
        if let Err(error) = &mut result.outcome
            && error.kind == ErrorKind::InvalidParameters
            && let Some(tool) = self.executor.tools().get_for(&result.tool_name, visibility)
        {
            let schema = &tool.spec().parameters;
            let hint = error.hint.take().map(|hint| format!("{hint}. ")).unwrap_or_default();
            let name = &result.tool_name;
            error.hint = Some(format!("{hint}The schema of the arguments of '{name}': {schema}"));
        }
        result
    }

    /// Returns the instructions for a client.
    pub(crate) fn instructions(&self, caller: &McpCaller) -> Option<String> {
        let of_profile =
            caller.visibility.rules().and_then(|rules| rules.config().instructions.clone());
        let own = of_profile.or_else(|| self.config.instructions.clone());
        if self.discovery(caller) == DiscoveryMode::List {
            return own;
        }
        let all = self.catalog.tools(&caller.visibility);
        let seen = all.iter().filter(|listed| caller.sees(&listed.tool));
        let servers: IndexSet<&str> =
            seen.filter_map(|tool| Some(&**tool.tool.spec().server()?)).collect();
        let of = match servers.is_empty() {
            true => String::new(),
            false => format!(", among them those of {}", server_names(&servers)),
        };
        let text = format!(
            "More tools than are listed can be called{of}. Find them with {SEARCH}, saying what they should do; call them with \
             {CALL_READ_ONLY} if they are read-only, else with {CALL}."
        );
        Some(own.map_or(text.clone(), |own| format!("{own}\n\n{text}")))
    }
}

/// Returns the names of the first servers, and how many more there are.
fn server_names(servers: &IndexSet<&str>) -> String {
    let shortened = |name: &&str| match name.char_indices().nth(SERVER_NAME) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => (*name).to_owned(),
    };
    let mut names: Vec<String> = servers.iter().take(MOST_SERVERS).map(shortened).collect();
    if servers.len() > MOST_SERVERS {
        names.push(format!("{} other servers", servers.len() - MOST_SERVERS));
    }
    names.join(", ")
}

/// Returns the tool that the arguments of `tool_call` name, and its arguments.
fn named(args: &Map<String, Value>) -> Result<(String, Map<String, Value>), ToolError> {
    let Some(Value::String(name)) = args.get("name") else {
        return Err(ToolError::invalid("'name' must be the name of a tool that tool_search found"));
    };
    if [SEARCH, CALL, CALL_READ_ONLY, READ_RESULT].contains(&&**name) {
        let problem = format_args!("'name': {name} is called by itself, not through another tool");
        return Err(ToolError::invalid(problem));
    }
    let no_object = || ToolError::invalid("'arguments' must be an object");
    let args = match args.get("arguments") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(args)) => args.clone(),
        // Small models write objects as text.
        Some(Value::String(text)) => serde_json::from_str(text).map_err(|_| no_object())?,
        Some(_) => return Err(no_object()),
    };
    Ok((name.clone(), args))
}

fn call_entry() -> Option<(String, Box<RawValue>)> {
    call_tool_entry(CALL, "Calls a tool that tool_search found.", &json!({}))
}

fn read_only_entry() -> Option<(String, Box<RawValue>)> {
    let text = "Calls a tool that tool_search found and that is read-only; refuses others.";
    call_tool_entry(CALL_READ_ONLY, text, &json!({"readOnlyHint": true, "destructiveHint": false}))
}

fn call_tool_entry(
    name: &str,
    description: &str,
    annotations: &Value,
) -> Option<(String, Box<RawValue>)> {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "The tool's name, as tool_search returned it."},
            "arguments": {
                "type": "object",
                "description": "The tool's arguments, as the parameters that tool_search returned say.",
            },
        },
        "required": ["name"],
    });
    let mut entry = json!({"name": name, "description": description, "inputSchema": schema});
    if annotations.as_object().is_some_and(|hints| !hints.is_empty()) {
        entry["annotations"] = annotations.clone();
    }
    Some((name.to_owned(), serde_json::value::to_raw_value(&entry).ok()?))
}
