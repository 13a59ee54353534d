//! Schemas that mean harm are refused, or cost no more than was counted.

use serde_json::Map;

use super::*;

/// So many levels that each refer to the next one twice, as `level(next)` says; the last one is `end`.
fn levels(count: usize, level: impl Fn(&str) -> Value, name: impl Fn(usize) -> String) -> Value {
    let mut definitions: Map<String, Value> =
        (0..count).map(|at| (format!("l{at}"), level(&name(at + 1)))).collect();
    definitions.insert(format!("l{count}"), json!({"type": "object"}));
    Value::Object(definitions)
}

fn pointer(at: usize) -> String {
    format!("#/$defs/l{at}")
}

/// Puts `identifier: name` into each definition.
fn identified(mut definitions: Value, identifier: &str, prefix: &str) -> Value {
    for (name, definition) in definitions.as_object_mut().unwrap() {
        let name = format!("{prefix}{name}");
        definition.as_object_mut().unwrap().insert(identifier.to_owned(), json!(name));
    }
    definitions
}

fn refused(schema: &Value) -> String {
    match SchemaCheck::compile(schema, Strictness::Lenient) {
        Ok(check) => format!("accepted, with {} visits", check.cost.visits()),
        Err(error) => error.to_string(),
    }
}

// VA-1: what a subschema is called does not hide it.
#[test]
fn subschemas_count_whatever_their_property_is_called() {
    let names = ["default", "enum", "const", "examples", "$defs", "definitions", "$ref", "other"];
    for keyword in ["properties", "patternProperties", "dependentSchemas", "dependencies"] {
        for name in names {
            let level =
                |next: &str| json!({keyword: {name: {"allOf": [{"$ref": next}, {"$ref": next}]}}});
            let schema = json!({"$ref": "#/$defs/l0", "$defs": levels(24, level, pointer)});
            assert_eq!(
                refused(&schema),
                "its references expand to more than 100000 subschemas",
                "{keyword} {name}"
            );
        }
    }
}

// VA-1: nor does the way in which it is referred to.
#[test]
fn references_count_however_they_are_written() {
    let twice = |keyword: &'static str| move |next: &str| json!({"allOf": [{keyword: next}, {keyword: next}]});
    let anchor = |at: usize| format!("#l{at}");
    let named =
        |identifier, keyword| identified(levels(24, twice(keyword), anchor), identifier, "");
    let uri = |at: usize| format!("l{at}");
    let escaped = |at: usize| format!("#/%24defs/l{at}");
    let cases = [
        ("#l0", "$ref", named("$anchor", "$ref")),
        ("#l0", "$ref", named("$dynamicAnchor", "$dynamicRef")),
        ("#l0", "$dynamicRef", named("$dynamicAnchor", "$dynamicRef")),
        ("l0", "$ref", identified(levels(24, twice("$ref"), uri), "$id", "")),
        ("#/$defs/l0", "$ref", levels(24, twice("$ref"), escaped)),
    ];
    for (first, keyword, definitions) in cases {
        let schema = json!({"$id": "https://example.org/x", keyword: first, "$defs": definitions});
        let said = refused(&schema);
        assert_eq!(said, "its references expand to more than 100000 subschemas", "{schema}");
    }
    let old = |dialect: &str, identifier| {
        let definitions = identified(levels(24, twice("$ref"), anchor), identifier, "#");
        json!({"$schema": dialect, "allOf": [{"$ref": "#l0"}], "definitions": definitions})
    };
    for schema in [
        old("http://json-schema.org/draft-04/schema#", "id"),
        old("http://json-schema.org/draft-07/schema#", "$id"),
    ] {
        let said = refused(&schema);
        assert_eq!(said, "its references expand to more than 100000 subschemas", "{schema}");
    }
}

