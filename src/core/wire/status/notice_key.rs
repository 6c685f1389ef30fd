//! [`NoticeKey`]: the subject of a notice for the operator.

use crate::word::words;

words! {
    /// What a sentence for the operator is about, in the order in which they are told. First comes
    /// what others must not hide: the record is not as it should be, or takes less.
    #[derive(PartialOrd, Ord)]
    pub enum NoticeKey {
        Alarm = "alarm",
        Disk = "disk",
        LedgerUnwritable = "ledger_unwritable",
        /// The head outside of the project cannot be written: the operator's word is refused.
        HeadUnwritable = "head_unwritable",
        LongTexts = "long_texts",
        /// Somebody touched the file of the record.
        Touched = "touched",
        /// The chain of the record is broken.
        Chain = "chain",
        AgentsLookFailed = "agents_look_failed",
        BodiesFailed = "bodies_failed",
        CarryingFailed = "carrying_failed",
        ClaudeLookFailed = "claude_look_failed",
        /// Codex's program cannot be used.
        Codex = "codex",
        /// Codex leaves out our hook.
        CodexHook = "codex_hook",
        CommitFailed = "commit_failed",
        CompactionLookFailed = "compaction_look_failed",
        Config = "config",
        /// Keys of the configuration wait for trust.
        ConfigTrust = "config_trust",
        ContextLookFailed = "context_look_failed",
        /// Somebody changed `current`.
        Current = "current",
        /// The daemon before this one failed.
        DaemonFailed = "daemon_failed",
        DeletionFailed = "deletion_failed",
        /// Nothing wakes Claude any more.
        Doorbell = "doorbell",
        /// More happened than was kept while the record could not be written.
        FactsLost = "facts_lost",
        GateFailed = "gate_failed",
        InferenceFailed = "inference_failed",
        KeptTextsFailed = "kept_texts_failed",
        ManagedBlocksFailed = "managed_blocks_failed",
        PacketFailed = "packet_failed",
        ProgramLookFailed = "program_look_failed",
        /// Somebody came to Codex's proxy with a wrong token.
        Proxy = "proxy",
        ProxyFull = "proxy_full",
        /// The queue cannot be written.
        Queue = "queue",
        /// An older queue lay in the place of the one of now.
        QueuePutBack = "queue_put_back",
        RenderingFailed = "rendering_failed",
        RulesLookFailed = "rules_look_failed",
        /// The daemon began without the redaction rules of the project.
        RulesUnread = "rules_unread",
        SealedTaskFailed = "sealed_task_failed",
        /// More than one Claude of one pair.
        SecondClaude = "second_claude",
        SettingsFailed = "settings_failed",
        SpokenWordsFailed = "spoken_words_failed",
        TerminalFailed = "terminal_failed",
        /// The system gives no signs of changes.
        Watch = "watch",
    }
}

#[cfg(test)]
mod tests {
    use crate::word::assert_words;

    use super::*;

    #[test]
    fn keys_come_back_as_they_were_written_and_seven_of_them_come_first() {
        assert_words(NoticeKey::ALL);
        let told: Vec<String> = NoticeKey::ALL.iter().map(ToString::to_string).collect();
        let first = [
            "alarm",
            "disk",
            "ledger_unwritable",
            "head_unwritable",
            "long_texts",
            "touched",
            "chain",
        ];
        assert_eq!(told[..7], first);
        assert!(told[7..].is_sorted());
        assert!(NoticeKey::ALL.is_sorted());
    }
}
