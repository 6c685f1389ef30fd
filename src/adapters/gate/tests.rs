use super::*;
use crate::adapters::process::age;

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_gate_whose_keeper_says_nothing_is_stopped_at_once_with_what_it_began() {
    let folder = tempfile::tempdir().unwrap();
    // In the keeper's place: it starts what it is told to start, and is stopped.
    let keeper = "shift 2\n\"$@\" &\nkill -STOP $$\n";
    std::fs::write(folder.path().join("hold"), keeper).unwrap();
    let cmd = "echo $$ >began.new; mv began.new began; exec sleep 1000";
    let order = GateOrder {
        gate: serde_json::from_value(serde_json::json!({"name": "tests", "cmd": cmd})).unwrap(),
        root: folder.path().to_owned(),
        began_after: Seq(0),
        registry: folder.path().to_owned(),
        worktrees: folder.path().to_owned(),
        hold_program: "sh".into(),
    };
    let (stop, stopped) = oneshot::channel();
    let (told, mut facts) = mpsc::channel(1);
    let gate = tokio::spawn(run(order, stopped, told));
    let mut look = interval(Duration::from_millis(10));
    let pid: u32 = loop {
        look.tick().await;
        if let Ok(began) = std::fs::read_to_string(folder.path().join("began")) {
            break began.trim().parse().unwrap();
        }
    };
    drop(stop);
    let ended = facts.recv().await.unwrap();
    gate.await.unwrap();
    let GateFact::Ended(outcome) = ended else {
        panic!("{ended:?}");
    };
    assert_eq!(outcome.status, ArtifactStatus::Skipped);
    let ended = async {
        while age(pid).is_some() {
            look.tick().await;
        }
    };
    timeout(Duration::from_secs(60), ended).await.unwrap();
}

#[test]
fn of_a_key_that_begins_before_the_end_that_is_kept_nothing_is_told() {
    let key = format!(
        "-----BEGIN PRIVATE {}-----\n{}-----END PRIVATE {}-----\n",
        "KEY",
        format!("{}\n", "aB3d".repeat(16)).repeat(40),
        "KEY"
    );
    let behind = "a line\n".repeat(2_000);
    let behind = &behind[behind.len() + key.len() - 8_100..];
    let outcome = GateOutcome {
        status: ArtifactStatus::Failed,
        run: GateRun::default(),
        output: format!("{}{key}{behind}", "a line\n".repeat(1_000)),
    };
    let brief = outcome.brief(&Redactor::new()).unwrap();
    assert!(!brief.output.contains("aB3d"), "{}", brief.output);
    assert!(brief.output.ends_with("a line\n"));
    assert!(brief.output.chars().count() < LONG_CHARS);
    assert_eq!(brief.brief(&Redactor::new()), None);
}
