//! [`ClaudeState`]: what the Claude of one pair is and does, in one place. Reports of its hooks,
//! doorbell, bridge and calls come in as [`ClaudeInput`]; record, status, limit and ladder follow
//! from [`ClaudeStep`]. Only this says whether a turn runs, and whether its context is being
//! compacted.
//!
//! Claude reports nothing while it streams, nor that it was stopped with Esc (2.1.330, observed).

mod carried;
mod change;
mod dialog;
mod input;
mod turn_end_setting;

use std::collections::BTreeMap;

pub use carried::CarriedClaude;
pub use change::ClaudeChange;
use dialog::ClaudeDialog;
pub use input::{ClaudeInput, ClaudeSetting};
pub use turn_end_setting::TurnEndSetting;

use crate::agent::AgentState;
use crate::id::EntryId;

/// Messages of one turn of Claude that are remembered; more than a person has ever waiting.
const TURN_MAX: usize = 100;

/// Helpers that show a dialog and are remembered; more than a person looks at.
const HELPERS_MAX: usize = 64;

/// How long a compaction may take before nobody counts on its end, ms.
const COMPACTION_MS: i64 = 180_000;

/// Why one that has just come is at its limit, for people.
const LIMIT_HOLDS: &str = "the usage limit of before holds";

/// What Claude is and does now.
#[derive(Debug, Default)]
pub struct ClaudeState {
    /// What is so. Offline at first, which is what the daemon's start means for the record.
    now: ClaudeChange,
    /// What the record says, or will once what is on its way to it is durable.
    recorded: (AgentState, Option<u32>),
    /// As the process before this one knew it, whose Claude has not come to this one yet.
    is_recalled: bool,
    is_in_turn: bool,
    /// What it waits for, as long as it does.
    dialog: ClaudeDialog,
    /// Since when its context is compacted, as long as the end of that is counted on, ms.
    compacts_since: Option<i64>,
    /// Its helpers that show a dialog, each with the use of a tool that it asks about. They can outlive
    /// the turn that began them.
    asking_helpers: BTreeMap<String, Option<String>>,
    /// The messages that it was given in the turn that runs.
    given: Vec<EntryId>,
    /// The messages that it was given in turns that failed, and that nobody has sent again or settled
    /// since.
    cut_off: Vec<EntryId>,
}

/// What follows, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaudeStep {
    /// A turn runs. A prompt says so again in its middle.
    Began,
    /// A turn runs whose beginning was told to nobody.
    Runs,
    /// Its turn gives a sign.
    Lives,
    /// Its turn waits for the human, or no longer.
    Waits(bool),
    /// No turn runs.
    Over(ClaudeTurnEnd),
    /// Its context begins to be compacted.
    Compacts,
    /// Its context was compacted.
    Compacted,
    /// A compaction is over of which no end was told: nobody counts on that any more.
    CompactionOver,
    /// The record has to say so.
    Append {
        change: ClaudeChange,
        /// It has just come.
        has_come: bool,
    },
    /// A turn worked.
    Worked,
    /// A turn died of the usage limit with these messages in it.
    Died(Vec<EntryId>),
}

/// How a turn is over, if one ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaudeTurnEnd {
    /// It came to its end by itself.
    Worked,
    Failed {
        /// At the usage limit.
        limited: bool,
    },
    /// The human stopped it.
    Stopped,
    /// Its Claude is gone, or another one has come, or its conversation ended: nobody tells what
    /// becomes of it.
    Lost,
}

impl ClaudeState {
    /// What is so, which the record may not say yet.
    pub fn now(&self) -> &ClaudeChange {
        &self.now
    }

    /// Whether a turn runs, as far as is known.
    pub fn is_in_turn(&self) -> bool {
        self.is_in_turn
    }

    /// Whether its context is compacted, as far as is known: of one that the person stopped nothing is
    /// told before its next prompt.
    pub fn is_compacting(&self, now_ms: i64) -> bool {
        let lapses_ms = self.compaction_lapses_ms();
        lapses_ms.is_some_and(|lapses_ms| now_ms < lapses_ms)
    }

