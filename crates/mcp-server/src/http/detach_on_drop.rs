//! Work that continues when the client hangs up.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use switchboard_toolcall::BoxFuture;
use tokio::runtime::Handle;

/// A future that is spawned as a task if it is dropped unfinished: most never need one.
pub(super) struct DetachOnDrop<T: Send + 'static>(Option<BoxFuture<'static, T>>);

impl<T: Send + 'static> DetachOnDrop<T> {
    pub(super) fn new(work: BoxFuture<'static, T>) -> Self {
        Self(Some(work))
    }
}

impl<T: Send + 'static> Future for DetachOnDrop<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let Some(work) = &mut self.0 else {
            return Poll::Pending;
        };
        let done = work.as_mut().poll(cx);
        if done.is_ready() {
            self.0 = None;
        }
        done
    }
}

impl<T: Send + 'static> Drop for DetachOnDrop<T> {
    fn drop(&mut self) {
        if let (Some(work), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            runtime.spawn(work);
        }
    }
}
