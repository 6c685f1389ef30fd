//! [`NoticeAbout`]: what the operator can do about a notice of the daemon.

use ctxrelay_ui::model as ui;

use crate::wire::status::NoticeKey;

/// What a sentence of the daemon is about.
pub(super) struct NoticeAbout {
    pub(super) kind: ui::InboxKind,
    /// What can be done.
    pub(super) steps: &'static [&'static str],
    /// The command that helps, or shows more; may be empty.
    pub(super) command: &'static str,
}

/// By its key. What is not known here has a row all the same: the sentence itself says what to do.
pub(super) fn about(key: Option<&NoticeKey>) -> NoticeAbout {
    use ui::InboxKind::{Notice, Setup, Trouble};
    let (kind, steps): (_, &[&str]) = match key {
        Some(NoticeKey::Alarm) => (
            Trouble,
            &["Look what it is, then acknowledge it on its card."],
        ),
        Some(NoticeKey::Touched | NoticeKey::Chain) => (
            Trouble,
            &[
                "See where: the command names the first entry that is not as it was written.",
                "Put the file back as it was; or seal the record and begin a new one with \
                 `ctxrelay ledger clear`.",
                "Ask what else on this machine writes into .contextrelay/.",
            ],
        ),
        Some(NoticeKey::Current) => (
            Trouble,
            &["Ask what else on this machine writes into .contextrelay/: the record goes on."],
        ),
        Some(NoticeKey::QueuePutBack) => (
            Trouble,
            &["Open the rows of ambiguous messages, and send again or give up each of them."],
        ),
        Some(NoticeKey::RulesUnread) => (
            Trouble,
            &["Mend config.json: its rules count again as soon as you save it."],
        ),
        Some(NoticeKey::LedgerUnwritable | NoticeKey::Queue | NoticeKey::Disk) => (
            Trouble,
            &[
                "Make room on that disk, or make .contextrelay/ writable for you again.",
                "It goes on by itself then, and what waits is recorded. Where more happens than \
                 can wait, a row of its own says what was lost.",
            ],
        ),
        Some(NoticeKey::HeadUnwritable) => (
            Trouble,
            &[
                "Make room on the disk of that file, or make its folder writable for you: it is not \
                 in the project.",
                "It goes on by itself then. Say again what was refused.",
            ],
        ),
        Some(NoticeKey::FactsLost) => (
            Trouble,
            &[
                "Look in the agents' own terminals what they said and did at that time.",
                "The record has a line that says this. This row goes away with the next start.",
            ],
        ),
        Some(NoticeKey::LongTexts) => (
            Notice,
            &[
                "Give them more room with `storage.blobsMegabytes` in config.json, or delete a \
                 session for good with `ctxrelay ledger clear --discard`.",
            ],
        ),
        Some(NoticeKey::DaemonFailed) => (
            Notice,
            &[
                "If it happens again, .contextrelay/state/contextrelay.log says where. This goes \
               away with the next start.",
            ],
        ),
        Some(NoticeKey::Codex) => (
            Setup,
            &["See what it needs with `ctxrelay doctor`; it is tried again when Codex is needed."],
        ),
        Some(NoticeKey::Config) => (
            Setup,
            &["Correct config.json: it is read again when you save it. Until then defaults count."],
        ),
        Some(NoticeKey::ConfigTrust) => (
            Setup,
            &[
                "The command shows what changed and asks for a word: what an agent wrote there \
               counts only after it.",
            ],
        ),
        Some(NoticeKey::Proxy) => (
            Notice,
            &["Start Codex's terminal with `ctxrelay codex`, which knows the token."],
        ),
        Some(NoticeKey::ProxyFull) => (
            Notice,
            &["See which program of yours connects to the port of the Codex terminal, and end it."],
        ),
        // The sentence itself says what to do, or that it was a fault of ours and where.
        Some(
            NoticeKey::CodexHook
            | NoticeKey::Doorbell
            | NoticeKey::SecondClaude
            | NoticeKey::Watch
            | NoticeKey::AgentsLookFailed
            | NoticeKey::BodiesFailed
            | NoticeKey::CarryingFailed
            | NoticeKey::ClaudeLookFailed
            | NoticeKey::CommitFailed
            | NoticeKey::CompactionLookFailed
            | NoticeKey::ContextLookFailed
            | NoticeKey::DeletionFailed
            | NoticeKey::GateFailed
            | NoticeKey::InferenceFailed
            | NoticeKey::KeptTextsFailed
            | NoticeKey::ManagedBlocksFailed
            | NoticeKey::PacketFailed
            | NoticeKey::ProgramLookFailed
            | NoticeKey::RenderingFailed
            | NoticeKey::RulesLookFailed
            | NoticeKey::SealedTaskFailed
            | NoticeKey::SettingsFailed
            | NoticeKey::SpokenWordsFailed
            | NoticeKey::TerminalFailed
            | NoticeKey::Other(_),
        )
        | None => (Notice, &[]),
    };
    let command = match key {
        Some(NoticeKey::Alarm | NoticeKey::Touched | NoticeKey::Chain) => "ctxrelay ledger verify",
        Some(NoticeKey::QueuePutBack) => "ctxrelay queue list",
        Some(NoticeKey::Codex) => "ctxrelay doctor",
        Some(NoticeKey::Config | NoticeKey::RulesUnread) => "ctxrelay config show",
        Some(NoticeKey::ConfigTrust) => "ctxrelay trust",
        Some(NoticeKey::Proxy) => "ctxrelay codex",
        _ => "",
    };
    NoticeAbout {
        kind,
        steps,
        command,
    }
}
