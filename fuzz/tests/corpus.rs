//! Replays the corpus, so that what fuzzing found once stays fixed.

use std::{fs, path::Path};

use switchboard_fuzz::TARGETS;

#[test]
fn every_input_of_the_corpus_holds() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for (name, target) in TARGETS {
        let inputs = fs::read_dir(corpus.join(name)).expect("each target has a folder");
        let mut count = 0;
        for input in inputs {
            let path = input.expect("an entry").path();
            // A panic does not say which input it was about; captured output does.
            println!("{}", path.display());
            target(&fs::read(&path).expect("a file"));
            count += 1;
        }
        assert!(count > 0, "{name} has no input");
    }
    assert_eq!(fs::read_dir(&corpus).expect("a folder").count(), TARGETS.len());
}
