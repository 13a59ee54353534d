//! A call as the variables of an expression; converted when an expression first uses them.

use std::{collections::HashMap, sync::OnceLock};

use cel::{
    Value as CelValue,
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

/// The call that an expression is evaluated for.
pub(crate) struct CallVariables<'a> {
    tool: &'a RegisteredTool,
    args: &'a Value,
    cx: &'a CallContext,
    /// `args` and `claims`, converted once: an expression may use them for each element of a list.
    converted: [OnceLock<Box<dyn Val>>; 2],
}

impl<'a> CallVariables<'a> {
    pub(crate) fn new(tool: &'a RegisteredTool, args: &'a Value, cx: &'a CallContext) -> Self {
        Self { tool, args, cx, converted: Default::default() }
    }
}

impl VariableResolver for CallVariables<'_> {
    fn resolve<'b>(&'b self, variable: &str) -> Option<CowVal<'b, 'b>> {
        let text = |text: &str| CelValue::String(text.to_owned().into());
        let value = match variable {
            "tool" => text(self.tool.original().name()),
            "server" => text(self.tool.spec().server().map_or("", |server| server)),
            "caller" => text(self.cx.caller.as_deref().unwrap_or("")),
            "read_only" => CelValue::Bool(self.tool.spec().is_read_only()),
            "args" => return Some(cached(&self.converted[0], Some(self.args))),
            "claims" => return Some(cached(&self.converted[1], self.cx.claims.as_deref())),
            _ => return None,
        };
        Some(CowVal::from(boxed(value)))
    }
}

fn cached<'b>(cell: &'b OnceLock<Box<dyn Val>>, value: Option<&Value>) -> CowVal<'b, 'b> {
    let value = cell.get_or_init(|| boxed(value.map_or_else(|| map([].into_iter()), from_json)));
    CowVal::Borrowed(&**value)
}

fn boxed(value: CelValue) -> Box<dyn Val> {
    // Every JSON value has one there.
    Box::<dyn Val>::try_from(value).unwrap_or_else(|_| Box::new(CelNull))
}

/// Converts JSON to CEL. Whole numbers stay whole, so that they can be compared with `50`.
fn from_json(value: &Value) -> CelValue {
    match value {
        Value::Null => CelValue::Null,
        Value::Bool(value) => CelValue::Bool(*value),
        Value::String(text) => CelValue::String(text.clone().into()),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(whole), _) => CelValue::Int(whole),
            (None, Some(whole)) => CelValue::UInt(whole),
            (None, None) => CelValue::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::Array(values) => {
            CelValue::List(values.iter().map(from_json).collect::<Vec<_>>().into())
        }
        Value::Object(values) => {
            map(values.iter().map(|(key, value)| (key.as_str().into(), from_json(value))))
        }
    }
}

fn map(entries: impl Iterator<Item = (Key, CelValue)>) -> CelValue {
    CelValue::Map(cel::objects::Map { map: entries.collect::<HashMap<_, _>>().into() })
}
