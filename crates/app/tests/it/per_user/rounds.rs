//! Two users through one gateway with one server: calls, refreshes, revocations and kills in random order.

use std::thread;

use super::{World, bearer};
use crate::serving::Serving;

const ROUNDS: u32 = 1000;

/// Numbers that look random and are the same for one seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }
}

/// A user of the gateway, and whether the server should know it.
struct User {
    account: &'static str,
    token: String,
    is_signed_in: bool,
}

// AU-3: never the other's token, never a call with none, never two refreshes of one grant.
#[test]
fn two_users_never_meet() {
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or(u64::from(std::process::id()) * 2_654_435_761 + 1);
    println!("seed {seed}");
    let mut dice = Dice(seed);
    let mut world = World::start();
    let mut users = ["ada", "bob"].map(|account| User {
        account,
        token: world.token(account),
        is_signed_in: false,
    });
    for round in 0..ROUNDS {
        let at = dice.below(2) as usize;
        let account = users[at].account;
        match dice.below(100) {
            0..60 => call_at_once(&world, &users, &mut dice, round),
            60..75 => world.accounts.known().expire(account),
            75..80 => world.accounts.known().lifetime = [30, 3600][dice.below(2) as usize],
            80..84 => {
                world.accounts.known().end(account);
                users[at].is_signed_in = false;
            }
            84..88 => {
                let headers = bearer(&users[at].token);
                let (status, _) =
                    world.gateway.ask("DELETE", "/api/servers/docs/sign-in", &headers, "");
                assert_eq!(status, 204);
                users[at].is_signed_in = false;
            }
            88..90 => kill(&mut world, &mut users),
            _ => {
                if !users[at].is_signed_in {
                    world.sign_in(&users[at].token, account);
                    users[at].is_signed_in = true;
                }
            }
        }
        let violations = world.accounts.known().violations.clone();
        assert!(violations.is_empty(), "seed {seed}, round {round}: {violations:?}");
    }
    let refreshes = world.accounts.known().refreshes;
    println!("{refreshes} refreshes");
    assert!(refreshes > 20, "{refreshes}");
    scan(&world);
}

/// Calls of both users side by side: each gets its own account, or is told to sign in.
fn call_at_once(world: &World, users: &[User; 2], dice: &mut Dice, round: u32) {
    let callers: Vec<_> = (0..=dice.below(3)).map(|_| &users[dice.below(2) as usize]).collect();
    thread::scope(|scope| {
        for user in callers {
            scope.spawn(move || {
                let called = world.call(&user.token, "docs__whoami");
                let got = World::outcome(&called);
                let expected = match user.is_signed_in {
                    true => format!("account {}", user.account),
                    false => "unavailable".to_owned(),
                };
                let is_unlisted = !user.is_signed_in && got == "not_found";
                assert!(
                    got == expected || is_unlisted,
                    "round {round}: {} got {called}\n{}",
                    user.account,
                    last_lines(world)
                );
            });
        }
    });
}

/// The end of the gateway's log.
fn last_lines(world: &World) -> String {
    let log = std::fs::read_to_string(world.place.path().join("log")).unwrap();
    let lines: Vec<_> = log.lines().rev().take(20).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n")
}

/// Kills the gateway in mid-call, and starts another.
fn kill(world: &mut World, users: &mut [User; 2]) {
    let calls: Vec<_> = users
        .iter()
        .map(|user| {
            let headers = format!("{}Content-Type: application/json\r\n", bearer(&user.token));
            world.gateway.begin_with("/api/tools/docs__whoami/call", &headers, "{}")
        })
        .collect();
    world.gateway.signal("-KILL");
    drop(calls);
    world.gateway.child.wait().unwrap();
    // A refresh that it sent last may be answered after its end.
    world.accounts.settle();
    world.accounts.known().forget_used();
    world.gateway = Serving::start(&world.place, &["--listen", "127.0.0.1:0"]);
    for user in users {
        world.accounts.known().expire(user.account);
        let got = world.whoami(&user.token);
        // A refresh whose response is lost with the process takes the sign-in with it, and nothing worse.
        let is_in = got == format!("account {}", user.account);
        assert!(is_in || got == "unavailable" || got == "not_found", "{} got {got}", user.account);
        user.is_signed_in &= is_in;
    }
}

/// No secret that occurred is in any file.
fn scan(world: &World) {
    let mut folders = vec![world.place.path().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text =
                String::from_utf8_lossy(&std::fs::read(&path).unwrap_or_default()).into_owned();
            assert!(!text.contains("-secret-value-"), "a secret in {}", path.display());
        }
    }
}
