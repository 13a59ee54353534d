//! The shape of a parsed expression.

use std::rc::Rc;

use crate::value::Value;

/// A part of an expression.
///
/// Chains of operators of one precedence are flat, so that a long sum is not a deep tree.
#[derive(Debug)]
pub(crate) enum SyntaxNode {
    Constant(Value),
    Symbol(Rc<str>),
    Parenthesis(Rc<SyntaxNode>),
    Unary(Unary, Rc<SyntaxNode>),
    /// `10%`: a hundredth, which `+` and `-` apply to their left side.
    Percent(Rc<SyntaxNode>),
    Chain(Rc<SyntaxNode>, Vec<(Operator, Rc<SyntaxNode>)>),
    Relational(Rc<SyntaxNode>, Vec<(Comparison, Rc<SyntaxNode>)>),
    Conditional(Rc<SyntaxNode>, Rc<SyntaxNode>, Rc<SyntaxNode>),
    Range {
        start: Rc<SyntaxNode>,
        step: Option<Rc<SyntaxNode>>,
        end: Rc<SyntaxNode>,
    },
    Array(Vec<Rc<SyntaxNode>>),
    Object(Vec<(Rc<str>, Rc<SyntaxNode>)>),
    Call {
        function: Rc<SyntaxNode>,
        arguments: Vec<Rc<SyntaxNode>>,
        optional: bool,
    },
    Access {
        object: Rc<SyntaxNode>,
        index: IndexNode,
        optional: bool,
    },
    Assign(Rc<str>, Rc<SyntaxNode>),
    AssignIndex {
        object: Rc<SyntaxNode>,
        index: IndexNode,
        value: Rc<SyntaxNode>,
    },
    AssignFunction {
        name: Rc<str>,
        parameters: Vec<Rc<str>>,
        body: Rc<SyntaxNode>,
    },
    /// Statements, and whether each one's value is part of the answer.
    Block(Vec<(Rc<SyntaxNode>, bool)>),
}

/// An index: the text between brackets, or the name after a dot.
#[derive(Debug, Clone)]
pub(crate) enum IndexNode {
    Property(Rc<str>),
    Dimensions(Rc<[Rc<SyntaxNode>]>),
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
