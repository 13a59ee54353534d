//! Which device is meant, and which are listed.

use serde_json::{Value, json};

use crate::fake::{Fake, dimmer, household, switch};

/// The id that `words` mean, or the error.
async fn meant(home: &std::sync::Arc<Fake>, words: &str) -> Result<u64, String> {
    let result = home.call("verify_device", json!({"deviceName": words})).await;
    let text = result.text();
    let envelope = serde_json::to_value(&result).unwrap();
    envelope["result"]["structuredContent"]["id"].as_u64().ok_or(text)
}

// HM-1
#[tokio::test]
async fn devices_are_found_by_name_path_and_id() {
    let home = Fake::with(vec![
        switch(2, "Demo", "Switch One"),
        dimmer(3, "Küche", "Öfchen"),
        switch(4, "", "Bob's \"Lamp\" a/b"),
        switch(5, "", ""),
        switch(6, "", "7"),
        switch(7, "", "居間"),
    ]);
    let cases = [
        ("Switch One", 2),
        ("switch one", 2),
        ("  SWITCHONE ", 2),
        ("Switch_One", 2),
        ("Demo/Switch One", 2),
        ("demo / switch one", 2),
        ("2", 2),
        ("node 2", 2),
        ("nodeID_2", 2),
        ("öFCHEN", 3),
        ("küche/öfchen", 3),
        ("bob's \"lamp\" A/B", 4),
        ("nodeID_5", 5),
        ("5", 5),
        // A name is more than an id.
        ("7", 6),
        ("居間", 7),
    ];
    for (words, id) in cases {
        assert_eq!(meant(&home, words).await, Ok(id), "{words}");
    }
}

// HM-1: `ü` is one letter, whether it is written as one character or as `u` and a mark.
#[tokio::test]
async fn names_are_the_same_in_every_unicode_form() {
    let (composed, decomposed) = ("K\u{fc}che", "Ku\u{308}che");
    for (name, words) in [(composed, decomposed), (decomposed, composed)] {
        let home = Fake::with(vec![switch(2, "", name), switch(3, "", "Hall")]);
        assert_eq!(meant(&home, words).await, Ok(2));
        assert_eq!(meant(&home, &words.to_uppercase()).await, Ok(2));
        for filter in [words.to_owned(), words.to_uppercase()] {
            let result = home.call("list_zwave_devices", json!({"filter": filter})).await;
            let result = serde_json::to_value(&result).unwrap();
            assert_eq!(result["result"]["structuredContent"]["count"], 1, "{filter}: {result}");
        }
        // What is written exactly is still preferred.
        let home = Fake::with(vec![switch(2, "", name), switch(3, "", &name.to_lowercase())]);
        assert_eq!(meant(&home, words).await, Ok(2));
    }
    // Names that look the same are told apart by their ids.
    let home = Fake::with(vec![switch(2, "", composed), switch(3, "", decomposed)]);
    let error = meant(&home, composed).await.unwrap_err();
    assert!(error.contains("could be any of: Küche (id 2), Küche (id 3)"), "{error}");
}

// HM-1
#[tokio::test]
async fn near_misses_are_suggested_and_nobody_is_guessed() {
    let home = household();
    let cases = [
        ("Swich One", "Did you mean: Demo/Switch One?"),
        ("lamp", "Did you mean: Bed Room/Bedroom Lamp?"),
        ("Temp Sensor", "Did you mean: Temp Sensor 1?"),
        ("Zzz", "list_devices names all devices"),
        ("Stick", "no device is called 'Stick'"),
        ("1", "no device is called '1'"),
        ("Broadcast", "no device is called 'Broadcast'"),
        ("255", "no device is called '255'"),
        (" ", "must not be empty"),
    ];
    for (words, text) in cases {
        let error = meant(&home, words).await.unwrap_err();
        assert!(error.contains(text), "{words}: {error}");
    }
    assert!(meant(&Fake::with(Vec::new()), "x").await.unwrap_err().contains("has no devices"));
}

// HM-1
#[tokio::test]
async fn an_ambiguous_name_is_refused_with_each_path() {
    let home = Fake::with(vec![
        switch(2, "Kitchen", "Lamp"),
        switch(3, "Hall", "lamp"),
        switch(4, "Hall", "Fan"),
        switch(5, "Hall", "Fan"),
    ]);
    let cases = [
        ("LAMP", "could be any of: Kitchen/Lamp, Hall/lamp"),
        ("fan", "could be any of: Hall/Fan (id 4), Hall/Fan (id 5)"),
    ];
    for (words, text) in cases {
        let error = meant(&home, words).await.unwrap_err();
        assert!(error.contains(text), "{words}: {error}");
        let control = json!({"deviceName": words, "action": "on"});
        let refused = home.call("control_zwave_device", control).await.text();
        assert!(refused.contains(text), "{words}: {refused}");
    }
    // Written exactly, it is one.
    assert_eq!(meant(&home, "lamp").await, Ok(3));
    assert_eq!(meant(&home, "kitchen/lamp").await, Ok(2));
    assert_eq!(*home.writes.lock().unwrap(), []);
}

/// The ids that a list shows, and its text.
async fn listed(tool: &str, args: Value) -> (Vec<u64>, String) {
    let result = serde_json::to_value(household().call(tool, args).await).unwrap();
    let devices = result["result"]["structuredContent"]["devices"].as_array().unwrap().clone();
    let text = result["result"]["content"][0]["text"].as_str().unwrap().to_owned();
    (devices.iter().map(|device| device["id"].as_u64().unwrap()).collect(), text)
}

// HM-1
#[tokio::test]
async fn lists_are_paged_or_filtered() {
    let cases = [
        ("list_devices", json!({}), vec![2, 3, 4, 5], "devices 1 to 4 of 4"),
        ("list_devices", json!({"limit": 2}), vec![2, 3], "The next ones: offset 2"),
        ("list_devices", json!({"limit": 2, "offset": 2}), vec![4, 5], "devices 3 to 4 of 4"),
        ("list_devices", json!({"limit": 2.0, "offset": 9}), vec![], "none from 9 on"),
        ("list_zwave_devices", json!({}), vec![2, 3, 4], "Dead or failed and not shown: 1"),
        ("list_zwave_devices", json!({"includeInactive": true}), vec![2, 3, 4, 5], "dead"),
        ("list_zwave_devices", json!({"filter": "LAMP"}), vec![3], "Bed Room/Bedroom Lamp"),
        (
            "list_zwave_devices",
            json!({"filter": "demo"}),
            vec![2],
            "Demo/Switch One (id 2): switch, off",
        ),
        ("list_zwave_devices", json!({"filter": "attic"}), vec![], "not shown: 1"),
    ];
    for (tool, args, ids, words) in cases {
        let (seen, text) = listed(tool, args.clone()).await;
        assert_eq!(seen, ids, "{tool} {args}");
        assert!(text.contains(words), "{tool} {args}: {text}");
    }
}
