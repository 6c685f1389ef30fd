use crate::agent::{Agent, Party};
use crate::entry::{
    Artifact, ArtifactKind, ArtifactStatus, DeliveryRecord, DeliveryResult, Entry, EntryKind,
    FinalityDecision, FinalityProposal, Handoff, Message, NoteKind, OnBusy,
};
use crate::fold::fold;
use crate::id::{EntryId, RuntimeSession, Seq, SessionId};
use crate::snapshot::{RECENT_MAX, Snapshot};

/// A world and what is put into it.
#[derive(Default)]
struct Record(Snapshot);

impl Record {
    fn put(&mut self, id: &str, from: Party, to: Option<Party>, kind: EntryKind) -> &mut Self {
        self.put_in("default", id, from, to, kind)
    }

    fn put_in(
        &mut self,
        pair: &str,
        id: &str,
        source: Party,
        target: Option<Party>,
        kind: EntryKind,
    ) -> &mut Self {
        let entry = Entry {
            id: EntryId::new(id),
            timestamp_ms: 1,
            session_id: SessionId::new("session"),
            target,
            content: "a  text\nof two lines".to_owned(),
            runtime_session: Some(RuntimeSession::new(pair)),
            seq: Seq(self.0.seq.0 + 1),
            ..Entry::new(source, kind)
        };
        fold(&mut self.0, &entry);
        self
    }

    fn codex_asks(&mut self) -> &mut Self {
        self.put("question", codex(), Some(claude()), question())
    }

    fn open(&self) -> Vec<&str> {
        let open = self.0.open_questions.values();
        open.map(|question| question.id.as_str()).collect()
    }
}

fn claude() -> Party {
    Agent::Claude.into()
}

fn codex() -> Party {
    Agent::Codex.into()
}

fn message(in_reply_to: Option<&str>, handles: &[&str], require_reply: bool) -> EntryKind {
    EntryKind::Message(Message {
        require_reply,
        handles: handles.iter().map(|id| EntryId::new(*id)).collect(),
        in_reply_to: in_reply_to.map(EntryId::new),
        ..Message::new(OnBusy::Queue)
    })
}

fn question() -> EntryKind {
    message(None, &[], true)
}

fn handoff(handles: &[&str]) -> EntryKind {
    EntryKind::Handoff(Handoff {
        handles: handles.iter().map(|id| EntryId::new(*id)).collect(),
        ..Handoff::default()
    })
}

fn withdrawal(proposal: &str) -> EntryKind {
    EntryKind::Note {
        note: NoteKind::Note,
        handles: Vec::new(),
        withdraws: Some(EntryId::new(proposal)),
    }
}

fn note(note: NoteKind, handles: &[&str]) -> EntryKind {
    EntryKind::Note {
        note,
        handles: handles.iter().map(|id| EntryId::new(*id)).collect(),
        withdraws: None,
    }
}

fn proposal(handles: &[&str]) -> EntryKind {
    EntryKind::FinalityProposal(FinalityProposal {
        summary: "done".to_owned(),
        evidence: vec!["tests".to_owned()],
        handles: handles.iter().map(|id| EntryId::new(*id)).collect(),
        ..FinalityProposal::default()
    })
}

fn decision(approved: bool, handles: &[&str]) -> EntryKind {
    decision_on("proposal", approved, handles)
}

fn decision_on(proposal: &str, approved: bool, handles: &[&str]) -> EntryKind {
    EntryKind::FinalityDecision(FinalityDecision {
        reason: Some("because".to_owned()),
        handles: handles.iter().map(|id| EntryId::new(*id)).collect(),
        tells: Agent::ALL.to_vec(),
        ..FinalityDecision::of(EntryId::new(proposal), approved)
    })
}

#[test]
fn a_question_is_open_until_something_names_it() {
    let mut record = Record::default();
    record
        .codex_asks()
        .put("news", claude(), Some(codex()), message(None, &[], false))
        .put(
            "other",
            claude(),
            Some(codex()),
            message(Some("news"), &[], false),
        )
        .put("work", claude(), Some(codex()), handoff(&[]))
        .put("note", claude(), None, note(NoteKind::Note, &["question"]));
    assert_eq!(record.open(), ["question"]);
    assert_eq!(record.0.open_questions[&Seq(1)].text, "a text of two lines");
    record.put(
        "no",
        claude(),
        Some(codex()),
        message(Some("question"), &[], false),
    );
    assert!(record.open().is_empty());
}

