//! LT-3: nothing an expression says may hang, crash or exhaust the process.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use switchboard_math::{Error, Limits, evaluate, evaluate_within};

/// Generous: unoptimised tests on a busy machine.
const SOON: Duration = Duration::from_secs(5);

#[expect(clippy::disallowed_methods, reason = "measures real time")]
fn answer(expression: &str) -> Result<Value, Error> {
    let start = Instant::now();
    let result = evaluate(expression);
    let elapsed = start.elapsed();
    assert!(elapsed < SOON, "{:?} took {elapsed:?}", &expression[..expression.len().min(60)]);
    result
}

fn error(expression: &str) -> String {
    match answer(expression) {
        Ok(value) => panic!("{:?} gave {value}", &expression[..expression.len().min(60)]),
        Err(error) => error.to_string(),
    }
}

// LT-3
#[test]
fn depth_is_bounded() {
    for (open, middle, close) in [
        ("(", "1", ")"),
        ("[", "1", "]"),
        ("-", "1", ""),
        ("not ", "1", ""),
        ("2^", "1", ""),
        ("sin(", "1", ")"),
        ("{a:", "1", "}"),
        ("1?", "1", ":1"),
        ("1?1:", "1", ""),
        ("a=", "1", ""),
        ("f(x)=", "1", ""),
        ("8 % (", "1", ")"),
        ("(8 %", "1", ")"),
        ("", "5", "!"),
        ("", "a", "'"),
        ("a=[1];", "a", "[1]"),
        ("", "a", ".b"),
        ("", "a", "?.b"),
        ("1:", "1", ""),
    ] {
        for count in [300, 2_000, 100_000] {
            let expression = format!("{}{middle}{}", open.repeat(count), close.repeat(count));
            let message = error(&expression);
            assert!(
                !message.contains("unexpectedly"),
                "{open}{middle}{close} x {count}: {message}"
            );
        }
    }
    assert_eq!(answer(&format!("{}1{}", "(".repeat(100), ")".repeat(100))), Ok(json!(1)));
    assert_eq!(answer(&format!("{}1", "-".repeat(200))), Ok(json!(1)));
    assert!(error(&"(".repeat(1_000)).contains("nested too deeply"));
}

// LT-3
#[test]
fn long_chains_are_flat() {
    for (expression, expected) in [
        (format!("1{}", "+1".repeat(8_000)), json!(8_001)),
        (format!("1{}", "*1".repeat(8_000)), json!(1)),
        (format!("0{}", " or 0".repeat(3_000)), json!(false)),
        (format!("x=1;{}1", "x ".repeat(8_000)), json!(null)),
        (format!("null{}", "??null".repeat(2_000)), json!(null)),
        ("1;".repeat(8_000) + "2", json!(2)),
        (format!("[{}1]", "1,".repeat(8_000)), json!(null)),
    ] {
        let result = answer(&expression);
        if !expected.is_null() {
            assert_eq!(result, Ok(expected));
        }
    }
    assert!(error(&format!("1{}", "+1".repeat(100_000))).contains("too long"));
    assert!(error(&"1 ".repeat(8_000)).contains("Unexpected part"));
}

// LT-3
#[test]
fn parsing_takes_no_second_look() {
    // Whether each `%` is a percentage or a modulus is only known at the far end.
    answer(&format!("{}1{}", "1 % (".repeat(60), ")".repeat(60))).unwrap();
    error(&format!("{}*", "1 % (".repeat(60)));
    error(&format!("{}*{}", "1 % (".repeat(60), ")".repeat(60)));
}

// LT-3
#[test]
fn what_is_not_a_number_is_an_error() {
    for expression in [
        "9^9^9^9",
        "1e308*10",
        "-1/0",
        "0/0",
        "Infinity",
        "NaN",
        "log(0)",
        "factorial(1e9)",
        "171!",
        "[1, 1/0]",
        "1e400",
    ] {
        assert!(
            error(expression).starts_with("The result is "),
            "{expression}: {}",
            error(expression)
        );
    }
}

