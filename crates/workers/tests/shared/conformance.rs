//! What a cluster may expect of its servers, whichever they are.

use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use switchboard_workers::{
    Bucket, Cluster,
    transport::{Ack, ClusterMessage, Consumer, Delivery, KeyValueEntry, QueueFull},
};
use tokio::time::{sleep, timeout};

/// How long something may take on a busy machine.
const LONG: Duration = Duration::from_secs(60);
/// How long a worker may be silent about a job.
const ACK_WAIT: Duration = Duration::from_secs(2);
/// How long an empty queue is asked for a job that must not come.
const BRIEF: Duration = Duration::from_millis(300);

/// Revisions decide who writes, and what was removed leaves an entry without a value.
pub(crate) async fn buckets(one: &Cluster, other: &Cluster) {
    let (ours, theirs) =
        (one.bucket(Bucket::Tokens).await.unwrap(), other.bucket(Bucket::Tokens).await.unwrap());
    assert!(ours.get("a.b").await.unwrap().is_none());
    assert_eq!((ours.count().await.unwrap(), ours.keys().await.unwrap().len()), (0, 0));
    let first = ours.create("a.b", "1".into()).await.unwrap().expect("there is none");
    assert_eq!(theirs.create("a.b", "2".into()).await.unwrap(), None);
    let second = theirs.update("a.b", "2".into(), first).await.unwrap().expect("it is the first");
    assert!(second > first);
    assert_eq!(ours.update("a.b", "3".into(), first).await.unwrap(), None);
    assert_eq!(ours.update("a.b", "3".into(), second + 7).await.unwrap(), None);
    let found = ours.get("a.b").await.unwrap().unwrap();
    assert_eq!((found.value.as_deref(), found.revision), (Some(&b"2"[..]), second));
    // One count for all keys of the bucket.
    let third = ours.put("c", "c".into()).await.unwrap();
    assert_eq!(third, second + 1);
    assert_eq!(ours.update("c", "d".into(), second).await.unwrap(), None);

    ours.remove("a.b").await.unwrap();
    let removed = theirs.get("a.b").await.unwrap().unwrap();
    assert!(removed.value.is_none() && removed.revision > third);
    assert_eq!(
        (ours.count().await.unwrap(), ours.keys().await.unwrap()),
        (2, vec!["c".to_owned()])
    );
    let mut live = ours.live_keys(">").await.unwrap();
    live.sort();
    assert_eq!(live, ["a.b", "c"]);
    assert_eq!(ours.live_keys("a.>").await.unwrap(), ["a.b"]);
    for (pattern, number) in [(">", 2), ("a.>", 1), ("a.*", 1), ("c", 1), ("c.>", 0)] {
        assert_eq!(ours.count_matching(pattern).await.unwrap(), number, "{pattern}");
    }
    let mut watched = ours.watch_matching("a.>").await.unwrap();
    let entry = next(&mut watched).await.unwrap();
    assert_eq!((&*entry.key, entry.is_current), ("a.b", true));
    assert_eq!(theirs.update("a.b", "4".into(), second).await.unwrap(), None);
    assert!(theirs.create("a.b", "4".into()).await.unwrap().is_some(), "nobody holds it now");
    ours.remove("a.b").await.unwrap();
    ours.erase("a.b").await.unwrap();
    assert!(theirs.get("a.b").await.unwrap().is_none());
    assert_eq!(theirs.count().await.unwrap(), 1);
    assert!(theirs.update("a.b", "5".into(), 0).await.unwrap().is_some(), "0 stands for none");

    // What is not renewed expires.
    let gateways = one.bucket(Bucket::Gateways).await.unwrap();
    gateways.put("w", "here".into()).await.unwrap();
    timeout(LONG, async {
        while gateways.get("w").await.unwrap().is_some() {
            sleep(BRIEF).await;
        }
    })
    .await
    .expect("it expires");

    one.objects().put("it", Bytes::from(vec![7; 2 << 20])).await.unwrap();
    assert_eq!(other.objects().get("it").await.unwrap().len(), 2 << 20);
    other.objects().delete("it").await.unwrap();
    assert!(one.objects().get("it").await.is_err());
}

