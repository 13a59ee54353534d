//! Two users through one gateway with one server: calls over REST and MCP while tokens end, grants end, users sign in and out, their
//! tokens of the gateway are revoked, and the gateway is killed, in random order.

use std::{io::BufRead, thread};

use serde_json::{Value, json};

use super::{PerUserSetup, asking, bearer, note_secret};
use crate::fixture::wait_until;

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

/// A user of the gateway, and whether it is signed in.
struct User {
    account: &'static str,
    token: String,
    is_signed_in: bool,
}

/// What happens to a user's account while calls run.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Change {
    Nothing,
    /// Its access tokens end.
    Expire,
    /// Its next tokens are good for so many seconds.
    Lifetime(u64),
    /// Its grants end at the authorization server.
    End,
    SignOut,
    SignIn,
    /// Its token of the gateway is revoked, and it gets another one of the same name.
    Revoke,
}

/// How a user calls.
#[derive(Clone, Copy, Debug)]
enum Client {
    Rest,
    /// MCP 2026-07-28, by a client that can show a page.
    Modern,
}

impl Change {
    fn thrown(dice: &mut Dice, user: &User) -> Self {
        match (dice.below(100), user.is_signed_in) {
            (99, _) => Self::Revoke,
            (0..40, _) => Self::Nothing,
            (40..85, false) => Self::SignIn,
            (40..75, true) => Self::Expire,
            (75..90, true) => Self::Lifetime([1, 2, 30, 3600][dice.below(4) as usize]),
            (90..95, true) => Self::End,
            _ => Self::SignOut,
        }
    }

    /// Returns the user's new token, if it gets one.
    fn happens(self, world: &PerUserSetup, user: &User) -> Option<String> {
        match self {
            Self::Nothing => {}
            Self::Expire => world.accounts.known().expire(user.account),
            Self::Lifetime(seconds) => world.accounts.known().lifetime = seconds,
            Self::End => world.accounts.known().end(user.account),
            Self::SignOut => {
                let headers = bearer(&user.token);
                let asked = world.gateway.ask("DELETE", "/api/servers/docs/sign-in", &headers, "");
                assert_eq!(asked.0, 204, "{}", asked.1);
            }
            Self::SignIn => world.sign_in(&user.token, user.account),
            Self::Revoke => {
                let revoked = world.place.run(&["token", "revoke", user.account]);
                assert_eq!(revoked.status, 0, "{revoked:?}");
                // One that has lost its grant is still stored, and revoked too.
                let takes_along = revoked.stderr.contains("sign-ins to servers are revoked: 1");
                assert!(takes_along || !user.is_signed_in, "{revoked:?}");
                return Some(world.token(user.account));
            }
        }
        None
    }

    /// Whether the user is signed in afterwards.
    fn leaves(self, is_signed_in: bool) -> bool {
        match self {
            Self::Nothing | Self::Expire | Self::Lifetime(_) => is_signed_in,
            Self::End | Self::SignOut | Self::Revoke => false,
            Self::SignIn => true,
        }
    }
}

// AU-3: never the other's token, never a call with none, never two refreshes of one grant.
#[test]
fn two_users_never_meet() {
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or(u64::from(std::process::id()) * 2_654_435_761 + 1);
    println!("seed {seed}");
    let mut dice = Dice(seed);
    let mut world = PerUserSetup::with_log("info");
    let mut users = ["ada", "bob"].map(|account| User {
        account,
        token: world.token(account),
        is_signed_in: false,
    });
    for round in 0..ROUNDS {
        match dice.below(60) {
            0 => kill(&mut world, &mut users, &mut dice),
            _ => change_during_calls(&world, &mut users, &mut dice, round),
        }
        let violations = world.accounts.known().violations.clone();
        assert!(violations.is_empty(), "seed {seed}, round {round}: {violations:?}");
    }
    let refreshes = world.accounts.known().refreshes;
    println!("{refreshes} refreshes");
    assert!(refreshes > 20, "{refreshes}");
}

