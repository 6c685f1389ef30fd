//! What an agent runs itself of the gates' commands.

use std::path::PathBuf;

use serde_json::json;

use super::rig::{Guest, Rig};
use super::tamper::{configured, write_config};
use crate::adapters::codex::fact::CodexFact;
use crate::core::agent::{Agent, Party};
use crate::core::entry::{Artifact, ArtifactStatus, CommandRun, EntryKind};
use crate::store::config;
use crate::store::testing::Place;
use crate::wire::control::{Command, HookEvent, HookParams, Role, TrustParams};

fn ran(cmd: &str, exit_code: i64) -> CommandRun {
    CommandRun {
        cmd: cmd.to_owned(),
        exit_code: Some(exit_code),
        duration_ms: Some(1_250),
    }
}

/// A gate in the project's folder and one in a folder of it, which wait for the operator's trust.
async fn with_gates(place: &Place) -> (Rig, Guest) {
    std::fs::create_dir_all(place.dirs.root.join("core")).unwrap();
    let gates = json!({"gates": [
        {"name": "unit", "cmd": "cargo test"},
        {"name": "core", "cmd": "make check", "cwd": "core"},
    ]});
    write_config(place, gates);
    configured(place).await
}

async fn trust(rig: &mut Rig, place: &Place, operator: &Guest) {
    let trust = Command::Trust(TrustParams {
        digest: config::load(&place.dirs, &place.user).digest,
        signing: None,
        signature: None,
    });
    rig.call(operator, trust).await.unwrap();
}

fn codex_ran(rig: &mut Rig, run: CommandRun, cwd: PathBuf) {
    rig.fact(CodexFact::CommandRan { run, cwd });
}

async fn claims(rig: &mut Rig) -> Vec<(Party, Artifact)> {
    rig.record().await;
    let recent = rig.daemon.base.recorder.recent();
    let claims = recent.iter().filter_map(|stored| match &stored.entry.kind {
        EntryKind::Artifact(artifact) => Some((stored.entry.source.clone(), artifact.clone())),
        _ => None,
    });
    claims.collect()
}

#[tokio::test]
async fn a_gates_command_that_codex_ran_is_its_claim_and_no_evidence() {
    let place = Place::new();
    let (mut rig, operator) = with_gates(&place).await;
    trust(&mut rig, &place, &operator).await;
    let root = place.dirs.root.clone();
    codex_ran(&mut rig, ran("cargo test 2>&1", 101), root.clone());
    codex_ran(&mut rig, ran("make check", 0), root.join("core"));
    let claims = claims(&mut rig).await;
    let told: Vec<_> = claims
        .iter()
        .map(|(by, claim)| (by.clone(), claim.title.as_str(), claim.status))
        .collect();
    let codex = Party::Agent(Agent::Codex);
    let expected = [
        (codex.clone(), "unit", ArtifactStatus::Failed),
        (codex, "core", ArtifactStatus::Passed),
    ];
    assert_eq!(told, expected);
    let unit = &claims[0].1;
    assert_eq!(unit.ran, Some(ran("cargo test", 101)));
    assert_eq!(unit.summary, "exit code 101 after 1.2 s");
    assert_eq!(unit.verified, None);
    assert!(rig.daemon.base.recorder.world().gates.is_empty());
}

#[tokio::test]
async fn of_what_else_agents_run_nothing_is_recorded() {
    let place = Place::new();
    let (mut rig, operator) = with_gates(&place).await;
    let root = place.dirs.root.clone();
    // Nobody has trusted the gates yet.
    codex_ran(&mut rig, ran("cargo test", 0), root.clone());
    trust(&mut rig, &place, &operator).await;
    codex_ran(&mut rig, ran("cargo test | tail", 0), root.clone());
    codex_ran(&mut rig, ran("ls", 0), root.clone());
    // Another folder's tests are other ones.
    codex_ran(&mut rig, ran("cargo test", 0), root.join("core"));
    codex_ran(&mut rig, ran("make check", 0), root.clone());
    codex_ran(&mut rig, ran("cargo test", 0), PathBuf::from("/"));
    assert_eq!(claims(&mut rig).await, []);
}

#[tokio::test]
async fn a_gates_command_that_claude_ran_is_its_claim() {
    let place = Place::new();
    let (mut rig, operator) = with_gates(&place).await;
    trust(&mut rig, &place, &operator).await;
    let hook = rig.connect(Role::Hook, None, false);
    for (event, exit_code) in [
        (HookEvent::PostToolUseFailure, 101),
        (HookEvent::PostToolUse, 0),
    ] {
        let params = HookParams {
            event,
            ran: Some(ran("cargo test", exit_code)),
            cwd: Some(place.dirs.root.display().to_string()),
            ..HookParams::default()
        };
        rig.call(&hook, Command::Hook(params)).await.unwrap();
    }
    let claims = claims(&mut rig).await;
    let told: Vec<_> = claims
        .iter()
        .map(|(by, claim)| (by.clone(), claim.status))
        .collect();
    let claude = Party::Agent(Agent::Claude);
    let expected = [
        (claude.clone(), ArtifactStatus::Failed),
        (claude, ArtifactStatus::Passed),
    ];
    assert_eq!(told, expected);
    // What is red until the next run is not told beside that.
    let world = rig.daemon.base.recorder.world();
    assert_eq!(world.failed_artifacts().count(), 0);
}
