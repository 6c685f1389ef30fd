//! [`Refusal`]: why something is not done, and [`RefusalCode`]: the stable word for it.

use serde::{Deserialize, Serialize};

use crate::delivery::HeldTooMuch;
use crate::word::words;

words! {
    /// The stable word of a refusal, for programs. What it means for a person stands in the
    /// sentence beside it.
    pub enum RefusalCode {
        /// A long text's file is not as it was written.
        BlobAltered = "blob_altered",
        /// A long text's file is not there.
        BlobMissing = "blob_missing",
        /// A long text's file cannot be read.
        BlobUnreadable = "blob_unreadable",
        /// The record changes faster than it can be read.
        Busy = "busy",
        /// The caller took its call back.
        Cancelled = "cancelled",
        /// The other program is of a version that cannot take over from this one.
        CannotTakeOver = "cannot_take_over",
        /// The session's end could not be written.
        ClearFailed = "clear_failed",
        CodexRefused = "codex_refused",
        /// No app-server takes requests.
        CodexUnavailable = "codex_unavailable",
        /// The daemon has ended.
        DaemonEnded = "daemon_ended",
        /// The daemon goes over to another process and has not read the call: it may be repeated.
        DaemonMoving = "daemon_moving",
        /// The daemon is about to end.
        DaemonStopping = "daemon_stopping",
        /// No daemon answers.
        DaemonUnreachable = "daemon_unreachable",
        /// The disk has too little room for this.
        DiskLow = "disk_low",
        /// This entry can never be written, however much room there is.
        EntryRefused = "entry_refused",
        /// The project's folder was removed or renamed.
        FolderLost = "folder_lost",
        /// A required gate is not green on the work tree of now.
        GatesNotGreen = "gates_not_green",
        /// What vouches for the record outside of the project could not be written.
        HeadUnwritable = "head_unwritable",
        /// The daemon is part of a deck, which has to be left.
        HostedByDeck = "hosted_by_deck",
        /// The same thing, or what it depends on, is on its way.
        InFlight = "in_flight",
        /// A fault of ours.
        Internal = "internal",
        /// What was asked makes no sense.
        InvalidArguments = "invalid_arguments",
        /// The record cannot be read.
        LedgerUnreadable = "ledger_unreadable",
        /// The record cannot be written.
        LedgerUnwritable = "ledger_unwritable",
        /// The long texts have used up their quota.
        LongTextsFull = "long_texts_full",
        /// What stands in the way was recorded after the operator looked.
        NewBlockers = "new_blockers",
        /// The connection has not said who it is.
        NoHello = "no_hello",
        /// The system does not say which process asks.
        NoProcess = "no_process",
        /// The folder is no project.
        NoProject = "no_project",
        /// No such turn runs.
        NoSuchTurn = "no_such_turn",
        /// There is no such thing.
        NotFound = "not_found",
        /// It cannot be done over this connection, or from here.
        NotFromHere = "not_from_here",
        /// The daemon could not go over to another process.
        NotHandedOver = "not_handed_over",
        /// The agent is at no usage limit.
        NotLimited = "not_limited",
        /// The agent is not silent.
        NotSilent = "not_silent",
        /// It is not signed by the key that signs the decisions.
        NotSigned = "not_signed",
        /// No message is without its turn.
        NothingCutOff = "nothing_cut_off",
        /// Only the operator may do it.
        OperatorOnly = "operator_only",
        /// Too much at once.
        Overloaded = "overloaded",
        /// The answer is not of this protocol.
        Protocol = "protocol",
        /// The two sides speak different versions of the protocol.
        ProtocolVersion = "protocol_version",
        /// Too many messages wait for that receiver.
        QueueFull = "queue_full",
        /// The outbox cannot be written.
        QueueUnwritable = "queue_unwritable",
        /// The search index could not be rebuilt.
        RebuildFailed = "rebuild_failed",
        /// A line of the record was edited.
        RecordAltered = "record_altered",
        /// Somebody decided against it.
        Rejected = "rejected",
        SearchFailed = "search_failed",
        /// The configuration has changed since it was shown.
        StaleConfig = "stale_config",
        /// The session has changed since it was shown.
        StaleSession = "stale_session",
        /// The work tree is not what was proposed, nor what the operator saw.
        StaleTree = "stale_tree",
        /// The program that should have taken over did not get there.
        SuccessorFailed = "successor_failed",
        /// It is larger than a bound.
        TooLarge = "too_large",
        /// The daemon takes no more connections.
        TooManyClients = "too_many_clients",
        /// The daemon lets no more callers wait.
        TooManyWaiters = "too_many_waiters",
        /// What is trusted could not be kept.
        TrustFailed = "trust_failed",
        /// The connection broke before the answer: it may have taken effect.
        Unanswered = "unanswered",
        /// The ledger's writer has failed, and the daemon ends: what was asked may be recorded or not.
        WriterGone = "writer_gone",
        /// This role may not do it.
        WrongRole = "wrong_role",
        /// It is in no state for this.
        WrongState = "wrong_state",
        ;
        /// An error of JSON-RPC without a word of ours: from a daemon of another version, or from
        /// no daemon of ours.
        Rpc("rpc")
    }
}

