use super::*;
use crate::oauth::secret::SecretKind;

const NAME: &str = "oauth:test";
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const HOUR: Duration = Duration::from_secs(3600);

fn secret(kind: SecretKind) -> GrantSecret {
    GrantSecret::new(kind, [1; 16], NAME).unwrap()
}

fn new(access_life: Duration, refresh_life: Duration) -> NewSecrets {
    let (access, refresh) = (secret(SecretKind::Access), secret(SecretKind::Refresh));
    NewSecrets { access, access_life, refresh, refresh_life }
}

fn grant(code: &GrantSecret, life: Duration) -> Grant {
    let pending = PendingCode {
        stored: StoredSecret::new(code, life),
        challenge: CHALLENGE.to_owned(),
        redirect_uri: "https://a.example/cb".to_owned(),
    };
    Grant {
        client_id: "a".to_owned(),
        client_name: "A".to_owned(),
        user: GrantUser::Owner,
        resource: "https://tools.example/mcp".to_owned(),
        scope: "tools".to_owned(),
        until: None,
        code: Some(pending),
        used_code: None,
        access: Vec::new(),
        refresh: None,
    }
}

fn copy(secret: &GrantSecret) -> GrantSecret {
    GrantSecret::parse(&secret.text).unwrap()
}

fn exchange(code: &GrantSecret) -> CodeExchange {
    CodeExchange {
        code: copy(code),
        client_id: "a".to_owned(),
        redirect_uri: Some("https://a.example/cb".to_owned()),
        verifier: VERIFIER.to_owned(),
        resource: Some("https://tools.example/mcp".to_owned()),
    }
}

fn issued(outcome: ExchangeOutcome) -> Grant {
    match outcome {
        ExchangeOutcome::Issued(grant) => *grant,
        other => panic!("{other:?}"),
    }
}

// AU-4
#[test]
fn a_code_is_exchanged_once_and_its_replay_ends_the_grant() {
    let code = secret(SecretKind::Code);
    let grant = grant(&code, HOUR);
    let after = issued(grant.exchange_code(&exchange(&code), &new(HOUR, HOUR)));
    assert!(after.access_hashes().count() == 1 && after.expires().is_some() && !after.is_over());
    assert_eq!(after.exchange_code(&exchange(&code), &new(HOUR, HOUR)), ExchangeOutcome::Ended);
    let other = secret(SecretKind::Code);
    assert_eq!(after.exchange_code(&exchange(&other), &new(HOUR, HOUR)), ExchangeOutcome::Refused);
    // OAuth 2.1 leaves out the address, and old clients the resource.
    let least = CodeExchange { redirect_uri: None, resource: None, ..exchange(&code) };
    issued(grant.exchange_code(&least, &new(HOUR, HOUR)));
}

// AU-4
#[test]
fn who_has_a_code_without_the_rest_ends_the_grant() {
    let code = secret(SecretKind::Code);
    let good = || exchange(&code);
    let other = |text: &str| Some(text.to_owned());
    for (what, wrong) in [
        ("verifier", CodeExchange { verifier: "x".repeat(43), ..good() }),
        ("plain challenge as verifier", CodeExchange { verifier: CHALLENGE.to_owned(), ..good() }),
        ("client", CodeExchange { client_id: "b".to_owned(), ..good() }),
        ("address", CodeExchange { redirect_uri: other("https://evil.example/cb"), ..good() }),
        ("resource", CodeExchange { resource: other("https://tools.example"), ..good() }),
    ] {
        let outcome = grant(&code, HOUR).exchange_code(&wrong, &new(HOUR, HOUR));
        assert_eq!(outcome, ExchangeOutcome::Ended, "{what}");
    }
    let late = grant(&code, Duration::ZERO);
    assert_eq!(late.exchange_code(&good(), &new(HOUR, HOUR)), ExchangeOutcome::Ended);
    assert!(late.is_over());
}

