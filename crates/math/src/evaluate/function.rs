//! Functions as values, and calling them.

use std::rc::Rc;

use super::{Context, chain, in_frame};
use crate::{
    error::{Result, fail},
    format::{self, NumberStyle},
    functions,
    syntax::{IndexNode, Operator, SyntaxNode},
    value::Value,
};

/// A function that comes with the language.
#[derive(Debug)]
pub(crate) struct Builtin {
    pub(crate) name: &'static str,
    pub(crate) fewest: usize,
    pub(crate) most: usize,
    pub(crate) run: fn(&[Value], &mut Context) -> Result<Value>,
}

/// Something that can be called.
#[derive(Debug)]
pub(crate) enum Function {
    Builtin(&'static Builtin),
    Defined {
        name: Rc<str>,
        parameters: Vec<Rc<str>>,
        body: Rc<SyntaxNode>,
        outer: Option<Rc<CallFrame>>,
    },
}

/// The arguments of a call, and of the calls its function was defined in.
#[derive(Debug)]
pub(crate) struct CallFrame {
    arguments: Vec<(Rc<str>, Value)>,
    outer: Option<Rc<CallFrame>>,
}

impl CallFrame {
    pub(super) fn get(&self, name: &str) -> Option<Value> {
        let mut frame = Some(self);
        while let Some(current) = frame {
            if let Some((_, value)) =
                current.arguments.iter().find(|(argument, _)| &**argument == name)
            {
                return Some(value.clone());
            }
            frame = current.outer.as_deref();
        }
        None
    }
}

impl Function {
    /// The function as text, `f(x, y)`.
    pub(crate) fn signature(&self) -> String {
        match self {
            Self::Builtin(builtin) => builtin.name.to_owned(),
            Self::Defined { name, parameters, .. } => format!("{name}({})", parameters.join(", ")),
        }
    }

    /// The values the function has captured where it was defined.
    pub(super) fn captured(&self) -> Vec<&Value> {
        let mut values = Vec::new();
        let mut frame = match self {
            Self::Builtin(_) => None,
            Self::Defined { outer, .. } => outer.as_deref(),
        };
        while let Some(current) = frame {
            values.extend(current.arguments.iter().map(|(_, value)| value));
            frame = current.outer.as_deref();
        }
        values
    }

