//! A question to a model that never answers.

use std::time::Duration;

use ctxrelay::adapters::claude::inference::{InferenceOrder, infer};

use crate::support::child::is_alive;
use crate::support::project::Project;
use crate::support::script_file::write_program;

#[tokio::test]
async fn a_question_without_an_answer_ends_in_time_and_leaves_no_process_and_no_word_behind() {
    let project = Project::new();
    let pid = project.root().join("pid");
    let program = project.root().join("claude");
    let text = format!(
        "#!/bin/sh\necho $$ > {}\ntrap '' TERM HUP\nwhile :; do sleep 1; done\n",
        pid.display()
    );
    write_program(&program, &text);
    let folder = project.root().join("questions/one");
    let order = InferenceOrder {
        program,
        hold_program: env!("CARGO_BIN_EXE_ctxrelay").into(),
        folder: folder.clone(),
        model: "haiku".to_owned(),
        max_usd: 0.05,
        prompt: "What are the plums for?".to_owned(),
        patience: Duration::from_secs(2),
    };
    let (_go_on, stop) = tokio::sync::oneshot::channel();
    let answer = infer(order, stop).await.unwrap();
    assert_eq!(answer.text, Err("it gave no answer within 2 s".to_owned()));
    assert_eq!(answer.cost_micro_usd, None);
    assert!(!folder.exists(), "the question lies there still");
    let began = std::fs::read_to_string(&pid).ok();
    let runs = began
        .and_then(|pid| pid.trim().parse().ok())
        .is_some_and(is_alive);
    assert!(!runs, "it runs on");
}