/// Calls of both users side by side, while their accounts change: each gets its own account, or is told to sign in.
fn change_during_calls(world: &PerUserSetup, users: &mut [User; 2], dice: &mut Dice, round: u32) {
    let changes = [0, 1].map(|at| Change::thrown(dice, &users[at]));
    let clients = [Client::Rest, Client::Modern];
    let callers: Vec<_> = (0..=dice.below(3))
        .map(|_| (dice.below(2) as usize, clients[dice.below(2) as usize]))
        .collect();
    let shared = &*users;
    let tokens = thread::scope(|scope| {
        let changing = [0, 1].map(|at: usize| {
            let (user, change) = (&shared[at], changes[at]);
            scope.spawn(move || change.happens(world, user))
        });
        for (at, client) in callers {
            let (user, change) = (&shared[at], changes[at]);
            scope.spawn(move || call(world, user, client, change, round));
        }
        changing.map(|changing| changing.join().unwrap())
    });
    for ((user, change), token) in users.iter_mut().zip(changes).zip(tokens) {
        user.is_signed_in = change.leaves(user.is_signed_in);
        if let Some(token) = token {
            let before = std::mem::replace(&mut user.token, token);
            // The gateway looks once a second whether a token is still there.
            wait_until("the token is out", || called_by_rest(world, &before) == "unauthorized");
            // Nor does its successor have what the one before had.
            call(world, user, Client::Rest, Change::Nothing, round);
        }
    }
}

/// The account, or the kind of the error; `unauthorized` if the gateway refuses the token.
fn called_by_rest(world: &PerUserSetup, token: &str) -> Value {
    PerUserSetup::outcome(&world.call(token, "docs__whoami"))
}

fn called_by_modern_client(world: &PerUserSetup, token: &str) -> Value {
    note_secret(token);
    let (headers, params) =
        (asking::modern_headers(token, "docs__whoami"), asking::modern_params("docs__whoami"));
    let mut stream = asking::post(world, &headers, &asking::call(1, params));
    let mut status = String::new();
    stream.read_line(&mut status).unwrap();
    if status.contains(" 401 ") {
        return json!("unauthorized");
    }
    let message = asking::next(&mut stream);
    let result = &message["result"];
    match (message["error"].is_object(), result["resultType"].as_str()) {
        // A tool that is not there (yet).
        (true, _) => json!("not_found"),
        (_, Some("input_required")) => json!("unavailable"),
        _ if result["isError"] != true => result["content"][0]["text"].clone(),
        _ => result["_meta"]["switchboard/errorKind"].clone(),
    }
}

fn call(world: &PerUserSetup, user: &User, client: Client, change: Change, round: u32) {
    let got = match client {
        Client::Rest => called_by_rest(world, &user.token),
        Client::Modern => called_by_modern_client(world, &user.token),
    };
    let possible = [user.is_signed_in, change.leaves(user.is_signed_in)];
    let is_right = match got == format!("account {}", user.account) {
        true => possible.contains(&true),
        false if got == "unauthorized" => change == Change::Revoke,
        // A tool is there once somebody has listed it.
        false => possible.contains(&false) && (got == "unavailable" || got == "not_found"),
    };
    assert!(
        is_right,
        "round {round}: {} ({}, {client:?}, {change:?}) got {got}\n{}",
        user.account,
        user.is_signed_in,
        last_lines(world)
    );
}

/// The end of the gateway's log.
fn last_lines(world: &PerUserSetup) -> String {
    let log = std::fs::read_to_string(world.place.path().join("log")).unwrap();
    let lines: Vec<_> = log.lines().rev().take(20).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n")
}

/// Kills the gateway in mid-call, and starts another. Only who was being given new tokens then may have lost the sign-in.
fn kill(world: &mut PerUserSetup, users: &mut [User; 2], dice: &mut Dice) {
    world.accounts.known().holds = true;
    for user in &*users {
        world.accounts.known().expire(user.account);
    }
    let calls: Vec<_> = users
        .iter()
        .map(|user| {
            let headers = format!("{}Content-Type: application/json\r\n", bearer(&user.token));
            world.gateway.begin_with("/api/tools/docs__whoami/call", &headers, "{}")
        })
        .collect();
    if users.iter().any(|user| user.is_signed_in) && dice.below(2) == 0 {
        wait_until("a refresh is under way", || !world.accounts.known().unread().is_empty());
    }
    world.gateway.signal("-KILL");
    drop(calls);
    world.gateway.child.wait().unwrap();
    world.accounts.settle();
    let lost = world.accounts.known().unread();
    world.restart();
    for user in users {
        world.accounts.known().expire(user.account);
        user.is_signed_in &= !lost.contains(user.account);
        call(world, user, Client::Rest, Change::Nothing, 0);
    }
    world.accounts.known().forget_unread();
}
