//! Requests of servers to their client that cannot go to the caller: answered by the program, or refused.

use std::sync::Arc;

use serde_json::{Map, Value};
use switchboard_toolcall::{BoxFuture, QuestionKind};

use crate::{RpcError, questions};

/// Answers requests of servers to their client (elicitation, sampling, roots) if the caller cannot be asked.
pub trait ServerRequestHandler: Send + Sync {
    /// The capabilities that are declared to servers, as `initialize` and `_meta` carry them.
    fn capabilities(&self) -> Value;

    /// The capabilities that are declared with a call whose caller cannot be asked: those that
    /// [`answer`](Self::answer) answers itself. Only servers of 2026-07-28 are told with each call.
    fn own_capabilities(&self) -> Value {
        self.capabilities()
    }

    /// Answers one request.
    fn answer(&self, request: ServerRequest) -> BoxFuture<'_, Result<Value, RpcError>>;
}

/// A request of a server to its client.
#[derive(Clone, Debug)]
pub struct ServerRequest {
    /// The server's name.
    pub server: Arc<str>,
    /// The method.
    pub method: String,
    /// Its parameters.
    pub params: Value,
    /// Why the caller is not asked.
    pub recipient: NoRecipient,
}

/// Why the caller is not asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoRecipient {
    /// The caller accepts no such questions.
    CannotBeAsked,
    /// No call is in flight.
    NoCall,
    /// Several calls are in flight, and it is unknown which of them the request belongs to.
    Unknown,
}

/// Answers nothing, and says so.
pub struct NoRequestHandler;

impl ServerRequestHandler for NoRequestHandler {
    fn capabilities(&self) -> Value {
        Value::Object(Map::new())
    }

    fn answer(&self, request: ServerRequest) -> BoxFuture<'_, Result<Value, RpcError>> {
        Box::pin(std::future::ready(Err(refusal(&request))))
    }
}

/// How the error for a request that is no question begins.
const NO_QUESTION: &str = "Switchboard does not answer";

/// Returns whether an error is our own [`refusal`], sent back: by a program that is no MCP server and echoes its input.
pub fn is_echoed_refusal(error: &RpcError) -> bool {
    error.code == RpcError::METHOD_NOT_FOUND && error.message.starts_with(NO_QUESTION)
}

/// Returns the error for a server whose request is not answered.
pub fn refusal(request: &ServerRequest) -> RpcError {
    let ServerRequest { server, method, recipient, .. } = request;
    let Some(kind) = questions::kind(method) else {
        let text = format!("{NO_QUESTION} '{method}'");
        return RpcError::new(RpcError::METHOD_NOT_FOUND, text);
    };
    let asked = format!("MCP server '{server}' {} ('{method}')", what(kind));
    RpcError::new(
        RpcError::REFUSED,
        match recipient {
            NoRecipient::CannotBeAsked => cannot_be_asked(server, kind),
            NoRecipient::NoCall => format!("{asked} while no call to it runs"),
            NoRecipient::Unknown => format!(
                "{asked} while several calls to it run, and it is not known which of them it is for; \
                 call it again while no other call to it runs"
            ),
        },
    )
}

/// Returns the error for server and caller if the caller cannot be asked the server's question.
pub fn cannot_be_asked(server: &str, kind: QuestionKind) -> String {
    let from = match kind {
        QuestionKind::Elicit => {
            "a terminal, the console or an MCP client that supports elicitation"
        }
        QuestionKind::Sample => "a terminal, the console or an MCP client that supports sampling",
        QuestionKind::Roots => "an MCP client that supports roots",
    };
    let (what, method) = (what(kind), questions::method(kind));
    format!(
        "MCP server '{server}' {what} ('{method}'), and this caller cannot be asked; call it from {from}"
    )
}

/// Returns the error for server and caller if the server's request is not a question of MCP.
pub fn cannot_be_answered(server: &str, method: &str) -> String {
    format!("MCP server '{server}' asked for '{method}', which this caller cannot answer")
}

/// Returns the error for server and caller if the server's question cannot be shown to a person.
pub fn cannot_be_shown(server: &str, kind: QuestionKind, reason: &str) -> String {
    let (what, method) = (what(kind), questions::method(kind));
    format!("MCP server '{server}' {what} ('{method}') that cannot be shown: {reason}")
}

/// Describes the server's request.
fn what(kind: QuestionKind) -> &'static str {
    match kind {
        QuestionKind::Elicit => "asked a question",
        QuestionKind::Sample => "asked for a model's answer",
        QuestionKind::Roots => "asked for folders",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(method: &str, recipient: NoRecipient) -> String {
        let (server, method) = ("forms".into(), method.to_owned());
        refusal(&ServerRequest { server, method, params: Value::Null, recipient }).message
    }

    #[test]
    fn a_refusal_says_why_and_what_to_do() {
        let cases = [
            (
                refused("elicitation/create", NoRecipient::CannotBeAsked),
                "MCP server 'forms' asked a question ('elicitation/create'), and this caller cannot be asked; \
                 call it from a terminal, the console or an MCP client that supports elicitation",
            ),
            (
                refused("sampling/createMessage", NoRecipient::CannotBeAsked),
                "MCP server 'forms' asked for a model's answer ('sampling/createMessage'), and this caller cannot be \
                 asked; call it from a terminal, the console or an MCP client that supports sampling",
            ),
            (
                refused("roots/list", NoRecipient::CannotBeAsked),
                "MCP server 'forms' asked for folders ('roots/list'), and this caller cannot be asked; \
                 call it from an MCP client that supports roots",
            ),
            (
                refused("roots/list", NoRecipient::NoCall),
                "MCP server 'forms' asked for folders ('roots/list') while no call to it runs",
            ),
            (
                refused("elicitation/create", NoRecipient::Unknown),
                "MCP server 'forms' asked a question ('elicitation/create') while several calls to it run, and it is \
                 not known which of them it is for; call it again while no other call to it runs",
            ),
            (
                refused("initialize", NoRecipient::NoCall),
                "Switchboard does not answer 'initialize'",
            ),
        ];
        for (found, expected) in cases {
            assert_eq!(found, expected);
        }
    }
}
