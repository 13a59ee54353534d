//! Tools that were lowered for a provider before: a turn that offers the same ones does not lower them again.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use switchboard_toolcall::ToolSpec;

use crate::{
    Provider,
    lower::{self, LoweredTools},
};

/// How many lists are kept: callers of one model may be offered different tools.
const CAPACITY: usize = 8;

/// The lists of tools that one model was offered last, the latest first.
#[derive(Default)]
pub(crate) struct ToolCache(Mutex<VecDeque<CachedTools>>);

struct CachedTools {
    specs: Vec<ToolSpec>,
    lowered: Arc<LoweredTools>,
}

impl ToolCache {
    /// Returns the lowered tools. Compares specs, which costs little beside lowering them: a tool that changed under its
    /// name is seen, and a list that was built again is not a change.
    pub(crate) fn lowered(&self, provider: Provider, specs: &[&ToolSpec]) -> Arc<LoweredTools> {
        if let Some(lowered) = self.find(specs) {
            return lowered;
        }
        let lowered = Arc::new(lower::tools(provider, specs));
        let specs = specs.iter().map(|spec| (*spec).clone()).collect();
        let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lists.push_front(CachedTools { specs, lowered: lowered.clone() });
        lists.truncate(CAPACITY);
        lowered
    }

    fn find(&self, specs: &[&ToolSpec]) -> Option<Arc<LoweredTools>> {
        let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let position = lists.iter().position(|list| list.specs.iter().eq(specs.iter().copied()))?;
        let found = lists.remove(position)?;
        let lowered = found.lowered.clone();
        lists.push_front(found);
        Some(lowered)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn spec(name: &str, description: &str) -> ToolSpec {
        ToolSpec::new(name, description, json!({"type": "object", "properties": {}}))
    }

    // ML-6
    #[test]
    fn tools_are_lowered_once_per_change() {
        let cache = ToolCache::default();
        let lowered =
            |specs: &[ToolSpec]| cache.lowered(Provider::Ollama, &specs.iter().collect::<Vec<_>>());
        let first = lowered(&[spec("a", ""), spec("b", "")]);
        let other = lowered(&[spec("a", "")]);
        // Built again, as each turn does, and with another caller's list between.
        assert!(Arc::ptr_eq(&first, &lowered(&[spec("a", ""), spec("b", "")])));
        assert!(Arc::ptr_eq(&other, &lowered(&[spec("a", "")])));
        for changed in [
            vec![spec("a", "now other"), spec("b", "")],
            vec![spec("b", ""), spec("a", "")],
            vec![spec("a", ""), spec("b", ""), spec("c", "")],
        ] {
            assert!(!Arc::ptr_eq(&first, &lowered(&changed)), "{changed:?}");
        }
        for n in 0..CAPACITY {
            lowered(&[spec("many", &n.to_string())]);
        }
        assert!(!Arc::ptr_eq(&first, &lowered(&[spec("a", ""), spec("b", "")])), "for ever");
    }
}
