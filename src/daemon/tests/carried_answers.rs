//! What was answered to work that was handed over, behind a compaction: no answer is lost with the
//! file, and none comes back that no longer counts.

use std::collections::BTreeMap;

use super::commands::acked;
use super::compact::hand_off;
use super::rig::{Guest, Rig};
use crate::adapters::codex::fact::ReportedStatus;
use crate::core::agent::Agent;
use crate::core::id::EntryId;
use crate::core::snapshot::Snapshot;
use crate::store::ledger::Ledger;
use crate::store::testing::Place;
use crate::wire::control::{Command, ContextView, ReadContextParams, Reply, Role, SendParams};

/// What happens to a handoff from Claude to Codex.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// The turn that it started ends.
    Ended,
    /// Codex answers by a tool, behind that turn.
    Said,
    /// The person adds something to it.
    Added,
    /// Claude acknowledges what it got.
    Read,
    /// Codex proposes it as done, and the operator says no.
    Rejected,
}

/// The agents and their person.
struct Scene {
    rig: Rig,
    claude: Guest,
    codex: Guest,
    operator: Guest,
    handoff: EntryId,
}

impl Scene {
    /// Codex is at work on a handoff.
    async fn begin(place: &Place) -> Self {
        let mut rig = Rig::with_codex(place).await;
        let claude = rig.connect(Role::Claude, Some(7_000_000), false);
        let codex = rig.connect(Role::Codex, None, false);
        let operator = rig.connect(Role::Deck, None, true);
        let handoff = hand_off(Agent::Claude, "sort the plums");
        let handoff = rig.newest(&claude, handoff).await;
        rig.user_message("turn-1", Some(&handoff));
        rig.settle().await;
        rig.delivered();
        Self {
            rig,
            claude,
            codex,
            operator,
            handoff,
        }
    }

    async fn take(&mut self, step: Step) {
        let said = |from: Option<Agent>, to| {
            Command::Send(SendParams {
                from,
                to: Some(to),
                text: "there is more".to_owned(),
                in_reply_to: Some(self.handoff.clone()),
                ..SendParams::default()
            })
        };
        match step {
            Step::Ended => {
                let handoff = std::slice::from_ref(&self.handoff);
                self.rig.completed("turn-1", handoff, "they are sorted");
            }
            Step::Said => {
                let said = said(Some(Agent::Codex), Agent::Claude);
                self.rig.newest(&self.codex, said).await;
            }
            Step::Added => {
                let said = said(None, Agent::Codex);
                self.rig.newest(&self.operator, said).await;
            }
            Step::Read => {
                let unsettled = self.rig.daemon.base.recorder.world().unsettled.iter();
                let got = unsettled.filter(|(_, message)| message.to == Agent::Claude);
                let read = acked(Agent::Claude, got.map(|(id, _)| id.clone()).collect());
                self.rig.call(&self.claude, read).await.unwrap();
            }
            Step::Rejected => {
                let (codex, handoff) = (&self.codex, &self.handoff);
                self.rig.propose(codex, Agent::Codex, handoff).await;
                self.rig.reject().await;
            }
        }
        self.rig.settle().await;
        // Nothing for Codex is on its way.
        self.rig.status(ReportedStatus::Idle);
        self.rig.settle().await;
        for id in self.rig.delivered_ids() {
            self.rig.user_message("turn-2", Some(&id));
        }
        self.rig.settle().await;
    }

    fn answers(&self) -> BTreeMap<EntryId, Answers> {
        let recorder = &self.rig.daemon.base.recorder;
        answers(recorder.world(), recorder.ledger())
    }

    /// What Codex reads of its work.
    async fn work_of_codex(&mut self) -> String {
        let read = Command::ReadContext(ReadContextParams {
            view: ContextView::Resume,
            ..ReadContextParams::default()
        });
        match self.rig.call(&self.codex, read).await {
            Ok(Reply::Work(work)) => work.text,
            other => panic!("{other:?}"),
        }
    }
}

/// What answers a handoff, and the final answer to it.
type Answers = (Option<EntryId>, Option<EntryId>);

fn answers(world: &Snapshot, ledger: &Ledger) -> BTreeMap<EntryId, Answers> {
    let open = world.open_handoffs.iter();
    let answers = open.map(|(id, handoff)| {
        let at = handoff.final_answer;
        let final_answer = at.map(|at| ledger.read(at).unwrap().unwrap().entry.id);
        (id.clone(), (handoff.answer.clone(), final_answer))
    });
    answers.collect()
}

#[tokio::test]
async fn what_answers_a_handoff_is_the_same_before_and_after_a_compaction() {
    use Step::{Added, Ended, Read, Rejected, Said};
    // With whether something answers it in the end, and whether its turn's last words do.
    let stories: [(&[Step], bool, bool); 12] = [
        (&[Ended], true, true),
        (&[Ended, Said], true, true),
        (&[Ended, Read, Said], true, true),
        (&[Ended, Read, Said, Read], true, true),
        (&[Ended, Read, Added], true, true),
        (&[Said, Ended], true, true),
        (&[Ended, Rejected], false, false),
        (&[Said, Rejected], false, false),
        (&[Ended, Read, Rejected], false, false),
        (&[Ended, Rejected, Said], true, false),
        (&[Ended, Rejected, Said, Read], true, false),
        (&[Rejected, Ended], true, true),
    ];
    for (steps, is_answered, is_final) in stories {
        let place = Place::new();
        let mut scene = Scene::begin(&place).await;
        for step in steps {
            scene.take(*step).await;
        }
        let before = scene.answers();
        let (answer, final_answer) = &before[&scene.handoff];
        let is = (answer.is_some(), final_answer.is_some());
        assert_eq!(is, (is_answered, is_final), "{steps:?}");
        for _ in 0..2 {
            scene.rig.compact(&scene.operator).await;
            assert_eq!(scene.answers(), before, "{steps:?}");
            let work = scene.work_of_codex().await;
            assert!(work.contains("sort the plums"), "{steps:?}: {work}");
            assert_eq!(
                work.contains("you answered it"),
                is_final,
                "{steps:?}: {work}"
            );
        }
        drop(scene);
        let (replayed, ledger) = Rig::replayed(&place);
        assert_eq!(answers(&replayed, &ledger), before, "{steps:?}");
    }
}
