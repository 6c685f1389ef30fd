//! Instruction files: what each agent reads by itself, and what of the rest it is given.
//!
//! - [`InstructionFile`]: one file of the project, read and masked.
//! - [`managed_instructions`]: the text of our own block in such a file, and [`coordinator_note`]:
//!   what announces a change of it.
//! - [`included`]: the files that one includes.
//! - [`read_or_said`]: which of them an agent reads without us.
//! - [`rules_diff()`]: the difference between the rules that an agent has and the current ones.
//! - [`SharedRules`]: the paragraphs that it does not have, within a budget, and a row for each
//!   paragraph that says what became of it.
//!
//! A file is never the operator's word: it came with the project, perhaps from a stranger.

mod file;
mod include;
mod managed;
mod paragraph;
mod reading;
mod rules_diff;
mod shared_rules;

pub use file::{FileName, InstructionFile};
pub use include::included;
pub use managed::{coordinator_note, managed_instructions};
pub use reading::read_or_said;
pub use rules_diff::{RuleTexts, RulesDiff, rules_diff};
pub use shared_rules::{RuleRow, RuleState, SHARED_CHARS_MAX, SharedRules};