    /// When nobody counts any more on the end of the compaction that goes on, ms.
    pub fn compaction_lapses_ms(&self) -> Option<i64> {
        let since_ms = self.compacts_since?;
        Some(since_ms.saturating_add(COMPACTION_MS))
    }

    /// How many of its helpers show a dialog.
    pub fn asking_helpers(&self) -> usize {
        self.asking_helpers.len()
    }

    /// The messages that it was given in turns that failed, and that nobody has sent again or settled
    /// since.
    pub fn cut_off(&self) -> &[EntryId] {
        &self.cut_off
    }

    /// Takes something in, and says what follows.
    pub fn apply(&mut self, input: ClaudeInput, setting: ClaudeSetting) -> Vec<ClaudeStep> {
        let mut steps = Vec::new();
        self.take(input, setting, &mut steps);
        steps
    }

    fn take(&mut self, input: ClaudeInput, setting: ClaudeSetting, steps: &mut Vec<ClaudeStep>) {
        match input {
            ClaudeInput::Recalled { claude } => self.recall(*claude, steps),
            ClaudeInput::Attached { pid } => {
                let is_recalled = std::mem::take(&mut self.is_recalled);
                if self.now.state.is_attached() && self.now.pid == pid {
                    if is_recalled {
                        self.append_change(true, steps);
                    }
                    return;
                }
                self.turn_over(ClaudeTurnEnd::Lost, steps);
                self.asking_helpers.clear();
                self.now.pid = pid;
                (self.now.state, self.now.why) = match setting.is_limited {
                    // The record would take it for over.
                    true => (AgentState::Limited, Some(LIMIT_HOLDS.to_owned())),
                    false => (AgentState::Idle, None),
                };
                self.append_change(true, steps);
            }
            ClaudeInput::StaysAway if !self.is_recalled => {}
            ClaudeInput::Gone | ClaudeInput::StaysAway => {
                self.is_recalled = false;
                self.turn_over(ClaudeTurnEnd::Lost, steps);
                self.asking_helpers.clear();
                self.now.pid = None;
                let why = "its bridge is gone".to_owned();
                self.is(AgentState::Offline, Some(why), setting, steps);
            }
            ClaudeInput::TurnBegan => {
                self.compaction_over(steps);
                // A prompt ends the turn that its person stopped in a dialog, or that gave no sign.
                if matches!(self.now.state, AgentState::Waiting | AgentState::Stale) {
                    match setting.is_limited {
                        // The record would take it for over.
                        true => {
                            let why = Some(LIMIT_HOLDS.to_owned());
                            self.is(AgentState::Limited, why, setting, steps);
                        }
                        false => self.is(AgentState::Idle, None, setting, steps),
                    }
                }
                self.turn_runs(ClaudeStep::Began, setting, steps);
            }
            // What begins beside an open dialog does not answer that, nor does what a helper does.
            ClaudeInput::ToolBegins | ClaudeInput::GivesSign
                if self.now.state == AgentState::Waiting => {}
            // It comes late, from a Claude that is gone.
            ClaudeInput::ToolBegins if !setting.is_here && !self.is_recalled => {}
            ClaudeInput::ToolUsed | ClaudeInput::ToolBegins | ClaudeInput::Prolonged
                if !self.is_in_turn =>
            {
                self.turn_runs(ClaudeStep::Runs, setting, steps);
            }
            ClaudeInput::ToolUsed | ClaudeInput::Prolonged => {
                self.lives(setting, steps);
                steps.push(ClaudeStep::Waits(false));
            }
            // What a helper asks stays.
            ClaudeInput::Answered if !self.asking_helpers.is_empty() => {
                if self.is_in_turn && self.now.state == AgentState::Waiting {
                    self.waits_for(ClaudeDialog::OfHelper);
                }
            }
            // What began its turn has told a daemon that is gone.
            ClaudeInput::Answered if !self.is_in_turn && self.now.state == AgentState::Waiting => {
                self.turn_runs(ClaudeStep::Runs, setting, steps);
            }
            ClaudeInput::Answered => {
                self.lives(setting, steps);
                steps.push(ClaudeStep::Waits(false));
            }
            ClaudeInput::ToolBegins | ClaudeInput::GivesSign => self.lives(setting, steps),
            // What a helper asks is known by itself.
            ClaudeInput::DialogIsOpen if !self.asking_helpers.is_empty() => {}
            ClaudeInput::Asks | ClaudeInput::DialogIsOpen => {
                self.waits(ClaudeDialog::Own, setting, steps);
            }
            ClaudeInput::HelperAsks { helper, tool_use } => {
                if self.asking_helpers.len() < HELPERS_MAX {
                    self.asking_helpers.insert(helper, tool_use);
                }
                if self.is_in_turn && self.now.state != AgentState::Waiting {
                    self.waits(ClaudeDialog::OfHelper, setting, steps);
                }
            }
            ClaudeInput::HelperGoesOn { helper, tool_use } => {
                // Another use of a tool may end beside an open dialog.
                let asks = self.asking_helpers.get(&helper);
                if asks.is_some_and(|about| tool_use.is_none() || *about == tool_use) {
                    self.asking_helpers.remove(&helper);
                    // It waits no longer where only its helpers asked.
                    let for_helper = self.now.state == AgentState::Waiting
                        && self.dialog == ClaudeDialog::OfHelper;
                    if for_helper && self.asking_helpers.is_empty() {
                        self.lives(setting, steps);
                        steps.push(ClaudeStep::Waits(false));
                    }
                }
            }
            ClaudeInput::Compacts { at_ms } => {
                self.compacts_since = Some(at_ms);
                steps.push(ClaudeStep::Compacts);
            }
            ClaudeInput::Compacted => {
                self.compacts_since = None;
                steps.push(ClaudeStep::Compacted);
            }
            ClaudeInput::CompactionOver => self.compaction_over(steps),
            // What it is then is told by what comes: another conversation, or its end.
            ClaudeInput::ConversationEnds if self.is_in_turn => {
                self.turn_over(ClaudeTurnEnd::Lost, steps);
            }
            ClaudeInput::ConversationEnds => self.compaction_over(steps),
            ClaudeInput::NewConversation => self.asking_helpers.clear(),
            ClaudeInput::Idle => {
                self.turn_over(ClaudeTurnEnd::Stopped, steps);
                if setting.is_limited {
                    let why = "its last turn failed at the usage limit".to_owned();
                    self.is(AgentState::Limited, Some(why), setting, steps);
                } else {
                    self.is(AgentState::Idle, None, setting, steps);
                }
            }
            ClaudeInput::Worked => {
                self.turn_over(ClaudeTurnEnd::Worked, steps);
                self.given.clear();
                self.is(AgentState::Idle, None, setting, steps);
                steps.push(ClaudeStep::Worked);
            }
            ClaudeInput::Failed { limited, why } => {
                self.turn_over(ClaudeTurnEnd::Failed { limited }, steps);
                // Another failure says nothing of a limit that holds.
                let state = if limited || setting.is_limited {
                    AgentState::Limited
                } else {
                    AgentState::Idle
                };
                let why = format!("the last turn failed: {why}");
                self.is(state, Some(why), setting, steps);
                let died = std::mem::take(&mut self.given);
                self.cuts_off(&died);
                if limited {
                    steps.push(ClaudeStep::Died(died));
                }
            }
            // While it waits for the human its silence says nothing, and one that is gone stays so.
            ClaudeInput::Silent { .. }
                if matches!(self.now.state, AgentState::Waiting | AgentState::Offline) => {}
            ClaudeInput::Silent { why } => self.is(AgentState::Stale, Some(why), setting, steps),
            // A turn that runs says its own state.
            ClaudeInput::LimitOver if self.now.state != AgentState::Limited => {}
            ClaudeInput::LimitOver => self.is(AgentState::Idle, None, setting, steps),
            ClaudeInput::Given { ids } => {
                for id in ids {
                    let is_new = self.given.len() < TURN_MAX && !self.given.contains(&id);
                    if self.is_in_turn && is_new {
                        self.given.push(id);
                    }
                }
            }
            ClaudeInput::Settled { id } => {
                self.given.retain(|given| *given != id);
                self.cut_off.retain(|cut_off| *cut_off != id);
            }
            ClaudeInput::SentAgain { id } => {
                // No turn has it until it is given again.
                self.given.retain(|given| *given != id);
                self.cut_off.retain(|cut_off| *cut_off != id);
            }
            ClaudeInput::NotRecorded { change, known } => {
                // Another change that is on its way may still be written.
                if self.recorded == (change.state, change.pid) {
                    self.recorded = known;
                }
            }
            // The record has it once that Claude comes.
            ClaudeInput::Recordable if self.is_recalled => {}
            ClaudeInput::Recordable => {
                if self.recorded != (self.now.state, self.now.pid) {
                    let was_gone = self.recorded.0 == AgentState::Offline;
                    let rests = matches!(self.now.state, AgentState::Idle | AgentState::Limited);
                    self.append_change(was_gone && rests, steps);
                }
            }
        }
    }

