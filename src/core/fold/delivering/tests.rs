use serde_json::{Map, Value, json};

use crate::agent::{Agent, Party};
use crate::entry::{Entry, SENT_AGAIN};
use crate::fold::fold;
use crate::id::{EntryId, Seq};
use crate::snapshot::{RECENT_MAX, Snapshot};
use crate::wire::line::parse;

/// Lines of a record, one after the other.
#[derive(Default)]
struct Record(Snapshot);

impl Record {
    fn put(&mut self, id: &str, kind: &str, more: Value) -> &mut Self {
        let seq = self.0.seq.0 + 1;
        let mut line = json!({"schema": "v1", "id": id, "timestamp": seq, "sessionId": "s",
            "type": kind, "content": "a text", "seq": seq});
        let more: Map<String, Value> = serde_json::from_value(more).unwrap();
        line.as_object_mut().unwrap().extend(more);
        fold(&mut self.0, &read(&line));
        self
    }

    /// Claude hands something over, or asks, and Codex has it in a turn.
    fn begun(&mut self, id: &str, is_handoff: bool) -> &mut Self {
        let (kind, detail) = match is_handoff {
            true => (
                "handoff",
                json!({"ask": "sort the pears", "onBusy": "queue"}),
            ),
            false => ("message", json!({"onBusy": "queue", "requireReply": true})),
        };
        let said = json!({"source": "claude", "target": "codex", kind: detail});
        self.put(id, kind, said);
        let shown = json!({"kind": "message_delivery", "status": "confirmed", "messageId": id,
            "to": "codex", "rung": "queue", "turnId": "t1"});
        let shown = json!({"source": "system", "target": "codex", "runtimeEvent": shown});
        self.put(&format!("{id}-shown"), "runtime_event", shown)
    }

    fn ended(&mut self, status: &str, meta: Value) -> &mut Self {
        self.turn("t1", status, meta)
    }

    fn turn(&mut self, id: &str, status: &str, meta: Value) -> &mut Self {
        let turn = json!({"kind": "turn", "status": status, "threadId": "th", "turnId": id,
            "startedBy": "claude"});
        let turn = json!({"source": "codex", "runtimeEvent": turn, "meta": meta});
        self.put("end", "runtime_event", turn)
    }

    fn daemon_starts(&mut self) -> &mut Self {
        let event = json!({"kind": "lifecycle", "status": "ok", "event": "daemon_started"});
        let began = json!({"source": "system", "runtimeEvent": event});
        self.put("start", "runtime_event", began)
    }

    fn codex_says(&mut self, in_reply_to: Option<&str>, handles: &[&str], meta: Value) {
        let message = json!({"onBusy": "queue", "requireReply": false, "inReplyTo": in_reply_to});
        let said = json!({"source": "codex", "target": "claude", "message": message,
            "handles_handoff_ids": handles, "meta": meta});
        self.put("answer", "message", said);
    }

    fn cut_off(&self) -> Vec<&str> {
        self.0.cut_off.keys().map(EntryId::as_str).collect()
    }
}

fn read(line: &Value) -> Entry {
    parse(line.to_string().as_bytes()).unwrap().entry
}

#[test]
fn what_is_closed_in_its_turn_or_behind_it_is_not_cut_off() {
    for ends in ["failed", "interrupted"] {
        for (is_handoff, in_reply_to, handles) in
            [(false, Some("a"), &[][..]), (true, None, &["a"][..])]
        {
            let mut record = Record::default();
            record.begun("a", is_handoff).begun("b", is_handoff);
            record.codex_says(in_reply_to, handles, json!({}));
            let mut died = Record(record.0.clone());
            assert_eq!(record.ended(ends, json!({})).cut_off(), ["b"]);
            assert_eq!(died.daemon_starts().cut_off(), ["b"]);

            let mut record = Record::default();
            record.begun("a", is_handoff).begun("b", is_handoff);
            assert_eq!(record.ended(ends, json!({})).cut_off(), ["a", "b"]);
            record.codex_says(in_reply_to, handles, json!({}));
            assert_eq!(record.cut_off(), ["b"]);
        }
    }
}

#[test]
fn however_many_messages_lose_their_turn_each_can_be_sent_again() {
    let ids: Vec<String> = (0..2 * RECENT_MAX).map(|n| format!("m{n:03}")).collect();
    let mut record = Record::default();
    for id in &ids {
        record.begun(id, false);
    }
    // All in one turn, or each in its own.
    assert_eq!(record.ended("failed", json!({})).cut_off(), ids);
    let mut record = Record::default();
    for id in &ids {
        record.begun(id, false).ended("failed", json!({}));
    }
    assert_eq!(record.cut_off(), ids);
    // One that is sent again is on its way as any other.
    let again = json!({"kind": "message_delivery", "status": "requeued", "messageId": ids[0],
        "to": "codex"});
    let again = json!({"source": "system", "target": "codex", "runtimeEvent": again});
    record.put("again", "runtime_event", again);
    assert_eq!(record.cut_off(), ids[1..]);
    assert!(record.0.unsettled.contains_key(&EntryId::new(&*ids[0])));
}

