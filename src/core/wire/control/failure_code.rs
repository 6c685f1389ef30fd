//! [`FailureCode`]: the stable word for the failure that a program of ours ends with.

use std::fmt;

use serde::{Serialize, Serializer};

use super::RefusalCode;
use crate::entry::ErrorCode;
use crate::word::words;

words! {
    /// Why a program of ours could not do its work, where no daemon refused it. What it means for a
    /// person stands in the sentence beside it.
    pub enum ProgramCode {
        AlreadyRunning = "already_running",
        AmbiguousChoice = "ambiguous_choice",
        AmbiguousId = "ambiguous_id",
        BadConfig = "bad_config",
        BadEnvironment = "bad_environment",
        BrokenPipe = "broken_pipe",
        ClaudeFailed = "claude_failed",
        CodexFailed = "codex_failed",
        DaemonDied = "daemon_died",
        DaemonSilent = "daemon_silent",
        DaemonTooOld = "daemon_too_old",
        Exists = "exists",
        GhFailed = "gh_failed",
        GhHung = "gh_hung",
        GhLoggedOut = "gh_logged_out",
        GhMissing = "gh_missing",
        GhUnreadable = "gh_unreadable",
        InThePair = "in_the_pair",
        KeyExists = "key_exists",
        Killed = "killed",
        Ledger = "ledger",
        NoChain = "no_chain",
        NoClaude = "no_claude",
        NoCodex = "no_codex",
        NoHome = "no_home",
        NoKey = "no_key",
        NoPullRequest = "no_pull_request",
        NoRemote = "no_remote",
        NoSession = "no_session",
        NoSuchChoice = "no_such_choice",
        NoTerminal = "no_terminal",
        NotAReview = "not_a_review",
        NotConfirmed = "not_confirmed",
        NotInThisVersion = "not_in_this_version",
        NotInOrder = "not_in_order",
        NotIntact = "not_intact",
        NotOpen = "not_open",
        NotRecorded = "not_recorded",
        NotStartable = "not_startable",
        NotVisible = "not_visible",
        NotYielded = "not_yielded",
        NothingToTakeOver = "nothing_to_take_over",
        OtherDigest = "other_digest",
        OtherKey = "other_key",
        OtherPair = "other_pair",
        OtherRepository = "other_repository",
        OwnTask = "own_task",
        OwnerUnknown = "owner_unknown",
        PartialPorts = "partial_ports",
        PatchRefused = "patch_refused",
        PathNotUtf8 = "path_not_utf8",
        Plugin = "plugin",
        PortTaken = "port_taken",
        Queue = "queue",
        RateLimit = "rate_limit",
        Running = "running",
        SealedTask = "sealed_task",
        SettingsChanged = "settings_changed",
        SettingsNotUnderstood = "settings_not_understood",
        Socket = "socket",
        StateElsewhere = "state_elsewhere",
        StillRunning = "still_running",
        TmuxFailed = "tmux_failed",
        TooShort = "too_short",
        Unreadable = "unreadable",
        Unwritable = "unwritable",
        Usage = "usage",
        WrongPassphrase = "wrong_passphrase",
    }
}

/// The stable word of a failure, for programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FailureCode {
    /// A daemon refused it, or it is refused for the same reason without one.
    Refusal(RefusalCode),
    /// The daemon failed.
    Fault(ErrorCode),
    Program(ProgramCode),
}

impl fmt::Display for FailureCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refusal(code) => code.fmt(f),
            Self::Fault(code) => code.fmt(f),
            Self::Program(code) => code.fmt(f),
        }
    }
}

impl Serialize for FailureCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl From<RefusalCode> for FailureCode {
    fn from(code: RefusalCode) -> Self {
        Self::Refusal(code)
    }
}

impl From<ErrorCode> for FailureCode {
    fn from(code: ErrorCode) -> Self {
        Self::Fault(code)
    }
}

impl From<ProgramCode> for FailureCode {
    fn from(code: ProgramCode) -> Self {
        Self::Program(code)
    }
}

/// As another process wrote it.
impl From<String> for FailureCode {
    fn from(text: String) -> Self {
        match RefusalCode::from(text) {
            RefusalCode::Other(text) => Self::Program(text.into()),
            code => Self::Refusal(code),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::word::assert_words;

    use super::*;

    #[test]
    fn a_code_is_its_word_and_is_read_from_it() {
        assert_words(ProgramCode::ALL);
        for text in [
            "already_running",
            "not_found",
            "rpc-32601",
            "of a later version",
        ] {
            let code = FailureCode::from(text.to_owned());
            assert_eq!(code.to_string(), text);
            assert_eq!(serde_json::to_value(&code).ok(), Some(text.into()));
        }
        let running = FailureCode::from("already_running".to_owned());
        assert_eq!(running, ProgramCode::AlreadyRunning.into());
        let missing = FailureCode::from("not_found".to_owned());
        assert_eq!(missing, RefusalCode::NotFound.into());
    }
}
