use crate::agent::{Agent, Party};
use crate::entry::{
    ApprovalChoice, ApprovalEnd, ApprovalKind, ApprovalRecord, ApprovalRequest, ApprovalStep,
    ChoiceEffect, Entry, EntryKind, LifecycleEvent, Message, NoteKind, OnBusy,
};
use crate::fold::fold;
use crate::id::{EntryId, Seq, SessionId};
use crate::snapshot::Snapshot;

fn request() -> ApprovalRequest {
    let (key, subject) = ("T/call_1".to_owned(), "touch made.txt".to_owned());
    ApprovalRequest {
        choices: vec![ApprovalChoice::new(
            "accept",
            "allow once",
            ChoiceEffect::AllowOnce,
        )],
        ..ApprovalRequest::new(ApprovalKind::Command, key, subject)
    }
}

fn entry(seq: u64, source: Party, kind: EntryKind) -> Entry {
    Entry {
        id: EntryId::new(format!("e{seq}")),
        timestamp_ms: 1_000 + i64::try_from(seq).unwrap(),
        session_id: SessionId::new("session"),
        content: "Codex asks to run a command".to_owned(),
        seq: Seq(seq),
        ..Entry::new(source, kind)
    }
}

fn step(seq: u64, source: Party, agent: Agent, id: &str, step: ApprovalStep) -> Entry {
    let record = ApprovalRecord {
        approval_id: EntryId::new(id),
        agent,
        step,
    };
    entry(seq, source, EntryKind::Approval(record))
}

fn asked(world: &mut Snapshot, agent: Agent, id: &str) {
    let seq = world.seq.0 + 1;
    let asked = ApprovalStep::Asked(Box::new(request()));
    fold(world, &step(seq, Party::Agent(agent), agent, id, asked));
}

#[test]
fn a_request_waits_until_its_end_is_told_also_when_the_operator_has_answered() {
    let mut world = Snapshot::default();
    asked(&mut world, Agent::Codex, "a");
    let id = EntryId::new("a");
    assert_eq!(world.open_approvals[&id].request, request());
    assert_eq!(world.open_approvals[&id].at_ms, 1_001);
    let given = ApprovalStep::Given {
        choice: "accept".to_owned(),
        note: None,
    };
    fold(&mut world, &step(2, Party::Human, Agent::Codex, "a", given));
    let given = Some(("accept".to_owned(), 1_002));
    assert_eq!(world.open_approvals[&id].given, given);
    // One that reached nobody was none, as the daemon alone can tell.
    for (seq, by, left) in [
        (3, Party::Agent(Agent::Codex), given),
        (4, Party::System, None),
    ] {
        let undelivered = ApprovalStep::Undelivered;
        fold(&mut world, &step(seq, by, Agent::Codex, "a", undelivered));
        assert_eq!(world.open_approvals[&id].given, left);
    }
    let end = ApprovalStep::Ended(ApprovalEnd::Answered);
    fold(&mut world, &step(5, Party::System, Agent::Codex, "a", end));
    assert!(world.open_approvals.is_empty());
}

#[test]
fn the_operators_message_in_reply_to_a_question_ends_it_and_nobody_elses_does() {
    let mut world = Snapshot::default();
    let question = ApprovalRequest {
        kind: ApprovalKind::UserQuestion,
        ..request()
    };
    let claude = Party::Agent(Agent::Claude);
    let ask = |seq, id, request| {
        let asked = ApprovalStep::Asked(Box::new(request));
        step(seq, claude.clone(), Agent::Claude, id, asked)
    };
    fold(&mut world, &ask(1, "q", question));
    fold(&mut world, &ask(2, "a", request()));
    let said = |seq, by: Party, to: Agent, id: &str| {
        let message = EntryKind::Message(Message {
            in_reply_to: Some(EntryId::new(id)),
            ..Message::new(OnBusy::Queue)
        });
        Entry {
            target: Some(Party::Agent(to)),
            ..entry(seq, by, message)
        }
    };
    let both = world.open_approvals.clone();
    let codex = Party::Agent(Agent::Codex);
    fold(&mut world, &said(3, codex, Agent::Claude, "q"));
    fold(&mut world, &said(4, Party::Human, Agent::Codex, "q"));
    // A vendor's request hangs on its call.
    fold(&mut world, &said(5, Party::Human, Agent::Claude, "a"));
    assert_eq!(world.open_approvals, both);
    fold(&mut world, &said(6, Party::Human, Agent::Claude, "q"));
    let open: Vec<_> = world.open_approvals.keys().cloned().collect();
    assert_eq!(open, [EntryId::new("a")]);
}

