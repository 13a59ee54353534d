//! One client on stdin and stdout: one message a line, and nothing else on stdout.

mod in_flight;
mod writer;

use std::{io, sync::Arc};

use serde_json::value::RawValue;
use switchboard_mcp_wire::{
    self, IncomingMessage, JsonText, Outgoing, RequestParams, RpcError, UnreadableMessage,
    lines::{LineSplitter, WireLine},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite},
    task::JoinSet,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::{
    McpCaller, Server, ServerInner,
    exchange::{Exchange, ExchangeClient, RpcResult},
    methods::ClientTransport,
    outbox::Outbox,
    rpc_request::{RpcRequest, is_id},
    session::{Session, StreamGuard},
    stateless::StatelessRequest,
};
use in_flight::InFlightRequests;

impl Server {
    /// Serves one client until its input ends, then waits for the requests in flight.
    ///
    /// # Errors
    /// The pipes broke.
    pub async fn serve_stdio<R, W>(&self, input: R, output: W, caller: McpCaller) -> io::Result<()>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        self.serve_stdio_until(input, output, caller, &CancellationToken::new()).await
    }

    /// Like [`serve_stdio`](Self::serve_stdio); `stop` counts as the end of the input.
    ///
    /// # Errors
    /// The pipes broke.
    pub async fn serve_stdio_until<R, W>(
        &self,
        mut input: R,
        output: W,
        caller: McpCaller,
        stop: &CancellationToken,
    ) -> io::Result<()>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let outbox = Outbox::keeping(0);
        let mut writer = tokio::spawn(writer::write(outbox.unread(), output));
        let mut connection = StdioConnection {
            inner: self.inner.clone(),
            caller,
            outbox: outbox.clone(),
            session: None,
            attached: None,
            in_flight: Arc::default(),
            tasks: JoinSet::new(),
        };
        let read = tokio::select! {
            read = connection.read_all(&mut input) => read,
            () = stop.cancelled() => Ok(()),
            // The client no longer reads.
            _ = &mut writer => Ok(()),
        };
        connection.end().await;
        outbox.end();
        if !writer.is_finished() {
            // A client that does not read must not keep the process.
            _ = timeout(self.inner.config.drain.0, writer).await;
        }
        read
    }
}

/// The state of the client's connection.
struct StdioConnection {
    inner: Arc<ServerInner>,
    caller: McpCaller,
    outbox: Arc<Outbox>,
    /// Its session, once it has opened one.
    session: Option<Arc<Session>>,
    attached: Option<StreamGuard>,
    /// Its stateless requests, by their ids as the client wrote them.
    in_flight: Arc<InFlightRequests>,
    tasks: JoinSet<()>,
}

impl StdioConnection {
    async fn read_all(&mut self, input: &mut (impl AsyncRead + Unpin)) -> io::Result<()> {
        let mut lines = LineSplitter::new(self.inner.config.max_message());
        loop {
            let ended = input.read_buf(lines.room()).await? == 0;
            while let Some(line) = lines.next() {
                self.take_line(&line);
            }
            // Reaps tasks that have ended.
            while self.tasks.try_join_next().is_some() {}
            if ended {
                lines.finish().iter().for_each(|line| self.take_line(line));
                return Ok(());
            }
        }
    }

    /// Waits for the requests in flight, up to the drain limit.
    async fn end(&mut self) {
        self.in_flight.stop_listening();
        let all = async { while self.tasks.join_next().await.is_some() {} };
        if timeout(self.inner.config.drain.0, all).await.is_err() {
            self.tasks.shutdown().await;
        }
        if let Some(session) = self.session.take() {
            self.inner.end(&session);
        }
    }

    fn take_line(&mut self, line: &WireLine<'_>) {
        match line {
            WireLine::Whole(line) if line.trim_ascii().is_empty() => {}
            WireLine::Whole(line) => match switchboard_mcp_wire::parse_of_client(line) {
                Ok(message) => self.take(message),
                Err(UnreadableMessage::Params { id, error }) => self.refuse(&id, error),
                Err(UnreadableMessage::NotJsonRpc(_)) => {
                    let valid = serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok();
                    let (code, text) = match valid {
                        true => {
                            (RpcError::INVALID_REQUEST, "the line is not a JSON-RPC 2.0 message")
                        }
                        false => (RpcError::PARSE_ERROR, "the line is not JSON"),
                    };
                    self.refuse(RawValue::NULL, RpcError::new(code, text));
                }
            },
            WireLine::TooLong(line) => {
                let text = format!("a line of {} bytes is too long", line.bytes);
                self.refuse(RawValue::NULL, RpcError::new(RpcError::INVALID_REQUEST, text));
            }
        }
    }