// AU-4
#[test]
fn a_refresh_token_changes_with_each_use_and_its_reuse_ends_the_grant() {
    let code = secret(SecretKind::Code);
    let first = new(HOUR, HOUR);
    let grant = issued(grant(&code, HOUR).exchange_code(&exchange(&code), &first));
    let with = |refresh: &GrantSecret, client: &str| RefreshExchange {
        refresh: copy(refresh),
        client_id: Some(client.to_owned()),
        resource: None,
    };
    let refused = grant.exchange_refresh(&with(&first.refresh, "b"), &new(HOUR, HOUR));
    assert_eq!(refused, ExchangeOutcome::Refused);
    let second = new(HOUR, Duration::ZERO);
    let renewed = issued(grant.exchange_refresh(&with(&first.refresh, "a"), &second));
    assert_eq!(renewed.access_hashes().count(), 2, "requests with the old one may be under way");
    let reused = renewed.exchange_refresh(&with(&first.refresh, "a"), &new(HOUR, HOUR));
    assert_eq!(reused, ExchangeOutcome::Ended);
    let late = renewed.exchange_refresh(&with(&second.refresh, "a"), &new(HOUR, HOUR));
    assert_eq!(late, ExchangeOutcome::Refused);
    let elsewhere = RefreshExchange {
        resource: Some("https://tools.example".to_owned()),
        ..with(&first.refresh, "a")
    };
    let refused = grant.exchange_refresh(&elsewhere, &new(HOUR, HOUR));
    assert_eq!(refused, ExchangeOutcome::Refused);
}

// AU-4: who has left the identity provider stays in no longer than that, however often a client renews.
#[test]
fn a_grant_of_a_jwt_ends_for_all_its_renewals() {
    let code = secret(SecretKind::Code);
    let (mut last, year, begun) = (new(HOUR, HOUR), 9000 * HOUR, Timestamp::now());
    // The right of a token's bearer ends with the token.
    let owners = grant(&code, HOUR).exchange_code(&exchange(&code), &new(year, year));
    let owners = issued(owners);
    let user = GrantUser::Jwt { name: "jwt:ada".to_owned(), claims: Map::new() };
    let pending = Grant { user, ..grant(&code, HOUR) };
    let mut held = issued(pending.exchange_code(&exchange(&code), &last));
    let end = held.until.unwrap();
    assert_eq!(end.duration_since(begun).as_hours() / 24, 30);
    assert!(owners.until.is_none() && owners.expires().unwrap() > end);
    let renew = |held: &Grant, last: &NewSecrets, next: &NewSecrets| {
        let refresh = copy(&last.refresh);
        held.exchange_refresh(&RefreshExchange { refresh, client_id: None, resource: None }, next)
    };
    for _ in 0..3 {
        let next = new(year, year);
        held = issued(renew(&held, &last, &next));
        assert_eq!((held.until, held.expires()), (Some(end), Some(end)));
        assert!(held.access_hashes().all(|(_, until)| until <= end));
        assert!(held.access_life(year) <= JWT_GRANT && held.access_life(HOUR) == HOUR);
        last = next;
    }
    // Thirty days later.
    held.until = Some(begun);
    let next = new(HOUR, HOUR);
    let ended = issued(renew(&held, &last, &next));
    assert_eq!(ended.access_life(HOUR), Duration::ZERO);
    assert_eq!(renew(&ended, &next, &new(HOUR, HOUR)), ExchangeOutcome::Refused);
}

// AU-4
#[test]
fn access_tokens_are_few_and_can_be_taken_away() {
    let code = secret(SecretKind::Code);
    let mut last = new(HOUR, HOUR);
    let mut grant = issued(grant(&code, HOUR).exchange_code(&exchange(&code), &last));
    for _ in 0..10 {
        let next = new(HOUR, HOUR);
        let sent =
            RefreshExchange { refresh: copy(&last.refresh), client_id: None, resource: None };
        grant = issued(grant.exchange_refresh(&sent, &next));
        last = next;
    }
    assert_eq!(grant.access_hashes().count(), MOST_ACCESS);
    assert_eq!(grant.without_access(&last.access).access_hashes().count(), MOST_ACCESS - 1);
    let stored = serde_json::to_string(&grant).unwrap();
    for text in [&last.access.text, &last.refresh.text, &code.text] {
        assert!(!stored.contains(text.as_str()));
    }
    assert_eq!(serde_json::from_str::<Grant>(&stored).unwrap(), grant);
}