    fn cuts_off(&mut self, ids: &[EntryId]) {
        self.cut_off.retain(|before| !ids.contains(before));
        self.cut_off.extend_from_slice(ids);
        let too_many = self.cut_off.len().saturating_sub(TURN_MAX);
        self.cut_off.drain(..too_many);
    }

    fn turn_runs(&mut self, step: ClaudeStep, setting: ClaudeSetting, steps: &mut Vec<ClaudeStep>) {
        self.is_in_turn = true;
        steps.extend([step, ClaudeStep::Lives, ClaudeStep::Waits(false)]);
        self.is(AgentState::Busy, None, setting, steps);
    }

    fn lives(&mut self, setting: ClaudeSetting, steps: &mut Vec<ClaudeStep>) {
        if !self.is_in_turn {
            return;
        }
        steps.push(ClaudeStep::Lives);
        if matches!(
            self.now.state,
            AgentState::Stale | AgentState::Waiting | AgentState::Idle
        ) {
            self.is(AgentState::Busy, None, setting, steps);
        }
    }

    fn waits(&mut self, dialog: ClaudeDialog, setting: ClaudeSetting, steps: &mut Vec<ClaudeStep>) {
        steps.push(ClaudeStep::Waits(true));
        self.is(AgentState::Waiting, Some(dialog.why()), setting, steps);
        // Where it asks beside a helper, it waits for more than that one.
        if self.now.state == AgentState::Waiting {
            self.waits_for(dialog);
        }
    }

