//! [`TurnEndSetting`]: what the ladder has to know of the end of a turn besides its kind.

use super::{ClaudeStep, ClaudeTurnEnd};
use crate::delivery::LadderInput;

/// Circumstances of the end of a turn of Claude's that are known elsewhere.
#[derive(Debug, Clone, Copy)]
pub struct TurnEndSetting {
    /// The lane rests because of a usage limit.
    pub rests: bool,
    /// It goes on resting if the turn worked: as in [`LadderInput::TurnWorked`].
    pub rests_after_work: bool,
    /// No transcript has to be read first: as there.
    pub is_read: bool,
}

impl ClaudeStep {
    /// What the ladder of its pair is told of it, if anything.
    pub fn told_ladder(&self, setting: TurnEndSetting) -> Option<LadderInput> {
        Some(match self {
            Self::Began => LadderInput::TurnBegan,
            Self::Runs => LadderInput::TurnRuns,
            Self::Over(ClaudeTurnEnd::Worked) => LadderInput::TurnWorked {
                rests: setting.rests_after_work,
                is_read: setting.is_read,
            },
            // Another failure says nothing of a limit that holds.
            Self::Over(ClaudeTurnEnd::Failed { limited }) => LadderInput::TurnEnded {
                limited: *limited || setting.rests,
            },
            Self::Over(ClaudeTurnEnd::Stopped) => LadderInput::TurnStopped,
            Self::Over(ClaudeTurnEnd::Lost) => LadderInput::TurnLost,
            Self::Compacts => LadderInput::Compacts,
            Self::Compacted => LadderInput::Compacted,
            Self::CompactionOver => LadderInput::CompactionOver,
            Self::Lives | Self::Waits(_) | Self::Append { .. } | Self::Worked | Self::Died(_) => {
                return None;
            }
        })
    }
}
