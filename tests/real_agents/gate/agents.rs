//! The gate with the real agents: what their shells start and leave behind.

use crate::pair::{attached_codex, without_sandbox};
use crate::support::claude_home;
use crate::support::model_request::says;
use crate::support::pair::Pair;
use crate::support::pty::Pty;
use crate::support::script::Reply;

use crate::support::gate_scene::{Scene, Try};

/// What the agents are told to run.
const RUN: &str = "sh ../all.sh; echo done-$((40+2))";

/// Everything as one script, and what it tries.
fn script(scene: &Scene<'_>) -> Vec<Try> {
    let (lines, tries) = scene.tries();
    scene.write("all.sh", &lines);
    tries
}

#[test]
fn nothing_that_claudes_shell_starts_decides() {
    let Some(pair) = Pair::live() else { return };
    let asks = ["claude", "--permission-mode", "default"];
    let mut claude = Pty::spawn(&pair.ctxrelay(asks)).labelled("claude");
    claude.wait_for_text(claude_home::COMPOSER);
    pair.messages
        .when(says("run it"))
        .once()
        .reply(Reply::shell(RUN));
    let scene = Scene::new(&pair.project);
    let tries = script(&scene);
    claude.submit("run it");
    claude.wait_for_text("Do you want to proceed?");
    claude.enter_until_gone("Do you want to proceed?");
    scene.expect_refused(&tries);
    scene.approve();
}

#[test]
fn nothing_that_codexs_shell_starts_decides_though_it_has_no_sandbox() {
    let Some(pair) = Pair::new() else { return };
    without_sandbox(&pair);
    let _daemon = pair.daemon();
    let mut codex = attached_codex(&pair);
    pair.responses
        .when(says("run it"))
        .once()
        .reply(Reply::shell(RUN));
    let scene = Scene::new(&pair.project);
    let tries = script(&scene);
    codex.submit("run it");
    scene.expect_refused(&tries);
    scene.approve();
}