    /// How many arguments the function takes at most.
    pub(crate) fn most_arguments(&self) -> usize {
        match self {
            Self::Builtin(builtin) => builtin.most,
            Self::Defined { parameters, .. } => parameters.len(),
        }
    }
}

/// Calls `function`.
pub(crate) fn call(
    function: &Function,
    arguments: &[Value],
    context: &mut Context,
) -> Result<Value> {
    context.spend(1)?;
    match function {
        Function::Builtin(builtin) => {
            check_count(builtin.name, builtin.fewest, builtin.most, arguments.len())?;
            context.deeper(|context| (builtin.run)(arguments, context))
        }
        Function::Defined { name, parameters, body, outer } => {
            check_count(name, parameters.len(), parameters.len(), arguments.len())?;
            let arguments = parameters.iter().cloned().zip(arguments.iter().cloned()).collect();
            let frame = Some(Rc::new(CallFrame { arguments, outer: outer.clone() }));
            // The `end` of the calling expression does not apply inside the function.
            context.with_end(None, |context| in_frame(body, &frame, context))
        }
    }
}

fn check_count(name: &str, fewest: usize, most: usize, actual: usize) -> Result<()> {
    if actual < fewest {
        return fail(format!(
            "Too few arguments in function {name} (expected: any, index: {actual})"
        ));
    }
    if actual > most {
        return fail(format!(
            "Too many arguments in function {name} (expected: {most}, actual: {actual})"
        ));
    }
    Ok(())
}

/// Evaluates a call; `function` is the node of the callee.
pub(super) fn evaluate_call(
    function: &Rc<SyntaxNode>,
    arguments: &[Rc<SyntaxNode>],
    optional: bool,
    frame: &Option<Rc<CallFrame>>,
    context: &mut Context,
) -> Result<Value> {
    let callee = match &**function {
        SyntaxNode::Symbol(name) => named(name, frame, context)?,
        other => in_frame(other, frame, context)?,
    };
    if optional && matches!(callee, Value::Undefined | Value::Null) {
        return Ok(Value::Undefined);
    }
    let Value::Function(callee) = callee else { return not_a_function(function, &callee, context) };
    if let Function::Builtin(builtin) = &*callee
        && let Some(value) = lazily(builtin.name, arguments, frame, context)
    {
        return value;
    }
    let arguments: Result<Vec<_>> =
        arguments.iter().map(|argument| in_frame(argument, frame, context)).collect();
    call(&callee, &arguments?, context)
}

fn named(name: &Rc<str>, frame: &Option<Rc<CallFrame>>, context: &mut Context) -> Result<Value> {
    let local = frame.as_ref().and_then(|frame| frame.get(name)).or_else(|| context.variable(name));
    if let Some(value) = local {
        return Ok(value);
    }
    functions::named(name, context).unwrap_or_else(|| fail(format!("Undefined function {name}")))
}

fn not_a_function(node: &SyntaxNode, value: &Value, context: &mut Context) -> Result<Value> {
    let name = match node {
        SyntaxNode::Symbol(name) | SyntaxNode::Access { index: IndexNode::Property(name), .. } => {
            name
        }
        _ => "value",
    };
    let value = format::value(value, &NumberStyle::default(), context)?;
    fail(format!("'{name}' is not a function; its value is:\n  {value}"))
}

/// Functions that get their arguments unevaluated, so that they evaluate only those they need.
fn lazily(
    name: &str,
    arguments: &[Rc<SyntaxNode>],
    frame: &Option<Rc<CallFrame>>,
    context: &mut Context,
) -> Option<Result<Value>> {
    let [first, second] = arguments else { return None };
    let operator = match name {
        "filter" | "map" | "forEach" => {
            return with_inline_body(name, first, second, frame, context);
        }
        "and" => Operator::And,
        "or" => Operator::Or,
        "bitAnd" => Operator::BitAnd,
        "bitOr" => Operator::BitOr,
        "nullish" => Operator::Nullish,
        _ => return None,
    };
    Some(chain(first, &[(operator, second.clone())], frame, context))
}

/// A formula with an unknown name may stand for a function of it, as in `map([1, 2], x^2)`.
fn with_inline_body(
    name: &str,
    items: &Rc<SyntaxNode>,
    body: &Rc<SyntaxNode>,
    frame: &Option<Rc<CallFrame>>,
    context: &mut Context,
) -> Option<Result<Value>> {
    if matches!(**body, SyntaxNode::Symbol(_) | SyntaxNode::AssignFunction { .. }) {
        return None;
    }
    let parameter = free_symbol(body, frame, context)?;
    let builtin = functions::builtin(name)?;
    let function = Function::Defined {
        name: "x".into(),
        parameters: vec![parameter],
        body: body.clone(),
        outer: frame.clone(),
    };
    let items = match in_frame(items, frame, context) {
        Ok(items) => items,
        Err(error) => return Some(Err(error)),
    };
    let arguments = [items, Value::Function(Rc::new(function))];
    Some(call(&Function::Builtin(builtin), &arguments, context))
}

/// Returns the first name in `node` that is neither a variable, a function nor a unit.
fn free_symbol(
    node: &SyntaxNode,
    frame: &Option<Rc<CallFrame>>,
    context: &mut Context,
) -> Option<Rc<str>> {
    let mut free = |node: &Rc<SyntaxNode>| free_symbol(node, frame, context);
    match node {
        SyntaxNode::Symbol(name) => named(name, frame, context).is_err().then(|| name.clone()),
        SyntaxNode::Parenthesis(inner)
        | SyntaxNode::Unary(_, inner)
        | SyntaxNode::Percent(inner) => free(inner),
        SyntaxNode::Chain(first, rest) => {
            let first = free(first);
            first.or_else(|| rest.iter().find_map(|(_, node)| free(node)))
        }
        SyntaxNode::Relational(first, rest) => {
            let first = free(first);
            first.or_else(|| rest.iter().find_map(|(_, node)| free(node)))
        }
        SyntaxNode::Call { arguments, .. } => arguments.iter().find_map(free),
        _ => None,
    }
}
