//! Ranges, arrays and objects.

use std::rc::Rc;

use super::{Context, function::CallFrame, in_frame};
use crate::{
    error::{Result, fail},
    matrix::Matrix,
    number::nearly_equal,
    syntax::SyntaxNode,
    value::{Object, Value},
};

pub(super) fn build(
    node: &SyntaxNode,
    frame: &Option<Rc<CallFrame>>,
    context: &mut Context,
) -> Result<Value> {
    match node {
        SyntaxNode::Range { start, step, end } => {
            let mut bound = |node: &SyntaxNode| {
                let value = in_frame(node, frame, context)?;
                value.as_number().map_or_else(|| unexpected(&value), Ok)
            };
            let (start, end) = (bound(start)?, bound(end)?);
            let step = step.as_ref().map_or(Ok(1.0), |step| bound(step))?;
            range(start, end, step, true, context)
        }
        SyntaxNode::Array(items) => {
            let values: Result<Vec<_>> =
                items.iter().map(|item| in_frame(item, frame, context)).collect();
            let values = values?;
            let count = values.iter().fold(0usize, |count, value| match value {
                Value::Matrix(matrix) => count.saturating_add(matrix.items.len().max(1)),
                _ => count.saturating_add(1),
            });
            context.reserve(count)?;
            Ok(Matrix::stack(values)?.into())
        }
        SyntaxNode::Object(properties) => {
            let mut object = Object::new();
            for (key, value) in properties {
                object.insert(key.clone(), in_frame(value, frame, context)?);
            }
            Ok(Value::Object(Rc::new(object)))
        }
        _ => Ok(Value::Undefined),
    }
}

fn unexpected(value: &Value) -> Result<f64> {
    fail(format!(
        "Unexpected type of argument in function range (expected: number, actual: {}, index: 0)",
        value.type_name()
    ))
}

/// The numbers from `start` to `end` by `step`.
pub(crate) fn range(
    start: f64,
    end: f64,
    step: f64,
    include_end: bool,
    context: &mut Context,
) -> Result<Value> {
    if step == 0.0 {
        return fail("Step must be non-zero");
    }
    if !(start.is_finite() && end.is_finite() && step.is_finite()) {
        return fail("The bounds and the step of a range must be finite");
    }
    let goes_on = |at: f64| {
        let at_end = nearly_equal(at, end);
        if step > 0.0 {
            at < end && !at_end || include_end && at_end
        } else {
            at > end && !at_end || include_end && at_end
        }
    };
    let length = ((end - start) / step).floor() + 2.0;
    context.reserve(if length > 0.0 { length as usize } else { 0 })?;
    let mut items = Vec::new();
    let mut at = start;
    while goes_on(at) {
        items.push(Value::Number(at));
        context.spend(1)?; // a step too small to change the sum would never end
        at += step;
    }
    Ok(Value::vector(items))
}
