//! The shape of a parsed expression.

use std::rc::Rc;

use crate::value::Value;

/// A part of an expression.
///
/// Chains of operators of one precedence are flat, so that a long sum is not a deep tree.
#[derive(Debug)]
pub(crate) enum Node {
    Constant(Value),
    Symbol(Rc<str>),
    Parenthesis(Rc<Node>),
    Unary(Unary, Rc<Node>),
    /// `10%`: a hundredth, which `+` and `-` apply to their left side.
    Percent(Rc<Node>),
    Chain(Rc<Node>, Vec<(Operator, Rc<Node>)>),
    Relational(Rc<Node>, Vec<(Comparison, Rc<Node>)>),
    Conditional(Rc<Node>, Rc<Node>, Rc<Node>),
    Range {
        start: Rc<Node>,
        step: Option<Rc<Node>>,
        end: Rc<Node>,
    },
    Array(Vec<Rc<Node>>),
    Object(Vec<(Rc<str>, Rc<Node>)>),
    Call {
        function: Rc<Node>,
        arguments: Vec<Rc<Node>>,
        optional: bool,
    },
    Access {
        object: Rc<Node>,
        index: Index,
        optional: bool,
    },
    Assign(Rc<str>, Rc<Node>),
    AssignIndex {
        object: Rc<Node>,
        index: Index,
        value: Rc<Node>,
    },
    AssignFunction {
        name: Rc<str>,
        parameters: Vec<Rc<str>>,
        body: Rc<Node>,
    },
    /// Statements, and whether each one's value is part of the answer.
    Block(Vec<(Rc<Node>, bool)>),
}

/// What stands between brackets or after a dot.
#[derive(Debug, Clone)]
pub(crate) enum Index {
    Property(Rc<str>),
    Dimensions(Rc<[Rc<Node>]>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unary {
    Minus,
    Plus,
    BitNot,
    Not,
    Factorial,
    Transpose,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    ImplicitMultiply,
    DotMultiply,
    Divide,
    DotDivide,
    Modulus,
    Power,
    DotPower,
    Convert,
    LeftShift,
    RightArithmeticShift,
    RightLogicalShift,
    BitAnd,
    BitXor,
    BitOr,
    And,
    Xor,
    Or,
    Nullish,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    Unequal,
    Smaller,
    Larger,
    SmallerOrEqual,
    LargerOrEqual,
}