#[test]
fn whatever_names_a_question_answers_it() {
    for answer in [
        message(None, &["question"], false),
        handoff(&["question"]),
        message(Some("question"), &[], true),
    ] {
        let mut record = Record::default();
        record
            .codex_asks()
            .put("answer", claude(), Some(codex()), answer);
        assert!(!record.open().contains(&"question"));
    }
    // The one who asked says that it is settled.
    let mut record = Record::default();
    record.codex_asks();
    record.put(
        "done",
        codex(),
        None,
        note(NoteKind::Decision, &["question"]),
    );
    assert!(record.open().is_empty());
}

#[test]
fn nobody_else_answers_a_question_and_no_other_pair() {
    let mut record = Record::default();
    let names = || message(Some("question"), &[], false);
    record
        .codex_asks()
        .put("own", codex(), Some(claude()), names())
        .put("told", Party::Human, Some(codex()), names())
        .put_in("second", "far", claude(), Some(codex()), names())
        .put_in(
            "second",
            "noted",
            codex(),
            None,
            note(NoteKind::Note, &["question"]),
        );
    assert_eq!(record.open(), ["question"]);
    record.put(
        "over",
        Party::Human,
        None,
        note(NoteKind::Note, &["question"]),
    );
    assert!(record.open().is_empty(), "the operator's word ends it");
}

#[test]
fn a_rejection_opens_again_what_the_proposal_had_resolved() {
    let mut record = Record::default();
    for id in ["first", "second"] {
        record.put(id, claude(), Some(codex()), handoff(&[]));
    }
    record
        .put(
            "answer",
            codex(),
            Some(claude()),
            message(None, &["first", "second"], false),
        )
        .put(
            "proposal",
            claude(),
            Some(Party::Human),
            proposal(&["first"]),
        );
    assert_eq!(record.0.closed_handoffs_total, 2);
    record.put("no", Party::Human, Some(claude()), decision(false, &[]));
    let open: Vec<_> = record.0.open_handoffs.values().collect();
    assert_eq!(open.len(), 1);
    assert_eq!(open[0].id.as_str(), "first");
    assert!(open[0].handled_by.is_none());
    assert_eq!(record.0.closed_handoffs_total, 1);
    assert_eq!(record.0.closed_handoffs.len(), 1);
}

#[test]
fn a_rejection_opens_what_the_proposal_had_resolved_however_much_was_closed_since() {
    let answered = |record: &mut Record, id: &str| {
        let answer = message(None, &[id], false);
        record.put(id, claude(), Some(codex()), handoff(&[])).put(
            "answer",
            codex(),
            Some(claude()),
            answer,
        );
    };
    let mut record = Record::default();
    for id in ["before", "work"] {
        answered(&mut record, id);
    }
    record.put("proposal", codex(), Some(Party::Human), proposal(&["work"]));
    for n in 0..2 * RECENT_MAX {
        answered(&mut record, &format!("h-{n}"));
    }
    assert_eq!(record.0.closed_handoffs.len(), RECENT_MAX);
    assert_eq!(record.0.closed_handoffs[0].id.as_str(), "work");
    record.put("no", Party::Human, Some(codex()), decision(false, &[]));
    let open: Vec<&str> = record.0.open_handoffs.keys().map(EntryId::as_str).collect();
    assert_eq!(open, ["work"]);
}

#[test]
fn its_sender_closes_it_where_that_agent_says_so_or_proposed_what_is_approved() {
    fn closed_by_sender(says: impl Fn(&mut Record)) -> bool {
        let mut record = Record::default();
        record.put("work", claude(), Some(codex()), handoff(&[]));
        says(&mut record);
        let message = &record.0.unsettled[&EntryId::new("work")];
        assert!(message.closed);
        message.closed_by_sender
    }
    fn approved_by(record: &mut Record, agent: Party) {
        record
            .put("proposal", agent, Some(Party::Human), proposal(&["work"]))
            .put("yes", Party::Human, None, decision(true, &["work"]));
    }
    let closes = || note(NoteKind::Done, &["work"]);
    assert!(closed_by_sender(|record| {
        record.put("note", claude(), None, closes());
    }));
    assert!(closed_by_sender(|record| approved_by(record, claude())));
    assert!(!closed_by_sender(|record| approved_by(record, codex())));
    for other in [codex(), Party::Human] {
        assert!(!closed_by_sender(|record| {
            record.put("note", other.clone(), None, closes());
        }));
    }
    // The Claude of another pair did not send it.
    assert!(!closed_by_sender(|record| {
        record.put_in("second", "note", claude(), None, closes());
    }));
}

