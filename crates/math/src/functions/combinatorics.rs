//! Counting: factorials, combinations, permutations and their relatives.

use super::{
    arguments::{count, matrix, not_for_matrices, number, real, unary},
    function,
    gamma::{complex_gamma, gamma, log_gamma, product},
};
use crate::{
    error::{Result, fail},
    evaluate::{Builtin, Context},
    number::is_integer,
    operators::{each, unexpected},
    value::Value,
};

pub(super) static FUNCTIONS: &[Builtin] = &[
    function("factorial", 1, 1, |arguments, context| factorial(&arguments[0], context)),
    function("gamma", 1, 1, |arguments, _| {
        unary("gamma", &arguments[0], |x| gamma(x).into(), complex_gamma)
    }),
    function("lgamma", 1, 1, |arguments, _| real("lgamma", &arguments[0], |x| Ok(log_gamma(x)))),
    function("combinations", 2, 2, |arguments, context| {
        let (n, k) = pair("combinations", arguments)?;
        Ok(Value::Number(combinations(n, k, context)?))
    }),
    function("combinationsWithRep", 2, 2, with_repetition),
    function("permutations", 1, 2, permutations),
    function("multinomial", 1, 1, multinomial),
    function("catalan", 1, 1, |arguments, context| {
        let n = whole("catalan", arguments, 0, "Non-negative")?;
        Ok(Value::Number(combinations(2.0 * n, n, context)? / (n + 1.0)))
    }),
    function("composition", 2, 2, composition),
    function("stirlingS2", 2, 2, |arguments, context| {
        let (n, k) = (
            whole("stirlingS2", arguments, 0, "Non-negative")?,
            whole("stirlingS2", arguments, 1, "Non-negative")?,
        );
        if k > n {
            return fail("k must be less than or equal to n in function stirlingS2");
        }
        let row = stirling_row(n, context)?;
        Ok(Value::Number(row[k as usize]))
    }),
    function("bellNumbers", 1, 1, |arguments, context| {
        let n = whole("bellNumbers", arguments, 0, "Non-negative")?;
        Ok(Value::Number(stirling_row(n, context)?.iter().sum()))
    }),
    function("bernoulli", 1, 1, bernoulli),
];

/// The factorial, for numbers that are not whole by way of the gamma function.
pub(crate) fn factorial(value: &Value, context: &mut Context) -> Result<Value> {
    each(value, context, |value, _| match value.coerced()? {
        Value::Number(number) if number < 0.0 => fail("Value must be non-negative"),
        Value::Number(number) => Ok(Value::Number(gamma(number + 1.0))),
        other => unexpected("factorial", "number", &other, 0),
    })
}

fn whole(name: &str, arguments: &[Value], index: usize, kind: &str) -> Result<f64> {
    if matches!(arguments[index], Value::Matrix(_)) {
        return not_for_matrices(name);
    }
    let value = number(name, arguments, index)?;
    count(value, &format!("{kind} integer value expected in function {name}"))?;
    Ok(value)
}

fn pair(name: &str, arguments: &[Value]) -> Result<(f64, f64)> {
    Ok((whole(name, arguments, 0, "Positive")?, whole(name, arguments, 1, "Positive")?))
}

/// The product of the whole numbers from `from` to `to`, which costs as many steps.
fn range_product(from: f64, to: f64, context: &mut Context) -> Result<f64> {
    // Beyond 171 factors above one the product is beyond all numbers anyway.
    if from > 1.0 && to - from > 1_100.0 || to - from > 1_100_000.0 {
        return Ok(f64::INFINITY);
    }
    context.spend((to - from).max(0.0) as usize)?;
    Ok(product(from, to))
}

fn combinations(n: f64, k: f64, context: &mut Context) -> Result<f64> {
    if k > n {
        return fail("k must be less than or equal to n");
    }
    let fewer = k.min(n - k);
    let (mut answer, mut divisor) = (1.0, 2.0);
    let mut numerator = n - fewer + 1.0;
    while numerator <= n {
        context.spend(1)?;
        answer *= numerator;
        while divisor <= fewer && answer % divisor == 0.0 {
            answer /= divisor;
            divisor += 1.0;
        }
        if answer == f64::INFINITY {
            break;
        }
        numerator += 1.0;
    }
    if divisor <= fewer {
        answer /= range_product(divisor, fewer, context)?;
    }
    Ok(answer)
}