// VA-1: parts with base URIs of their own that refer to all others are compiled once for each way through them.
#[test]
fn many_ways_through_parts_with_their_own_uris_are_refused() {
    let parts: Map<String, Value> = (0..12)
        .map(|at| {
            let all: Vec<_> = (0..12).map(|to| json!({"$ref": format!("p{to}")})).collect();
            (
                format!("p{at}"),
                json!({"$id": format!("p{at}"), "properties": {"x": {"anyOf": all}}}),
            )
        })
        .collect();
    let schema = json!({"$id": "https://example.org/x", "$ref": "p0", "$defs": parts});
    assert_eq!(refused(&schema), "its references expand to more than 100000 subschemas");
}

// VA-1: a chain of references needs as much stack as it is long.
#[test]
fn long_chains_are_refused() {
    let once = |next: &str| json!({"allOf": [{"$ref": next}]});
    let chain = |count| json!({"$ref": "#/$defs/l0", "$defs": levels(count, once, pointer)});
    let said = refused(&chain(100_000));
    assert!(said.contains("more than 50000 subschemas"), "{said}");
    assert_eq!(
        refused(&chain(5_000)),
        "its subschemas and references are nested more than 256 deep"
    );
    // The longest that is accepted, on a thread with as little stack as tokio's have.
    let schema = chain(83);
    let check = SchemaCheck::compile(&schema, Strictness::Lenient).unwrap();
    assert!(SchemaCheck::compile(&chain(90), Strictness::Lenient).is_err());
    let work = move || !check.accepts(&json!({})) || check.accepts(&json!([]));
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(work).unwrap();
    assert!(!thread.join().unwrap());
}

// VA-1: and so does recursion into deep arguments.
#[test]
fn recursion_needs_no_more_stack_than_there_is() {
    let once = |next: &str| json!({"allOf": [{"$ref": next}]});
    let mut definitions = levels(60, once, pointer);
    definitions["l60"] =
        json!({"properties": {"x": {"$ref": "#/$defs/l0"}, "n": {"type": "null"}}});
    let schema = json!({"$ref": "#/$defs/l0", "$defs": definitions});
    let check = SchemaCheck::compile(&schema, Strictness::Lenient).unwrap();
    let deep = |levels| (0..levels).fold(json!({"n": 1}), |inner, _| json!({"x": inner}));
    let work = move || {
        for levels in 0..126 {
            let args = deep(levels);
            if let CheckEffort::TooLarge(_) = check.effort(&args) {
                return levels;
            }
            let validator = check.schema.as_ref().and_then(CompiledSchema::validator).unwrap();
            let said = messages::ArgumentProblems::of(validator.iter_errors(&args)).text();
            assert!(said.ends_with("n' must be null, got integer"), "{said}");
        }
        126
    };
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(work).unwrap();
    assert_eq!(thread.join().unwrap(), 9);
}

// TL-2: patterns take memory when they are compiled, so they have a budget.
#[test]
fn patterns_have_a_budget() {
    let many = |count: usize, pattern: &dyn Fn(usize) -> String| {
        let properties: Map<String, Value> = (0..count)
            .map(|at| (format!("p{at}"), json!({"type": "string", "pattern": pattern(at)})))
            .collect();
        json!({"type": "object", "properties": properties})
    };
    let hostile = |at: usize| format!("^(a|b{at}){{1,2400}}$");
    assert_eq!(
        refused(&many(400, &hostile)),
        "it has more than 1048576 bytes of compiled patterns"
    );
    let hidden = |at: usize| format!("^(?=(a|b{at}){{1,2400}})c$");
    assert_eq!(refused(&many(400, &hidden)), "it has more than 1048576 bytes of compiled patterns");
    let short = |at: usize| format!("^a{at}[b-d]+$");
    assert_eq!(refused(&many(1001, &short)), "it has more than 1000 patterns");
    assert!(SchemaCheck::compile(&many(300, &short), Strictness::Lenient).is_ok());
    let one = json!({"type": "object", "patternProperties": {"^([a-c]|\\d{7}){1,2400}$": {}}});
    assert!(SchemaCheck::compile(&one, Strictness::Lenient).is_err(), "larger than one may be");
}

