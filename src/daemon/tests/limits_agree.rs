//! That an agent is at its usage limit: however one begins and ends, its lane, the status, the record
//! and the next daemon say the same.

use super::rig::{Guest, Rig};
use super::silence::{agent_action, ended, hook};
use crate::adapters::codex::fact::CodexFact;
use crate::adapters::codex::request::CodexRequest;
use crate::core::agent::{Agent, AgentState};
use crate::core::delivery::{Checked, Ladder};
use crate::core::entry::TurnStatus;
use crate::core::snapshot::LimitSnapshot;
use crate::store::testing::Place;
use crate::wire::config::read;
use crate::wire::control::{AgentActionKind, ClearParams, Command, Role};

/// What happens.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// A turn of Codex ends at a limit that ends in so many seconds, if it has said.
    CodexHits(Option<i64>),
    /// A turn of Codex ends so.
    CodexEnds(TurnStatus),
    CodexLost,
    CodexComes,
    /// Codex was asked whether its limit holds, and says so. For as long, in seconds.
    Holds(i64),
    Over,
    Hook(&'static str, Option<&'static str>),
    ClaudeLeaves,
    ClaudeComes,
    /// What died is sent again.
    Resume,
    /// So many seconds go by.
    Pass(i64),
    Does(AgentActionKind),
    SessionEnds,
    /// Another daemon, to which nobody has come yet.
    Restart,
}

use Step::{
    ClaudeComes, ClaudeLeaves, CodexComes, CodexEnds, CodexHits, CodexLost, Does, Holds, Hook,
    Over, Pass, Restart, Resume, SessionEnds,
};

const PROMPT: Step = Hook("UserPromptSubmit", None);
const FAILS: Step = Hook("StopFailure", Some("rate_limit"));
const WORKS: Step = Hook("Stop", None);
const DIALOG: Step = Hook("PermissionRequest", None);
const TRY_NOW: Step = Does(AgentActionKind::TryNow);
const CANCEL: Step = Does(AgentActionKind::CancelRetries);

/// A daemon, with what is connected to it.
struct Scene {
    rig: Rig,
    operator: Guest,
    hooks: Guest,
    bridge: Option<Guest>,
    turns: u32,
}

impl Scene {
    async fn start(place: &Place) -> Self {
        let mut rig = Rig::start(place).await;
        Self {
            operator: rig.connect(Role::Deck, None, true),
            hooks: rig.connect(Role::Hook, None, false),
            bridge: None,
            rig,
            turns: 0,
        }
    }

    async fn codex_turn(&mut self, status: TurnStatus, limited: bool) {
        self.turns += 1;
        let turn = format!("turn-{}", self.turns);
        ended(&mut self.rig, &turn, status, &[], limited).await;
    }

    async fn answer(&mut self, checked: Checked) {
        loop {
            if let CodexRequest::AskLimit { reply } = self.rig.requests.try_recv().unwrap() {
                reply.send(checked).unwrap();
                break;
            }
        }
        tokio::task::yield_now().await;
        self.rig.pump().await;
    }

    async fn take(&mut self, agent: Agent, step: Step) {
        let now_ms = self.rig.daemon.base.clock.outside_ms();
        match step {
            CodexHits(ends_s) => {
                if let Some(ends_s) = ends_s {
                    let at_ms = now_ms + ends_s * 1_000;
                    self.rig.fact(CodexFact::LimitEnds { at_ms });
                }
                self.codex_turn(TurnStatus::Failed, true).await;
            }
            CodexEnds(status) => self.codex_turn(status, false).await,
            CodexLost => self.rig.fact(CodexFact::ServerLost {
                why: "it was stopped".to_owned(),
                gave_up: false,
            }),
            CodexComes => self.rig.codex_runs().await,
            Holds(s) => {
                let until_ms = Some(now_ms + s * 1_000);
                self.answer(Checked::Holds { until_ms }).await;
            }
            Over => self.answer(Checked::Over).await,
            Hook(event, detail) => {
                let hook = hook(event, detail);
                self.rig.call(&self.hooks, hook).await.unwrap();
            }
            ClaudeLeaves => {
                let bridge = self.bridge.take().unwrap();
                self.rig.daemon.disconnect(bridge.conn);
            }
            ClaudeComes => {
                self.bridge = Some(self.rig.connect(Role::Claude, Some(7_000_000), false));
            }
            Resume => {
                let file = serde_json::json!({"rateLimitResume": {"mode": "resume"}});
                let (config, _) = read(file.as_object().unwrap());
                self.rig.daemon.set_limit_mode(&config);
            }
            Pass(s) => {
                self.rig.daemon.base.clock.pass(s * 1_000);
                self.rig.daemon.on_deadline();
                self.rig.pump().await;
            }
            Does(act) => {
                let act = agent_action(agent, act);
                self.rig.call(&self.operator, act).await.unwrap();
            }
            SessionEnds => {
                let clear = Command::Clear(ClearParams::default());
                self.rig.call(&self.operator, clear).await.unwrap();
            }
            Restart => unreachable!("another scene"),
        }
        self.rig.settle().await;
    }