    fn refuse(&self, id: &RawValue, error: RpcError) {
        self.outbox.send(&Outgoing::error(id, &error));
    }

    fn take(&mut self, message: IncomingMessage<RequestParams>) {
        let rpc = match message {
            IncomingMessage::Request { id, method, params } => RpcRequest::new(id, method, params),
            message => {
                if let IncomingMessage::Notification { method, params } = &message {
                    self.in_flight.take(method, params.as_deref());
                }
                if let Some(session) = &self.session {
                    // A message without a recipient is dropped: there are no peers to send it to.
                    _ = session.take(message);
                }
                return;
            }
        };
        if let Err(error) = rpc.check() {
            return self.refuse(if is_id(&rpc.id) { &rpc.id } else { RawValue::NULL }, error);
        }
        if rpc.is_modern() || (self.session.is_none() && rpc.method == "server/discover") {
            return match rpc.sender() {
                Ok(sender) => self.answer_stateless(StatelessRequest { rpc, sender }),
                Err(error) => self.refuse(&rpc.id, error),
            };
        }
        match (rpc.method.as_str(), self.session.clone()) {
            ("initialize", None) => self.initialize(rpc),
            ("initialize", Some(_)) => {
                let text = "the session is open already";
                self.refuse(&rpc.id, RpcError::new(RpcError::INVALID_REQUEST, text));
            }
            (_, Some(session)) => self.in_session(&session, rpc),
            ("ping", None) => self.answer_ping(&rpc.id),
            (_, None) => {
                let text = "a session begins with `initialize`";
                self.refuse(&rpc.id, RpcError::new(RpcError::INVALID_REQUEST, text));
            }
        }
    }

    fn answer_ping(&self, id: &RawValue) {
        self.outbox.send(&Outgoing::response(id, &Ok(JsonText("{}".to_owned()))));
    }

    fn initialize(&mut self, rpc: RpcRequest) {
        let id = &rpc.id;
        match self.inner.initialize(
            rpc.params,
            &self.caller,
            self.outbox.clone(),
            ClientTransport::Stdio,
        ) {
            Ok((session, result)) => {
                // Keeps the session open as long as the pipe, even if it is idle.
                self.attached = Some(session.attach());
                self.session = Some(session);
                self.outbox.send(&Outgoing::response(id, &Ok(result)));
            }
            Err(error) => self.refuse(id, error),
        }
    }

    fn in_session(&mut self, session: &Arc<Session>, mut rpc: RpcRequest) {
        let id = rpc.id.clone();
        let guard = session.begin(&id);
        let (channel, notes) = rpc.channel(self.outbox.clone());
        let client = ExchangeClient::Legacy(session.clone());
        let cancel = guard.cancel.clone();
        let exchange =
            Exchange::new(self.caller.clone(), client, cancel, channel, notes, rpc.trace.take());
        let answer = self.inner.clone().answer(exchange, rpc);
        let outbox = self.outbox.clone();
        self.tasks.spawn(async move {
            respond(&outbox, &id, answer.await, &guard.cancel);
        });
    }

    fn answer_stateless(&mut self, request: StatelessRequest) {
        let id = request.rpc.id.clone();
        let in_flight = self.in_flight.begin(&id, request.rpc.method == "subscriptions/listen");
        let cancel = in_flight.cancel.clone();
        let outbox = self.outbox.clone();
        let answer = self.inner.clone().answer_stateless(
            request,
            self.caller.clone(),
            outbox.clone(),
            cancel.clone(),
        );
        self.tasks.spawn(async move {
            respond(&outbox, &id, answer.await, &in_flight.cancel);
        });
    }
}

/// Sends the response, unless the request was cancelled.
fn respond(outbox: &Outbox, id: &RawValue, outcome: RpcResult, cancel: &CancellationToken) {
    if !cancel.is_cancelled() {
        outbox.send(&Outgoing::response(id, &outcome));
    }
}
