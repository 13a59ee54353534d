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
    /// second question, as long as all are of one caller.
    pub fn asked(self: &Arc<Self>, during: Option<u64>) -> Option<Question> {
        let mut under_way = self.lock();
        let known = during.filter(|id| under_way.contains_key(id));
        let id = known.or_else(|| {
            let caller = |asker: &Asker| asker.way_back.as_ref().map(|back| back.caller().cloned());
            let mut callers = under_way.values().map(caller);
            let first = callers.next()?;
            let one_caller = callers.all(|caller| caller == first);
            let alone = under_way.len() == 1;
            let mut free = under_way.iter().filter(|(_, asker)| alone || !asker.waits);
            match (free.next(), free.next()) {
                (Some((id, _)), None) if one_caller => Some(*id),
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