impl RefusalCode {
    /// All of a long text cannot be had; its beginning can.
    pub fn is_lost_text(&self) -> bool {
        matches!(
            self,
            Self::BlobAltered | Self::BlobMissing | Self::BlobUnreadable
        )
    }
}

/// A refusal with the next step; `data` of the JSON-RPC error carries `code` and `hint`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// A stable word.
    pub code: RefusalCode,
    /// A sentence.
    pub message: String,
    /// The next step.
    pub hint: String,
}

impl Refusal {
    pub fn new(code: RefusalCode, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            hint: hint.into(),
        }
    }

    /// What was asked makes no sense.
    pub fn invalid(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(RefusalCode::InvalidArguments, message, hint)
    }

    /// It is in no state for this.
    pub fn wrong_state(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(RefusalCode::WrongState, message, hint)
    }

    /// The same thing, or what it depends on, is on its way.
    pub fn in_flight(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(RefusalCode::InFlight, message, hint)
    }

    /// A client and a daemon of different versions of this protocol.
    pub fn protocol_version(client: u32, daemon: u32) -> Self {
        Self::new(
            RefusalCode::ProtocolVersion,
            format!("the client speaks control protocol {client}, the daemon {daemon}"),
            "restart the daemon and the agents so that all are of one version",
        )
    }

    /// Whether a daemon refuses this client for as long as it runs.
    pub fn is_of_another_protocol(&self) -> bool {
        self.code == RefusalCode::ProtocolVersion
    }

    /// The gates are to sign off alone where decisions are signed.
    pub fn gates_cannot_sign() -> Self {
        Self::new(
            RefusalCode::TrustFailed,
            "decisions are signed here, and the gates have no key",
            "stay with mode manual, or switch signing off first: `ctxrelay guide signing`",
        )
    }
}

impl From<HeldTooMuch> for Refusal {
    fn from(_: HeldTooMuch) -> Self {
        Self::new(
            RefusalCode::Overloaded,
            "too much waits for the disk already",
            "nothing was sent; try again in a moment",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As every released version writes them, in the order of [`RefusalCode::ALL`].
    const TEXTS: [&str; 59] = [
        "blob_altered",
        "blob_missing",
        "blob_unreadable",
        "busy",
        "cancelled",
        "cannot_take_over",
        "clear_failed",
        "codex_refused",
        "codex_unavailable",
        "daemon_ended",
        "daemon_moving",
        "daemon_stopping",
        "daemon_unreachable",
        "disk_low",
        "entry_refused",
        "folder_lost",
        "gates_not_green",
        "head_unwritable",
        "hosted_by_deck",
        "in_flight",
        "internal",
        "invalid_arguments",
        "ledger_unreadable",
        "ledger_unwritable",
        "long_texts_full",
        "new_blockers",
        "no_hello",
        "no_process",
        "no_project",
        "no_such_turn",
        "not_found",
        "not_from_here",
        "not_handed_over",
        "not_limited",
        "not_silent",
        "not_signed",
        "nothing_cut_off",
        "operator_only",
        "overloaded",
        "protocol",
        "protocol_version",
        "queue_full",
        "queue_unwritable",
        "rebuild_failed",
        "record_altered",
        "rejected",
        "search_failed",
        "stale_config",
        "stale_session",
        "stale_tree",
        "successor_failed",
        "too_large",
        "too_many_clients",
        "too_many_waiters",
        "trust_failed",
        "unanswered",
        "writer_gone",
        "wrong_role",
        "wrong_state",
    ];

    #[test]
    fn every_code_is_the_text_that_it_was_and_comes_back_from_it() {
        let texts: Vec<String> = RefusalCode::ALL.iter().map(ToString::to_string).collect();
        assert_eq!(texts, TEXTS);
        for (code, text) in RefusalCode::ALL.iter().zip(TEXTS) {
            assert_eq!(RefusalCode::from(text), *code);
            assert_eq!(serde_json::to_value(code).ok(), Some(text.into()));
            assert_eq!(serde_json::from_value(text.into()).ok(), Some(code.clone()));
        }
    }

    #[test]
    fn a_code_of_another_version_is_kept_as_it_was_written() {
        for text in [
            "",
            "a_word_of_a_later_version",
            "rpc",
            "rpc 1",
            "rpc+1",
            "rpc01",
            "Not_Found",
        ] {
            let code = RefusalCode::from(text);
            assert_eq!(code, RefusalCode::Other(text.to_owned()));
            assert_eq!(code.to_string(), text);
        }
        let no_method = RefusalCode::from("rpc-32601");
        assert_eq!(no_method, RefusalCode::Rpc(-32601));
        assert_eq!(no_method.to_string(), "rpc-32601");
    }

    #[test]
    fn a_refusal_is_written_as_before() {
        let refusal = Refusal::new(RefusalCode::InFlight, "not now", "wait");
        let text = r#"{"code":"in_flight","message":"not now","hint":"wait"}"#;
        assert_eq!(serde_json::to_string(&refusal).ok().as_deref(), Some(text));
        assert_eq!(serde_json::from_str(text).ok(), Some(refusal));
    }
}