#[test]
fn a_turn_that_ended_behind_its_daemon_has_cut_nothing_off_where_it_came_to_its_end() {
    let unended = |record: &Record| record.0.agent(Agent::Codex).unended_turn.clone();
    let had = |record: &Record| -> Vec<String> {
        let had = record.0.had_by(&"t1".into());
        had.iter().map(|(id, _)| id.to_string()).collect()
    };
    let mut record = Record::default();
    record.turn("t1", "inProgress", json!({}));
    record.begun("b", false).begun("a", true);
    let running = Some(("th".into(), "t1".into()));
    // Whatever is said of Codex meanwhile, it lacks its end.
    for state in ["idle", "offline"] {
        let event = json!({"kind": "agent_state", "agent": "codex", "status": state});
        let event = json!({"source": "system", "runtimeEvent": event});
        record.put(state, "runtime_event", event);
        assert_eq!(unended(&record), running);
    }
    record.daemon_starts();
    assert_eq!(record.cut_off(), ["a", "b"]);
    assert_eq!(unended(&record), running);
    assert_eq!(had(&record), ["b", "a"]);
    record.turn("t0", "completed", json!({}));
    assert_eq!(unended(&record), running);
    for (ends, cut_off) in [("completed", &[][..]), ("failed", &["a", "b"])] {
        let mut record = Record(record.0.clone());
        record.ended(ends, json!({SENT_AGAIN: "a"}));
        assert_eq!(record.cut_off(), cut_off);
        assert_eq!(unended(&record), None);
        let marked = record.0.cut_off.get(&EntryId::new("a"));
        assert!(marked.is_none_or(|message| message.will_be_sent_again));
    }
}

#[test]
fn what_is_closed_before_it_is_given_is_not_cut_off_and_what_is_opened_again_is() {
    let note = |handles: &str| json!({"source": "human", "noteKind": "note", "handles_handoff_ids": [handles]});
    let mut record = Record::default();
    let ask =
        json!({"source": "claude", "target": "codex", "handoff": {"ask": "x", "onBusy": "queue"}});
    record.put("a", "handoff", ask).put("n", "note", note("a"));
    assert!(record.0.unsettled[&EntryId::new("a")].closed);

    let mut record = Record::default();
    record.begun("a", true).put("n", "note", note("a"));
    let proposal = json!({"source": "codex", "finality": {"summary": "done", "evidence": ["it is"]},
        "handles_handoff_ids": ["a"]});
    let rejected = json!({"source": "human", "finality": {"proposalId": "p", "approved": false,
        "reason": "no"}, "handles_handoff_ids": ["a"]});
    record.put("p", "finality_proposal", proposal);
    record.put("d", "finality_decision", rejected);
    assert!(record.0.open_handoffs.contains_key(&EntryId::new("a")));
    assert_eq!(record.ended("failed", json!({})).cut_off(), ["a"]);
}

#[test]
fn the_record_says_which_claude_a_turn_has_answered() {
    let answered = |meta: Value| {
        let mut record = Record::default();
        record.begun("a", true);
        record.codex_says(None, &[], meta);
        record.0.in_turn[&EntryId::new("a")].1.answered_in_turn
    };
    assert!(answered(json!({"answeredTurn": "t1"})));
    assert!(answered(
        json!({"answeredTurn": "t1", "runtimeSessionId": "default"})
    ));
    for other in [
        json!({}),
        json!({"answeredTurn": "t2"}),
        json!({"answeredTurn": true}),
        json!({"answeredTurn": "t1", "runtimeSessionId": "second"}),
    ] {
        assert!(!answered(other.clone()), "{other}");
    }
}

#[test]
fn what_is_to_be_sent_again_is_marked_until_it_is_or_its_sender_knows() {
    let marked = |record: &Record| record.0.cut_off[&EntryId::new("a")].will_be_sent_again;
    let mut record = Record::default();
    record.begun("a", false).begun("b", false);
    record.ended("failed", json!({SENT_AGAIN: "a"}));
    assert!(marked(&record));
    assert!(!record.0.cut_off[&EntryId::new("b")].will_be_sent_again);

    let mut requeued = Record(record.0.clone());
    let event =
        json!({"kind": "message_delivery", "status": "requeued", "messageId": "a", "to": "codex"});
    requeued.put(
        "r",
        "runtime_event",
        json!({"source": "system", "runtimeEvent": event}),
    );
    assert!(!requeued.0.unsettled[&EntryId::new("a")].will_be_sent_again);

    // Nobody is left who would: a clone's sender is not told, and nor is it with the start after.
    let mut started = Record(record.0.clone());
    started.daemon_starts();
    assert!(!marked(&started));
    assert_eq!(started.cut_off(), ["a", "b"]);

    // Its own words about it change nothing; ours are to its sender.
    for (source, is_marked) in [("claude", true), ("system", false)] {
        let message = json!({"onBusy": "queue", "requireReply": false, "inReplyTo": "a"});
        let said = json!({"source": source, "target": "claude", "message": message});
        record.put(source, "message", said);
        assert_eq!(marked(&record), is_marked, "{source}");
    }
    assert_eq!(record.cut_off(), ["a", "b"]);
    let to = record.0.unsettled[&EntryId::new("system")].to;
    assert_eq!(Party::Agent(to), Party::Agent(Agent::Claude));
}

#[test]
fn somebody_elses_word_that_the_operator_closed_a_message_is_not_believed() {
    let said = json!({"schema": "v1", "id": "m", "timestamp": 1, "sessionId": "s", "seq": 1,
        "type": "message", "content": "a text", "source": "claude", "target": "codex",
        "kind": {"onBusy": "queue", "requireReply": true}});
    for (foreign_through, closed_by, is_believed) in [
        (0, Party::Human, true),
        (1, Party::Human, false),
        (1, Party::Agent(Agent::Claude), true),
    ] {
        let mut entry = read(&said);
        let carried = json!({"sessionId": "before", "seq": 1, "closedBy": closed_by});
        entry.carried = serde_json::from_value(carried).unwrap();
        let mut world = Snapshot {
            foreign_through: Seq(foreign_through),
            ..Snapshot::default()
        };
        fold(&mut world, &entry);
        let message = &world.unsettled[&entry.id];
        assert_eq!(message.closed_by(), is_believed.then_some(closed_by));
    }
}
