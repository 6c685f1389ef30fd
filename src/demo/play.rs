//! [`play`]: the story. Every step waits for what it needs; the pauses are for the reader.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use super::claude::{Decision, Mail, ScriptedClaude};
use super::watch::Watch;
use super::world::{DemoWorld, REFRESH, REFRESH_FIXED};
use super::{DemoError, story};
use crate::core::agent::Agent;
use crate::core::delivery::DeliveryWay;
use crate::core::id::EntryId;
use crate::host::Running;
use crate::wire::control::Command;

/// For our own processes to come up, on a machine that is busy.
const START_WAIT: Duration = Duration::from_secs(30);

/// For Codex's part, beyond the pauses.
const PEER_WAIT: Duration = Duration::from_secs(60);

/// Where the story ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// With the proposal: nobody is there to decide.
    Proposal,
    /// With the operator's approval; each rejection leads to another proposal. Claude hears of both
    /// as of any message, and reads its messages until the future is dropped.
    Operator,
}

/// Plays the story on a daemon that was started in the world's own project.
///
/// Dropping the future ends the processes that it started.
///
/// # Errors
///
/// When one of them, or the daemon, does not do its part. The project's record says how far the
/// story came.
pub async fn play(world: &DemoWorld, running: &Running, ending: Ending) -> Result<(), DemoError> {
    let mut watch = Watch::open(&world.project, running).await?;
    let claude = ScriptedClaude::start(world).await?;
    watch
        .status(
            "the scripted Claude's bridge and doorbell",
            Some(START_WAIT),
            |status| (status.agents.claude.delivery.rung == DeliveryWay::Doorbell).then_some(()),
        )
        .await?;
    // As `ctxrelay codex` does: have the app-server run and a thread ready.
    timeout(START_WAIT, watch.call(Command::EnsureCodex))
        .await
        .map_err(|_| DemoError::InVain("the scripted app-server"))??;
    watch
        .world("the scripted Codex", Some(START_WAIT), |world| {
            let attached = |agent| world.agent(agent).state.is_attached();
            Agent::ALL.into_iter().all(attached).then_some(())
        })
        .await?;

    let mut story = Story { world, claude };
    let handoff = story.hand_off().await?;
    story.read_review().await?;
    let mut proposal = story.propose_after_answer(&handoff).await?;
    if ending == Ending::Proposal {
        story.claude.end().await;
        return Ok(());
    }
    loop {
        story.claude.woken().await?;
        let mail = story.claude.read_mail().await?;
        match mail.iter().find_map(|mail| mail.decision_on(&proposal)) {
            None => story.answer_stranger(&mail).await?,
            Some(decision) => {
                story.claude.acknowledge(&mail).await?;
                match decision {
                    Decision::Approved => story.note_approval().await?,
                    Decision::Rejected { reason } => {
                        proposal = story.propose_again(&handoff, &reason).await?;
                    }
                }
            }
        }
    }
}

struct Story<'w> {
    world: &'w DemoWorld,
    claude: ScriptedClaude<'w>,
}

