//! What lies over the panes, as a stack: each overlay knows its state and draws itself.

mod agent_sheet;
mod asked;
mod card_gates;
mod card_sheet;
mod chip_bar;
mod choice;
mod composer;
mod confirm;
mod document;
mod entry_sheet;
mod help_sheet;
mod markdown;
mod overlay;
mod palette;
mod place_line;
mod search_sheet;
mod sheet;
mod subject;
mod thread_sheet;

pub(crate) use agent_sheet::AgentSheet;
pub(crate) use asked::answers;
pub(crate) use card_sheet::{CardSheet, CardStage, warnings};
pub(crate) use chip_bar::{ChipSheet, chip_step, thread_chip};
pub(crate) use choice::{Choice, ChoiceOption, Pick};
pub(crate) use composer::Composer;
pub(crate) use confirm::Confirm;
pub(crate) use entry_sheet::EntrySheet;
pub(crate) use help_sheet::HelpSheet;
pub(crate) use overlay::Overlay;
pub(crate) use palette::Palette;
pub(crate) use place_line::PlaceLine;
pub(crate) use search_sheet::SearchSheet;
pub(crate) use sheet::SheetText;
pub(crate) use subject::Subject;
pub(crate) use thread_sheet::ThreadSheet;