// LT-3
#[test]
fn work_and_memory_are_bounded() {
    for expression in [
        "zeros(1e6, 1e6)",
        "zeros(1e9)",
        "zeros(0, 1e15)",
        "ones(1e5, 1e5, 1e5, 1e5, 1e5)",
        "identity(1e5)",
        "1:1e12",
        "0:1e-9:1",
        "1e16:1e16+4",
        "range(0, 1, 1e-300)",
        "diag([1], 1e9)",
        "resize([1], [1e9])",
        "resize(\"a\", [1e9])",
        "a=[1]; a[1e9]=1",
        "a=[1]; a[1e5, 1e5]=1",
        "random([1e5, 1e5])",
        "setPowerset(1:60)",
        "setCartesian(1:5000, 1:5000)",
        "kron(ones(300,300), ones(300,300))",
        "nthRoots(1, 1e9)",
        "combinations(1e9, 5e8)",
        "stirlingS2(1e6, 5)",
        "bellNumbers(1e5)",
        "bernoulli(1e7)",
        "f(x)=f(x);f(1)",
        "f(x)=f(x+1)+1;f(1)",
        "f(x)=f(x)+f(x);f(1)",
        "fib(n) = n < 2 ? n : fib(n-1) + fib(n-2); fib(60)",
        "f(x)=map(x,f);f([1])",
        "map(1:100000, f(x)=sum(1:100000))",
        "det(ones(400,400)+identity(400))",
        "inv(random([400,400]))",
        "random([400,400])*random([400,400])",
        "random([400,400])^1e9",
        "quantileSeq([1,2],1e9)",
        "evaluate(\"evaluate(\\\"1:1e9\\\")\")",
        "f(x)=evaluate(\"f(x)\");f(1)",
        "isPrime(1e15 + 0.5)",
        "format(1, 1e9)",
        "format(1, {notation: \"fixed\", precision: 1e9})",
        "sort(1:1e5, f(a,b)=sum(1:1e4))",
    ] {
        let message = error(expression);
        assert!(!message.contains("unexpectedly"), "{expression}: {message}");
    }
    for expression in [
        format!("a=m;{}a", "a=a*a;".repeat(60)),
        format!("a=1:100000;[{}a]", "a,".repeat(4_000)),
        format!("a=1:100000;{}1", "flatten(a);".repeat(500)),
        format!("s=resize(\"a\",[16000]);f(x)=s[x];{}1", "map(1:16000,f);".repeat(9)),
        "map(1:100000,f(x)=bin(1e-300))".to_owned(),
    ] {
        let message = error(&expression);
        assert!(message.contains("too"), "{message}");
    }
    let doubling = format!("s=\"abcdefgh\";{}s", "s=concat(s,s);".repeat(60));
    assert!(error(&doubling).contains("too"));
    let doubling = format!("a=[1,2];{}a", "a=concat(a,a);".repeat(60));
    assert!(error(&doubling).contains("too"));
    let nested = format!("a=1;{}a", "a={x:a,y:a};".repeat(60));
    assert!(error(&nested).contains("too"));
}

// LT-3
#[test]
fn stored_values_do_not_nest_without_end() {
    for expression in [
        "a=1; map(1:100000, f(x)=(a={b:a})); 1",
        "a=1; map(1:100000, f(x)=(a=[{b:a}])); 1",
        "f(x)=(g(y)=x); a=1; map(1:100000, h(x)=(a=f(a))); 1",
    ] {
        assert!(error(expression).contains("nested too deeply"), "{}", error(expression));
    }
}

// LT-3
#[test]
fn infinity_in_words_ends() {
    assert_eq!(answer("hex(1/0)"), Ok(json!("Infinity")));
    assert_eq!(answer("format(-1/0)"), Ok(json!("-Infinity")));
    assert_eq!(answer("string(0/0)"), Ok(json!("NaN")));
    for expression in [
        "gcd(1/0, 3)",
        "xgcd(1/0, 3)",
        "combinations(1/0, 3)",
        "1:1/0",
        "zeros(1/0)",
        "bernoulli(1/0)",
        "round(1/0)",
    ] {
        error(expression);
    }
}

// LT-3
#[test]
fn large_but_honest_work_is_done() {
    assert_eq!(answer("isPrime(9007199254740881)"), Ok(json!(true)));
    assert_eq!(answer("combinations(50, 25)"), Ok(json!(126410606437752i64)));
    assert_eq!(answer("sum(1:100000)"), Ok(json!(5000050000i64)));
    assert_eq!(answer("f(x) = x <= 1 ? 1 : f(x - 1) + 1; f(100)"), Ok(json!(100)));
    assert_eq!(answer("det(identity(50))"), Ok(json!(1)));
}

// LT-3
#[test]
fn limits_are_the_callers() {
    let limits = Limits { operations: 50, ..Limits::default() };
    assert!(matches!(evaluate_within("sum(1:100)", &limits), Err(Error::Limit(_))));
    let limits = Limits { elements: 10, ..Limits::default() };
    assert!(matches!(evaluate_within("1:100", &limits), Err(Error::Limit(_))));
    let limits = Limits { length: 3, ..Limits::default() };
    assert!(matches!(evaluate_within("1 + 1", &limits), Err(Error::Limit(_))));
    let limits = Limits { nesting: 8, ..Limits::default() };
    assert!(matches!(evaluate_within("(((((1)))))", &limits), Err(Error::Limit(_))));
}

// LT-3
#[test]
fn errors_say_what_and_where() {
    for (expression, message) in [
        ("foo", "Undefined symbol foo"),
        ("foo(1)", "Undefined function foo"),
        ("1 +", "Unexpected end of expression (char 4)"),
        ("2 * (3 + 4", "Parenthesis ) expected (char 11)"),
        ("2 ** 3", "Value expected (char 4)"),
        ("1 @ 2", "Syntax error in part \"@ 2\" (char 3)"),
        ("5 m + 3 s", "Units do not match"),
        ("1 m to s", "Units do not match ('s' != '1 m')"),
        (
            "[1, 2] * [1, 2, 3]",
            "Dimension mismatch in multiplication. Vectors must have the same length",
        ),
        ("sqrt(1, 2)", "Too many arguments in function sqrt (expected: 1, actual: 2)"),
        ("1e308 * 10", "The result is Infinity"),
        ("a = [1]; a[2]", "Index out of range (2 > 1)"),
        ("bignumber(1)", "Function bignumber is not supported"),
    ] {
        assert_eq!(error(expression), message, "{expression}");
    }
}