// TL-2: and the tools of a server share one.
#[test]
fn a_server_has_a_budget() {
    let mut budget = SchemaBudget::default();
    let schema = |at: usize| json!({"type": "object", "properties": {"x": {"type": "string", "pattern": format!("^(a|b{at}){{1,1000}}$")}}});
    let taken: Vec<_> = (0..1000)
        .map(|at| SchemaCheck::within(&mut budget, &schema(at), Strictness::Lenient).err())
        .collect();
    let accepted = taken.iter().filter(|error| error.is_none()).count();
    assert!((60..300).contains(&accepted), "{accepted}: {:?}", taken[0]);
    assert!(budget.taken().automata <= 16 << 20);
    let reason = taken.last().unwrap().as_ref().unwrap().to_string();
    assert_eq!(
        reason,
        "the schemas of its server's tools have more than 16777216 bytes of compiled patterns in all"
    );
    // A tool without patterns still has room.
    assert!(
        SchemaCheck::within(&mut budget, &json!({"type": "object"}), Strictness::Lenient).is_ok()
    );
}

// TL-2: nothing is kept compiled before it is needed.
#[test]
fn schemas_are_compiled_when_they_are_needed() {
    let schema =
        json!({"type": "object", "properties": {"x": {"type": "string", "pattern": "^a+$"}}});
    let check = SchemaCheck::compile(&schema, Strictness::Lenient).unwrap();
    let is_ready = || check.schema.as_ref().unwrap().is_ready();
    assert!(!is_ready());
    assert!(check.accepts(&json!({"x": "aa"})) && !check.accepts(&json!({"x": "b"})));
    assert!(is_ready());
}

// TL-2: a list of a hundred thousand options is not compared each with each.
#[test]
fn long_enums_are_accepted() {
    let options: Vec<_> = (0..100_000).collect();
    let schema = json!({"type": "object", "properties": {"x": {"enum": options}}});
    assert_eq!(refused(&schema), "its references expand to more than 100000 subschemas");
    let options: Vec<_> = (0..50_000).collect();
    let schema = json!({"type": "object", "properties": {"x": {"enum": options}}});
    let check = SchemaCheck::compile(&schema, Strictness::Lenient).unwrap();
    assert!(check.accepts(&json!({"x": 49_999})) && !check.accepts(&json!({"x": 50_000})));
}

// VA-1: what takes as good as no time is checked at once, the rest beside the serving threads.
#[test]
fn only_small_checks_run_on_serving_threads() {
    let effort = |schema: &Value, args: Value| {
        SchemaCheck::compile(schema, Strictness::Lenient).unwrap().effort(&args)
    };
    let typical = json!({"type": "object", "properties": {
        "city": {"type": "string", "pattern": "^[A-Z][a-z]{1,40}$"}, "days": {"type": "integer", "minimum": 1},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}},
        "host": {"type": "string", "pattern": "^(?!-)[a-z0-9-]{1,63}$"}
    }});
    let args = json!({"city": "Oslo", "days": 3, "host": "a"});
    assert_eq!(effort(&typical, args), CheckEffort::Small);
    assert_eq!(effort(&typical, json!({"tags": vec!["a"; 10_000]})), CheckEffort::Large);
    assert_eq!(effort(&typical, json!({"city": "a".repeat(100_000)})), CheckEffort::Large);
    let tree = json!({"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#"}}}});
    let deep = (0..50).fold(json!({}), |inner, _| json!({"children": [inner]}));
    assert_eq!(effort(&tree, deep), CheckEffort::Small);
    let by_uri = json!({"$id": "https://example.org/x", "properties": {"x": {"$ref": "x#/$defs/a"}}, "$defs": {"a": {}}});
    assert_eq!(effort(&by_uri, json!({"x": {}})), CheckEffort::Large);
    let twice = |next: &str| json!({"allOf": [{"$ref": next}, {"$ref": next}]});
    let large = json!({"$ref": "#/$defs/l0", "$defs": levels(14, twice, pointer)});
    assert_eq!(effort(&large, json!({})), CheckEffort::Large);
    assert_eq!(
        effort(&large, json!({"x": vec![0; 1_000_000]})),
        CheckEffort::TooLarge("the arguments are too large for this tool's schema")
    );
}

