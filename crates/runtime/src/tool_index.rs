//! Finds tools by what they do (SPEC FT-1): an index of the tools, built by the first search after a change. While a large one is
//! built again, searches go on in the one before.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use switchboard_search::{Index, SearchHit, ToolDocument};
use switchboard_toolcall::{ProfileRules, Visibility};
use tokio::{sync::Mutex as AsyncMutex, task::spawn_blocking, time::timeout};

use crate::tools::{RegisteredTool, ToolManager};

/// With more tools than this, the index is not built on a serving thread.
const FEW: usize = 50;
/// How long a search waits for a new index if there is an older one, which does not find what is new.
const PATIENCE: Duration = Duration::from_millis(50);

/// The latest indexes of the tools; none until somebody searches. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct ToolIndex {
    current: Arc<Mutex<Vec<CurrentIndex>>>,
    /// Held while an index is built, so that searches at once build one.
    building: Arc<AsyncMutex<()>>,
}

/// The index of the tools as they look in a profile that changes some, or, with `None`, as they are.
struct CurrentIndex {
    version: u64,
    rules: Option<Arc<ProfileRules>>,
    index: Arc<IndexedTools>,
}

/// Tools and their index; a document's number is its tool's place. It keeps no tool of a server that is gone.
struct IndexedTools {
    tools: Vec<Weak<RegisteredTool>>,
    index: Index,
}

impl IndexedTools {
    /// Returns whether the tool of a document is known not to exist for a caller.
    fn is_hidden(&self, document: usize, visibility: &Visibility) -> bool {
        let tool = self.tools.get(document).and_then(Weak::upgrade);
        tool.is_some_and(|tool| !tool.is_visible(visibility))
    }
}

impl CurrentIndex {
    fn is_of(&self, rules: Option<&Arc<ProfileRules>>) -> bool {
        self.rules.as_ref().map(Arc::as_ptr) == rules.map(Arc::as_ptr)
    }

    /// Returns whether a profile still has these rules.
    fn is_in_use(&self) -> bool {
        self.rules.as_ref().is_none_or(|rules| Arc::strong_count(rules) > 1)
    }
}

impl ToolIndex {
    /// Returns the latest index with these rules, and its version.
    fn latest(&self, rules: Option<&Arc<ProfileRules>>) -> Option<(u64, Arc<IndexedTools>)> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let known = current.iter().find(|known| known.is_of(rules))?;
        Some((known.version, known.index.clone()))
    }

    /// Builds the index and keeps it. Returns `None` if that panics; the next search tries again.
    async fn build(
        &self,
        version: u64,
        rules: Option<Arc<ProfileRules>>,
        is_small: bool,
        build: impl FnOnce() -> IndexedTools + Send + 'static,
    ) -> Option<Arc<IndexedTools>> {
        let built = if is_small { Ok(build()) } else { spawn_blocking(build).await };
        let Ok(index) = built else {
            tracing::error!("the index of the tools could not be built");
            return None;
        };
        let index = Arc::new(index);
        self.set(CurrentIndex { version, rules, index: index.clone() });
        Some(index)
    }

    fn set(&self, new: CurrentIndex) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.retain(|known| !known.is_of(new.rules.as_ref()) && known.is_in_use());
        current.push(new);
    }
}

/// A tool that fits a question.
pub struct FoundTool {
    /// The tool.
    pub tool: Arc<RegisteredTool>,
    /// How well it fits; only for comparison.
    pub score: f32,
}

impl ToolManager {
    /// Returns the tools that fit a question, best first and at most `most`: of those that are listed and that the caller
    /// may see. Of tools that fit about as well, those that were `called` before come first.
    pub async fn search(
        &self,
        query: &str,
        most: usize,
        called: &[Arc<str>],
        visibility: &Visibility,
    ) -> Vec<FoundTool> {
        // What a profile changes is searched for as it looks there.
        let rules = visibility.rules().filter(|rules| !rules.config().tool.is_empty());
        let profile = visibility.profile().filter(|_| rules.is_some());
        let whole = profile.cloned().map(Visibility::of_profile).unwrap_or_default();
        let indexed = self.current_index(&whole, rules.as_ref()).await;
        let index = &indexed.index;
        let shown = |name: &Arc<str>| Some(self.view(&self.get(name)?, &whole)?.name().clone());
        let called = called.iter().filter_map(shown).filter_map(|name| index.document(&name));
        let found = index.search_preferring(query, &called.collect::<Vec<_>>());
        let tool = |found: SearchHit| {
            // A caller may see few of thousands that fit, so those are left out first.
            if indexed.is_hidden(found.document, visibility) {
                return None;
            }
            // The tools may have changed since.
            let tool = self.get_for(index.name(found.document)?, visibility)?;
            (!self.is_denied(&tool)).then_some(FoundTool { tool, score: found.score })
        };
        found.into_iter().filter_map(tool).take(most).collect()
    }

