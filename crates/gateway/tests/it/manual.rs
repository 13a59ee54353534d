use switchboard_gateway::Config;
use switchboard_rules::RuleSet;
use switchboard_runtime::RulePolicy;

#[test]
fn the_examples_of_the_manual_are_read() {
    #[derive(serde::Deserialize)]
    struct File {
        serve: Config,
    }
    let manual = include_str!("../../../../docs/gateway.md");
    let blocks = manual.split("```").skip(1).step_by(2);
    let blocks: Vec<_> = blocks.filter_map(|block| block.strip_prefix("toml\n[serve")).collect();
    assert_eq!(blocks.len(), 5);
    for block in blocks {
        let File { serve } =
            toml::from_str(&format!("[serve{block}")).unwrap_or_else(|error| panic!("{error}"));
        let compiled = RuleSet::new(&serve.allow_if, &serve.deny_if, RulePolicy::default());
        assert!(compiled.is_ok(), "{:?}", compiled.err());
    }
}