#[test]
fn what_the_operator_closes_is_theirs_until_they_want_it_once_more() {
    let mut record = Record::default();
    let closed = |record: &Record| {
        let message = &record.0.unsettled[&EntryId::new("work")];
        assert!(message.closed && !message.closed_by_sender);
        message.closed_by_operator
    };
    let closes = note(NoteKind::Note, &["work"]);
    record
        .put("work", claude(), Some(codex()), handoff(&[]))
        .put_in("second", "note", Party::Human, None, closes);
    assert!(closed(&record));
    for (entry, result, stays) in [
        ("lost", DeliveryResult::Ambiguous, true),
        ("again", DeliveryResult::Requeued, false),
    ] {
        let became = EntryKind::Delivery(DeliveryRecord {
            message_id: EntryId::new("work"),
            attempt_id: None,
            to: Agent::Codex,
            result,
            outcome: None,
            rung: None,
            turn_id: None,
            given: None,
        });
        record.put(entry, Party::System, None, became);
        assert_eq!(closed(&record), stays, "{entry}");
    }
}

#[test]
fn what_its_sender_took_back_is_work_of_nobodys_when_a_rejection_opens_it_again() {
    let mut record = Record::default();
    record
        .put("work", claude(), Some(codex()), handoff(&[]))
        .put("note", claude(), None, note(NoteKind::Done, &["work"]))
        .put(
            "back",
            Party::System,
            None,
            EntryKind::Delivery(DeliveryRecord {
                message_id: EntryId::new("work"),
                attempt_id: None,
                to: Agent::Codex,
                result: DeliveryResult::Cancelled,
                outcome: None,
                rung: None,
                turn_id: None,
                given: None,
            }),
        )
        .put(
            "proposal",
            claude(),
            Some(Party::Human),
            proposal(&["work"]),
        )
        .put("no", Party::Human, Some(claude()), decision(false, &[]));
    assert_eq!(record.0.open_handoffs.len(), 1, "the operator sees it");
    assert_eq!(record.0.standing_handoffs().count(), 0);
}

#[test]
fn a_decision_is_untold_until_each_agent_has_its_message() {
    let tells = || {
        EntryKind::Message(Message {
            decision: Some(EntryId::new("yes")),
            ..match message(Some("proposal"), &[], false) {
                EntryKind::Message(message) => message,
                _ => unreachable!("a message"),
            }
        })
    };
    let mut record = Record::default();
    record
        .put("proposal", claude(), Some(Party::Human), proposal(&[]))
        .put("yes", Party::Human, Some(claude()), decision(true, &[]))
        // It decides nothing, so there is nothing to tell.
        .put("no", Party::Human, Some(claude()), decision(false, &[]))
        .put("tells-1", Party::Human, Some(claude()), tells());
    let untold: Vec<_> = record.0.untold_decisions.iter().collect();
    assert_eq!(untold.len(), 1);
    assert_eq!(untold[0].0.as_str(), "yes");
    assert_eq!(untold[0].1.to, [Agent::Codex]);
    record.put("tells-2", Party::Human, Some(codex()), tells());
    assert!(record.0.untold_decisions.is_empty());
}

