//! The exit code of each word, and the text of a failure.

use super::*;

fn kind(code: &str) -> ExitKind {
    Failure::from(Refusal::new(RefusalCode::from(code), "why", "what now")).kind
}

#[test]
fn a_verb_that_ends_does_not_say_that_it_keeps_trying() {
    for lost in [
        ClientError::Unreachable("it was killed".to_owned()),
        ClientError::Killed,
    ] {
        let goes_on = lost.to_refusal().hint;
        let failure = Failure::from(lost);
        assert_eq!(failure.kind, ExitKind::Unavailable, "{failure:?}");
        assert!(!failure.hint.contains("this client"), "{failure:?}");
        assert!(goes_on.contains("this client"), "{goes_on}");
    }
}

#[test]
fn a_refusal_of_the_daemon_has_the_exit_code_of_its_word() {
    let table: [(u8, &[&str]); 6] = [
        (1, &["internal", "writer_gone", "a_word_of_a_later_version"]),
        (2, &["invalid_arguments", "too_large"]),
        (
            3,
            &[
                "blob_altered",
                "blob_missing",
                "blob_unreadable",
                "clear_failed",
                "disk_low",
                "entry_refused",
                "folder_lost",
                "head_unwritable",
                "in_flight",
                "ledger_unreadable",
                "ledger_unwritable",
                "long_texts_full",
                "new_blockers",
                "no_process",
                "no_project",
                "no_such_turn",
                "not_found",
                "not_from_here",
                "not_limited",
                "not_silent",
                "nothing_cut_off",
                "queue_unwritable",
                "rebuild_failed",
                "record_altered",
                "search_failed",
                "stale_config",
                "stale_session",
                "stale_tree",
                "trust_failed",
                "wrong_state",
            ],
        ),
        (
            4,
            &[
                "busy",
                "cancelled",
                "cannot_take_over",
                "codex_refused",
                "codex_unavailable",
                "daemon_ended",
                "daemon_moving",
                "daemon_stopping",
                "daemon_unreachable",
                "hosted_by_deck",
                "no_hello",
                "not_handed_over",
                "overloaded",
                "protocol",
                "protocol_version",
                "queue_full",
                "successor_failed",
                "too_many_clients",
                "too_many_waiters",
                "unanswered",
                "rpc-32601",
                "rpc-32700",
            ],
        ),
        (
            5,
            &["not_signed", "operator_only", "rejected", "wrong_role"],
        ),
        (6, &["gates_not_green"]),
    ];
    let told: usize = table.iter().map(|(_, codes)| codes.len()).sum();
    assert_eq!(
        told,
        RefusalCode::ALL.len() + 3,
        "every code, and three of others"
    );
    for (exit, codes) in table {
        for code in codes {
            assert_eq!(kind(code).code(), exit, "{code}");
        }
    }
}

#[test]
fn a_takeover_that_fails_has_the_exit_code_of_its_reason() {
    let nobody = || io::Error::from(io::ErrorKind::NotFound);
    let not_started = NextDaemonError::NotStarted {
        program: "/bin/ctxrelay".into(),
        source: nobody(),
    };
    let refused = Refusal::new(RefusalCode::LedgerUnwritable, "not now", "make room");
    let version = NextDaemonError::OtherVersion {
        program: "/bin/ctxrelay".into(),
        version: "version 0".to_owned(),
    };
    for (failure, exit, code) in [
        (Failure::from(version), 4, "cannot_take_over"),
        (not_started.into(), 1, "internal"),
        (
            NextDaemonError::Refused(refused).into(),
            3,
            "ledger_unwritable",
        ),
        (NextDaemonError::NotHandedOver.into(), 4, "not_handed_over"),
        (
            NextDaemonError::NotUp("it ended".to_owned()).into(),
            4,
            "successor_failed",
        ),
        (
            NextDaemonError::NotKept(StartError::Owned).into(),
            4,
            "already_running",
        ),
        (
            NextDaemonError::NotKept(StartError::NotYielded).into(),
            3,
            "not_yielded",
        ),
        (
            TakeoverError::Nobody(nobody()).into(),
            2,
            "nothing_to_take_over",
        ),
        (TakeoverError::NotOwned.into(), 1, "internal"),
    ] {
        assert_eq!(failure.kind.code(), exit, "{failure}");
        assert_eq!(failure.code.to_string(), code, "{failure}");
        assert!(!failure.hint.is_empty(), "{failure}");
    }
}

#[test]
fn a_full_disk_behind_standard_output_is_no_fault_of_ours() {
    for (kind, exit) in [
        (io::ErrorKind::StorageFull, 3),
        (io::ErrorKind::QuotaExceeded, 3),
        (io::ErrorKind::BrokenPipe, 0),
        (io::ErrorKind::Other, 1),
    ] {
        let failure = Failure::from_output(&kind.into());
        assert_eq!(failure.kind.code(), exit, "{kind}");
    }
}

#[test]
fn an_answer_that_is_not_understood_is_a_daemon_that_is_not_there() {
    for error in [
        ClientError::Protocol("no result".to_owned()),
        ClientError::Unanswered,
        ClientError::Unreachable("no".to_owned()),
        ClientError::Killed,
    ] {
        assert_eq!(Failure::from(error.clone()).kind.code(), 4, "{error}");
    }
}
