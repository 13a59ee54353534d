//! What is accepted, and what is said of the rest.

use proptest::prelude::*;
use serde_json::{Value, json};
use switchboard_toolcall::Strictness;

mod hostile;

use super::{
    compiled::{compile, compile_plain},
    *,
};

/// All problems of the arguments, or an empty text.
fn problems(schema: &Value, strictness: Strictness, args: Value) -> String {
    let check = SchemaCheck::compile(schema, strictness).expect("compiles");
    match check.schema.as_ref().and_then(CompiledSchema::validator) {
        Some(validator) if !check.accepts(&args) => {
            messages::ArgumentProblems::of(validator.iter_errors(&args)).text()
        }
        _ => String::new(),
    }
}

// VA-3
#[test]
fn extra_parameters_fail_only_where_strict() {
    let closed = json!({"type": "object", "properties": {"a": {}}, "additionalProperties": false});
    let schemas = [
        closed.clone(),
        json!({"type": "object", "properties": {"a": {}}, "unevaluatedProperties": false}),
        json!({"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "null"}}),
        json!({"allOf": [closed.clone()]}),
        json!({"anyOf": [closed.clone(), {"type": "object", "required": ["b"], "additionalProperties": false}]}),
        json!({"$ref": "#/$defs/closed", "$defs": {"closed": closed.clone()}}),
        json!({"if": {"required": ["a"]}, "then": closed.clone()}),
    ];
    for schema in schemas {
        let args = json!({"a": 1, "extra": 2});
        assert_eq!(problems(&schema, Strictness::Lenient, args.clone()), "", "{schema}");
        assert_ne!(problems(&schema, Strictness::Strict, args.clone()), "", "{schema}");
        assert_eq!(problems(&schema, Strictness::Off, args), "", "{schema}");
    }
    // Below the top level the schema is meant as it is written.
    let nested = json!({"type": "object", "properties": {"in": {"$ref": "#/$defs/closed"}}, "$ref": "#/$defs/open", "$defs": {
        "closed": closed, "open": {"additionalProperties": false}
    }});
    let args = json!({"in": {"a": 1, "x": 2}, "extra": 1});
    assert_eq!(problems(&nested, Strictness::Lenient, args), "unknown 'in.x'");
}

// VA-2
#[test]
fn every_problem_names_its_parameter() {
    let schema = |property: Value| json!({"type": "object", "properties": {"x": property}});
    let cases = [
        (json!({"minimum": 1}), json!(0), "'x' must be at least 1, got 0"),
        (json!({"maximum": 9.5}), json!(10), "'x' must be at most 9.5, got 10"),
        (json!({"exclusiveMinimum": 1}), json!(1), "'x' must be more than 1, got 1"),
        (json!({"exclusiveMaximum": 1}), json!(1), "'x' must be less than 1, got 1"),
        (json!({"multipleOf": 5}), json!(7), "'x' must be a multiple of 5, got 7"),
        (json!({"minLength": 2}), json!("ä"), "'x' must have at least 2 characters"),
        (json!({"maxLength": 1}), json!("ab"), "'x' must have at most 1 characters"),
        (json!({"minItems": 1}), json!([]), "'x' must have at least 1 items"),
        (json!({"maxItems": 1}), json!([1, 2]), "'x' must have at most 1 items"),
        (json!({"uniqueItems": true}), json!([1, 1]), "'x' must not have equal items"),
        (json!({"minProperties": 1}), json!({}), "'x' must have at least 1 properties"),
        (json!({"maxProperties": 0}), json!({"a": 1}), "'x' must have at most 0 properties"),
        (json!({"pattern": "^a"}), json!("b"), "'x' must match the pattern ^a"),
        (json!({"const": "on"}), json!("off"), "'x' must be one of: on"),
        (json!({"enum": ["a", 1, null]}), json!("b"), "'x' must be one of: a, 1, null"),
        (json!({"type": ["string", "null"]}), json!(1), "'x' must be null or string, got integer"),
        (
            json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}),
            json!("1"),
            "'x' must be integer or null, got string",
        ),
        (
            json!({"oneOf": [{"type": "string", "minLength": 3}, {"type": "null"}]}),
            json!("a"),
            "'x' must have at least 3 characters",
        ),
        (
            json!({"oneOf": [{"type": "integer"}, {"minimum": 1}]}),
            json!(2),
            "'x' fits more than one of its allowed forms",
        ),
        (
            json!({"anyOf": [{"const": 1}, {"minimum": 5}]}),
            json!(2),
            "'x' fits none of its allowed forms: 'x' must be one of: 1, or 'x' must be at least 5, got 2",
        ),
        (json!(false), json!(1), "'x' is not allowed"),
        (json!({"not": {"type": "string"}}), json!("s"), "'x' is not valid"),
        (
            json!({"type": "object", "additionalProperties": false}),
            json!({"y": 1}),
            "'x' must have no properties",
        ),
        (
            json!({"properties": {"z": {}}, "additionalProperties": false}),
            json!({"y": 1}),
            "unknown 'x.y'",
        ),
        (
            json!({"items": {"items": {"type": "string"}}}),
            json!([["a"], ["b", 1]]),
            "'x[1][1]' must be string, got integer",
        ),
    ];
    for (property, value, expected) in cases {
        let said = problems(&schema(property), Strictness::Lenient, json!({"x": value}));
        assert!(said.starts_with(expected), "{said:?} instead of {expected:?}");
    }
}

