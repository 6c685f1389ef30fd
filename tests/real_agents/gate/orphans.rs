//! What becomes of the processes that Codex's commands leave behind and that end while it lives.

use crate::pair::{attached_codex, without_sandbox};
use crate::support::model_request::says;
use crate::support::pair::Pair;
use crate::support::script::Reply;
use crate::support::wait::{timeout, wait_until};

/// Leaves ten processes behind, each of which ends once its parent is gone, and says which. With
/// its descriptors closed, so that no agent waits for it.
const LEAVE: &str = r#"
for n in 1 2 3 4 5 6 7 8 9 10; do
  (setsid sh -c 'echo $$ >>../left; while [ -e ../alive ]; do sleep 0.02; done' </dev/null >/dev/null 2>&1 &)
done
while [ "$(wc -l <../left)" -lt 10 ]; do sleep 0.02; done
echo left-$((5+5))
"#;

/// The state of a process and its parent; `None` when there is no such process.
fn stat(pid: u32) -> Option<(char, u32)> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut words = stat.rsplit_once(") ")?.1.split(' ');
    Some((words.next()?.chars().next()?, words.next()?.parse().ok()?))
}

/// The processes that were left behind, once all have been started.
fn left(pair: &Pair) -> Vec<u32> {
    wait_until("what is left behind", timeout(), || {
        let text = std::fs::read_to_string(pair.project.base().join("left")).ok()?;
        let pids: Vec<u32> = text.lines().filter_map(|line| line.parse().ok()).collect();
        (pids.len() == 10).then_some(pids)
    })
}

fn prepare(pair: &Pair) {
    std::fs::write(pair.project.base().join("leave.sh"), LEAVE).unwrap();
    std::fs::write(pair.project.base().join("left"), "").unwrap();
    std::fs::write(pair.project.base().join("alive"), "").unwrap();
}

/// Has them end, and waits until nothing of them is left.
#[track_caller]
fn expect_reaped(pair: &Pair, pids: &[u32]) {
    std::fs::remove_file(pair.project.base().join("alive")).unwrap();
    wait_until("the end of all, reaped", timeout(), || {
        pids.iter().all(|pid| stat(*pid).is_none()).then_some(())
    });
}

#[test]
fn what_codexs_commands_leave_behind_is_reaped_while_its_app_server_lives() {
    let Some(pair) = Pair::new() else { return };
    without_sandbox(&pair);
    let _daemon = pair.daemon();
    let mut codex = attached_codex(&pair);
    prepare(&pair);
    pair.responses
        .when(says("leave them"))
        .once()
        .reply(Reply::shell("sh ../leave.sh"));
    codex.submit("leave them");
    let pids = left(&pair);
    // The last of them may write its number before its parent is gone.
    let keeper = wait_until("one parent of all", timeout(), || {
        let keeper = stat(pids[0])?.1;
        let mut pids = pids.iter();
        let is_of_all = pids.all(|pid| stat(*pid).is_some_and(|stat| stat.1 == keeper));
        is_of_all.then_some(keeper)
    });
    assert_ne!(keeper, 1, "they stay below the agent");
    expect_reaped(&pair, &pids);
    assert!(stat(keeper).is_some_and(|(state, _)| state != 'Z'));
}
