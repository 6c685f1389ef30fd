//! The adapter's task, with a shell script for an app-server.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{sleep, timeout};

use crate::adapters::codex::compaction_hook::CompactionHook;
use crate::adapters::codex::fact::CodexFact;
use crate::adapters::codex::launch::LaunchEnv;
use crate::adapters::codex::request::CodexRequest;
use crate::adapters::codex::run::{RetryPolicy, Run};
use crate::adapters::codex::session::Timeouts;
use crate::adapters::codex::thread_state::ThreadState;
use crate::core::entry::ErrorCode;

/// For all starts together; each is a shell or three.
const SOON: Duration = Duration::from_secs(60);

/// Longer than what counts as quick in these tests.
const HANGS: Duration = Duration::from_millis(100);

/// Read by a shell as `hold -- codex ARGS…`: the hold, and the program under it. Its standard input
/// is the owner's socket, which ends when the app-server is to end.
const SCRIPT: &str = r#"
printf '{"pid":%d}\n' $$ >&0
if [ "$3" = app-server ]; then
    echo '  listening on: ws://127.0.0.1:PORT' >&2
    read -r line
fi
"#;

/// A task whose app-servers are said to listen on this port.
fn run(project: &Path, port: u16) -> (Run, mpsc::Sender<CodexRequest>, mpsc::Receiver<CodexFact>) {
    std::fs::write(
        project.join("hold"),
        SCRIPT.replace("PORT", &port.to_string()),
    )
    .unwrap();
    let (requests, requested) = mpsc::channel(8);
    let (told, facts) = mpsc::channel(256);
    // Nobody at the proxy wants anything.
    let (_, wishes) = mpsc::channel(1);
    let (upstream, _) = watch::channel(None);
    let run = Run {
        surroundings: LaunchEnv {
            project_root: project.to_owned(),
            program: Some(PathBuf::from("/bin/sh")),
            hold_program: PathBuf::from("/bin/sh"),
            instance_id: "i".to_owned(),
            control_port: 1,
            mcp_token: "t".to_owned(),
            hook: CompactionHook::default(),
        },
        terms: Timeouts {
            project_root: project.to_string_lossy().into_owned(),
            account_every: Duration::from_secs(5),
            thread_name: "ctxrelay".to_owned(),
            hook: CompactionHook::default(),
            facts: told,
        },
        patience: RetryPolicy {
            backoff_min: Duration::from_millis(1),
            quick: HANGS / 2,
        },
        memory: ThreadState::default(),
        inherited: None,
        preferred_port: 0,
        record_child: Box::new(|_| {}),
        requests: requested,
        backlog: VecDeque::new(),
        wishes,
        upstream,
    };
    (run, requests, facts)
}

#[tokio::test]
async fn an_app_server_that_hangs_each_time_is_given_up_and_that_is_told() {
    let project = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    // It lets everybody in and never says a word.
    let silent = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            sleep(HANGS).await;
            drop(stream);
        }
    });
    let (run, requests, mut facts) = run(project.path(), port);
    let run = tokio::spawn(run.until_dropped());
    let (reply, ensured) = oneshot::channel();
    requests.send(CodexRequest::Ensure { reply }).await.unwrap();
    let fact = timeout(SOON, facts.recv()).await.expect("a fact in time");
    assert!(
        matches!(
            &fact,
            Some(CodexFact::Unavailable {
                code: ErrorCode::CodexFailed,
                ..
            })
        ),
        "{fact:?}"
    );
    let ensured = timeout(SOON, ensured).await.expect("an answer in time");
    ensured.unwrap().unwrap_err();
    drop(requests);
    let left = timeout(SOON, run).await.expect("an end in time").unwrap();
    assert!(left.is_none());
    silent.abort();
}
