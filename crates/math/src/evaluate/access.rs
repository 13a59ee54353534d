//! Indices and properties: picking parts out of matrices, text and objects.

use std::rc::Rc;

use super::{Context, function::CallFrame, in_frame};
use crate::{
    error::{Result, fail},
    matrix::Matrix,
    number::{is_integer, to_text},
    syntax::{IndexNode, SyntaxNode},
    value::{Positions, Value},
};

/// Evaluates `object[index]` or `object.index`.
pub(super) fn evaluate_access(
    object: &SyntaxNode,
    index: &IndexNode,
    optional: bool,
    frame: &Option<Rc<CallFrame>>,
    context: &mut Context,
) -> Result<Value> {
    let object = in_frame(object, frame, context)?;
    if matches!(object, Value::Undefined | Value::Null) {
        // Only this access is optional, as in mathjs: if `a` is null, the `.c` of `a?.b.c` still fails.
        return if optional { Ok(Value::Undefined) } else { no_object(index, &object) };
    }
    match index {
        IndexNode::Property(name) => property(&object, name),
        IndexNode::Dimensions(nodes) => {
            let positions = evaluate_index(nodes, &object, frame, context)?;
            subset(&object, &positions, context)
        }
    }
}

fn no_object(index: &IndexNode, object: &Value) -> Result<Value> {
    let what = object.type_name();
    match index {
        IndexNode::Property(name) => {
            fail(format!("Cannot access property \"{name}\": object is {what}"))
        }
        IndexNode::Dimensions(_) => fail(format!("Cannot apply index: object is {what}")),
    }
}

fn property(object: &Value, name: &str) -> Result<Value> {
    match object {
        // In mathjs these would reach into the JavaScript object.
        Value::Object(_) if matches!(name, "constructor" | "__proto__" | "prototype") => {
            no_access(name)
        }
        Value::Object(properties) => Ok(properties.get(name).cloned().unwrap_or(Value::Undefined)),
        Value::Complex(number) if name == "re" => Ok(Value::Number(number.re)),
        Value::Complex(number) if name == "im" => Ok(Value::Number(number.im)),
        _ => no_access(name),
    }
}

fn no_access(name: &str) -> Result<Value> {
    fail(format!("No access to property \"{name}\""))
}

/// Evaluates the index nodes to zero-based positions; `end` is the length of each dimension.
pub(super) fn evaluate_index(
    nodes: &[Rc<SyntaxNode>],
    object: &Value,
    frame: &Option<Rc<CallFrame>>,
    context: &mut Context,
) -> Result<Vec<Positions>> {
    let size = match object {
        Value::Matrix(matrix) => matrix.size.clone(),
        Value::Text(text) => {
            context.reserve_text(text.len())?;
            vec![text.chars().count()]
        }
        _ => Vec::new(),
    };
    let mut positions = Vec::new();
    for (dimension, node) in nodes.iter().enumerate() {
        let end = size.get(dimension).map(|length| *length as f64);
        let value = context.with_end(end, |context| in_frame(node, frame, context))?;
        if let Value::Matrix(places) = &value {
            context.spend(places.items.len())?;
        }
        positions.push(zero_based(&value)?);
    }
    Ok(positions)
}

/// Returns the zero-based positions that one index value selects.
pub(crate) fn zero_based(value: &Value) -> Result<Positions> {
    match value {
        Value::Number(place) => Ok(Positions::One(place - 1.0)),
        Value::Text(key) => Ok(Positions::Key(key.clone())),
        Value::Matrix(matrix)
            if matrix.items.iter().any(|item| matches!(item, Value::Boolean(_))) =>
        {
            let chosen = matrix
                .items
                .iter()
                .enumerate()
                .filter(|(_, item)| matches!(item, Value::Boolean(true)));
            Ok(Positions::Many(chosen.map(|(place, _)| place as f64).collect()))
        }
        Value::Matrix(matrix) => {
            let places: Option<Vec<f64>> =
                matrix.items.iter().map(|item| item.as_number().map(|place| place - 1.0)).collect();
            places.map_or_else(
                || fail("Dimension must be an Array, Matrix, number, bigint, string, or Range"),
                |places| Ok(Positions::Many(places)),
            )
        }
        _ => fail("Dimension must be an Array, Matrix, number, bigint, string, or Range"),
    }
}

