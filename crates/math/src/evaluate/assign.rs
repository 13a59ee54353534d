//! Assignments to names, to parts of matrices and objects, and of functions.

use std::rc::Rc;

use super::{
    Context,
    access::{evaluate_index, places},
    function::{CallFrame, Function},
    in_frame,
};
use crate::{
    error::{Result, fail},
    matrix::{Matrix, size_text},
    syntax::{IndexNode, SyntaxNode},
    value::{Object, Positions, Value},
};

/// Evaluates an assignment and returns the assigned value.
pub(super) fn assign(
    node: &SyntaxNode,
    frame: &Option<Rc<CallFrame>>,
    context: &mut Context,
) -> Result<Value> {
    match node {
        SyntaxNode::Assign(name, value) => {
            let value = in_frame(value, frame, context)?;
            set(name, value, context)
        }
        SyntaxNode::AssignFunction { name, parameters, body } => {
            for (place, parameter) in parameters.iter().enumerate() {
                if parameters[..place].contains(parameter) {
                    return fail(format!("Duplicate parameter name \"{parameter}\""));
                }
            }
            let function = Function::Defined {
                name: name.clone(),
                parameters: parameters.clone(),
                body: body.clone(),
                outer: frame.clone(),
            };
            set(name, Value::Function(Rc::new(function)), context)
        }
        SyntaxNode::AssignIndex { object, index, value } => {
            let value = in_frame(value, frame, context)?;
            store(object, index, value.clone(), frame, context)?;
            Ok(value)
        }
        _ => Ok(Value::Undefined),
    }
}

fn set(name: &Rc<str>, value: Value, context: &mut Context) -> Result<Value> {
    if &**name == "end" {
        return fail("Cannot assign to symbol \"end\"");
    }
    context.set_variable(name.clone(), value.clone())?;
    Ok(value)
}

/// Sets `target[index]` to `value`, and stores the changed `target` back into its variable.
fn store(
    target: &SyntaxNode,
    index: &IndexNode,
    value: Value,
    frame: &Option<Rc<CallFrame>>,
    context: &mut Context,
) -> Result<()> {
    let whole = in_frame(target, frame, context)?;
    let positions = match index {
        IndexNode::Property(name) => vec![Positions::Key(name.clone())],
        IndexNode::Dimensions(nodes) => evaluate_index(nodes, &whole, frame, context)?,
    };
    let changed = replace_subset(&whole, &positions, value, &Value::Number(0.0), context)?;
    match target {
        SyntaxNode::Symbol(name) => set(name, changed, context).map(|_| ()),
        SyntaxNode::Access { object, index, .. } => store(object, index, changed, frame, context),
        _ => Ok(()), // a temporary value: no variable to store into
    }
}

/// Returns `whole` with `value` at `positions`; a matrix grows as needed, its new items being `filler`.
pub(crate) fn replace_subset(
    whole: &Value,
    positions: &[Positions],
    value: Value,
    filler: &Value,
    context: &mut Context,
) -> Result<Value> {
    match (whole, positions) {
        (Value::Object(object), [Positions::Key(key)]) => {
            if matches!(&**key, "constructor" | "__proto__" | "prototype") {
                return fail(format!("No access to property \"{key}\""));
            }
            context.spend(object.len())?;
            let mut object = Object::clone(object);
            object.insert(key.clone(), value);
            Ok(Value::Object(Rc::new(object)))
        }
        (Value::Matrix(matrix), _) => replace_in_matrix(matrix, positions, value, filler, context),
        (Value::Text(text), _) => {
            context.reserve_text(text.len())?;
            replace_in_text(text, positions, &value)
        }
        _ => fail("Cannot apply index: unsupported type of object"),
    }
}

fn replace_in_text(text: &str, positions: &[Positions], value: &Value) -> Result<Value> {
    let Value::Text(new) = value else { return fail("String expected as replacement") };
    let mut characters: Vec<char> = text.chars().collect();
    let places = places(positions, Some(&[characters.len()]))?;
    let new: Vec<char> = new.chars().collect();
    let [(places, _)] = &places[..] else {
        return fail(format!("Dimension mismatch ({} != 1)", places.len()));
    };
    if places.len() != new.len() {
        return fail(format!("Dimension mismatch ({} != {})", places.len(), new.len()));
    }
    for (place, character) in places.iter().zip(new) {
        characters[*place] = character;
    }
    Ok(Value::text(characters.into_iter().collect::<String>()))
}

fn replace_in_matrix(
    matrix: &Matrix,
    positions: &[Positions],
    value: Value,
    filler: &Value,
    context: &mut Context,
) -> Result<Value> {
    let places = places(positions, None)?;
    if places.len() < matrix.size.len() {
        return fail(format!("Dimension mismatch ({} < {})", places.len(), matrix.size.len()));
    }
    let wanted: Vec<usize> =
        places.iter().map(|(list, _)| list.iter().max().map_or(0, |last| last + 1)).collect();
    let size: Vec<usize> = wanted
        .iter()
        .enumerate()
        .map(|(dimension, length)| *matrix.size.get(dimension).unwrap_or(&0).max(length))
        .collect();
    let mut result = resized(matrix, &size, filler, context)?;
    let mut offsets = vec![0usize];
    for ((list, _), length) in places.iter().zip(&size) {
        offsets = offsets
            .iter()
            .flat_map(|offset| list.iter().map(move |place| offset * length + place))
            .collect();
        context.reserve(offsets.len())?;
    }
    let shape: Vec<usize> = places.iter().map(|(list, _)| list.len()).collect();
    let all_scalar = places.iter().all(|(_, stays)| !stays);
    let new = match value {
        Value::Matrix(_) if all_scalar => return fail("Scalar expected"),
        Value::Matrix(new) => {
            let long = |size: &[usize]| {
                size.iter().copied().filter(|length| *length != 1).collect::<Vec<_>>()
            };
            if long(&new.size) != long(&shape) {
                return fail(format!(
                    "Dimension mismatch ({} > {})",
                    size_text(&shape),
                    size_text(&new.size)
                ));
            }
            new.items.clone()
        }
        scalar => vec![scalar; offsets.len()],
    };
    for (offset, item) in offsets.into_iter().zip(new) {
        result.items[offset] = item;
    }
    Ok(result.into())
}

/// `matrix` cut or filled up to `size`.
pub(crate) fn resized(
    matrix: &Matrix,
    size: &[usize],
    filler: &Value,
    context: &mut Context,
) -> Result<Matrix> {
    context.reserve_size(size)?;
    let count = size.iter().product();
    let mut items = vec![filler.clone(); count];
    // The old matrix keeps its place in the first corner of every new dimension.
    let mut old_size = matrix.size.clone();
    old_size.resize(size.len(), 1);
    'items: for (old, item) in matrix.items.iter().enumerate() {
        let (mut rest, mut offset, mut scale) = (old, 0, 1);
        for (old_length, length) in old_size.iter().zip(size).rev() {
            let place = rest % old_length;
            if place >= *length {
                continue 'items;
            }
            rest /= old_length;
            offset += place * scale;
            scale *= length;
        }
        items[offset] = item.clone();
    }
    Ok(Matrix::new(size.to_vec(), items))
}