    /// Since when the limit that the agent is at holds, by the record, and when it ends, as far as is
    /// known. All that say so have been compared.
    fn limit(&self, agent: Agent, is_limited: bool, after: &str) -> Option<LimitSnapshot> {
        let daemon = &self.rig.daemon;
        let status = daemon.status().agents;
        let (limit, state) = match agent {
            Agent::Claude => (status.claude.limit, status.claude.state),
            Agent::Codex => (status.codex.limit, status.codex.state),
        };
        assert_eq!(
            daemon.agents.limits.is_active(agent),
            is_limited,
            "the limit, {after}"
        );
        assert_eq!(limit.is_some(), is_limited, "the status, {after}");
        let lanes: Vec<bool> = match agent {
            Agent::Codex => vec![daemon.agents.codex.rests_at_limit()],
            Agent::Claude => {
                let pairs = daemon.agents.claude.pairs().into_iter();
                pairs
                    .filter_map(|pair| daemon.agents.claude.ladder(&pair))
                    .map(Ladder::rests_at_limit)
                    .collect()
            }
        };
        assert!(
            lanes.iter().all(|rests| *rests == is_limited),
            "the lane, {after}"
        );
        let recorded = daemon.base.recorder.world().agent(agent).limit;
        assert_eq!(recorded.is_some(), is_limited, "the record, {after}");
        if agent == Agent::Codex || !is_limited {
            assert_eq!(
                state == AgentState::Limited,
                is_limited,
                "the state, {after}"
            );
        } else {
            // It may be gone, or try it.
            assert_ne!(state, AgentState::Idle, "the state, {after}");
        }
        assert_eq!(
            recorded.and_then(|limit| limit.until_ms),
            limit.and_then(|limit| limit.resets_at),
            "the end, {after}"
        );
        recorded
    }
}

/// Takes the steps, and looks after each of them. With each is whether the agent is at its limit then.
async fn play(agent: Agent, steps: &[(Step, bool)]) {
    let place = Place::new();
    let mut scene = Scene::start(&place).await;
    scene.take(agent, CodexComes).await;
    scene.take(agent, ClaudeComes).await;
    let mut limit: Option<LimitSnapshot> = None;
    for (at, (step, is_limited)) in steps.iter().enumerate() {
        let done: Vec<Step> = steps[..=at].iter().map(|(step, _)| *step).collect();
        let after = format!("{agent:?} after {done:?}");
        let is_other = matches!(step, Restart);
        if is_other {
            drop(scene);
            scene = Scene::start(&place).await;
        } else {
            scene.take(agent, *step).await;
        }
        let other = match agent {
            Agent::Claude => Agent::Codex,
            Agent::Codex => Agent::Claude,
        };
        let was = std::mem::replace(&mut limit, scene.limit(agent, *is_limited, &after));
        if is_other {
            assert_eq!(limit, was, "the next daemon, {after}");
        } else if let (Some(was), Some(limit), false) = (was, limit, matches!(step, SessionEnds)) {
            assert_eq!(limit.since_ms, was.since_ms, "the beginning, {after}");
        }
        scene.limit(other, false, &after);
    }
}

