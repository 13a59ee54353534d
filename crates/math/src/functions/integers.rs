//! Whole numbers: divisors, multiples and primes.

use super::{ANY, arguments::number, function};
use crate::{
    error::{Result, fail},
    evaluate::{Builtin, Context},
    number::{is_integer, modulus, nearly_equal},
    operators::{binary, each, unexpected},
    value::Value,
};

pub(super) static FUNCTIONS: &[Builtin] = &[
    function("gcd", 1, ANY, |arguments, context| folded("gcd", arguments, context, gcd)),
    function("lcm", 1, ANY, |arguments, context| folded("lcm", arguments, context, lcm)),
    function("xgcd", 2, 2, |arguments, context| {
        let (a, b) = (number("xgcd", arguments, 0)?, number("xgcd", arguments, 1)?);
        let (divisor, x, y) = extended_gcd(a, b, context)?;
        Ok(Value::numbers([divisor, x, y]))
    }),
    function("invmod", 2, 2, inverse_modulo),
    function("isPrime", 1, 1, |arguments, context| each(&arguments[0], context, is_prime)),
];

fn folded(
    name: &'static str,
    arguments: &[Value],
    context: &mut Context,
    operation: fn(f64, f64) -> f64,
) -> Result<Value> {
    let items = match arguments {
        [Value::Matrix(matrix)] => matrix.items.clone(),
        [_] => {
            return fail(format!(
                "Too few arguments in function {name} (expected: number, index: 1)"
            ));
        }
        _ => arguments.to_vec(),
    };
    let Some((first, rest)) = items.split_first() else {
        return fail(format!("Cannot calculate {name} of an empty array"));
    };
    rest.iter().try_fold(first.clone(), |sum, next| {
        binary(name, &sum, next, context, |a, b, _| match (a.coerced()?, b.coerced()?) {
            (Value::Number(a), Value::Number(b)) if is_integer(a) && is_integer(b) => {
                Ok(Value::Number(operation(a, b)))
            }
            (Value::Number(_), Value::Number(_)) => {
                fail(format!("Parameters in function {name} must be integer numbers"))
            }
            (Value::Number(_), other) => unexpected(name, "number", &other, 1),
            (other, _) => unexpected(name, "number", &other, 0),
        })
    })
}

fn gcd(mut a: f64, mut b: f64) -> f64 {
    while b != 0.0 {
        (a, b) = (b, a % b);
    }
    a.abs()
}

fn lcm(a: f64, b: f64) -> f64 {
    if a == 0.0 || b == 0.0 { 0.0 } else { (a * b / gcd(a, b)).abs() }
}

fn extended_gcd(mut a: f64, mut b: f64, context: &mut Context) -> Result<(f64, f64, f64)> {
    if !is_integer(a) || !is_integer(b) {
        return fail("Parameters in function xgcd must be integer numbers");
    }
    let (mut x, mut last_x, mut y, mut last_y) = (0.0, 1.0, 1.0, 0.0);
    while b != 0.0 {
        context.spend(1)?;
        let quotient = (a / b).floor();
        (a, b) = (b, a - quotient * b);
        (x, last_x) = (last_x - quotient * x, x);
        (y, last_y) = (last_y - quotient * y, y);
    }
    Ok(match a {
        a if a < 0.0 => (-a, -last_x, -last_y),
        0.0 => (0.0, 0.0, last_y),
        a => (a, last_x, last_y),
    })
}

fn inverse_modulo(arguments: &[Value], context: &mut Context) -> Result<Value> {
    let (a, b) = (number("invmod", arguments, 0)?, number("invmod", arguments, 1)?);
    if !is_integer(a) || !is_integer(b) {
        return fail("Parameters in function invmod must be integer numbers");
    }
    if b == 0.0 {
        return fail("Divisor must be non zero");
    }
    let (divisor, x, _) = extended_gcd(modulus(a, b), b, context)?;
    if !nearly_equal(divisor, 1.0) {
        return Ok(Value::Number(f64::NAN));
    }
    Ok(Value::Number(modulus(if x < 0.0 { x + b } else { x }, b)))
}

fn is_prime(value: &Value, context: &mut Context) -> Result<Value> {
    let Value::Number(number) = value.coerced()? else {
        return unexpected("isPrime", "number", value, 0);
    };
    if number <= 3.0 {
        return Ok((number > 1.0).into());
    }
    if number % 2.0 == 0.0 || number % 3.0 == 0.0 {
        return Ok(false.into());
    }
    if is_integer(number) && number < 18_446_744_073_709_551_616.0 {
        return Ok(is_prime_integer(number as u64).into());
    }
    // Trial division, as for any other number.
    let mut divisor = 5.0;
    while divisor * divisor <= number {
        context.spend(1)?;
        if number % divisor == 0.0 || number % (divisor + 2.0) == 0.0 {
            return Ok(false.into());
        }
        divisor += 6.0;
    }
    Ok(true.into())
}

/// The Miller-Rabin test with bases that decide every 64-bit number.
fn is_prime_integer(n: u64) -> bool {
    const BASES: [u64; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];
    if let Some(base) = BASES.iter().find(|base| n.is_multiple_of(**base)) {
        return n == *base;
    }
    let multiply = |a: u64, b: u64| ((u128::from(a) * u128::from(b)) % u128::from(n)) as u64;
    let twos = (n - 1).trailing_zeros();
    BASES.iter().all(|base| {
        let (mut result, mut square, mut exponent) = (1, *base, (n - 1) >> twos);
        while exponent > 0 {
            if exponent & 1 == 1 {
                result = multiply(result, square);
            }
            square = multiply(square, square);
            exponent >>= 1;
        }
        let mut witness = result;
        if witness == 1 {
            return true;
        }
        for _ in 0..twos {
            if witness == n - 1 {
                return true;
            }
            witness = multiply(witness, witness);
        }
        false
    })
}