    fn waits_for(&mut self, dialog: ClaudeDialog) {
        self.dialog = dialog;
        self.now.why = Some(dialog.why());
    }

    /// What ends a turn is no part of a compaction: that is over too.
    fn turn_over(&mut self, end: ClaudeTurnEnd, steps: &mut Vec<ClaudeStep>) {
        self.compaction_over(steps);
        self.is_in_turn = false;
        steps.push(ClaudeStep::Over(end));
    }

    fn compaction_over(&mut self, steps: &mut Vec<ClaudeStep>) {
        if self.compacts_since.take().is_some() {
            steps.push(ClaudeStep::CompactionOver);
        }
    }

    /// What comes late from a Claude that is gone does not bring it back.
    fn is(
        &mut self,
        state: AgentState,
        why: Option<String>,
        setting: ClaudeSetting,
        steps: &mut Vec<ClaudeStep>,
    ) {
        let may_be_here = setting.is_here || self.is_recalled;
        if self.now.state != state && (may_be_here || !state.is_attached()) {
            self.now.state = state;
            self.now.why = why;
            self.append_change(false, steps);
        }
    }

    fn append_change(&mut self, has_come: bool, steps: &mut Vec<ClaudeStep>) {
        self.recorded = (self.now.state, self.now.pid);
        let change = self.now.clone();
        steps.push(ClaudeStep::Append { change, has_come });
    }
}