#[test]
fn a_handoff_that_its_receiver_never_got_stands_in_the_way_of_nothing_until_it_is_sent_again() {
    let became = |result| {
        EntryKind::Delivery(DeliveryRecord {
            message_id: EntryId::new("work"),
            attempt_id: None,
            to: Agent::Codex,
            result,
            outcome: None,
            rung: None,
            turn_id: None,
            given: None,
        })
    };
    let stands = |record: &Record| {
        let listed = record.0.blockers_except(&[]).len();
        assert_eq!(record.0.blocker_count(&[], 0), listed);
        assert_eq!(record.0.standing_handoffs().count(), listed);
        listed == 1
    };
    let mut record = Record::default();
    record.put("work", claude(), Some(codex()), handoff(&[]));
    assert!(stands(&record));
    // Taken back when it may have been read: somebody may be at work on it.
    let perhaps = [DeliveryResult::Ambiguous, DeliveryResult::Cancelled];
    for result in perhaps {
        record.put("perhaps", Party::System, None, became(result));
    }
    assert!(stands(&record));
    for result in [
        DeliveryResult::Rejected,
        DeliveryResult::Expired,
        DeliveryResult::Cancelled,
    ] {
        record.put("end", Party::System, None, became(result));
        assert!(!stands(&record), "{result:?}");
        assert_eq!(record.0.open_handoffs.len(), 1, "the operator sees it");
        record.put(
            "again",
            Party::System,
            None,
            became(DeliveryResult::Requeued),
        );
        assert!(stands(&record));
    }
    // What it has cannot be taken from it.
    record
        .put(
            "proof",
            Party::System,
            None,
            became(DeliveryResult::Confirmed),
        )
        .put(
            "late",
            Party::System,
            None,
            became(DeliveryResult::Cancelled),
        );
    assert!(stands(&record));
}

#[test]
fn a_blocker_stands_until_it_is_named_or_what_it_holds_up_is_over() {
    let blockers = |record: &Record| -> Vec<String> {
        let open = record.0.open_blockers.iter();
        open.map(|blocker| blocker.id.to_string()).collect()
    };
    let mut record = Record::default();
    record
        .put("work", claude(), Some(codex()), handoff(&[]))
        .put("db", codex(), None, note(NoteKind::Blocker, &["work"]))
        .put("key", codex(), None, note(NoteKind::Blocker, &[]))
        .put("more", codex(), None, note(NoteKind::Blocker, &["key"]));
    assert_eq!(blockers(&record), ["db", "key", "more"]);
    assert_eq!(record.0.entries_of_blockers().count(), 3);
    // The first goes with its handoff.
    assert_eq!(record.0.entries_of_own_blockers().count(), 2);
    let EntryKind::FinalityProposal(plain) = proposal(&[]) else {
        unreachable!("a proposal");
    };
    record.codex_asks();
    assert_eq!(
        record.0.blockers(&plain),
        [
            "blocker note db by codex stands: a text of two lines",
            "blocker note key by codex stands: a text of two lines",
            "blocker note more by codex stands: a text of two lines",
            "handoff work is open: a text of two lines",
            "question question of codex to claude has no answer: a text of two lines",
        ]
    );
    record.put("fixed", claude(), None, note(NoteKind::Note, &["key"]));
    assert_eq!(blockers(&record), ["db", "more"]);
    record.put(
        "done",
        codex(),
        Some(claude()),
        message(None, &["work"], false),
    );
    assert_eq!(blockers(&record), ["more"]);
    record
        .put("proposal", claude(), Some(Party::Human), proposal(&[]))
        .put("yes", Party::Human, Some(claude()), decision(true, &[]));
    assert!(blockers(&record).is_empty());
}

#[test]
fn no_number_of_later_blockers_pushes_one_out_that_nobody_lifted() {
    let mut record = Record::default();
    record.put("first", codex(), None, note(NoteKind::Blocker, &[]));
    let later: Vec<String> = (0..2 * RECENT_MAX).map(|n| format!("later-{n}")).collect();
    for id in &later {
        record.put(id, codex(), None, note(NoteKind::Blocker, &[]));
    }
    for id in &later {
        record.put("settled", codex(), None, note(NoteKind::Done, &[id]));
    }
    assert_eq!(
        record.0.blockers_except(&[]),
        ["blocker note first by codex stands: a text of two lines"]
    );
}

fn failed() -> EntryKind {
    EntryKind::Artifact(Artifact {
        kind: ArtifactKind::from("tests".to_owned()),
        title: "load".to_owned(),
        status: ArtifactStatus::Failed,
        ..Artifact::default()
    })
}