#[tokio::test]
async fn lane_status_and_record_agree_however_a_limit_of_codex_begins_and_ends() {
    let hits = (CodexHits(Some(600)), true);
    let table: &[&[(Step, bool)]] = &[
        // By the next turn that works, and by no other.
        &[
            hits,
            (CodexEnds(TurnStatus::Interrupted), true),
            (CodexEnds(TurnStatus::Failed), true),
            (CodexEnds(TurnStatus::Completed), false),
            (Restart, false),
            (CodexComes, false),
        ],
        // By time, after its vendor has said another one, which the next daemon knows.
        &[
            hits,
            (Pass(603), true),
            (Holds(3_600), true),
            (Restart, true),
            (CodexComes, true),
            (Pass(8_000), true),
            (Over, false),
        ],
        // Another turn says another one.
        &[hits, (CodexHits(Some(3_600)), true), (Restart, true)],
        &[
            (CodexHits(None), true),
            (CodexHits(Some(600)), true),
            (Restart, true),
        ],
        // By the operator, with nobody's word for the end.
        &[
            (CodexHits(None), true),
            (CANCEL, true),
            (Pass(600), true),
            (TRY_NOW, false),
            (CodexHits(None), true),
            (TRY_NOW, false),
            (Restart, false),
        ],
        // While its app-server is gone.
        &[
            hits,
            (CodexLost, true),
            (Restart, true),
            (CodexComes, true),
            (CodexLost, true),
            (TRY_NOW, false),
            (Restart, false),
            (CodexComes, false),
        ],
        // Over the end of a session.
        &[
            hits,
            (SessionEnds, true),
            (Restart, true),
            (SessionEnds, true),
            (Restart, true),
            (CodexComes, true),
            (TRY_NOW, false),
            (SessionEnds, false),
        ],
        // What died is sent again.
        &[
            (Resume, false),
            (CodexHits(None), true),
            (Pass(60), true),
            (Over, false),
        ],
    ];
    for steps in table {
        play(Agent::Codex, steps).await;
    }
}

#[tokio::test]
async fn lane_status_and_record_agree_however_a_limit_of_claude_begins_and_ends() {
    let hits = [(PROMPT, false), (FAILS, true)];
    let table: &[&[(Step, bool)]] = &[
        // By a turn that works, and by no other.
        &[
            (PROMPT, true),
            (Hook("StopFailure", Some("server_error")), true),
            (PROMPT, true),
            (Hook("Notification", Some("idle_prompt")), true),
            (Hook("SessionStart", Some("clear")), true),
            (PROMPT, true),
            (WORKS, false),
            (Restart, false),
        ],
        // A dialog says nothing about it yet.
        &[(PROMPT, true), (DIALOG, true), (FAILS, true)],
        &[
            (PROMPT, true),
            (DIALOG, true),
            (Restart, true),
            (ClaudeComes, true),
            (PROMPT, true),
            (WORKS, false),
        ],
        // By the operator.
        &[(TRY_NOW, false), (Restart, false), (ClaudeComes, false)],
        &[(PROMPT, true), (TRY_NOW, false), (Restart, false)],
        &[
            (PROMPT, true),
            (TRY_NOW, false),
            (FAILS, true),
            (Restart, true),
        ],
        &[
            (PROMPT, true),
            (DIALOG, true),
            (TRY_NOW, false),
            (Restart, false),
        ],
        &[
            (ClaudeLeaves, true),
            (TRY_NOW, false),
            (SessionEnds, false),
            (Restart, false),
            (ClaudeComes, false),
        ],
        // By time.
        &[(Resume, true), (Pass(61), false)],
        &[(Resume, true), (ClaudeLeaves, true), (Pass(61), false)],
        // It goes on in the next daemon, and in the next session.
        &[
            (Restart, true),
            (ClaudeComes, true),
            (SessionEnds, true),
            (Restart, true),
            (TRY_NOW, false),
        ],
        &[(ClaudeLeaves, true), (SessionEnds, true), (Restart, true)],
        &[(PROMPT, true), (SessionEnds, true), (Restart, true)],
    ];
    for steps in table {
        play(Agent::Claude, &[&hits[..], steps].concat()).await;
    }
}
