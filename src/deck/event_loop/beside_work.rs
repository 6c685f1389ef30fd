//! [`BesideWork`]: work that the deck does while its person does something else.

use std::sync::Arc;

use ctxrelay_ui::model::{Level, SearchScope};
use ctxrelay_ui::{Effect, Msg};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinHandle, spawn_blocking};

use crate::deck::calls::capsules::CapsuleWork;
use crate::deck::calls::queue_changes::{QueueChanges, change_queue};
use crate::deck::calls::search::{SearchAsked, search};
use crate::deck::comparison::Comparison;
use crate::deck::deck_options::{DeckOptions, ReadRecovery};
use crate::deck::followed::findings::read_places;
use crate::deck::unsent::WishesBeside;

/// Each of these goes on once at a time; what comes of it comes as an answer.
#[derive(Debug, Default)]
pub(in crate::deck) struct BesideWork {
    searching: Option<AbortHandle>,
    recovering: Option<JoinHandle<()>>,
    placing: Option<AbortHandle>,
    comparison: Comparison,
    importing: Option<JoinHandle<()>>,
    changing: Option<JoinHandle<()>>,
    capsules: CapsuleWork,
}

/// What became of a wish.
pub(in crate::deck) enum Begun {
    /// It is to be done at once.
    NotBeside(Effect),
    Silently,
    /// And the person is told this meanwhile.
    Saying(&'static str),
}

impl BesideWork {
    /// Nothing goes on yet. What does, and was written, is told in `open` as well.
    pub(in crate::deck) fn new(open: WishesBeside) -> Self {
        Self {
            capsules: CapsuleWork::new(open),
            ..Self::default()
        }
    }

    /// Begins what goes on beside the deck's loop.
    pub(in crate::deck) fn begin(
        &mut self,
        effect: Effect,
        options: &DeckOptions,
        answers: &mpsc::Sender<Msg>,
    ) -> Begun {
        if let Effect::Search {
            place,
            words,
            chips,
            number,
            after,
        } = effect
        {
            let asked = SearchAsked {
                place,
                words,
                chips,
                number,
                after,
            };
            // Each key press starts a search of its own: the answer to the one before is not waited
            // for.
            if let Some(before) = self.searching.take() {
                before.abort();
            }
            let answers = answers.clone();
            let task = match place {
                SearchScope::Record => {
                    let operator = options.operator.clone();
                    tokio::spawn(search(operator, asked, answers))
                }
                _ => {
                    let elsewhere = options.elsewhere.clone();
                    tokio::spawn(elsewhere.search(asked, answers))
                }
            };
            self.searching = Some(task.abort_handle());
            return Begun::Silently;
        }
        if let Some(changes) = QueueChanges::of(&effect) {
            if !is_over(&self.changing) {
                return Begun::Saying("those before are still being recorded: nothing was done");
            }
            let many = changes.are_many();
            let (operator, answers) = (options.operator.clone(), answers.clone());
            self.changing = Some(tokio::spawn(change_queue(operator, changes, answers)));
            return match many {
                true => Begun::Saying("they are being recorded, one after the other"),
                false => Begun::Silently,
            };
        }
        let (access, operator) = (&options.capsules, &options.operator);
        match access.perform(effect, &mut self.capsules, operator, answers) {
            None => Begun::Silently,
            Some(Effect::ReadRecovery) => {
                // A long record takes seconds; a second request shares the same answer.
                if is_over(&self.recovering) {
                    let read = Arc::clone(&options.read_recovery);
                    self.recovering = Some(tokio::spawn(recover(read, answers.clone())));
                }
                Begun::Silently
            }
            Some(Effect::ReadFindingPlaces { ids }) => {
                // The list is another one by now.
                if let Some(before) = self.placing.take() {
                    before.abort();
                }
                let task = tokio::spawn(read_places(operator.clone(), ids, answers.clone()));
                self.placing = Some(task.abort_handle());
                Begun::Silently
            }
            Some(Effect::ReadDiff { commit }) => {
                self.comparison.ask(commit, &options.read_diff, answers);
                Begun::Silently
            }
            Some(Effect::ImportReview) if is_over(&self.importing) => {
                // Its program may take a minute; the deck goes on meanwhile.
                let import = (options.import_review)(options.operator.clone());
                self.importing = Some(tokio::spawn(imported(import, answers.clone())));
                Begun::Saying("asking GitHub with your `gh`")
            }
            Some(Effect::ImportReview) => Begun::Saying("it is being imported already"),
            Some(effect) => Begun::NotBeside(effect),
        }
    }
}

fn is_over(task: &Option<JoinHandle<()>>) -> bool {
    task.as_ref().is_none_or(JoinHandle::is_finished)
}

/// Where the work stands, whenever that is read.
async fn recover(read: ReadRecovery, answers: mpsc::Sender<Msg>) {
    let read = spawn_blocking(move || read()).await;
    let read = read.unwrap_or_else(|_| Err("The record cannot be read.".to_owned()));
    // Nobody waits for it where the deck was left.
    let _ = answers.send(Msg::Recovery(read.map(Box::new))).await;
}

/// Says what came of it.
async fn imported(
    import: impl Future<Output = Result<String, String>>,
    answers: mpsc::Sender<Msg>,
) {
    let msg = match import.await {
        Ok(said) => Msg::Notice(Level::Info, said),
        Err(why) => Msg::Notice(Level::Error, why),
    };
    // Nobody waits for it where the deck was left.
    let _ = answers.send(msg).await;
}
