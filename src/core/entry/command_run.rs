//! [`CommandRun`]: how a command that an agent ran itself ended.

use serde::{Deserialize, Serialize};

use super::{ArtifactStatus, GateRun};
use crate::kept_text::cut;

/// Where a shell sends what it says of errors, which changes nothing of how a command ends.
const ERRORS_TOO: &str = "2>&1";

/// How a command ended that an agent ran itself, as the agent's own program tells it. A claim: the
/// daemon did not see it run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct CommandRun {
    /// The command of the shell.
    pub cmd: String,
    /// Its exit code; none where the agent's program tells none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// How long it took, in ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

impl CommandRun {
    /// The longest command that is told, in characters: none that is longer is a gate's.
    const CMD_CHARS_MAX: usize = GateRun::CMD_CHARS_MAX + 100;

    /// How a command ended; none of one that is too long.
    pub fn ended(cmd: &str, exit_code: i64, duration_ms: Option<u64>) -> Option<Self> {
        let is_told = cmd.chars().nth(Self::CMD_CHARS_MAX).is_none();
        is_told.then(|| Self {
            cmd: cmd.to_owned(),
            exit_code: Some(exit_code),
            duration_ms,
        })
    }

    /// What it came to.
    pub fn status(&self) -> ArtifactStatus {
        match self.exit_code {
            Some(0) => ArtifactStatus::Passed,
            Some(_) => ArtifactStatus::Failed,
            None => ArtifactStatus::Unknown,
        }
    }

    /// Whether it is this command and nothing else: what is run behind it or takes its output has an
    /// exit code of its own.
    pub fn is_of(&self, cmd: &str) -> bool {
        let (ran, cmd) = (self.cmd.trim(), cmd.trim());
        // A shell takes `1` and `>` for one word only where a blank stands before them.
        let told_more = || ran.strip_prefix(cmd)?.strip_prefix([' ', '\t']);
        ran == cmd || told_more().is_some_and(|more| more.trim_start() == ERRORS_TOO)
    }

    /// With the beginning of a long command.
    pub(crate) fn cut(&self) -> Self {
        Self {
            cmd: cut(&self.cmd),
            ..self.clone()
        }
    }

    /// `exit code 101 after 12.3 s`.
    pub fn in_words(&self) -> String {
        let code = match self.exit_code {
            Some(code) => format!("exit code {code}"),
            None => "exit code not told".to_owned(),
        };
        match self.duration_ms {
            Some(ms) => format!("{code} after {}.{} s", ms / 1_000, ms % 1_000 / 100),
            None => code,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(cmd: &str) -> CommandRun {
        CommandRun {
            cmd: cmd.to_owned(),
            exit_code: Some(101),
            duration_ms: Some(12_345),
        }
    }

    #[test]
    fn a_command_is_the_same_wherever_its_errors_go() {
        for same in [
            "cargo test --all",
            " cargo test --all\n",
            "cargo test --all 2>&1",
            "cargo test --all  2>&1 ",
        ] {
            assert!(ran(same).is_of("cargo test --all"), "{same}");
        }
        assert!(ran("make 2>&1").is_of("make 2>&1"));
    }

    #[test]
    fn a_command_with_more_around_it_is_another_one() {
        for other in [
            "cargo test",
            "cargo test --all | tail -5",
            "cargo test --all; true",
            "cargo test --all || true",
            "cd core && cargo test --all",
            "cargo test --all 2>&1 | tail",
            "cargo test --all &",
            "cargo test --all2>&1",
            "cargo test\n--all",
            "cargo  test --all",
            "cargo test --all\n2>&1",
            "",
        ] {
            assert!(!ran(other).is_of("cargo test --all"), "{other}");
        }
    }

    #[test]
    fn a_command_that_is_too_long_for_a_gates_is_not_told() {
        let of = |chars: usize| CommandRun::ended(&"ä".repeat(chars), 0, None);
        assert!(of(GateRun::CMD_CHARS_MAX + " 2>&1".len()).is_some());
        assert!(of(10_000).is_none());
    }

    #[test]
    fn only_an_exit_code_of_0_has_passed() {
        let with = |exit_code| CommandRun {
            exit_code,
            ..ran("make")
        };
        assert_eq!(with(Some(0)).status(), ArtifactStatus::Passed);
        assert_eq!(with(Some(1)).status(), ArtifactStatus::Failed);
        assert_eq!(with(Some(-1)).status(), ArtifactStatus::Failed);
        assert_eq!(with(None).status(), ArtifactStatus::Unknown);
    }

    #[test]
    fn its_end_is_told_in_words() {
        assert_eq!(ran("make").in_words(), "exit code 101 after 12.3 s");
        let untold = CommandRun::default();
        assert_eq!(untold.in_words(), "exit code not told");
    }
}
