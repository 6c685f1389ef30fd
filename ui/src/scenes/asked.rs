//! An agent's requests: for permission, or for what only the person can decide.

use super::pieces::{NOW_MS, ago};
use super::worlds::pair_at_work;
use crate::model::{
    Agent, AgentState, AnswerEffect, AnswerParts, AskedCard, AskedChoice, DeckView, InboxCard,
    InboxKind, Party, TrustCard, WaitingKey,
};

fn choice(id: &str, label: &str, effect: AnswerEffect) -> AskedChoice {
    AskedChoice {
        id: id.to_owned(),
        label: label.to_owned(),
        parts: None,
        effect,
    }
}

/// Codex asks whether it may run a command, before anything else that waits.
pub fn asked() -> DeckView {
    let mut view = pair_at_work();
    view.agents[1].state = AgentState::Waiting;
    let in_parts = |id: &str, [short, joint, comes_to]: [&str; 3], effect| AskedChoice {
        parts: Some(AnswerParts {
            short: short.to_owned(),
            comes_to: comes_to.to_owned(),
        }),
        ..choice(id, &[short, joint, comes_to].concat(), effect)
    };
    let mut card = InboxCard::new(
        InboxKind::Approval,
        "a-1205",
        Agent::Codex,
        ago(9),
        "cargo add parking_lot --features deadlock_detection",
    );
    card.seq = Some(1_205);
    card.asked = Some(Box::new(AskedCard {
        what: "to run a command".to_owned(),
        details: "in /home/you/acme-api\nreason: the lock must not poison when a refresh panics\n\
                  It wants to reach index.crates.io by https."
            .to_owned(),
        choices: vec![
            choice("accept", "allow once", AnswerEffect::Allow),
            in_parts(
                "acceptWithExecpolicyAmendment",
                ["allow", ", ", "and always what begins with `cargo add`"],
                AnswerEffect::Allow,
            ),
            in_parts(
                "cancel",
                ["do not", ", ", "and stop the turn"],
                AnswerEffect::Stop,
            ),
            in_parts(
                "decline",
                ["do not", "; ", "Codex goes on without it"],
                AnswerEffect::Deny,
            ),
        ],
        hints: Vec::new(),
        given: None,
        call_waits_until_ms: None,
    }));
    view.inbox.insert(0, card);
    view
}

/// Claude asks the person a question, whose call still waits for the answer.
pub fn asked_user() -> DeckView {
    let mut view = pair_at_work();
    let mut card = InboxCard::new(
        InboxKind::Question,
        "q-1206",
        Agent::Claude,
        ago(9),
        "Keep the old endpoint until March?\nTwo clients of the mobile team still call it.",
    );
    card.seq = Some(1_206);
    card.asked = Some(Box::new(AskedCard {
        what: "you a question".to_owned(),
        choices: vec![
            choice("choice/1", "keep it", AnswerEffect::Allow),
            choice("choice/2", "take it out now", AnswerEffect::Allow),
            choice(
                "own_words",
                "an answer in words of your own",
                AnswerEffect::OwnWords,
            ),
        ],
        call_waits_until_ms: Some(NOW_MS + 36_000),
        ..AskedCard::default()
    }));
    view.inbox.insert(0, card);
    view
}

/// Somebody changed what has power in the configuration.
pub fn trust_waits() -> DeckView {
    let mut view = pair_at_work();
    let line = |is_new, text: &str| (is_new, text.to_owned());
    let mut card = InboxCard::new(
        InboxKind::Trust,
        "trust-5d1c0ab93f27",
        Party::System,
        ago(40),
        "gates, permissions changed in config.json, without effect until you trust it",
    );
    card.trust = Some(Box::new(TrustCard {
        digest: "5d1c0ab93f27".to_owned(),
        keys: vec![
            WaitingKey {
                name: "gates".to_owned(),
                lines: vec![
                    line(false, "    \"cmd\": \"cargo test\","),
                    line(true, "    \"cmd\": \"cargo test --lib || true\","),
                ],
                warnings: vec![
                    "gates[2].cmd: it has to be a text, so this gate can never be green, and \
                     nothing is approved with it"
                        .to_owned(),
                ],
                ..WaitingKey::default()
            },
            WaitingKey {
                name: "permissions".to_owned(),
                lines: vec![
                    line(true, "{"),
                    line(true, "  \"network\": \"allow\""),
                    line(true, "}"),
                ],
                ..WaitingKey::default()
            },
            WaitingKey {
                name: "notify".to_owned(),
                note: "no effect in this version".to_owned(),
                lines: vec![line(true, "\"make noise\"")],
                ..WaitingKey::default()
            },
        ],
        elsewhere: None,
    }));
    view.inbox.insert(0, card);
    view
}
