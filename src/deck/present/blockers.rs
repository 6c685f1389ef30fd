//! The blockers of a proposal for a person: with short names and places.

use ctxrelay_ui::model as ui;
use ctxrelay_ui::text::grouped;

use crate::core::snapshot::Blocker;
use crate::deck::followed::model::Model;
use crate::deck::followed::work::handoff_name;
use crate::deck::party::party_of;

/// As on its card, with the entry behind it.
pub(super) fn blocker_named(model: &Model, blocker: &Blocker<'_>) -> ui::NamedEntry {
    let line = match blocker {
        Blocker::Note(note) => Some(note.seq),
        Blocker::Handoff(handoff) => Some(handoff.seq),
        Blocker::Question(seq, _) => Some(*seq),
        Blocker::Ambiguous(id) => model.world.unsettled.get(*id).map(|of| of.seq),
        Blocker::Artifact(claim) => Some(claim.seq),
        Blocker::Finding(_, finding) => Some(finding.seq),
        Blocker::MoreFindings(_) => None,
    };
    ui::NamedEntry {
        text: blocker_text(model, blocker),
        line: line.map(|seq| seq.0).filter(|line| *line > 0),
    }
}

fn blocker_text(model: &Model, blocker: &Blocker<'_>) -> String {
    let entry = |seq: u64| format!("entry {}", grouped(seq));
    match blocker {
        Blocker::Note(note) => {
            let (place, by) = (entry(note.seq.0), party_of(&note.by));
            format!("blocker note, {place} by {}: {}", by.title(), note.text)
        }
        Blocker::Handoff(handoff) => {
            let (name, ask) = (handoff_name(handoff), Blocker::ask(handoff));
            format!("handoff {name} is open: {ask}")
        }
        Blocker::Question(seq, question) => {
            let (from, to) = (party_of(&question.from), question.to.title());
            let (place, from) = (entry(seq.0), from.title());
            let text = &question.text;
            format!("question of {from} to {to}, {place}, has no answer: {text}")
        }
        Blocker::Ambiguous(id) => {
            let message = model.world.unsettled.get(*id);
            let place = message.map_or_else(|| id.short().to_owned(), |of| entry(of.seq.0));
            format!("nobody knows whether {place} arrived")
        }
        Blocker::Artifact(claim) => {
            let (place, by) = (entry(claim.seq.0), party_of(&claim.by));
            let claimed = Blocker::claim(claim);
            format!("artifact, {place} by {}, is {claimed}", by.title())
        }
        Blocker::Finding(..) | Blocker::MoreFindings(_) => blocker.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::ui;
    use crate::deck::deck_about::DeckAbout;
    use crate::deck::followed::model::{self, DaemonLink, Model};
    use crate::deck::present::present;

    /// An entry with an id as the record has them.
    fn append(model: &mut Model, seq: u64, kind: &str, more: &Value) -> String {
        let id = format!("019c2f3a-5b6c-7d8e-9f01-{seq:012}");
        let mut line = json!({"schema": "v1", "id": id, "timestamp": 1_000 * seq, "sessionId": "s",
            "type": kind, "seq": seq, "source": "codex", "content": "words"});
        let more = more.as_object().unwrap().clone();
        line.as_object_mut().unwrap().extend(more);
        assert!(model.append(&model::entry(line, None).unwrap()));
        id
    }

    #[test]
    fn what_blocks_a_proposal_is_named_as_it_is_elsewhere_in_the_deck() {
        let mut model = Model::new(DaemonLink::Hosting, DeckAbout::default());
        let to_claude = json!({"target": "claude", "handoff": {"reason": "", "onBusy": "queue"}});
        append(&mut model, 1_001, "handoff", &to_claude);
        append(&mut model, 1_002, "note", &json!({"noteKind": "blocker"}));
        let asks =
            json!({"target": "claude", "message": {"onBusy": "queue", "requireReply": true}});
        append(&mut model, 1_003, "message", &asks);
        let tests = json!({"artifact": {"kind": "test_report", "title": "all tests",
            "status": "failed"}});
        append(&mut model, 1_004, "artifact", &tests);
        let asks_nothing = json!({"target": "claude",
            "message": {"onBusy": "queue", "requireReply": false}});
        let id = append(&mut model, 1_005, "message", &asks_nothing);
        let unclear = json!({"source": "system", "runtimeEvent": {"kind": "message_delivery",
            "status": "ambiguous", "messageId": id, "to": "claude"}});
        append(&mut model, 1_006, "runtime_event", &unclear);
        let proposal = json!({"finality": {"summary": "done", "evidence": []}});
        append(&mut model, 1_007, "finality_proposal", &proposal);
        let inbox = present(&model, 0).inbox;
        let card = inbox.iter().find(|card| card.seq == Some(1_007)).unwrap();
        let named = |blocker: &ui::NamedEntry| (blocker.text.clone(), blocker.line);
        let named: Vec<_> = card.blockers.iter().map(named).collect();
        assert_eq!(
            named,
            [
                ("blocker note, entry 1 002 by Codex: words", 1_002),
                ("handoff h1001 is open: words", 1_001),
                (
                    "question of Codex to Claude, entry 1 003, has no answer: words",
                    1_003
                ),
                ("nobody knows whether entry 1 005 arrived", 1_005),
                (
                    "artifact, entry 1 004 by Codex, is failed: all tests",
                    1_004
                ),
            ]
            .map(|(text, line)| (text.to_owned(), Some(line)))
        );
    }

    #[test]
    fn findings_that_are_not_named_are_counted_as_many_as_they_are() {
        let mut model = Model::new(DaemonLink::Hosting, DeckAbout::default());
        for number in 1..=30 {
            let facts = json!({"review": "r", "title": "x", "severity": "high",
                "severityBy": "badge", "author": "bot", "digest": ""});
            let finding = json!({"source": "system", "artifact": {"kind": "review_finding",
                "finding": format!("gh:rc:{number}"), "step": "imported", "facts": facts}});
            append(&mut model, number, "artifact", &finding);
        }
        let proposal = json!({"finality": {"summary": "done", "evidence": []}});
        append(&mut model, 31, "finality_proposal", &proposal);
        let inbox = present(&model, 0).inbox;
        let card = inbox.iter().find(|card| card.seq == Some(31)).unwrap();
        assert_eq!(card.blocker_count(), 30);
        let told = |blocker: &ui::NamedEntry| blocker.text.starts_with("review finding gh:rc:");
        assert!(card.blockers.iter().all(told), "{:?}", card.blockers);
    }
}