/// A watch tells what there is in the order of revisions, says when that is all, and goes on with changes.
pub(crate) async fn watches(one: &Cluster, other: &Cluster) {
    let bucket = one.bucket(Bucket::Approvals).await.unwrap();
    for (key, value) in [("a", "1"), ("b", "2"), ("c", "3"), ("a", "4")] {
        bucket.put(key, value.into()).await.unwrap();
    }
    bucket.remove("c").await.unwrap();
    let mut all = other.bucket(Bucket::Approvals).await.unwrap().watch().await.unwrap();
    let mut new = other.bucket(Bucket::Approvals).await.unwrap().watch_new().await.unwrap();
    assert_eq!(bucket.watchers().await.unwrap(), 2);
    bucket.put("d", "5".into()).await.unwrap();
    bucket.remove("b").await.unwrap();
    bucket.erase("a").await.unwrap();
    bucket.put("e", "6".into()).await.unwrap();
    let mut seen = Vec::new();
    let mut current = Vec::new();
    while seen.last().is_none_or(|(key, _)| key != "e") {
        let KeyValueEntry { key, value, is_current, .. } = next(&mut all).await.unwrap();
        current.push(is_current);
        seen.push((key, value));
    }
    let entry = |key: &str, value: &'static str| {
        (key.to_owned(), (!value.is_empty()).then(|| Bytes::from_static(value.as_bytes())))
    };
    let changes = [entry("d", "5"), entry("b", ""), entry("e", "6")];
    assert_eq!(seen[..3], [entry("b", "2"), entry("a", "4"), entry("c", "")]);
    assert_eq!(seen[3..], changes);
    assert!(current[2..].iter().all(|is_current| *is_current), "{current:?}");
    assert!(!current[0], "{current:?}");
    for change in changes {
        let KeyValueEntry { key, value, .. } = next(&mut new).await.unwrap();
        assert_eq!((key, value), change);
    }
}

/// All subscribers get a message, one of each queue, and who asks nobody is told so.
pub(crate) async fn messages(one: &Cluster, other: &Cluster) {
    let subject = |words: &[&str]| one.names().subject(words);
    let mut exact = other.subscribe(subject(&["a", "b"]), None).await.unwrap();
    let mut word = other.subscribe(format!("{}.*", subject(&["a"])), None).await.unwrap();
    let mut rest = other.subscribe(format!("{}.>", one.names().prefix()), None).await.unwrap();
    let mut queue = [
        other.subscribe(subject(&["q"]), Some("all")).await.unwrap(),
        one.subscribe(subject(&["q"]), Some("all")).await.unwrap(),
    ];
    synchronise(one).await;
    synchronise(other).await;
    one.publish(subject(&["a", "b"]), Some("back".to_owned()), "1".into()).await.unwrap();
    one.publish(subject(&["a", "b", "c"]), None, "2".into()).await.unwrap();
    for number in 0..10 {
        one.publish(subject(&["q"]), None, format!("{number}").into()).await.unwrap();
    }
    one.publish(subject(&["a", "z"]), None, "last".into()).await.unwrap();
    let ClusterMessage { reply, payload, no_responders, .. } = next(&mut exact).await;
    assert_eq!((reply.as_deref(), &*payload, no_responders), (Some("back"), &b"1"[..], false));
    assert_eq!([next(&mut word).await.payload, next(&mut word).await.payload], ["1", "last"]);
    let mut all = Vec::new();
    while all.last().is_none_or(|last: &Bytes| last != "last") {
        all.push(next(&mut rest).await.payload);
    }
    assert_eq!(all.len(), 13);
    // Each message went to one of the two, and what was sent before a drain still comes.
    synchronise(one).await;
    let mut shared = Vec::new();
    for member in &mut queue {
        member.drain().await.unwrap();
        while let Some(message) = timeout(LONG, member.next()).await.expect("it ends") {
            shared.push(message.payload);
        }
    }
    shared.sort_unstable();
    assert_eq!(shared, (0..10).map(|number| number.to_string()).collect::<Vec<_>>());

    drop(rest);
    synchronise(other).await;
    let nobody = one.request(subject(&["nobody"]), "?".into()).await.unwrap_err();
    assert_eq!(nobody.to_string(), "nothing listens on that subject");
    let mut asked = other.subscribe(subject(&["echo"]), None).await.unwrap();
    synchronise(other).await;
    let answer = async {
        let question = next(&mut asked).await;
        other.publish(question.reply.unwrap(), None, question.payload).await.unwrap();
    };
    let (answered, ()) = tokio::join!(one.request(subject(&["echo"]), "!".into()), answer);
    assert_eq!(answered.unwrap().payload, "!");
}

