//! [`ErrorCode`]: what went wrong, as a word for programs.

use crate::word::words;

words! {
    /// What an entry of the kind `error` tells of. What it means for a person is the entry's text.
    pub enum ErrorCode {
        /// The Codex adapter failed, and the daemon with it.
        AdapterFailed = "adapter_failed",
        /// A long text's file is not as it was written.
        BlobAltered = "blob_altered",
        /// A long text's file is not there.
        BlobMissing = "blob_missing",
        /// A long text's file cannot be read.
        BlobUnreadable = "blob_unreadable",
        /// A crash ended a clear before its time.
        ClearCutShort = "clear_cut_short",
        /// Codex cannot be started, for no reason that has a word of its own.
        CodexFailed = "failed",
        /// Codex is not installed.
        CodexNotFound = "not_found",
        CodexTooOld = "too_old",
        /// Codex cannot read its configuration.
        CodexInvalidConfiguration = "invalid_configuration",
        /// A `config.json` of ContextRelay 3 could not be rewritten.
        ConfigNotMigrated = "config_not_migrated",
        /// Somebody else changed which session is the current one.
        CurrentChanged = "current_changed",
        /// The loop failed, and the daemon with it.
        DaemonFailed = "daemon_failed",
        /// A daemon that ended in order could not say so outside of the project.
        EndUnmarked = "end_unmarked",
        /// More happened than was kept while the record could not be written.
        FactsLost = "facts_lost",
        /// Somebody else removed or renamed the project's folder.
        FolderLost = "folder_lost",
        /// Entries before this one are somebody else's word.
        ForeignHistory = "foreign_history",
        /// Lines of somebody else stood behind the end.
        ForeignLines = "foreign_lines",
        /// The queue was that of ContextRelay 3.
        ForeignQueue = "foreign_queue",
        /// The current session's record does not exist.
        LedgerMissing = "ledger_missing",
        /// Somebody else was at the record, or cut it.
        LedgerTouched = "ledger_touched",
        /// The record could not be written for a while.
        LedgerUnwritable = "ledger_unwritable",
        /// Somebody else removed the lock of the daemon.
        LockLost = "lock_lost",
        /// Somebody else edited a message that waits.
        MessageAltered = "message_altered",
        /// A session that is over could not be moved to the archives.
        NotArchived = "not_archived",
        /// Something of a deleted session is left.
        NotDeleted = "not_deleted",
        /// A daemon did not end in order.
        NotInOrder = "not_in_order",
        /// A session could not be sealed and goes on.
        NotSealed = "not_sealed",
        /// Somebody else tried what only the operator may do.
        OperatorOnly = "operator_only",
        /// Somebody came to the Codex proxy with a wrong token.
        ProxyRefused = "proxy_refused",
        /// An older copy lay in the place of the queue.
        QueuePutBack = "queue_put_back",
        /// The queue's writer failed, and the daemon with it.
        QueueWriterGone = "queue_writer_gone",
        /// What takes connections, watches or shows the daemon failed, and the daemon with it.
        ServiceFailed = "service_failed",
        /// The last line was torn by a crash.
        TornTail = "torn_tail",
        /// What the operator trusted could not be kept, or read.
        TrustNotKept = "trust_not_kept",
        /// A turn of Codex has given no sign for long.
        TurnSilent = "turn_silent",
        /// A decision, another act of the operator's, or a change of signing, is not signed as it has to be.
        UnsignedDecision = "unsigned_decision",
        /// Work beside the loop failed; the daemon goes on.
        WorkFailed = "work_failed",
        /// The ledger's writer failed, and the daemon with it.
        WriterGone = "writer_gone",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As they stand in the record, in the order of [`ErrorCode::ALL`].
    const TEXTS: [&str; 38] = [
        "adapter_failed",
        "blob_altered",
        "blob_missing",
        "blob_unreadable",
        "clear_cut_short",
        "failed",
        "not_found",
        "too_old",
        "invalid_configuration",
        "config_not_migrated",
        "current_changed",
        "daemon_failed",
        "end_unmarked",
        "facts_lost",
        "folder_lost",
        "foreign_history",
        "foreign_lines",
        "foreign_queue",
        "ledger_missing",
        "ledger_touched",
        "ledger_unwritable",
        "lock_lost",
        "message_altered",
        "not_archived",
        "not_deleted",
        "not_in_order",
        "not_sealed",
        "operator_only",
        "proxy_refused",
        "queue_put_back",
        "queue_writer_gone",
        "service_failed",
        "torn_tail",
        "trust_not_kept",
        "turn_silent",
        "unsigned_decision",
        "work_failed",
        "writer_gone",
    ];

    #[test]
    fn every_code_is_the_text_that_it_was_and_comes_back_from_it() {
        let texts: Vec<String> = ErrorCode::ALL.iter().map(ToString::to_string).collect();
        assert_eq!(texts, TEXTS);
        for (code, text) in ErrorCode::ALL.iter().zip(TEXTS) {
            assert_eq!(ErrorCode::from(text), *code);
        }
        let other = ErrorCode::from("a_code_of_a_later_version");
        assert_eq!(other.to_string(), "a_code_of_a_later_version");
    }
}