// VA-2: as many problems as help, and no more.
#[test]
fn a_flood_of_problems_is_cut() {
    let schema = json!({"type": "object", "properties": {"x": {"items": {"type": "string"}}}});
    let said = problems(&schema, Strictness::Lenient, json!({"x": vec![1; 1000]}));
    assert!(said.ends_with("more problems"), "{said}");
    assert!(said.len() < 2000);
}

// VA-1: the same result with every draft, and a draft nobody knows is refused.
#[test]
fn drafts_4_to_2020_12_compile() {
    for draft in ["draft-04", "draft-06", "draft-07", "2019-09", "2020-12"] {
        let dialect = match draft.starts_with("draft") {
            true => format!("http://json-schema.org/{draft}/schema#"),
            false => format!("https://json-schema.org/draft/{draft}/schema"),
        };
        let schema = json!({"$schema": dialect, "type": "object", "required": ["a"]});
        assert_eq!(problems(&schema, Strictness::Lenient, json!({})), "missing 'a'");
    }
    let unknown = json!({"$schema": "https://example.org/my-dialect", "type": "object"});
    assert!(SchemaCheck::compile(&unknown, Strictness::Lenient).is_err());
}

// VA-1: recursion of the usual kind is no trouble, however deep the tree.
#[test]
fn honest_recursion_is_accepted() {
    let tree = json!({"type": "object", "properties": {
        "name": {"type": "string"},
        "children": {"type": "array", "items": {"$ref": "#"}}
    }});
    let check = SchemaCheck::compile(&tree, Strictness::Lenient).expect("compiles");
    let deep = (0..50).fold(json!({"name": "leaf"}), |inner, _| json!({"children": [inner]}));
    assert!(check.accepts(&deep));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|float| json!(float)),
        ".{0,20}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map("[a-z$]{1,8}", inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    // VA-1, EX-1: whatever a server calls a schema and a model calls arguments.
    #[test]
    fn nothing_panics(schema in any_json(), args in any_json()) {
        let schema = json!({"type": "object", "properties": {"a": schema.clone(), "b": schema}});
        if let Ok(check) = SchemaCheck::compile(&schema, Strictness::Lenient) {
            let args = json!({"a": args});
            if !check.accepts(&args) && let Some(validator) = check.schema.as_ref().and_then(CompiledSchema::validator) {
                prop_assert!(!messages::ArgumentProblems::of(validator.iter_errors(&args)).text().is_empty());
            }
        }
    }
}

/// Schemas whose keywords are known, with values that are mostly right.
fn schemas() -> impl Strategy<Value = Value> {
    let word = prop_oneof![Just("a"), Just("b"), Just("string"), Just("object"), Just("array")];
    let leaf = prop_oneof![
        (0..3_i64).prop_map(|number| json!(number)),
        Just(json!(-1)),
        Just(json!(1.5)),
        any::<bool>().prop_map(|flag| json!(flag)),
        word.prop_map(|word| json!(word)),
        Just(json!("#/$defs/a")),
        Just(json!("#/definitions/b")),
    ];
    let key = prop::sample::select(vec![
        "type",
        "properties",
        "required",
        "items",
        "additionalProperties",
        "anyOf",
        "allOf",
        "oneOf",
        "$ref",
        "enum",
        "const",
        "default",
        "examples",
        "description",
        "title",
        "$comment",
        "format",
        "minimum",
        "exclusiveMaximum",
        "minLength",
        "maxItems",
        "minProperties",
        "uniqueItems",
        "readOnly",
        "x-own",
        "$defs",
        "definitions",
        "a",
        "b",
    ]);
    leaf.prop_recursive(5, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
            prop::collection::vec((key.clone(), inner), 0..4).prop_map(|pairs| pairs
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect()),
        ]
    })
}

