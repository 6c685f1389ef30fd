//! The card of what has power in `config.json` and differs from what the operator trusted.

use ctxrelay_ui::model as ui;

use crate::core::signing::SigningState;
use crate::deck::followed::model::Model;
use crate::wire::config::Problem;

/// The longest difference that a card shows, in lines: what is not shown is not trusted.
const LINES_MAX: usize = 300;

/// How much of the digest names the card, in characters.
const ID_CHARS: usize = 12;

/// The key of `config.json` whose change wants the operator's key.
const SIGNING_KEY: &str = "operator";

/// The card; its id names what it shows, so that an open one never turns into another.
pub(super) fn card(model: &Model) -> Option<ui::InboxCard> {
    let (trust, since_ms) = model.trust.as_ref()?;
    let keys: Vec<ui::WaitingKey> = trust
        .waiting
        .iter()
        .map(|waiting| ui::WaitingKey {
            name: waiting.key.clone(),
            note: match waiting.matters_now() {
                true => String::new(),
                false => "no effect in this version".to_owned(),
            },
            lines: waiting.diff(),
            warnings: {
                let problems = trust.problems.iter();
                let of_key = problems.filter(|problem| problem.is_within(&waiting.key));
                Problem::told(of_key)
            },
        })
        .collect();
    let lines: usize = keys.iter().map(|key| key.lines.len()).sum();
    let touches_signing = trust.waiting.iter().any(|key| key.key == SIGNING_KEY);
    let signs_decisions_alone = |state: &SigningState| !state.signs_acts();
    let is_older = model
        .world
        .signing
        .as_ref()
        .is_some_and(signs_decisions_alone);
    let elsewhere = if is_older || touches_signing {
        Some("It changes who signs here, and how: `ctxrelay trust` in a terminal does it.")
    } else if lines > LINES_MAX {
        Some("It is too long for a card: `ctxrelay trust` in a terminal shows all of it.")
    } else {
        None
    };
    let names = trust.waiting.iter().filter(|key| key.matters_now());
    let names: Vec<&str> = names.map(|key| key.key.as_str()).collect();
    let id: String = trust.digest.chars().take(ID_CHARS).collect();
    let mut card = ui::InboxCard::new(
        ui::InboxKind::Trust,
        format!("trust-{id}"),
        ui::Party::System,
        *since_ms,
        format!(
            "{} changed in config.json, without effect until you trust it",
            names.join(", ")
        ),
    );
    let keys = if lines > LINES_MAX { Vec::new() } else { keys };
    card.trust = Some(Box::new(ui::TrustCard {
        digest: trust.digest.clone(),
        keys,
        elsewhere: elsewhere.map(str::to_owned),
    }));
    Some(card)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::deck::deck_about::{DeckAbout, WaitingTrust};
    use crate::deck::followed::model::DaemonLink;
    use crate::wire::config::Waiting;

    fn card_of(key: &str, trusted: Option<Value>, found: Option<Value>) -> ui::TrustCard {
        let mut model = Model::new(DaemonLink::Attached, DeckAbout::default());
        model.set_trust(
            Some(WaitingTrust {
                digest: "5d1c0ab93f27aa".to_owned(),
                waiting: vec![Waiting {
                    key: key.to_owned(),
                    trusted,
                    found,
                }],
                problems: ["gates", "gates[2].cmd", "gatesOfOthers", "finality.mode"]
                    .map(|key| Problem {
                        key: key.to_owned(),
                        why: "is wrong".to_owned(),
                    })
                    .to_vec(),
            }),
            7,
        );
        let card = card(&model).unwrap();
        assert_eq!((card.id.as_str(), card.at_ms), ("trust-5d1c0ab93f27", 7));
        *card.trust.unwrap()
    }

    #[test]
    fn what_does_not_count_as_it_stands_there_is_said_before_it_is_trusted() {
        let card = card_of("gates", None, Some(json!([])));
        let said = ["gates: is wrong", "gates[2].cmd: is wrong"];
        assert_eq!(card.keys[0].warnings, said);
    }

    #[test]
    fn it_shows_what_differs_and_names_all_of_it() {
        let card = card_of(
            "permissions",
            Some(json!({"git": "deny"})),
            Some(json!({"git": "allow"})),
        );
        assert_eq!(card.digest, "5d1c0ab93f27aa");
        let lines = [
            (false, "  \"git\": \"deny\"".to_owned()),
            (true, "  \"git\": \"allow\"".to_owned()),
        ];
        assert_eq!(card.keys[0].lines, lines);
        assert_eq!(card.elsewhere, None);
    }

    #[test]
    fn what_is_not_shown_or_wants_a_key_is_not_trusted_here() {
        let long: Vec<u32> = (0..1_000).collect();
        let card = card_of("gates", None, Some(json!(long)));
        assert!(card.keys.is_empty());
        assert!(card.elsewhere.unwrap().contains("too long"));
        let signs = Some(json!({"signing": "passphrase"}));
        let card = card_of("operator", None, signs);
        assert!(card.elsewhere.unwrap().contains("`ctxrelay trust`"));
    }
}