/// Counts what a validator visits, without any of the shortcuts of `cost.rs`: every subschema is expanded again.
fn naive(schema: &Value, root: &Value, depth: u32) -> u64 {
    let Some(object) = schema.as_object() else { return u64::from(schema.is_boolean()) };
    if depth > 12 {
        return 1;
    }
    let below = |schema: &Value| naive(schema, root, depth + 1);
    let map = |map: &Value| map.as_object().map_or(0, |map| map.values().map(below).sum());
    let list = |list: &Value| list.as_array().map_or(0, |list| list.iter().map(below).sum());
    1 + object
        .iter()
        .map(|(keyword, value)| match keyword.as_str() {
            "properties" | "patternProperties" | "dependentSchemas" => map(value),
            "allOf" | "anyOf" => list(value),
            "not" | "items" | "additionalProperties" | "if" => below(value),
            "$ref" => below(root.pointer(&value.as_str().unwrap()[1..]).unwrap()),
            _ => 0,
        })
        .sum::<u64>()
}

/// Subschemas under awkward names, which refer to definitions of a higher number alone.
fn awkward(definition: usize) -> impl Strategy<Value = Value> {
    let name = prop::sample::select(vec![
        "default",
        "enum",
        "const",
        "examples",
        "$defs",
        "definitions",
        "$ref",
        "$id",
        "pattern",
        "properties",
        "x",
    ]);
    let leaf = prop_oneof![
        Just(json!({"type": "string"})),
        Just(json!(true)),
        Just(json!({"default": {"allOf": [{}, {}]}, "enum": [1, 2]})),
        (definition + 1..5).prop_map(|next| json!({"$ref": format!("#/$defs/d{next}")})),
    ];
    let many = prop::sample::select(vec!["properties", "patternProperties", "dependentSchemas"]);
    let one = prop::sample::select(vec!["not", "items", "additionalProperties", "if"]);
    leaf.prop_recursive(3, 12, 3, move |inner| {
        prop_oneof![
            (many.clone(), prop::collection::vec((name.clone(), inner.clone()), 1..4)).prop_map(
                |(keyword, named)| {
                    let named: Map<_, _> =
                        named.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
                    json!({keyword: named})
                }
            ),
            (one.clone(), inner.clone()).prop_map(|(keyword, value)| json!({keyword: value})),
            prop::collection::vec(inner, 1..3).prop_map(|all| json!({"allOf": all})),
        ]
    })
}

proptest! {
    // VA-1: the count is never lower than what is visited.
    #[test]
    fn nothing_that_is_visited_is_left_out(
        d0 in awkward(0), d1 in awkward(1), d2 in awkward(2), d3 in awkward(3), top in awkward(0),
    ) {
        let schema = json!({"properties": {"x": top, "y": {"$ref": "#/$defs/d0"}},
            "$defs": {"d0": d0, "d1": d1, "d2": d2, "d3": d3, "d4": {"type": "null"}}});
        let document = SchemaDocument::new(&schema);
        match SchemaCost::of(&schema, &document, &HashMap::new()) {
            Ok(cost) => prop_assert!(cost.visits() >= naive(&schema, &schema, 0), "{schema}"),
            Err(error) => prop_assert!(naive(&schema, &schema, 0) > 10_000, "{error}: {schema}"),
        }
    }
}
