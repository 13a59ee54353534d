//! Walks a parsed expression and computes its value.
//!
//! `context` holds variables and budgets, `function` calls functions, `access` reads indices and
//! properties, `build` makes ranges, arrays and objects.

mod context;
mod function;
mod access;
mod assign;
mod build;

use std::rc::Rc;

pub(crate) use access::{subset, zero_based};
pub(crate) use assign::{replace_subset, resized};
pub(crate) use build::range;
pub(crate) use context::Context;
pub(crate) use function::{Builtin, Function, call};

use crate::{
    error::{Result, fail},
    functions, operators,
    syntax::{Comparison, Operator, SyntaxNode, Unary},
    units,
    value::Value,
};
use function::CallFrame;

/// Evaluates `node`.
pub(crate) fn evaluate(node: &SyntaxNode, context: &mut Context) -> Result<Value> {
    in_frame(node, &None, context)
}

/// Evaluates `node` inside a call whose parameters are in `frame`.
fn in_frame(
    node: &SyntaxNode,
    frame: &Option<Rc<CallFrame>>,
    context: &mut Context,
) -> Result<Value> {
    context.spend(1)?;
    context.deeper(|context| match node {
        SyntaxNode::Constant(value) => Ok(value.clone()),
        SyntaxNode::Symbol(name) => symbol(name, frame, context),
        SyntaxNode::Parenthesis(inner) => in_frame(inner, frame, context),
        SyntaxNode::Unary(operator, operand) => {
            let operand = in_frame(operand, frame, context)?;
            unary(*operator, &operand, context)
        }
        SyntaxNode::Percent(operand) => {
            let operand = in_frame(operand, frame, context)?;
            operators::divide(&operand, &Value::Number(100.0), context)
        }
        SyntaxNode::Chain(first, rest) => chain(first, rest, frame, context),
        SyntaxNode::Relational(first, rest) => relational(first, rest, frame, context),
        SyntaxNode::Conditional(condition, then, otherwise) => {
            let condition = in_frame(condition, frame, context)?;
            in_frame(if is_true(&condition)? { then } else { otherwise }, frame, context)
        }
        SyntaxNode::Range { .. } | SyntaxNode::Array(_) | SyntaxNode::Object(_) => {
            build::build(node, frame, context)
        }
        SyntaxNode::Call { function, arguments, optional } => {
            function::evaluate_call(function, arguments, *optional, frame, context)
        }
        SyntaxNode::Access { object, index, optional } => {
            access::evaluate_access(object, index, *optional, frame, context)
        }
        SyntaxNode::Assign(..)
        | SyntaxNode::AssignIndex { .. }
        | SyntaxNode::AssignFunction { .. } => assign::assign(node, frame, context),
        SyntaxNode::Block(statements) => block(statements, frame, context),
    })
}

fn symbol(name: &Rc<str>, frame: &Option<Rc<CallFrame>>, context: &mut Context) -> Result<Value> {
    if let Some(value) = frame.as_ref().and_then(|frame| frame.get(name)) {
        return Ok(value);
    }
    if &**name == "end"
        && let Some(end) = context.end()
    {
        return Ok(Value::Number(end));
    }
    if let Some(value) = context.variable(name) {
        return Ok(value);
    }
    if let Some(value) = functions::named(name, context) {
        return value;
    }
    context.spend(20)?; // there are many units to search
    if units::is_unit(name) {
        return Ok(units::find(name, context.units_mut())?.into());
    }
    fail(format!("Undefined symbol {name}"))
}

fn unary(operator: Unary, operand: &Value, context: &mut Context) -> Result<Value> {
    match operator {
        Unary::Minus => operators::unary_minus(operand, context),
        Unary::Plus => operators::unary_plus(operand, context),
        Unary::BitNot => operators::bit_not(operand, context),
        Unary::Not => operators::not(operand, context),
        Unary::Factorial => functions::factorial(operand, context),
        Unary::Transpose => functions::conjugate_transpose(operand, context),
    }
}

fn chain(
    first: &SyntaxNode,
    rest: &[(Operator, Rc<SyntaxNode>)],
    frame: &Option<Rc<CallFrame>>,
    context: &mut Context,
) -> Result<Value> {
    let mut value = in_frame(first, frame, context)?;
    for (operator, operand) in rest {
        context.spend(1)?;
        if let Some(decided) = operators::decided_by_left(*operator, &value)? {
            value = decided;
            continue;
        }
        let mut right = in_frame(operand, frame, context)?;
        // `100 + 10%` adds ten percent of a hundred.
        if matches!(operator, Operator::Add | Operator::Subtract)
            && matches!(**operand, SyntaxNode::Percent(_))
        {
            right = operators::multiply(&value, &right, context)?;
        }
        value = operators::apply(*operator, &value, &right, context)?;
    }
    Ok(value)
}

/// A comparison, or a chain of them that all have to hold.
fn relational(
    first: &SyntaxNode,
    rest: &[(Comparison, Rc<SyntaxNode>)],
    frame: &Option<Rc<CallFrame>>,
    context: &mut Context,
) -> Result<Value> {
    let mut left = in_frame(first, frame, context)?;
    if let [(comparison, operand)] = rest {
        let right = in_frame(operand, frame, context)?;
        return operators::compare_with(*comparison, &left, &right, context);
    }
    for (comparison, operand) in rest {
        let right = in_frame(operand, frame, context)?;
        let holds = operators::compare_with(*comparison, &left, &right, context)?;
        if matches!(holds, Value::Boolean(false)) {
            return Ok(Value::Boolean(false));
        }
        left = right;
    }
    Ok(Value::Boolean(true))
}

/// Whether a condition holds.
fn is_true(value: &Value) -> Result<bool> {
    match value {
        Value::Undefined | Value::Null => Ok(false),
        Value::Boolean(flag) => Ok(*flag),
        Value::Number(number) => Ok(*number != 0.0 && !number.is_nan()),
        Value::Text(text) => Ok(!text.is_empty()),
        Value::Complex(number) => Ok(number.re != 0.0 || number.im != 0.0),
        Value::Unit(unit) => Ok(unit.value.is_some_and(|value| value.abs() != 0.0)),
        other => fail(format!("Unsupported type of condition \"{}\"", other.type_name())),
    }
}

fn block(
    statements: &[(Rc<SyntaxNode>, bool)],
    frame: &Option<Rc<CallFrame>>,
    context: &mut Context,
) -> Result<Value> {
    let mut results = Vec::new();
    for (statement, visible) in statements {
        let value = in_frame(statement, frame, context)?;
        if *visible {
            results.push(value);
        }
    }
    Ok(Value::Results(Rc::new(results)))
}
