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
        let asker = Asker { progress: progress.clone(), way_back: way_back.cloned() };
        self.lock().insert(id, asker);
        Some(Remembered { under_way: self.clone(), id })
    }

    /// Who hears of the progress of request `id`.
    pub fn progress(&self, id: u64) -> Option<Progress> {
        self.lock().get(&id).map(|asker| asker.progress.clone())
    }

    /// Who is meant by what the server says: the one who made the request that it said it `during`, or else the only
    /// one who has a request under way. Where several have, nobody is: a guess would show one client another's.
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