fn with_repetition(arguments: &[Value], context: &mut Context) -> Result<Value> {
    let (n, k) = pair("combinationsWithRep", arguments)?;
    if n < 1.0 {
        return fail("k must be less than or equal to n + k - 1");
    }
    let (above, below) = if k < n - 1.0 { (n, k) } else { (k + 1.0, n - 1.0) };
    Ok(Value::Number(
        range_product(above, n + k - 1.0, context)? / range_product(1.0, below, context)?,
    ))
}

fn permutations(arguments: &[Value], context: &mut Context) -> Result<Value> {
    if arguments.len() == 1 {
        if matches!(arguments[0], Value::Matrix(_)) {
            return unexpected("permutations", "number", &arguments[0], 0);
        }
        return factorial(&arguments[0], context);
    }
    let (n, k) = pair("permutations", arguments)?;
    if k > n {
        return fail("second argument k must be less than or equal to first argument n");
    }
    Ok(Value::Number(range_product(n - k + 1.0, n, context)?))
}

fn multinomial(arguments: &[Value], context: &mut Context) -> Result<Value> {
    let parts = matrix("multinomial", arguments, 0)?;
    context.spend(parts.items.len())?;
    let (mut sum, mut below) = (0.0, 1.0);
    for (index, _) in parts.items.iter().enumerate() {
        let part = number("multinomial", &parts.items, index)?;
        if !is_integer(part) || part <= 0.0 {
            return fail("Positive integer value expected in function multinomial");
        }
        sum += part;
        below *= gamma(part + 1.0);
    }
    Ok(Value::Number(gamma(sum + 1.0) / below))
}

fn composition(arguments: &[Value], context: &mut Context) -> Result<Value> {
    let (n, k) = pair("composition", arguments)?;
    if n < 1.0 || k < 1.0 {
        return fail("Positive integer value expected in function composition");
    }
    if k > n {
        return fail("k must be less than or equal to n in function composition");
    }
    Ok(Value::Number(combinations(n - 1.0, k - 1.0, context)?))
}

/// Stirling numbers of the second kind for `n` and every `k`.
fn stirling_row(n: f64, context: &mut Context) -> Result<Vec<f64>> {
    let n = n as usize;
    context.reserve(n)?;
    let mut row = vec![1.0];
    for m in 1..=n {
        context.spend(m)?;
        let previous = row;
        row = vec![0.0; m + 1];
        for k in 1..m {
            row[k] = k as f64 * previous[k] + previous[k - 1];
        }
        row[m] = 1.0;
    }
    Ok(row)
}

/// Bernoulli numbers, by the coefficients of the cotangent.
fn bernoulli(arguments: &[Value], context: &mut Context) -> Result<Value> {
    let index = number("bernoulli", arguments, 0)?;
    let index = count(index, "Bernoulli index must be nonnegative integer")?;
    match index {
        0 => return Ok(Value::Number(1.0)),
        1 => return Ok(Value::Number(-0.5)),
        odd if odd % 2 == 1 => return Ok(Value::Number(0.0)),
        _ => {}
    }
    let half = index / 2;
    context.reserve(half)?;
    let (mut cotangent, mut factor, mut result) = (vec![f64::NAN, -1.0 / 3.0], -0.5, 1.0 / 6.0);
    for i in 2..=half {
        context.spend(i)?;
        let middle = i.div_ceil(2);
        let mut sum: f64 =
            (1..middle).map(|m| cotangent[m] * cotangent[i - m]).fold(0.0, |sum, term| sum + term);
        sum *= 2.0;
        if i % 2 == 0 {
            sum += cotangent[middle] * cotangent[middle];
        }
        let i = i as f64;
        let next = sum / -(2.0 * i + 1.0);
        factor = factor * (-i * (2.0 * i - 1.0)) / 2.0;
        result = factor * next;
        cotangent.push(next);
    }
    Ok(Value::Number(result))
}