impl Story<'_> {
    async fn pause(&self, seconds: f64) {
        self.world.pace.pause(seconds).await;
    }

    /// Claude's first turn: goal, plan, handoff.
    async fn hand_off(&mut self) -> Result<String, DemoError> {
        self.pause(2.0).await;
        self.claude.begin_turn(story::PROMPT).await?;
        self.pause(1.5).await;
        self.note("goal", story::GOAL).await?;
        self.pause(2.0).await;
        self.note("plan", story::PLAN).await?;
        self.pause(3.0).await;
        let handoff = json!({
            "ask": story::ASK,
            "reason": story::REASON,
            "context_refs": [story::REFERENCE],
        });
        let sent = self.claude.call("handoff", handoff).await?;
        self.pause(1.0).await;
        self.claude.end_turn().await?;
        id(&sent, "handoff_id")
    }

    /// The second: Codex's findings, a decision, the change, a question.
    async fn read_review(&mut self) -> Result<(), DemoError> {
        let mail = self.mail_from_codex("the review of Codex").await?;
        self.pause(2.5).await;
        self.claude.acknowledge(&mail).await?;
        self.pause(2.5).await;
        self.note("decision", story::DECISION).await?;
        self.pause(2.5).await;
        std::fs::write(self.world.project.dirs.root.join(REFRESH), REFRESH_FIXED)
            .map_err(DemoError::io("writing src/refresh.rs"))?;
        let question = json!({"text": story::QUESTION, "require_reply": true});
        self.claude.call("reply", question).await?;
        self.pause(1.0).await;
        self.claude.end_turn().await
    }

    /// The third: Codex's answer, a report, the proposal.
    async fn propose_after_answer(&mut self, handoff: &str) -> Result<EntryId, DemoError> {
        let mail = self.mail_from_codex("the answer of Codex").await?;
        self.pause(2.5).await;
        self.claude.acknowledge(&mail).await?;
        self.pause(2.5).await;
        self.report(story::REPORT_SUMMARY).await?;
        self.pause(2.5).await;
        self.propose(handoff, story::PROPOSAL).await
    }

    async fn propose_again(&mut self, handoff: &str, reason: &str) -> Result<EntryId, DemoError> {
        self.pause(2.0).await;
        self.note("next_step", &format!("The operator rejected it: {reason}"))
            .await?;
        self.pause(4.0).await;
        self.report(story::REWORKED).await?;
        self.pause(2.0).await;
        let summary = format!("{} Reworked after: {reason}", story::PROPOSAL);
        self.propose(handoff, &summary).await
    }

    async fn note_approval(&mut self) -> Result<(), DemoError> {
        self.pause(1.5).await;
        self.note("note", story::APPROVED).await?;
        self.claude.end_turn().await
    }

    /// Waits for mail of Codex and returns in the turn that it began. What the operator writes
    /// meanwhile is read as well.
    async fn mail_from_codex(&mut self, what: &'static str) -> Result<Vec<Mail>, DemoError> {
        // The pauses of Codex are scaled too, so that a slow story needs more time.
        let wait = PEER_WAIT + self.world.pace.of(60.0);
        let awaited = async {
            loop {
                self.claude.woken().await?;
                let mail = self.claude.read_mail().await?;
                if mail.iter().any(|mail| mail.from == Agent::Codex.as_str()) {
                    return Ok(mail);
                }
                self.answer_stranger(&mail).await?;
            }
        };
        timeout(wait, awaited)
            .await
            .map_err(|_| DemoError::InVain(what))?
    }

    /// Meets what came outside of the script.
    async fn answer_stranger(&mut self, mail: &[Mail]) -> Result<(), DemoError> {
        if mail.is_empty() {
            return Ok(());
        }
        self.claude.acknowledge(mail).await?;
        self.pause(1.0).await;
        self.note("note", story::CLAUDE_STRANGER).await?;
        self.claude.end_turn().await
    }

    async fn note(&mut self, kind: &str, text: &str) -> Result<(), DemoError> {
        let note = json!({"kind": kind, "text": text});
        self.claude.call("append_note", note).await?;
        Ok(())
    }

    async fn report(&mut self, summary: &str) -> Result<(), DemoError> {
        let artifact = json!({
            "kind": "test_report",
            "title": story::REPORT_TITLE,
            "summary": summary,
            "status": "passed",
            "evidence": story::REPORT_EVIDENCE,
        });
        self.claude.call("record_artifact", artifact).await?;
        Ok(())
    }

    async fn propose(&mut self, handoff: &str, summary: &str) -> Result<EntryId, DemoError> {
        let proposal = json!({
            "summary": summary,
            "evidence": story::PROPOSAL_EVIDENCE,
            "remaining_risk": story::RISK,
            "handles_handoff_id": handoff,
        });
        let proposed = self.claude.call("propose_final", proposal).await?;
        self.claude.end_turn().await?;
        id(&proposed, "proposal_id").map(EntryId::new)
    }
}

fn id(answer: &Value, name: &'static str) -> Result<String, DemoError> {
    answer[name]
        .as_str()
        .map(str::to_owned)
        .ok_or_else(|| DemoError::Bridge(format!("gave an answer without {name}")))
}
