//! What an entry costs in a long record: the number of rows examined, not time.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{DaemonLink, Model};
use crate::core::agent::Agent;
use crate::core::entry::{ApprovalKind, ApprovalRequest, DeliveryResult, Entry};
use crate::core::fold::fold;
use crate::core::id::{EntryId, Seq};
use crate::core::policy::{ClaudeHooks, Coordinator, PolicyChange, PolicyRules};
use crate::core::snapshot::{ApprovalSnapshot, HandoffSnapshot, MessageSnapshot, Snapshot};
use crate::deck::deck_about::DeckAbout;
use crate::deck::present::present;
use crate::wire::window::WindowPage;

const OPEN: u64 = 50_000;

/// Rows of lists that are made again as a whole, and the few that an entry names.
const AT_MOST: usize = 8;

fn entry(line: u64, id: &str, kind: &str, more: &Value) -> Entry {
    let mut value = json!({"schema": "v1", "id": id, "timestamp": 1_000 * line, "sessionId": "s",
        "type": kind, "seq": line, "source": "codex", "content": "words"});
    let more = more.as_object().unwrap().clone();
    value.as_object_mut().unwrap().extend(more);
    super::entry(value, None).unwrap()
}

/// So many open handoffs to Codex, every other one of which may have arrived or not, and a proposal.
fn model() -> Model {
    let mut world = Snapshot::default();
    let handoff = json!({"source": "claude", "target": "codex",
        "handoff": {"reason": "", "onBusy": "queue"}});
    fold(&mut world, &entry(1, "h1", "handoff", &handoff));
    let (_, first) = world.open_handoffs.pop_first().unwrap();
    let (_, message) = world.unsettled.pop_first().unwrap();
    for line in 1..=OPEN {
        let id = EntryId::new(format!("h{line}"));
        let mut handoff = HandoffSnapshot::clone(&first);
        (handoff.id, handoff.seq) = (id.clone(), Seq(line));
        world.open_handoffs.insert(id.clone(), Arc::new(handoff));
        let mut message = MessageSnapshot::clone(&message);
        message.seq = Seq(line);
        message.result = line.is_multiple_of(2).then_some(DeliveryResult::Ambiguous);
        world.unsettled.insert(id, Arc::new(message));
    }
    world.seq = Seq(OPEN);
    let mut model = Model::new(DaemonLink::Hosting, DeckAbout::default());
    model.reset(world, WindowPage::default(), 0);
    let proposal = json!({"finality": {"summary": "done", "evidence": []},
        "handles_handoff_ids": ["h7"]});
    assert!(model.append(&entry(OPEN + 1, "p1", "finality_proposal", &proposal)));
    model
}

#[test]
fn an_entry_has_only_its_own_rows_looked_at_among_fifty_thousand() {
    let mut model = model();
    let delivery = |id: &str, status: &str| {
        json!({"source": "system", "runtimeEvent": {"kind": "message_delivery",
            "status": status, "messageId": id, "to": "codex"}})
    };
    let entries = [
        ("note", "note", json!({})),
        ("message", "message", json!({"target": "claude"})),
        // Of none that is listed.
        ("settled", "runtime_event", delivery("h40001", "confirmed")),
        ("unclear", "runtime_event", delivery("h39999", "ambiguous")),
    ];
    for ((id, kind, more), line) in entries.into_iter().zip(OPEN + 2..) {
        (model.unclear.looked_at, model.work.looked_at) = (0, 0);
        assert!(model.append(&entry(line, id, kind, &more)));
        let looked_at = (model.unclear.looked_at, model.work.looked_at);
        assert!(
            looked_at.0 <= AT_MOST && looked_at.1 <= AT_MOST,
            "{id}: {looked_at:?}"
        );
    }
    assert_eq!(model.unclear.count(), OPEN as usize / 2 + 1);
}

#[test]
fn the_card_of_a_proposal_names_as_much_as_anybody_reads_and_counts_the_rest() {
    let model = model();
    let inbox = present(&model, 0).inbox;
    let card = inbox.iter().find(|card| card.id == "p1").unwrap();
    assert_eq!(card.blockers.len(), 100);
    let claimed = &model
        .world
        .pending_proposals
        .values()
        .next()
        .unwrap()
        .proposal;
    let all = model.world.blockers(claimed);
    assert_eq!(card.blocker_count(), all.len() as u64);
    assert!(card.blockers[0].text.starts_with("handoff h"));
    assert_eq!(all.len() as u64, OPEN - 1 + OPEN / 2);
}

/// What a card says of risks, and the answer that was given.
type Said = (Vec<String>, Option<String>);

/// How many cards of requests were made for a view, and what they say.
fn asked(model: &mut Model) -> (usize, Vec<Said>) {
    model.approvals.made = 0;
    model.advance(0);
    let cards = present(model, 0).inbox.into_iter();
    let said = cards.filter_map(|card| card.asked);
    let said = said.map(|asked| (asked.hints, asked.given));
    (model.approvals.made, said.collect())
}

#[test]
fn a_request_is_read_for_its_card_once_and_again_when_it_or_a_rule_has_changed() {
    let mut model = Model::new(DaemonLink::Hosting, DeckAbout::default());
    let command = "git commit".to_owned();
    let request = ApprovalRequest::new(ApprovalKind::Command, "k".to_owned(), command);
    for id in ["a-1", "a-2"].map(EntryId::new) {
        let asked = ApprovalSnapshot {
            id: id.clone(),
            seq: Seq(1),
            agent: Agent::Codex,
            at_ms: 0,
            text: ApprovalSnapshot::in_words(Agent::Codex, &request, ""),
            request: request.clone(),
            given: None,
            runtime_session: None,
        };
        model.world.open_approvals.insert(id, asked);
    }
    let mut hints = vec!["writes to git: git commit".to_owned()];
    let waits = (hints.clone(), None);
    assert_eq!(asked(&mut model), (2, vec![waits.clone(), waits.clone()]));
    assert_eq!(asked(&mut model), (0, vec![waits.clone(), waits]));

    let to = Some(Coordinator::Claude);
    let rules = PolicyRules::default().with(PolicyChange::Coordinator { to });
    model.status.policy.rules = rules.in_force(&ClaudeHooks::Judge);
    hints.push("your rule: Codex leaves git's writes to others (ADVISORY)".to_owned());
    let against = (hints.clone(), None);
    assert_eq!(
        asked(&mut model),
        (2, vec![against.clone(), against.clone()])
    );

    let first = model.world.open_approvals.get_mut(&EntryId::new("a-1"));
    first.unwrap().given = Some(("accept".to_owned(), 5));
    let answered = (hints, Some("accept".to_owned()));
    assert_eq!(asked(&mut model), (1, vec![answered, against.clone()]));
    model.world.open_approvals.pop_first();
    assert_eq!(asked(&mut model), (0, vec![against]));
}
