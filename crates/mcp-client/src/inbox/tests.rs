//! A server that sends too many messages.

use std::sync::Mutex;

use switchboard_toolcall::BoxFuture;
use tokio::sync::Notify;

use super::*;
use crate::transport::{Failure, TransportRequest};

/// Records the ids that were responded to, and whether with an error.
#[derive(Default)]
struct Answered {
    answers: Mutex<Vec<(String, bool)>>,
    more: Notify,
}

impl Answered {
    async fn wait_for(&self, count: usize) -> Vec<(String, bool)> {
        loop {
            let answers = self.answers.lock().unwrap().clone();
            if answers.len() >= count {
                return answers;
            }
            self.more.notified().await;
        }
    }
}

impl Transport for Answered {
    fn request<'a>(
        &'a self,
        _: TransportRequest<'a>,
    ) -> BoxFuture<'a, Result<Box<RawValue>, Failure>> {
        Box::pin(std::future::pending())
    }

    fn notify<'a>(
        &'a self,
        _: &'a str,
        _: Option<&'a RawValue>,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn respond<'a>(
        &'a self,
        id: &'a RawValue,
        outcome: Result<Box<RawValue>, RpcError>,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        self.answers.lock().unwrap().push((id.get().to_owned(), outcome.is_err()));
        self.more.notify_one();
        Box::pin(std::future::ready(Ok(())))
    }

    fn lost(&self) -> BoxFuture<'_, String> {
        Box::pin(std::future::pending())
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// Responds once there is a permit.
struct Later(Arc<Semaphore>);

impl ServerRequestHandler for Later {
    fn capabilities(&self) -> Value {
        Value::Null
    }

    fn answer(&self, _: ServerRequest) -> BoxFuture<'_, Result<Value, RpcError>> {
        Box::pin(async {
            let _let = self.0.acquire().await;
            Ok(Value::Null)
        })
    }
}

fn request(id: usize) -> IncomingMessage {
    let id = RawValue::from_string(id.to_string()).unwrap();
    IncomingMessage::Request { id, method: "sampling/createMessage".to_owned(), params: None }
}

// A server's concurrent requests are bounded; the rest get an error.
#[tokio::test]
async fn a_server_that_asks_too_much_at_once_is_refused() {
    let gate = Arc::new(Semaphore::new(0));
    let (router, _changes) = NotificationRouter::new("s", Arc::new(Later(gate.clone())));
    let answered = Arc::new(Answered::default());
    let transport: Arc<dyn Transport> = answered.clone();
    router.attach(&transport);
    (0..MOST_REQUESTS + 100).for_each(|id| router.take(request(id)));
    let refused = answered.wait_for(100).await;
    let expected: Vec<_> =
        (MOST_REQUESTS..MOST_REQUESTS + 100).map(|id| (id.to_string(), true)).collect();
    assert_eq!(refused, expected, "the first ones are still under way");
    gate.add_permits(MOST_REQUESTS);
    let all = answered.wait_for(100 + MOST_REQUESTS).await;
    assert!(all[100..].iter().all(|(_, failed)| !failed));
    // There are free slots again.
    while router.slots.available_permits() < MOST_REQUESTS {
        tokio::task::yield_now().await;
    }
    router.take(request(7));
    let last = answered.wait_for(101 + MOST_REQUESTS).await.pop();
    assert_eq!(last, Some(("7".to_owned(), false)));
}
