//! The requests under way in one session, and who made each: what a server says in between finds its way back.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use switchboard_toolcall::{Progress, WayBack};

/// The requests under way that somebody wants to hear of.
#[derive(Default)]
pub struct UnderWay(Mutex<HashMap<u64, Asker>>);

/// Who made a request.
#[derive(Clone, Default)]
pub struct Asker {
    /// Who hears of its progress.
    pub progress: Progress,
    /// Who can be asked in the middle of it.
    pub way_back: Option<Arc<dyn WayBack>>,
    /// Whether the server has asked something and waits for the answer.
    waits: bool,
}

impl UnderWay {
    /// Remembers request `id` until the guard is dropped; none, where nobody wants to hear of it.
    pub fn begin(
        self: &Arc<Self>,
        id: u64,
        progress: &Progress,
        way_back: Option<&Arc<dyn WayBack>>,
    ) -> Option<Remembered> {
        if !progress.is_watched() && way_back.is_none() {
            return None;
        }
        let asker = Asker { progress: progress.clone(), way_back: way_back.cloned(), waits: false };
        self.lock().insert(id, asker);
        Some(Remembered { under_way: self.clone(), id })
    }

    /// Who hears of the progress of request `id`.
    pub fn progress(&self, id: u64) -> Option<Progress> {
        self.lock().get(&id).map(|asker| asker.progress.clone())
    }

    /// Who is meant by a line of log: the one who made the request that it came `during`, or else the only one who
    /// has a request under way. Where several have, nobody is: a guess would show one client another's.
    pub fn meant(&self, during: Option<u64>) -> Option<Arc<dyn WayBack>> {
        let under_way = self.lock();
        if let Some(asker) = during.and_then(|id| under_way.get(&id)) {
            return asker.way_back.clone();
        }
        let mut askers = under_way.values();
        match (askers.next(), askers.next()) {
            (Some(only), None) => only.way_back.clone(),
            _ => None,
        }
    }

    /// Who is meant by a question; as [`meant`](Self::meant), but a request that waits for an answer already asks no
    /// second question, as long as all are of one caller and of one client session. Clients of 2026-07-28 have no session: those
    /// of one caller cannot be told apart.
    pub fn asked(self: &Arc<Self>, during: Option<u64>) -> Option<Question> {
        let mut under_way = self.lock();
        let known = during.filter(|id| under_way.contains_key(id));
        let id = known.or_else(|| {
            let session = |asker: &Asker| {
                let back = asker.way_back.as_ref()?;
                Some((back.caller().cloned(), back.session().cloned()))
            };
            let mut sessions = under_way.values().map(session);
            let first = sessions.next()?;
            let one_session = sessions.all(|session| session == first);
            let alone = under_way.len() == 1;
            let mut free = under_way.iter().filter(|(_, asker)| alone || !asker.waits);
            match (free.next(), free.next()) {
                (Some((id, _)), None) if one_session => Some(*id),
                _ => None,
            }
        })?;
        let asker = under_way.get_mut(&id)?;
        let way_back = asker.way_back.clone()?;
        asker.waits = true;
        Some(Question { under_way: self.clone(), id, way_back })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Asker>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request under way.
pub struct Remembered {
    under_way: Arc<UnderWay>,
    id: u64,
}

impl Drop for Remembered {
    fn drop(&mut self) {
        self.under_way.lock().remove(&self.id);
    }
}

/// A question of the server's, until it is answered.
pub struct Question {
    under_way: Arc<UnderWay>,
    id: u64,
    /// Who is asked.
    pub way_back: Arc<dyn WayBack>,
}

impl Drop for Question {
    fn drop(&mut self) {
        if let Some(asker) = self.under_way.lock().get_mut(&self.id) {
            asker.waits = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, value::RawValue};
    use switchboard_toolcall::{BoxFuture, ToolError};

    use super::*;

    #[derive(Debug)]
    struct Client {
        caller: Option<Arc<str>>,
        session: Option<Arc<str>>,
    }

    impl WayBack for Client {
        fn takes(&self) -> Value {
            Value::Null
        }

        fn ask(
            &self,
            _: Map<String, Value>,
        ) -> BoxFuture<'_, Result<Map<String, Value>, ToolError>> {
            Box::pin(std::future::ready(Ok(Map::new())))
        }

        fn notes(&self) -> Map<String, Value> {
            Map::new()
        }

        fn hears(&self) -> Option<&'static str> {
            None
        }

        fn say(&self, _: &RawValue) {}

        fn caller(&self) -> Option<&Arc<str>> {
            self.caller.as_ref()
        }

        fn session(&self) -> Option<&Arc<str>> {
            self.session.as_ref()
        }
    }

    /// Requests 1, 2, … of these callers, each `caller` or `caller/session`.
    fn under_way(callers: &[&str]) -> (Arc<UnderWay>, Vec<Option<Remembered>>) {
        let under_way = Arc::new(UnderWay::default());
        let begin = |(id, caller): (u64, &&str)| {
            let (caller, session) = match caller.split_once('/') {
                Some((caller, session)) => (caller, Some(session.into())),
                None => (*caller, None),
            };
            let caller = (!caller.is_empty()).then(|| caller.into());
            let back: Arc<dyn WayBack> = Arc::new(Client { caller, session });
            under_way.begin(id, &Progress::default(), Some(&back))
        };
        let begun = (1..).zip(callers).map(begin).collect();
        (under_way, begun)
    }

    // GW-3
    #[test]
    fn a_question_is_for_the_only_one_it_can_be_for() {
        let asked = |callers: &[&str], during| {
            let (under_way, _begun) = under_way(callers);
            under_way.asked(during).map(|question| question.id)
        };
        assert_eq!(asked(&[], None), None);
        assert_eq!(asked(&["a"], None), Some(1));
        assert_eq!(asked(&["a", "a"], None), None);
        assert_eq!(asked(&["a", "b"], None), None);
        // The stream that it came on says it.
        assert_eq!(asked(&["a", "b"], Some(2)), Some(2));
        assert_eq!(asked(&["a", "b"], Some(99)), None);
    }

    // GW-3
    #[test]
    fn who_waits_for_an_answer_asks_nothing_else() {
        let check = |callers: &[&str]| {
            let (under_way, _begun) = under_way(callers);
            let first = under_way.asked(Some(1)).unwrap();
            let second = under_way.asked(None).map(|question| question.id);
            drop(first);
            (second, under_way.asked(None).is_some())
        };
        assert_eq!(check(&["a/1", "a/1"]), (Some(2), false));
        assert_eq!(check(&["a", "a"]), (Some(2), false));
        // What is one caller's is never shown to another, nor in another session of the same caller.
        for askers in [["a", "b"], ["a/1", "b/1"], ["a/1", "a/2"], ["a/1", "a"], ["/1", "/2"]] {
            assert_eq!(check(&askers), (None, false), "{askers:?}");
        }
        // Who is alone may ask twice.
        assert_eq!(check(&["a"]), (Some(1), true));
    }

    #[test]
    fn a_line_of_log_is_for_the_only_one_too() {
        let (under_way, mut begun) = under_way(&["a", "b"]);
        assert!(under_way.meant(None).is_none());
        assert!(under_way.meant(Some(2)).is_some());
        begun.pop();
        assert!(under_way.meant(None).is_some());
    }
}
