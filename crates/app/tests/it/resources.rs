//! `resources` and `prompts`: lists of all servers, and one thing of one server (MC-1).

use serde_json::json;

use crate::fixture::{NO_DELAY, library, section};

#[test]
fn resources_are_listed_and_read() {
    let place = library("books", &section("other", ""));
    let list = place.run(&["resources"]);
    assert_eq!((list.status, list.stderr.as_str()), (0, ""), "{list:?}");
    let expected = "book://one\tbooks\tone\tThe first\nbook://logo\tbooks\tlogo\t\npage://{n}\tbooks\tpage\t\n";
    assert_eq!(list.stdout, expected);
    let json = place.run(&["resources", "--json"]).json();
    let first =
        json!({"server": "books", "uri": "book://one", "name": "one", "description": "The first"});
    assert_eq!(json["resources"][0], first);
    assert_eq!(json["templates"][0]["uriTemplate"], "page://{n}");

    let text = place.run(&["resources", "book://one"]);
    assert_eq!((text.status, text.stdout.as_str()), (0, "Once upon a time\n"), "{text:?}");
    assert_eq!(place.run(&["resources", "page://7"]).stdout, "Page seven\n");
    let json = place.run(&["resources", "book://one", "--json"]).json();
    assert_eq!(json["server"], "books");
    assert_eq!(json["contents"][0]["text"], "Once upon a time");
}

#[test]
fn binary_resources_are_told_or_saved() {
    let place = library("books", "");
    let line = place.run(&["resources", "book://logo"]).stdout;
    assert!(line.starts_with("[image/png, 4 bytes: book://logo; --output FILE"), "{line}");
    let ran = place.run(&["resources", "book://logo", "--output", "logo.png"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (0, ""), "{ran:?}");
    assert_eq!(std::fs::read(place.path().join("logo.png")).unwrap(), [0, 1, 2, 255]);
}

#[test]
fn what_is_not_there_ends_with_1() {
    let place = library("books", "");
    for words in [&["resources", "book://none"][..], &["prompts", "revue"], &["prompts", "review"]]
    {
        let ran = place.run(words);
        assert_eq!((ran.status, ran.stdout.as_str()), (1, ""), "{ran:?}");
    }
    let says = place.run(&["resources", "book://none"]).stderr;
    assert!(says.contains("server `books`: Resource not found"), "{says}");
    let says = place.run(&["prompts", "reviev"]).stderr;
    assert!(says.contains("no server has a prompt `reviev`; did you mean review?"), "{says}");
    let says = place.run(&["prompts", "review"]).stderr;
    assert!(says.contains("server `books`: lines is missing"), "{says}");
    let says = place.refusal(&["resources", "--server", "nobody"]);
    assert!(says.contains("there is no server `nobody` in the config; there are: books"), "{says}");
}

#[test]
fn prompts_are_listed_and_got() {
    let place = library("books", "");
    let list = place.run(&["prompts"]);
    assert_eq!(list.stdout, "review\tbooks\tlines=… [tone=…]\tReviews code\n", "{list:?}");
    assert_eq!(place.run(&["prompts", "--json"]).json()[0]["server"], "books");
    // Arguments of prompts are texts, whatever they look like.
    for name in ["review", "books__review"] {
        let got = place.run(&["prompts", name, "lines=5"]);
        assert_eq!(got.stdout, "user: Review 5 lines\n\nassistant: [image image/png]\n", "{got:?}");
    }
    let json = place.run(&["prompts", "review", r#"{"lines":5}"#, "--json"]).json();
    assert_eq!((&json["server"], &json["messages"][0]["role"]), (&json!("books"), &json!("user")));
}

#[test]
fn one_server_can_be_meant() {
    // TL-6: the other one is not even started.
    let dead = "[servers.dead]\ncommand = \"/no/such/program\"\n";
    let place = library("books", &format!("{NO_DELAY}{dead}"));
    for words in [
        &["resources", "--server", "books"][..],
        &["resources", "book://one", "--server", "books"],
        &["prompts", "books__review", "lines=5"],
    ] {
        let ran = place.run(words);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{ran:?}");
    }
    assert!(place.run(&["resources"]).stderr.contains("❌ Failed to initialize MCP tools"));
}
