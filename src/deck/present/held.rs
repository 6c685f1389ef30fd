//! Cards of messages that `r` releases: those that wait behind a turn that the person stopped, and
//! those with which the agents have answered each other for too long.

use ctxrelay_ui::model as ui;

use crate::core::id::EntryId;
use crate::deck::followed::model::Model;
use crate::deck::party::agent_of;
use crate::wire::status::ExchangeStatus;

/// What waits behind a turn that the human stopped in Codex: release it now, or keep it.
pub(super) fn held_card(model: &Model) -> Option<ui::InboxCard> {
    if !model.status.agents.codex.held {
        return None;
    }
    let waiting = model.unclear.waiting_for_codex();
    let mut behind = waiting.filter(|id| !waits_for_word(model, id));
    let id = behind.next()?;
    let count = 1 + behind.count();
    let first = model.world.unsettled.get(id)?;
    let (messages, wait, it, goes) = if count == 1 {
        ("1 message".to_owned(), "waits", "it", "it goes")
    } else {
        let count = ctxrelay_ui::text::grouped(count as u64);
        (format!("{count} messages"), "wait", "them", "they go")
    };
    Some(ui::InboxCard {
        seq: Some(first.seq.0),
        held: count as u64,
        ..ui::InboxCard::new(
            ui::InboxKind::Alarm,
            id.to_string(),
            ui::Agent::Codex,
            first.at_ms,
            format!(
                "You stopped a turn in Codex: {messages} {wait} behind it. You can release {it} \
                 now; else {goes} on with your next message there, or in another conversation \
                 (/new, /resume)."
            ),
        )
    })
}

/// Whether the agents had answered each other for too long with a message: `r` on another card lets
/// that go on.
fn waits_for_word(model: &Model, id: &EntryId) -> bool {
    let mut exchanges = model.status.exchanges.iter();
    exchanges.any(|exchange| {
        let message = model.world.unsettled.get(id);
        let pair = exchange.pair.clone().unwrap_or_default();
        message.is_some_and(|it| it.answers > exchange.answers && it.pair() == pair)
    })
}

/// The agents answered each other for too long: let them go on, or keep what waits.
pub(super) fn exchange_card(exchange: &ExchangeStatus) -> ui::InboxCard {
    ui::InboxCard {
        held: exchange.held,
        ..ui::InboxCard::new(
            ui::InboxKind::Alarm,
            exchange.message.to_string(),
            agent_of(exchange.to),
            exchange.at,
            format!(
                "{}. If you let them go on, it counts anew; so it does with your next prompt to \
                 either of them.",
                exchange.told()
            ),
        )
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::core::agent::Agent;
    use crate::deck::deck_about::DeckAbout;
    use crate::deck::followed::model::{self, DaemonLink};
    use crate::deck::present::present;

    /// The agents answer each other from the first entry of their daemon on.
    fn answering(messages: u64) -> Model {
        let mut model = Model::new(DaemonLink::Hosting, DeckAbout::default());
        let began = json!({"schema": "v1", "id": "began", "timestamp": 1, "sessionId": "s",
            "type": "runtime_event", "source": "system", "content": "", "meta":
            {"promptsRecorded": true}, "runtimeEvent": {"kind": "lifecycle", "status":
            "daemon_started", "event": "daemon_started"}});
        assert!(model.append(&model::entry(began, Some(1)).unwrap()));
        for number in 1..=messages {
            let (from, to) = match number % 2 {
                0 => ("codex", "claude"),
                _ => ("claude", "codex"),
            };
            let said = json!({"schema": "v1", "id": format!("m{number}"), "timestamp": number,
                "sessionId": "s", "type": "message", "source": from, "target": to,
                "content": "thanks"});
            assert!(model.append(&model::entry(said, Some(1 + number)).unwrap()));
        }
        model
    }

    /// The message and how many there are, card by card.
    fn cards(model: &Model) -> Vec<(String, u64)> {
        let cards = present(model, 0).inbox.into_iter();
        let held = cards.filter(|card| card.held > 0);
        held.map(|card| (card.id, card.held)).collect()
    }

    #[test]
    fn what_waits_for_another_card_is_not_told_of_behind_a_stopped_turn() {
        let mut model = answering(5);
        model.status.agents.codex.held = true;
        let behind = |id: &str, held| (id.to_owned(), held);
        assert_eq!(cards(&model), [behind("m1", 3)]);
        let exchange = ExchangeStatus {
            pair: None,
            answers: 2,
            held: 2,
            message: EntryId::new("m4"),
            to: Agent::Claude,
            at: 4,
        };
        model.status.exchanges = vec![exchange.clone()];
        assert_eq!(cards(&model), [behind("m1", 2), behind("m4", 2)]);
        model.status.exchanges = vec![ExchangeStatus {
            answers: 0,
            ..exchange
        }];
        let card = cards(&model).remove(0);
        assert_eq!(card, behind("m1", 1), "the first is no answer");
    }
}
