//! Stateless requests (2026-07-28), and calls that end in a question.

use std::sync::Arc;

use serde_json::json;
use switchboard_mcp_wire::JsonText;
use tokio_util::sync::CancellationToken;

use super::{
    McpCaller, ServerInner,
    exchange::{Exchange, ExchangeClient, ModernClient, RpcResult},
    outbox::Outbox,
    rpc_request::RpcRequest,
    suspended_calls::{RequestTarget, ResumeRequest, SuspendedCall},
};

impl ServerInner {
    /// Answers a stateless request. Dropping the future cancels it.
    pub(crate) async fn answer_stateless(
        self: Arc<Self>,
        request: StatelessRequest,
        caller: McpCaller,
        outbox: Arc<Outbox>,
        cancel: CancellationToken,
    ) -> RpcResult {
        let StatelessRequest { mut rpc, sender } = request;
        let (channel, notes) = rpc.channel(outbox);
        let (name, responses) = (rpc.named().map(str::to_owned), rpc.responses());
        let target = RequestTarget { name, method: rpc.method.clone() };
        let call = match rpc.text("requestState") {
            Some(handle) if self.is_remote(handle) => {
                let (handle, caller) =
                    (handle.to_owned(), caller.name.as_deref().map(str::to_owned));
                let elsewhere =
                    self.resume_remote(ResumeRequest { handle, target, caller, responses });
                return Box::pin(elsewhere).await;
            }
            Some(handle) => {
                let call = self.suspended.take(handle, &target, caller.name.as_ref())?;
                *call.exchange.channel() = channel;
                call.exchange.questions.answer(&responses);
                call
            }
            None => {
                let exchange = Exchange::new(
                    caller,
                    ExchangeClient::Modern(sender),
                    cancel,
                    channel,
                    notes,
                    rpc.trace.clone(),
                );
                exchange.questions.give(responses);
                let work = self.clone().answer(exchange.clone(), rpc);
                SuspendedCall { target, exchange, work: Box::pin(work) }
            }
        };
        self.run(call).await
    }

    /// Runs a call until it asks for input or ends. If questions are open, returns them at once.
    pub(crate) async fn run(&self, mut call: SuspendedCall) -> RpcResult {
        while call.exchange.questions.open().is_empty() {
            tokio::select! {
                biased;
                outcome = &mut call.work => return outcome,
                () = call.exchange.questions.question_added() => {}
            }
        }
        self.ask_for_input(call)
    }

    /// Suspends the call and returns the response that asks for input.
    fn ask_for_input(&self, call: SuspendedCall) -> RpcResult {
        let questions = call.exchange.questions.open();
        let handle = self.suspended.keep(call)?;
        let result = json!({
            "resultType": "input_required",
            "inputRequests": questions,
            "requestState": handle,
            "_meta": {"io.modelcontextprotocol/serverInfo": self.info},
        });
        Ok(JsonText(result.to_string()))
    }
}

/// A stateless request with its sender, checked.
pub(crate) struct StatelessRequest {
    pub(crate) rpc: RpcRequest,
    pub(crate) sender: ModernClient,
}