/// A job is stored once for each id, delivered to one worker of its group, and again unless it is acknowledged in time.
pub(crate) async fn deliveries(one: &Cluster, other: &Cluster) {
    let (subject, foreign) = (one.names().jobs("gpu", "run"), one.names().jobs("cpu", "run"));
    let first = one.queue().publish(&subject, "a", "a".into()).await.unwrap();
    assert_eq!(other.queue().publish(&subject, "a", "again".into()).await.unwrap(), first);
    one.queue().publish(&foreign, "x", "x".into()).await.unwrap();
    let second = one.queue().publish(&subject, "b", "b".into()).await.unwrap();
    let mut ours = one.queue().consumer("gpu", ACK_WAIT).await.unwrap();
    let mut theirs = other.queue().consumer("gpu", ACK_WAIT).await.unwrap();
    let a = job(&mut ours).await;
    assert_eq!((a.number, a.delivered, &*a.payload, &*a.subject), (first, 1, &b"a"[..], &*subject));
    let b = job(&mut theirs).await;
    assert_eq!((b.number, b.delivered), (second, 1));
    assert!(theirs.next(BRIEF).await.unwrap().is_none(), "the other one has it");
    // Who says nothing has lost it; who says that it is at it has not.
    let again = timeout(LONG, async {
        loop {
            b.acks.ack(Ack::Progress).await.unwrap();
            if let Some(again) = theirs.next(BRIEF).await.unwrap() {
                return again;
            }
        }
    });
    let again = again.await.expect("it is delivered again");
    assert_eq!((again.number, again.delivered), (first, 2));
    // The first one may still say that it is done.
    a.acks.ack(Ack::Done).await.unwrap();
    b.acks.ack(Ack::Done).await.unwrap();
    assert!(ours.next(ACK_WAIT + BRIEF).await.unwrap().is_none(), "all are done");
    assert_eq!(one.queue().publish(&subject, "a", "a".into()).await.unwrap(), first, "it is known");
    assert!(ours.next(BRIEF).await.unwrap().is_none());

    // A job that comes while somebody waits for one, and one that is deleted.
    let waits = tokio::spawn(async move { job(&mut ours).await });
    one.queue().publish(&subject, "c", "c".into()).await.unwrap();
    waits.await.unwrap().acks.ack(Ack::Done).await.unwrap();
    let deleted = one.queue().publish(&subject, "d", "d".into()).await.unwrap();
    other.queue().delete("gpu", deleted).await.unwrap();
    assert!(theirs.next(BRIEF).await.unwrap().is_none());
    let figures = other.queue().figures().await.unwrap();
    let figures: Vec<_> = figures.iter().map(|one| (&*one.group, one.waiting, one.taken)).collect();
    assert_eq!(figures[0], ("cpu", 1, 0), "{figures:?}");
}

/// What an acknowledgement means, also a late one.
pub(crate) async fn acknowledgements(one: &Cluster, other: &Cluster) {
    let subject = one.names().jobs("gpu", "run");
    let number = one.queue().publish(&subject, "a", "a".into()).await.unwrap();
    let mut ours = one.queue().consumer("gpu", ACK_WAIT).await.unwrap();
    let mut theirs = other.queue().consumer("gpu", ACK_WAIT).await.unwrap();
    let first = job(&mut ours).await;
    first.acks.ack(Ack::Retry(Duration::ZERO)).await.unwrap();
    let second = job(&mut theirs).await;
    assert_eq!((second.number, second.delivered), (number, 2));
    // Somebody else has the job now, and who had it before can still give it back.
    first.acks.ack(Ack::Retry(Duration::ZERO)).await.unwrap();
    let third = job(&mut ours).await;
    assert_eq!((third.number, third.delivered), (number, 3));
    third.acks.ack(Ack::Retry(ACK_WAIT)).await.unwrap();
    assert!(theirs.next(BRIEF).await.unwrap().is_none(), "not yet");
    let fourth = job(&mut theirs).await;
    assert_eq!((fourth.number, fourth.delivered), (number, 4));
    fourth.acks.ack(Ack::Discard).await.unwrap();
    assert!(ours.next(ACK_WAIT + BRIEF).await.unwrap().is_none());
}

/// Waits until the servers know of all that was done on this connection: they answer in order.
async fn synchronise(cluster: &Cluster) {
    assert!(cluster.request("nobody.subscribes.to.this", Bytes::new()).await.is_err());
}

async fn next<T>(stream: &mut (impl StreamExt<Item = T> + Unpin + ?Sized)) -> T {
    timeout(LONG, stream.next()).await.expect("in time").expect("there is one more")
}

async fn job(consumer: &mut Box<dyn Consumer>) -> Delivery {
    consumer.next(LONG).await.unwrap().expect("there is a job")
}

/// Of each tool as many jobs are stored as may be; one that has ended makes room, and a job that is stored is found again.
pub(crate) async fn full_queues(one: &Cluster) {
    let (queue, subject) = (one.queue(), one.names().jobs("gpu", "resize"));
    let first = queue.publish(&subject, "1", "a".into()).await.unwrap();
    queue.publish(&subject, "2", "b".into()).await.unwrap();
    let full = queue.publish(&subject, "3", "c".into()).await.unwrap_err();
    assert!(full.is::<QueueFull>(), "{full}");
    assert_eq!(queue.publish(&subject, "1", "a".into()).await.unwrap(), first);
    queue.publish(&one.names().jobs("gpu", "blur"), "4", "d".into()).await.unwrap();
    queue.delete("gpu", first).await.unwrap();
    queue.publish(&subject, "3", "c".into()).await.unwrap();
}
