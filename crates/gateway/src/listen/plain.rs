//! Plain requests: posted to `/mcp`, and all there when they are first looked at, as nearly all are.
//!
//! They are read and answered here, one after the other. The first that is not so plain is hyper's, and so is what follows
//! it on that connection: hyper knows all that HTTP/1.1 can be, and each call would pay for that (docs/performance.md).

mod date;
mod head;
mod reply;

use std::{future::poll_fn, pin::pin, task::Poll, time::Duration};

use axum::response::Response;
use http::Request;
use switchboard_access::Peer;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::Instant,
};

use super::{
    line::Line,
    signals::{Signal, Signals},
};
use crate::{Gateway, content::Content};
use head::{Heads, Limits};
use reply::Writer;

/// Why no more plain requests are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    /// What was read last is not one.
    Other,
    /// The connection is to end.
    Nothing,
}

/// Answers plain requests as long as they come.
pub(super) async fn serve<S>(
    gateway: &Gateway,
    peer: Peer,
    line: &mut Line<S>,
    signals: &mut Signals,
) -> Left
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let config = &gateway.parts().config;
    let limits = Limits::of(config);
    let patience = config.header_timeout.0;
    signals.after(patience);
    let mut plain = Plain { line, signals, writer: Writer::default(), patience, is_last: false };
    let mut heads = Heads::default();
    while !plain.is_last && plain.comes().await {
        let Some(request) = heads.take(&mut plain.line.read, limits) else { return Left::Other };
        let Some(response) = plain.ask(gateway, peer, request).await else { break };
        if plain.send(response).await.is_none() {
            break;
        }
    }
    Left::Nothing
}

/// A connection over which nothing but plain requests has come.
struct Plain<'a, S> {
    line: &'a mut Line<S>,
    signals: &'a mut Signals,
    writer: Writer,
    /// How long the next request may be waited for.
    patience: Duration,
    /// Whether nothing is answered after what is answered now.
    is_last: bool,
}

impl<S> Plain<'_, S>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    /// Waits until something comes; false, where nothing will.
    async fn comes(&mut self) -> bool {
        if !self.line.read.is_empty() {
            return true;
        }
        self.line.rest();
        let (since, patience) = (Instant::now(), self.patience);
        let more = poll_fn(|cx| self.line.poll_more(cx));
        let came = self.signals.beside(more, |signals, signal| {
            // Set long ago, perhaps: a timer for each request would cost each of them.
            let left = patience.saturating_sub(since.elapsed());
            let goes_on = signal == Signal::Time && !left.is_zero();
            if goes_on {
                signals.after(left);
            }
            goes_on
        });
        matches!(came.await, Some(Ok(true)))
    }

    /// What a request is answered with; none, where nobody would have it.
    async fn ask(
        &mut self,
        gateway: &Gateway,
        peer: Peer,
        request: Request<Content>,
    ) -> Option<Response> {
        let Self { line, signals, patience, is_last, .. } = self;
        let mut answer = pin!(gateway.answer(request, peer));
        let answer = poll_fn(|cx| match answer.as_mut().poll(cx) {
            Poll::Ready(response) => Poll::Ready(Some(response)),
            Poll::Pending => line.poll_gone(cx).map(|()| None),
        });
        signals.beside(answer, |signals, signal| hear(signals, signal, *patience, is_last)).await?
    }

    /// Sends an answer; none, where nobody had it whole.
    async fn send(&mut self, response: Response) -> Option<()> {
        let Self { line, signals, writer, patience, is_last } = self;
        let sending = writer.send(line, response, *is_last);
        let hears = |signals: &mut Signals, signal| hear(signals, signal, *patience, is_last);
        signals.beside(sending, hears).await?.ok()
    }
}

/// What a signal means to a request that is being answered; false, where that ends with it.
fn hear(signals: &mut Signals, signal: Signal, patience: Duration, is_last: &mut bool) -> bool {
    match signal {
        Signal::Drain => *is_last = true,
        Signal::Time => signals.after(patience),
        Signal::End => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    use std::task::Context;

    use tokio::{
        io::{AsyncWriteExt, DuplexStream, duplex},
        time::advance,
    };
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::draining::Draining;

    const PATIENCE: Duration = Duration::from_secs(30);

    /// Whether something comes, after this was done on the other side.
    async fn comes<F: Future>(
        done: impl FnOnce(DuplexStream, Draining, CancellationToken) -> F,
    ) -> bool {
        let (own, other) = duplex(64);
        let (draining, ending) = (Draining::default(), CancellationToken::new());
        let mut signals = Signals::new(draining.clone(), ending.clone());
        // As after a request that was answered a while ago.
        signals.after(PATIENCE);
        advance(PATIENCE / 2).await;
        let mut line = Line::new(own);
        let writer = Writer::default();
        let mut plain = Plain {
            line: &mut line,
            signals: &mut signals,
            writer,
            patience: PATIENCE,
            is_last: false,
        };
        let mut comes = pin!(plain.comes());
        // It waits from now on.
        let mut cx = Context::from_waker(std::task::Waker::noop());
        assert!(comes.as_mut().poll(&mut cx).is_pending());
        let _other = done(other, draining, ending).await;
        comes.await
    }

    #[tokio::test(start_paused = true)]
    async fn the_next_request_is_waited_for_as_long_as_is_allowed() {
        let after = |seconds| {
            comes(async move |mut other: DuplexStream, _, _| {
                advance(Duration::from_secs(seconds)).await;
                // It may have been closed.
                _ = other.write_all(b"P").await;
                other
            })
        };
        assert!(after(0).await);
        assert!(after(29).await, "the timer was set for the request before");
        let began = Instant::now();
        assert!(!comes(async |other, _, _| other).await);
        assert_eq!(began.elapsed(), PATIENCE / 2 + PATIENCE);
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_waited_for_at_the_end() {
        assert!(!comes(async |other, _, _| drop(other)).await);
        assert!(
            !comes(async |other, draining: Draining, _| {
                draining.begin();
                other
            })
            .await
        );
        assert!(
            !comes(async |other, _, ending: CancellationToken| {
                ending.cancel();
                other
            })
            .await
        );
    }
}