/// Schemas of plain keywords.
fn plain_schemas() -> impl Strategy<Value = Value> {
    let leaf = prop::sample::select(vec![
        json!(true),
        json!({"type": "string", "minLength": 2, "format": "date"}),
        json!({"type": ["integer", "null"], "minimum": 0, "exclusiveMaximum": 2.5}),
        json!({"type": "number", "description": "a number", "default": "none"}),
        json!({"type": "object", "minProperties": 1, "additionalProperties": false, "x-own": {"$id": 1}}),
        json!({"type": "array", "maxItems": 1, "uniqueItems": true}),
        json!({"enum": ["a", 1, null]}),
        json!({"const": [1]}),
    ]);
    leaf.prop_recursive(4, 16, 3, |inner| {
        let some = || prop::collection::vec(inner.clone(), 1..3);
        let combined = prop::sample::select(vec!["anyOf", "oneOf", "allOf"]);
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(
                |(a, b)| json!({"type": "object", "properties": {"a": a, "b": b}, "required": ["b"]})
            ),
            inner.clone().prop_map(|items| json!({"items": items, "minItems": 1})),
            inner.clone().prop_map(|more| json!({"properties": {"a": {}}, "additionalProperties": more})),
            (combined, some()).prop_map(|(how, schemas)| json!({how: schemas})),
        ]
    })
}

/// What such a schema can have something to say of.
fn instances() -> impl Strategy<Value = Value> {
    let leaf = prop::sample::select(vec![
        json!(null),
        json!(true),
        json!(1),
        json!(1.0),
        json!(2.5),
        json!(-3),
        json!("a"),
        json!("2026-13-01"),
        json!({}),
    ]);
    leaf.prop_recursive(4, 16, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| json!({"a": a, "b": b})),
            inner.prop_map(|c| json!({"c": c})),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    // TL-2
    #[test]
    fn what_looks_plain_compiles(schema in schemas()) {
        if plain::is_plain(&schema) {
            let compiled = compile(&schema);
            prop_assert!(compiled.is_ok(), "{schema}: {:?}", compiled.err());
        }
    }

    // VA-1, VA-2
    #[test]
    fn drafts_that_agree_say_the_same(schema in plain_schemas(), args in instances()) {
        let schema = json!({"properties": {"x": schema}});
        prop_assert!(plain::is_plain(&schema) && plain::drafts_agree(&schema), "{schema}");
        let args = json!({"x": args});
        let said = [compile(&schema), compile_plain(&schema)].map(|compiled| {
            messages::ArgumentProblems::of(compiled.expect("compiles").iter_errors(&args)).text()
        });
        prop_assert_eq!(&said[0], &said[1], "{}", schema);
    }
}

// TL-2
#[test]
fn most_schemas_are_plain_and_doubtful_ones_are_not() {
    let plain = [
        json!({"type": "object", "properties": {"city": {"type": "string", "description": "Where"}}, "required": ["city"]}),
        json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Level", "type": "object", "properties": {
            "action": {"$ref": "#/$defs/Action"}, "level": {"type": ["integer", "null"], "format": "uint8", "minimum": 0}
        }, "$defs": {"Action": {"oneOf": [{"const": "up"}, {"enum": ["down", "mute"]}]}}}),
        json!({"type": "object", "properties": {"tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": true}},
            "additionalProperties": false}),
        json!({}),
    ];
    for schema in plain {
        assert!(plain::is_plain(&schema), "{schema}");
        assert!(compile(&schema).is_ok(), "{schema}");
    }
    let doubtful = [
        json!({"properties": {"x": {"type": "text"}}}),
        json!({"properties": {"x": {"pattern": "("}}}),
        json!({"properties": {"x": {"$ref": "#/$defs/missing"}}}),
        json!({"$schema": "http://json-schema.org/draft-04/schema#", "properties": {"x": {"exclusiveMinimum": 1}}}),
        json!({"required": ["a", "a"]}),
        json!({"required": "a"}),
        json!({"enum": []}),
        json!({"$defs": {"x": {"type": 1}}}),
        json!({"type": "object", "unheard_of": 1}),
        json!({"minLength": -1}),
    ];
    for schema in doubtful {
        assert!(!plain::is_plain(&schema), "{schema}");
    }
}
