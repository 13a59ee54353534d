//! Matrices of any number of dimensions, stored row by row.

use crate::{
    error::{Result, fail},
    value::Value,
};

/// Values in a grid; `size` has one length per dimension and `items` the values, last dimension fastest.
#[derive(Debug, Clone)]
pub(crate) struct Matrix {
    pub(crate) size: Vec<usize>,
    pub(crate) items: Vec<Value>,
}

impl Matrix {
    pub(crate) fn new(size: Vec<usize>, items: Vec<Value>) -> Self {
        debug_assert_eq!(size.iter().product::<usize>(), items.len());
        Self { size, items }
    }

    pub(crate) fn vector(items: Vec<Value>) -> Self {
        Self { size: vec![items.len()], items }
    }

    /// A matrix of `rows` by `columns` whose items `item` makes.
    pub(crate) fn build(
        rows: usize,
        columns: usize,
        mut item: impl FnMut(usize, usize) -> Value,
    ) -> Self {
        let places = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
        Self {
            size: vec![rows, columns],
            items: places.map(|(row, column)| item(row, column)).collect(),
        }
    }

    /// Puts `parts` side by side along a new first dimension; they must all have the same size.
    pub(crate) fn stack(parts: Vec<Value>) -> Result<Self> {
        let Some(Value::Matrix(first)) = parts.first() else {
            if parts.iter().any(|part| matches!(part, Value::Matrix(_))) {
                return fail("Dimension mismatch (2 > 1)");
            }
            return Ok(Self::vector(parts));
        };
        let mut size = vec![parts.len()];
        size.extend(&first.size);
        let inner = first.size.clone();
        let mut items = Vec::new();
        for part in parts {
            let Value::Matrix(part) = part else {
                return fail(format!("Dimension mismatch (1 < {})", size.len()));
            };
            if part.size != inner {
                return fail(format!(
                    "Dimension mismatch ({} != {})",
                    size_text(&part.size),
                    size_text(&inner)
                ));
            }
            items.extend(part.items.iter().cloned());
        }
        Ok(Self { size, items })
    }

    /// The rows and columns, if the matrix has two dimensions.
    pub(crate) fn rows_and_columns(&self) -> Option<(usize, usize)> {
        match self.size[..] {
            [rows, columns] => Some((rows, columns)),
            _ => None,
        }
    }

    /// The item at `row` and `column` of a matrix of two dimensions.
    pub(crate) fn at(&self, row: usize, column: usize) -> &Value {
        &self.items[row * self.size[1] + column]
    }

    /// The matrix with rows and columns exchanged; vectors stay as they are.
    pub(crate) fn transposed(&self) -> Result<Self> {
        match self.size[..] {
            [_] => Ok(self.clone()),
            [rows, columns] => {
                Ok(Self::build(columns, rows, |row, column| self.at(column, row).clone()))
            }
            _ => fail(format!(
                "Matrix must be a vector or two dimensional (size: {})",
                size_text(&self.size)
            )),
        }
    }

    /// The parts along the first dimension: rows, or the items of a vector.
    pub(crate) fn parts(&self) -> Vec<Value> {
        if self.size.len() == 1 {
            return self.items.clone();
        }
        let inner = self.size[1..].to_vec();
        let length = inner.iter().product::<usize>();
        (0..self.size[0])
            .map(|part| {
                Self::new(inner.clone(), self.items[part * length..(part + 1) * length].to_vec())
                    .into()
            })
            .collect()
    }

    /// Items along `dimension` for each place in the others, and the size that is left.
    pub(crate) fn slices(&self, dimension: usize) -> (Vec<usize>, Vec<Vec<Value>>) {
        let length = self.size[dimension];
        let after: usize = self.size[dimension + 1..].iter().product();
        let before: usize = self.size[..dimension].iter().product();
        let slice = |outer: usize, inner: usize| {
            (0..length)
                .map(|place| self.items[(outer * length + place) * after + inner].clone())
                .collect()
        };
        let slices = (0..before).flat_map(|outer| (0..after).map(move |inner| (outer, inner)));
        let mut rest = self.size.clone();
        rest.remove(dimension);
        (rest, slices.map(|(outer, inner)| slice(outer, inner)).collect())
    }
}

/// A size as mathjs prints it, `[2, 3]`.
pub(crate) fn size_text(size: &[usize]) -> String {
    let lengths: Vec<_> = size.iter().map(usize::to_string).collect();
    format!("[{}]", lengths.join(", "))
}
