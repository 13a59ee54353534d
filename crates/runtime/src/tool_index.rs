//! Finds tools by what they do (SPEC FT-1): an index of the tools, built by the first search after a change.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use switchboard_search::{Index, SearchHit, ToolDocument};
use switchboard_toolcall::{ProfileRules, Visibility};
use tokio::{sync::Mutex as AsyncMutex, task::spawn_blocking};

use crate::tools::{RegisteredTool, ToolManager};

/// With more tools than this, the index is not built on a serving thread.
const FEW: usize = 50;

/// The indexes of one version of the tools; none until somebody searches.
#[derive(Default)]
pub(crate) struct ToolIndex {
    current: Mutex<Vec<CurrentIndex>>,
    /// Held while an index is built, so that searches at once build one.
    building: AsyncMutex<()>,
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
    fn is(&self, version: u64, rules: Option<&Arc<ProfileRules>>) -> bool {
        self.version == version && self.rules.as_ref().map(Arc::as_ptr) == rules.map(Arc::as_ptr)
    }
}

impl ToolIndex {
    fn get(&self, version: u64, rules: Option<&Arc<ProfileRules>>) -> Option<Arc<IndexedTools>> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.iter().find(|known| known.is(version, rules)).map(|known| known.index.clone())
    }

    /// Builds the index and keeps it. If building it panics, nothing is found, and the next search tries again.
    async fn build(
        &self,
        version: u64,
        rules: Option<&Arc<ProfileRules>>,
        is_small: bool,
        build: impl FnOnce() -> IndexedTools + Send + 'static,
    ) -> Arc<IndexedTools> {
        let built = if is_small { Ok(build()) } else { spawn_blocking(build).await };
        let Ok(index) = built else {
            tracing::error!("the index of the tools could not be built; searches find nothing");
            return Arc::new(IndexedTools { tools: Vec::new(), index: Index::build(&[]) });
        };
        let index = Arc::new(index);
        self.set(CurrentIndex { version, rules: rules.cloned(), index: index.clone() });
        index
    }

    fn set(&self, new: CurrentIndex) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.retain(|known| known.version == new.version);
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

    /// Returns the index of the tools as they are now, as `whole` shows them.
    async fn current_index(
        &self,
        whole: &Visibility,
        rules: Option<&Arc<ProfileRules>>,
    ) -> Arc<IndexedTools> {
        let version = || *self.version().borrow();
        if let Some(index) = self.index.get(version(), rules) {
            return index;
        }
        let _building = self.index.building.lock().await;
        let version = version();
        if let Some(index) = self.index.get(version, rules) {
            return index;
        }
        let tools = self.all_for(whole);
        let instructions = self.instructions();
        let is_small = tools.len() <= FEW;
        let build = move || build(&tools, &instructions);
        self.index.build(version, rules, is_small, build).await
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
        assert!(failed.index.search("rain").is_empty());
        assert!(index.get(1, None).is_none(), "it is not kept");
        let spec = ToolSpec::new("rain", "Tells whether it rains", json!({}));
        let build = move || IndexedTools {
            tools: Vec::new(),
            index: Index::build(&[ToolDocument::new("rain", &spec)]),
        };
        index.build(1, None, false, build).await;
        let kept = index.get(1, None).unwrap();
        assert_eq!(kept.index.search("rain").len(), 1);
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
