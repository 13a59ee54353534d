//! What is found, and what is not.

mod recall;

use serde_json::json;
use switchboard_search::{Index, ToolDocument};
use switchboard_toolcall::{ToolOrigin, ToolSpec};

fn tool(server: &str, name: &str, description: &str) -> ToolSpec {
    let parameters = json!({"type": "object", "properties": {}});
    let mut spec = ToolSpec::new(format!("{server}__{name}"), description, parameters);
    spec.origin = ToolOrigin::Server { server: server.into(), tool: name.into() };
    spec
}

fn tools() -> Vec<ToolSpec> {
    let mut weather = tool("sky", "lookup", "Answers.");
    weather.parameters = json!({"type": "object", "properties": {
        "q": {"type": "string", "description": "The city whose barometer is read"},
        "humidityUnit": {"type": "string"},
    }});
    let mut titled = tool("misc", "t1", "Does it.");
    titled.extra.insert("title".to_owned(), json!("Brew espresso"));
    vec![
        tool("clock", "getCurrentTime", "Returns the time in a time zone."),
        tool("files", "delete_file", "Deletes a file. Cannot be undone."),
        tool("files", "read_file", "Returns what is in a file."),
        tool("shots", "take_screenshot", "Captures the page as an image."),
        weather,
        titled,
        tool("slack", "post", "Posts to a channel."),
        tool("teams", "post", "Posts to a channel."),
    ]
}

/// Returns the names of the tools that fit, best first.
fn found(query: &str) -> Vec<String> {
    let tools = tools();
    let documents: Vec<_> = tools.iter().map(|tool| ToolDocument::new(&tool.name, tool)).collect();
    let index = Index::build(&documents);
    let found = index.search(query).into_iter();
    found.map(|found| index.name(found.document).unwrap_or_default().to_owned()).collect()
}

fn first(query: &str) -> String {
    found(query).into_iter().next().unwrap_or_default()
}

// FT-1
#[test]
fn names_are_found_however_they_are_written() {
    for query in ["get_current_time", "getCurrentTime", "get current time", "gct", "GETCURRENTTIME"]
    {
        assert_eq!(first(query), "clock__getCurrentTime", "{query}");
    }
    assert_eq!(first("clock__getCurrentTime"), "clock__getCurrentTime");
    assert_eq!(first("files__read_file"), "files__read_file");
}

// FT-1
#[test]
fn other_words_for_the_same_thing_find_it() {
    assert_eq!(first("get rid of a document"), "files__delete_file");
    assert_eq!(first("I would like a picture of the website"), "shots__take_screenshot");
    assert_eq!(first("erasing"), "files__delete_file");
}

// FT-1
#[test]
fn titles_parameters_and_their_descriptions_are_searched() {
    assert_eq!(first("espresso"), "misc__t1");
    assert_eq!(first("barometer"), "sky__lookup");
    assert_eq!(first("humidity"), "sky__lookup");
}

// FT-1
#[test]
fn the_server_that_is_named_comes_first() {
    assert_eq!(first("post on slack"), "slack__post");
    assert_eq!(first("post on teams"), "teams__post");
}

// FT-1
#[test]
fn the_instructions_of_a_server_are_searched() {
    let tools = [tool("a", "run", "Runs it."), tool("b", "run", "Runs it.")];
    let documents = [
        ToolDocument::new("a__run", &tools[0]).instructions(Some("Everything about bridges.")),
        ToolDocument::new("b__run", &tools[1]).instructions(Some("Everything about zoology.")),
    ];
    let index = Index::build(&documents);
    assert_eq!(index.search("zoology")[0].document, 1);
    assert_eq!(index.search("bridges")[0].document, 0);
}

// FT-1
#[test]
fn of_equals_the_preferred_one_comes_first() {
    let tools =
        [tool("a", "run", "Runs it."), tool("b", "run", "Runs it."), tool("c", "x", "Runs it.")];
    let documents = tools.each_ref().map(|tool| ToolDocument::new(&tool.name, tool));
    let index = Index::build(&documents);
    assert_eq!(index.search("run")[0].document, 0);
    let preferred = index.document("b__run").unwrap();
    assert_eq!(index.search_preferring("run", &[preferred])[0].document, 1);
    let preferred = index.document("c__x").unwrap();
    assert_ne!(index.search_preferring("run", &[preferred])[0].document, 2, "it fits worse");
    assert_eq!(index.document("c__y"), None);
}

// FT-1
#[test]
fn typos_are_forgiven() {
    assert_eq!(first("screnshot"), "shots__take_screenshot");
    assert_eq!(first("delte fiel"), "files__delete_file");
}

// FT-1
#[test]
fn what_fits_nothing_finds_nothing() {
    for query in ["xyzzy", "", "  ?!  ", "the of and"] {
        assert_eq!(found(query), [""; 0], "{query}");
    }
    assert_eq!(Index::build(&[]).search("file"), []);
}

// FT-1
#[test]
fn a_question_of_any_length_is_answered() {
    let long = "please delete the file ".repeat(10_000);
    assert_eq!(first(&long), "files__delete_file");
    assert!(!found(&"ä".repeat(100_000)).contains(&"nothing".to_owned()));
    assert!(found(&"\u{0}\u{1F99C} 削除".repeat(100)).len() < 9);
}
