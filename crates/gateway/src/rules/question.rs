//! A call as rules see it. What no rule looks at is not converted.

use std::{collections::HashMap, sync::OnceLock};

use cel::{
    Value as Seen,
    common::{
        types::CelNull,
        value::{CowVal, Val},
    },
    context::VariableResolver,
    objects::Key,
};
use serde_json::Value;
use switchboard_runtime::RegisteredTool;
use switchboard_toolcall::CallContext;

/// A call that a rule is asked about.
pub(super) struct Question<'a> {
    tool: &'a RegisteredTool,
    args: &'a Value,
    cx: &'a CallContext,
    /// An expression may look at them once for each element of a list.
    seen: [OnceLock<Box<dyn Val>>; 2],
}

impl<'a> Question<'a> {
    pub(super) fn new(tool: &'a RegisteredTool, args: &'a Value, cx: &'a CallContext) -> Self {
        Self { tool, args, cx, seen: Default::default() }
    }
}

impl VariableResolver for Question<'_> {
    fn resolve<'b>(&'b self, variable: &str) -> Option<CowVal<'b, 'b>> {
        let text = |text: &str| Seen::String(text.to_owned().into());
        let value = match variable {
            "tool" => text(self.tool.name()),
            "server" => text(self.tool.spec().server().map_or("", |server| server)),
            "caller" => text(self.cx.caller.as_deref().unwrap_or("")),
            "read_only" => Seen::Bool(self.tool.spec().is_read_only()),
            "args" => return Some(kept(&self.seen[0], Some(self.args))),
            "claims" => return Some(kept(&self.seen[1], self.cx.claims.as_deref())),
            _ => return None,
        };
        Some(CowVal::from(boxed(value)))
    }
}

fn kept<'b>(seen: &'b OnceLock<Box<dyn Val>>, value: Option<&Value>) -> CowVal<'b, 'b> {
    let seen = seen.get_or_init(|| boxed(value.map_or_else(|| map([].into_iter()), converted)));
    CowVal::Borrowed(&**seen)
}

fn boxed(value: Seen) -> Box<dyn Val> {
    // Everything that JSON can say has a value there.
    Box::<dyn Val>::try_from(value).unwrap_or_else(|_| Box::new(CelNull))
}

/// JSON as CEL has it. Whole numbers stay whole, so that they can be compared with `50`.
fn converted(value: &Value) -> Seen {
    match value {
        Value::Null => Seen::Null,
        Value::Bool(value) => Seen::Bool(*value),
        Value::String(text) => Seen::String(text.clone().into()),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(whole), _) => Seen::Int(whole),
            (None, Some(whole)) => Seen::UInt(whole),
            (None, None) => Seen::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::Array(values) => Seen::List(values.iter().map(converted).collect::<Vec<_>>().into()),
        Value::Object(values) => {
            map(values.iter().map(|(key, value)| (key.as_str().into(), converted(value))))
        }
    }
}

fn map(entries: impl Iterator<Item = (Key, Seen)>) -> Seen {
    Seen::Map(cel::objects::Map { map: entries.collect::<HashMap<_, _>>().into() })
}