#[test]
fn an_approval_ends_what_the_operator_saw_and_no_blocker_behind_that() {
    let mut record = Record::default();
    record
        .put("proposal", claude(), Some(Party::Human), proposal(&[]))
        .put("seen", codex(), None, note(NoteKind::Blocker, &[]));
    let seen = record.0.seq;
    record
        .put("stop", codex(), None, note(NoteKind::Blocker, &[]))
        .put("red", codex(), None, failed());
    let since: Vec<String> = record
        .0
        .blockers_since(seen)
        .map(|it| it.to_string())
        .collect();
    assert_eq!(
        since,
        [
            "blocker note stop by codex stands: a text of two lines",
            "artifact red by codex is failed: load",
        ]
    );
    let EntryKind::FinalityDecision(mut yes) = decision(true, &[]) else {
        unreachable!("a decision");
    };
    yes.seen = Some(seen);
    let yes = EntryKind::FinalityDecision(yes);
    record.put("yes", Party::Human, Some(claude()), yes);
    let EntryKind::FinalityProposal(plain) = proposal(&[]) else {
        unreachable!("a proposal");
    };
    assert_eq!(record.0.blockers(&plain), since);
    // A compaction has them behind the approval, which ends all that stands before it there.
    let mut carried: Vec<Seq> = (1..=record.0.seq.0).map(Seq).collect();
    carried.sort_by_key(|seq| record.0.place_when_carried(*seq));
    assert_eq!(carried, [1, 2, 5, 3, 4].map(Seq));
}

#[test]
fn an_approval_judges_nothing_that_comes_later_and_leaves_what_an_earlier_one_has_judged() {
    let approval = |of: &str, seen: u64| {
        let mut yes = FinalityDecision::of(EntryId::new(of), true);
        yes.seen = Some(Seq(seen));
        EntryKind::FinalityDecision(yes)
    };
    let mut record = Record::default();
    for proposal_id in ["one", "two", "three"] {
        record.put(proposal_id, claude(), Some(Party::Human), proposal(&[]));
    }
    record.put("red", codex(), None, failed());
    record.put("yes-1", Party::Human, Some(claude()), approval("one", 4));
    // Asked before it failed.
    record.put("yes-2", Party::Human, Some(claude()), approval("two", 3));
    assert_eq!(record.0.failed_artifacts().count(), 0);
    // Of a record that was longer.
    record.put("yes-3", Party::Human, Some(claude()), approval("three", 90));
    record.put("red-2", codex(), None, failed());
    assert_eq!(record.0.failed_artifacts().count(), 1);
}

fn state(world: &Snapshot, proposal: &str) -> String {
    let proposal = world.proposal(&EntryId::new(proposal));
    proposal.unwrap().state().to_string()
}

#[test]
fn an_agent_takes_back_its_own_proposal_and_no_other() {
    let mut record = Record::default();
    record.put("proposal", claude(), None, proposal(&[])).put(
        "n-1",
        codex(),
        None,
        withdrawal("proposal"),
    );
    assert_eq!(state(&record.0, "proposal"), "pending");
    record.put("n-2", claude(), None, withdrawal("proposal"));
    assert_eq!(state(&record.0, "proposal"), "withdrawn");
    assert!(record.0.pending_proposals.is_empty());
}

#[test]
fn a_later_proposal_for_the_same_handoffs_takes_the_place_of_an_earlier_one() {
    let mut record = Record::default();
    record
        .put("h", codex(), Some(claude()), handoff(&[]))
        .put("other", claude(), None, proposal(&[]))
        .put("first", claude(), None, proposal(&["h"]))
        .put_in("second pair", "elsewhere", claude(), None, proposal(&["h"]))
        .put("later", codex(), None, proposal(&["h", "and more"]));
    assert_eq!(state(&record.0, "first"), "superseded");
    for id in ["other", "elsewhere", "later"] {
        assert_eq!(state(&record.0, id), "pending", "{id}");
    }
}

#[test]
fn a_decision_that_the_record_has_stands_above_an_end_without_one() {
    let mut record = Record::default();
    record
        .put("h", codex(), Some(claude()), handoff(&[]))
        .put("first", claude(), None, proposal(&["h"]))
        .put("later", claude(), None, proposal(&["h"]))
        .put(
            "yes",
            Party::Human,
            Some(claude()),
            decision_on("first", true, &["h"]),
        );
    assert_eq!(state(&record.0, "first"), "approved");
    assert!(record.0.ended_proposals.is_empty());
    record.put("n", claude(), None, withdrawal("first")).put(
        "no",
        Party::Human,
        Some(claude()),
        decision_on("first", false, &[]),
    );
    assert_eq!(
        state(&record.0, "first"),
        "approved",
        "the first decision stands"
    );
}
