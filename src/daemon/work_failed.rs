//! Work beside the loop panicked: ends or continues what waited for it.

use super::event::WordsRead;
use super::owners::Daemon;
use crate::adapters::claude::inference::InferenceAnswer;
use crate::daemon::base::under_way::WorkBeside;

impl Daemon {
    /// Work beside the loop panicked. Who asked for it hears so by its reply, which is gone; here
    /// it is told, once for each kind, and what waited for it goes on.
    pub(super) fn on_work_failed(&mut self, what: WorkBeside) {
        self.base.work_failed(&what);
        let text = what.failure();
        match what {
            WorkBeside::Rendering => self.base.renderings.ended(),
            WorkBeside::RulesLook => self.agents.rules_watch.looked(),
            WorkBeside::SpokenWords { ended } => self.words_were_not_read(ended),
            // What was made of the new session may have gone with what was there of the old one.
            WorkBeside::Deletion => {
                self.base.operations.deletion_failed();
                self.base.recorder.space().sweep().end();
                self.base.renderings.changed();
            }
            WorkBeside::Gate => self.decisions.gate_failed(&mut self.base, text),
            WorkBeside::Inference { agent, pair, model } => self.agents.on_words_read(
                &mut self.base,
                WordsRead {
                    agent,
                    pair,
                    model,
                    answer: InferenceAnswer {
                        text: Err(text),
                        cost_micro_usd: None,
                    },
                },
            ),
            WorkBeside::Settings
            | WorkBeside::ManagedBlocks
            | WorkBeside::Carrying
            | WorkBeside::SealedTask
            | WorkBeside::KeptTexts
            // Their readers go on without what was to be read.
            | WorkBeside::AgentsLook
            | WorkBeside::Bodies
            | WorkBeside::CompactionLook
            | WorkBeside::ClaudeLook
            | WorkBeside::Commit
            | WorkBeside::ContextLook
            | WorkBeside::Packet
            | WorkBeside::ProgramLook
            | WorkBeside::Terminal => {}
        }
    }
}