/// Checked positions in each dimension, and whether the dimension stays.
pub(crate) type Places = Vec<(Vec<usize>, bool)>;

/// Checks `positions` against `size`; if `size` is `None`, only against a general upper bound.
pub(crate) fn places(positions: &[Positions], size: Option<&[usize]>) -> Result<Places> {
    let mut places = Vec::new();
    for (dimension, positions) in positions.iter().enumerate() {
        let (list, stays) = match positions {
            Positions::One(place) => (vec![*place], false),
            Positions::Many(list) => (list.clone(), true),
            Positions::Key(key) => return fail(format!("No access to property \"{key}\"")),
        };
        let length = size.map_or(usize::MAX, |size| size[dimension]);
        let checked: Result<Vec<usize>> =
            list.into_iter().map(|place| check(place, length)).collect();
        places.push((checked?, stays));
    }
    Ok(places)
}

fn check(place: f64, length: usize) -> Result<usize> {
    if !is_integer(place) {
        return fail(format!("Index must be an integer (value: {})", to_text(place)));
    }
    if place < 0.0 {
        return fail(format!("Index out of range ({} < 1)", to_text(place + 1.0)));
    }
    if place >= length as f64 || place > 1e9 {
        return fail(format!("Index out of range ({} > {length})", to_text(place + 1.0)));
    }
    Ok(place as usize)
}

/// The part of `object` at `positions`.
pub(crate) fn subset(
    object: &Value,
    positions: &[Positions],
    context: &mut Context,
) -> Result<Value> {
    match object {
        Value::Matrix(matrix) => from_matrix(matrix, positions, context),
        Value::Text(text) => {
            context.reserve_text(text.len())?;
            from_text(text, positions)
        }
        Value::Object(properties) => match positions {
            [Positions::Key(key)] => property(&Value::Object(properties.clone()), key),
            _ => fail("Cannot apply a numeric index as object property"),
        },
        _ => fail("Cannot apply index: unsupported type of object"),
    }
}

fn from_matrix(matrix: &Matrix, positions: &[Positions], context: &mut Context) -> Result<Value> {
    if let [Positions::Key(key)] = positions {
        return no_access(key);
    }
    if positions.len() != matrix.size.len() {
        return fail(format!("Dimension mismatch ({} != {})", positions.len(), matrix.size.len()));
    }
    let places = places(positions, Some(&matrix.size))?;
    let count = places.iter().fold(1usize, |count, (list, _)| count.saturating_mul(list.len()));
    context.reserve(count)?;
    let mut offsets = vec![0usize];
    for ((list, _), length) in places.iter().zip(&matrix.size) {
        offsets = offsets
            .iter()
            .flat_map(|offset| list.iter().map(move |place| offset * length + place))
            .collect();
    }
    let items: Vec<Value> =
        offsets.into_iter().map(|offset| matrix.items[offset].clone()).collect();
    let size: Vec<usize> =
        places.iter().filter(|(_, stays)| *stays).map(|(list, _)| list.len()).collect();
    match (size.is_empty(), items.first()) {
        (true, Some(item)) => Ok(item.clone()),
        _ => Ok(Matrix::new(size, items).into()),
    }
}

fn from_text(text: &str, positions: &[Positions]) -> Result<Value> {
    if positions.len() != 1 {
        return fail(format!("Dimension mismatch ({} != 1)", positions.len()));
    }
    let characters: Vec<char> = text.chars().collect();
    let places = places(positions, Some(&[characters.len()]))?;
    Ok(Value::text(places[0].0.iter().map(|place| characters[*place]).collect::<String>()))
}
