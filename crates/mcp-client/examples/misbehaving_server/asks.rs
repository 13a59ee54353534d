//! Questions to the client in the middle of a call: the tool `ask_client` sends any request, and returns what came of it.

use std::{
    collections::HashMap,
    io,
    sync::{LazyLock, Mutex, PoisonError},
};

use serde_json::{Value, json};

use crate::{Outcome, envelope, modes::Modes, write_message};

/// The calls that wait for an answer of the client's: their ids and arguments.
static WAITING: LazyLock<Mutex<HashMap<String, (Value, Value)>>> = LazyLock::new(Mutex::default);

/// Asks the client what the arguments of a call say: `{method, params}`. Old clients are sent a request, modern ones are
/// asked in the result.
pub(crate) fn ask(modes: &Modes, id: &Value, params: &Value) -> io::Result<Option<Outcome>> {
    let arguments = &params["arguments"];
    let (method, asked) = (&arguments["method"], &arguments["params"]);
    if modes.has("modern") {
        let request = json!({"method": method, "params": asked});
        return Ok(Some(Ok(match params.get("inputResponses") {
            Some(responses) => result(responses, false),
            None => json!({"resultType": "input_required", "inputRequests": {"q": request}}),
        })));
    }
    let key = format!("ask-{id}");
    let waiting = (id.clone(), arguments.clone());
    WAITING.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone(), waiting);
    let request = json!({"jsonrpc": "2.0", "id": key, "method": method, "params": asked});
    write_message(&request)?;
    Ok(None)
}

/// Ends the call whose question the client answered. With `quiet` the error of the client is not told.
pub(crate) fn answered(message: &Value) -> io::Result<()> {
    let key = message["id"].as_str().unwrap_or_default();
    let waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    let Some((id, arguments)) = waiting else { return Ok(()) };
    let outcome = match (message.get("result"), arguments["quiet"] == true) {
        (Some(answer), _) => result(answer, false),
        (None, false) => result(&message["error"], true),
        (None, true) => result(&json!("something went wrong"), true),
    };
    write_message(&envelope(&id, Ok(outcome)))
}

fn result(answer: &Value, is_error: bool) -> Value {
    let text = json!({"type": "text", "text": answer.to_string()});
    json!({"content": [text], "isError": is_error})
}