#[test]
fn an_agent_neither_answers_a_request_nor_makes_one_up_nor_ends_one() {
    let mut world = Snapshot::default();
    asked(&mut world, Agent::Codex, "a");
    let before = world.open_approvals.clone();
    let given = ApprovalStep::Given {
        choice: "accept".to_owned(),
        note: None,
    };
    let forged = [
        ("a", given.clone(), Party::Agent(Agent::Claude)),
        ("a", given, Party::System),
        (
            "b",
            ApprovalStep::Asked(Box::new(request())),
            Party::Agent(Agent::Claude),
        ),
        ("a", ApprovalStep::Ended(ApprovalEnd::Lost), Party::Human),
        (
            "a",
            ApprovalStep::Ended(ApprovalEnd::Answered),
            Party::Agent(Agent::Codex),
        ),
    ];
    for (n, (id, forged, by)) in (2..).zip(forged) {
        fold(&mut world, &step(n, by, Agent::Codex, id, forged));
        assert_eq!(world.open_approvals, before);
    }
}

#[test]
fn what_hung_on_a_daemon_ends_with_it_and_codex_outlives_a_takeover() {
    let mut world = Snapshot::default();
    asked(&mut world, Agent::Codex, "a");
    asked(&mut world, Agent::Claude, "b");
    let taken_over = EntryKind::from(LifecycleEvent::DaemonTakenOver);
    fold(&mut world, &entry(3, Party::System, taken_over));
    let open: Vec<_> = world
        .open_approvals
        .values()
        .map(|asked| asked.agent)
        .collect();
    assert_eq!(open, [Agent::Codex]);
    let started = EntryKind::from(LifecycleEvent::DaemonStarted);
    fold(&mut world, &entry(4, Party::System, started));
    assert!(world.open_approvals.is_empty());
}

#[test]
fn a_question_to_the_person_waits_on_whatever_becomes_of_the_daemon_that_was_asked() {
    let mut world = Snapshot::default();
    for (seq, agent) in [(1, Agent::Claude), (2, Agent::Codex)] {
        let question = ApprovalRequest {
            kind: ApprovalKind::UserQuestion,
            ..request()
        };
        let asked = ApprovalStep::Asked(Box::new(question));
        let by = Party::Agent(agent);
        fold(&mut world, &step(seq, by, agent, agent.as_str(), asked));
    }
    for (seq, event) in [
        (3, LifecycleEvent::DaemonTakenOver),
        (4, LifecycleEvent::DaemonStarted),
    ] {
        fold(&mut world, &entry(seq, Party::System, event.into()));
        assert_eq!(world.open_approvals.len(), 2);
    }
}

#[test]
fn an_agent_takes_back_its_own_question_and_nothing_else() {
    let mut world = Snapshot::default();
    let question = ApprovalRequest {
        kind: ApprovalKind::UserQuestion,
        ..request()
    };
    let ask = ApprovalStep::Asked(Box::new(question));
    let by = Party::Agent(Agent::Claude);
    fold(&mut world, &step(1, by.clone(), Agent::Claude, "q", ask));
    asked(&mut world, Agent::Claude, "a");
    let note = |seq, by, id: &str| {
        let note = EntryKind::Note {
            note: NoteKind::Note,
            handles: Vec::new(),
            withdraws: Some(EntryId::new(id)),
        };
        entry(seq, by, note)
    };
    let both = world.open_approvals.clone();
    fold(&mut world, &note(3, Party::Agent(Agent::Codex), "q"));
    fold(&mut world, &note(4, Party::Human, "q"));
    // A vendor's request hangs on its call.
    fold(&mut world, &note(5, by.clone(), "a"));
    assert_eq!(world.open_approvals, both);
    fold(&mut world, &note(6, by, "q"));
    let open: Vec<_> = world.open_approvals.keys().cloned().collect();
    assert_eq!(open, [EntryId::new("a")]);
}