    /// Returns the index of the tools as they are now, as `whole` shows them; an older one while a large one is built.
    async fn current_index(
        &self,
        whole: &Visibility,
        rules: Option<&Arc<ProfileRules>>,
    ) -> Arc<IndexedTools> {
        let older = match self.index.latest(rules) {
            Some((version, index)) if version == *self.version().borrow() => return index,
            older => older.map(|(_, index)| index),
        };
        let building = self.index.building.clone().lock_owned();
        let building = match &older {
            None => building.await,
            Some(older) => match timeout(PATIENCE, building).await {
                Ok(building) => building,
                Err(_) => return older.clone(),
            },
        };
        let version = *self.version().borrow();
        match self.index.latest(rules) {
            Some((known, index)) if known == version => return index,
            _ => {}
        }
        let tools = self.all_for(whole);
        let instructions = self.instructions();
        let is_small = tools.len() <= FEW;
        let (index, rules) = (self.index.clone(), rules.cloned());
        let build = async move {
            let build = move || build(&tools, &instructions);
            let built = index.build(version, rules, is_small, build).await;
            drop(building);
            built
        };
        let built = match older.is_some() && !is_small {
            // It goes on if nobody waits for it any longer.
            true => {
                timeout(PATIENCE, tokio::spawn(build)).await.ok().and_then(Result::ok).flatten()
            }
            false => build.await,
        };
        let nothing = || Arc::new(IndexedTools { tools: Vec::new(), index: Index::build(&[]) });
        built.or(older).unwrap_or_else(nothing)
    }

    /// Returns the instructions of each connected server that has any.
    pub fn instructions(&self) -> HashMap<Arc<str>, String> {
        let servers = self.servers().into_iter();
        servers.filter_map(|server| Some((server.name, server.link?.instructions()?))).collect()
    }
}

fn build(tools: &[Arc<RegisteredTool>], instructions: &HashMap<Arc<str>, String>) -> IndexedTools {
    let documents = tools.iter().map(|tool| {
        let spec = tool.spec();
        let instructions = spec.server().and_then(|server| instructions.get(server));
        ToolDocument::new(tool.name(), spec).instructions(instructions.map(String::as_str))
    });
    let index = Index::build(&documents.collect::<Vec<_>>());
    IndexedTools { tools: tools.iter().map(Arc::downgrade).collect(), index }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use switchboard_toolcall::{ToolSpec, tool_fn};

    use super::*;

    // FT-1
    #[tokio::test]
    async fn an_index_that_could_not_be_built_is_built_by_the_next_search() {
        let index = ToolIndex::default();
        let failed = index.build(1, None, false, || panic!("a bug")).await;
        assert!(failed.is_none() && index.latest(None).is_none(), "it is not kept");
        let spec = ToolSpec::new("rain", "Tells whether it rains", json!({}));
        let build = move || IndexedTools {
            tools: Vec::new(),
            index: Index::build(&[ToolDocument::new("rain", &spec)]),
        };
        index.build(1, None, false, build).await;
        let (version, kept) = index.latest(None).unwrap();
        assert_eq!((version, kept.index.search("rain").len()), (1, 1));
    }

    // FT-1: a search does not wait for a large index if there is an older one.
    #[tokio::test(start_paused = true)]
    async fn the_older_index_is_searched_while_a_new_one_is_built() {
        let executor = crate::ToolExecutor::default();
        let tools = executor.tools();
        let add = |name: &str| tools.add(tool_fn(name, |_: NoArgs, _| async { "no" })).unwrap();
        add("rain");
        let found = async |query| tools.search(query, 5, &[], &Visibility::default()).await.len();
        assert_eq!(found("rain").await, 1);
        add("quux");
        let building = tools.index.building.lock().await;
        assert_eq!((found("rain").await, found("quux").await), (1, 0));
        drop(building);
        // The description of both says that it rains.
        assert_eq!((found("rain").await, found("quux").await), (2, 1));
        assert_eq!(tools.index.current.lock().unwrap().len(), 1, "the older one is gone");
    }

    // FT-1: a search that nobody uses costs nothing.
    #[tokio::test]
    async fn there_is_no_index_before_the_first_search() {
        let executor = crate::ToolExecutor::default();
        let tools = executor.tools();
        tools.add(tool_fn("rain", |_: NoArgs, _| async { "no" })).unwrap();
        let held = || tools.index.current.lock().unwrap().len();
        assert_eq!((tools.listed().len(), held()), (1, 0));
        assert_eq!(tools.search("rain", 5, &[], &Visibility::default()).await.len(), 1);
        assert_eq!(held(), 1);
        tools.search("rain", 5, &[], &Visibility::default()).await;
        assert_eq!(held(), 1, "the same one");
    }

    /// Rains or not.
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct NoArgs {}
}
