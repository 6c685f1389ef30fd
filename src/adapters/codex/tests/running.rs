//! The adapter's task, with a shell script as its app-server.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::{SinkExt as _, StreamExt as _};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{sleep, timeout};
use tokio_tungstenite::tungstenite::Message;

use super::app_server::{handed_over, thread};
use crate::adapters::codex::compaction_hook::CompactionHook;
use crate::adapters::codex::fact::CodexFact;
use crate::adapters::codex::launch::LaunchEnv;
use crate::adapters::codex::request::CodexRequest;
use crate::adapters::codex::run::{RetryPolicy, Run};
use crate::adapters::codex::session::SessionContext;
use crate::adapters::codex::thread_state::ThreadState;
use crate::adapters::program_search::ProgramSearch;
use crate::core::entry::ErrorCode;
use crate::core::id::ThreadId;
use crate::core::redact::Redactor;

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
            program: ProgramSearch::new("/bin/sh", None),
            hold_program: PathBuf::from("/bin/sh"),
            instance_id: "i".to_owned(),
            control_port: 1,
            mcp_token: "t".to_owned(),
            hook: CompactionHook::default(),
        },
        context: SessionContext {
            project_root: project.to_string_lossy().into_owned(),
            account_every: Duration::from_secs(5),
            thread_name: "ctxrelay".to_owned(),
            hook: CompactionHook::default(),
            redactor: Arc::new(Redactor::new()),
            facts: told,
        },
        patience: RetryPolicy {
            backoff_min: Duration::from_millis(1),
            quick: HANGS / 2,
        },
        thread_state: ThreadState::default(),
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

/// What Codex says of a thread that another process has open.
const OPEN_ELSEWHERE: &str = "thread T already has an active writer";

/// An app-server that answers each method with these parameters so. Notes what it is asked.
async fn serve(
    listener: TcpListener,
    asked: mpsc::UnboundedSender<String>,
    mut answers: impl FnMut(&str, &Value) -> Result<Value, &'static str>,
) {
    while let Ok((stream, _)) = listener.accept().await {
        let mut socket = tokio_tungstenite::accept_async(stream).await.unwrap();
        while let Some(Ok(message)) = socket.next().await {
            let Message::Text(text) = message else {
                continue;
            };
            let request: Value = serde_json::from_str(&text).unwrap();
            let method = request["method"].as_str().unwrap().to_owned();
            let id = &request["id"];
            let answer = match answers(&method, &request["params"]) {
                Ok(result) => json!({"id": id, "result": result}),
                Err(why) => json!({"id": id, "error": {"code": -32600, "message": why}}),
            };
            let _ = asked.send(method);
            if !id.is_null() {
                // Who has gone needs no answer.
                let _ = socket.send(Message::text(answer.to_string())).await;
            }
        }
    }
}

/// The answers of an app-server that refuses the thread `T` so often, and then opens it.
fn opens_after(mut refusals: u32) -> impl FnMut(&str, &Value) -> Result<Value, &'static str> {
    move |method, _| match method {
        "initialize" => Ok(json!({"userAgent": "ctxrelay/0.169.0 (x) y"})),
        "thread/resume" if refusals > 0 => {
            refusals -= 1;
            Err(OPEN_ELSEWHERE)
        }
        "thread/resume" => Ok(json!({"thread": thread("T", "idle")})),
        "thread/start" => Ok(json!({"thread": thread("N", "idle")})),
        _ => Err("not here"),
    }
}

/// The answers of one that has lost the thread `T`, as far as it says, and makes `N`.
fn has_lost_it(method: &str, params: &Value) -> Result<Value, &'static str> {
    match method {
        "initialize" => Ok(json!({"userAgent": "ctxrelay/0.169.0 (x) y"})),
        "thread/resume" => Err("no rollout found for thread id T"),
        "thread/start" => Ok(json!({"thread": thread("N", "idle")})),
        "thread/name/set" => Ok(json!({})),
        "thread/queue/list" => Ok(json!({"data": []})),
        "thread/turns/list" if params["threadId"] == "N" => Ok(json!({"data": []})),
        "thread/turns/list" => Err("thread not loaded: T"),
        _ => Err("not here"),
    }
}

async fn next(facts: &mut mpsc::Receiver<CodexFact>) -> CodexFact {
    let fact = timeout(SOON, facts.recv()).await.expect("a fact in time");
    fact.expect("a task that runs")
}

/// The next facts are of an app-server that starts, and is ended for this reason.
async fn starts_and_is_lost(facts: &mut mpsc::Receiver<CodexFact>) -> (String, bool) {
    let fact = next(facts).await;
    assert!(matches!(fact, CodexFact::ServerStarted { .. }), "{fact:?}");
    match next(facts).await {
        CodexFact::ServerLost { why, gave_up } => (why, gave_up),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_conversation_that_is_open_elsewhere_is_tried_again_and_none_is_made_in_its_place() {
    let project = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (asked, mut was_asked) = mpsc::unbounded_channel();
    let server = tokio::spawn(serve(listener, asked, opens_after(1)));
    let (mut run, requests, mut facts) = run(project.path(), port);
    run.thread_state = ThreadState::new(Some("T".into()));
    let run = tokio::spawn(run.until_dropped());
    let (reply, ensured) = oneshot::channel();
    requests.send(CodexRequest::Ensure { reply }).await.unwrap();

    let (why, gave_up) = starts_and_is_lost(&mut facts).await;
    assert!(why.contains(OPEN_ELSEWHERE), "{why}");
    assert!(why.contains("close it where it is open"), "{why}");
    assert!(!gave_up);
    let fact = next(&mut facts).await;
    assert!(matches!(fact, CodexFact::ServerStarted { .. }), "{fact:?}");
    let thread_id = "T".into();
    assert_eq!(
        next(&mut facts).await,
        CodexFact::ThreadAdopted { thread_id }
    );
    let ensured = timeout(SOON, ensured).await.expect("an answer in time");
    assert_eq!(ensured.unwrap(), Ok("T".into()));

    drop(requests);
    timeout(SOON, run).await.expect("an end in time").unwrap();
    server.abort();
    while let Ok(method) = was_asked.try_recv() {
        assert_ne!(method, "thread/start");
    }
}

#[tokio::test]
async fn a_conversation_that_never_opens_is_given_up_with_its_reason_until_it_is_asked_for_again() {
    let project = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (asked, mut was_asked) = mpsc::unbounded_channel();
    let server = tokio::spawn(serve(listener, asked, opens_after(u32::MAX)));
    let (mut run, requests, mut facts) = run(project.path(), port);
    run.thread_state = ThreadState::new(Some("T".into()));
    let run = tokio::spawn(run.until_dropped());
    let (reply, ensured) = oneshot::channel();
    requests.send(CodexRequest::Ensure { reply }).await.unwrap();

    while !starts_and_is_lost(&mut facts).await.1 {}
    let CodexFact::Unavailable { code, why } = next(&mut facts).await else {
        panic!("that is told");
    };
    assert_eq!(code, ErrorCode::CodexFailed);
    assert!(why.contains(OPEN_ELSEWHERE), "{why}");
    let ensured = timeout(SOON, ensured).await.expect("an answer in time");
    assert_eq!(ensured.unwrap(), Err(why));

    let (reply, _again) = oneshot::channel();
    requests.send(CodexRequest::Ensure { reply }).await.unwrap();
    starts_and_is_lost(&mut facts).await;
    drop(requests);
    timeout(SOON, run).await.expect("an end in time").unwrap();
    server.abort();
    while let Ok(method) = was_asked.try_recv() {
        assert_ne!(method, "thread/start");
    }
}

/// What is told of `m1`, which an earlier process handed over, where `T` cannot be found any more.
async fn told_of_m1(thread_state: ThreadState) -> CodexFact {
    let project = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (asked, _was_asked) = mpsc::unbounded_channel();
    let server = tokio::spawn(serve(listener, asked, has_lost_it));
    let (mut run, requests, mut facts) = run(project.path(), port);
    run.thread_state = thread_state;
    let run = tokio::spawn(run.until_dropped());
    let messages = vec![handed_over("m1", &[])];
    requests
        .send(CodexRequest::Recover { messages })
        .await
        .unwrap();
    let told = loop {
        let fact = next(&mut facts).await;
        if let CodexFact::NotTaken { .. } | CodexFact::Unanswered { .. } = fact {
            break fact;
        }
    };
    drop(requests);
    timeout(SOON, run).await.expect("an end in time").unwrap();
    server.abort();
    told
}

#[tokio::test]
async fn a_new_conversation_says_nothing_of_what_an_earlier_process_gave_to_the_one_before() {
    let told = told_of_m1(ThreadState::new(Some("T".into()))).await;
    let message_id = "m1".into();
    assert_eq!(told, CodexFact::Unanswered { message_id });
}

#[tokio::test]
async fn what_was_to_go_into_the_first_conversation_of_all_was_not_taken() {
    let told = told_of_m1(ThreadState::new(None)).await;
    assert!(
        matches!(&told, CodexFact::NotTaken { message_id, .. } if message_id.as_str() == "m1"),
        "{told:?}"
    );
}

/// The facts up to the conversation that is adopted: what was said of the one before, and which it is.
async fn adopted(facts: &mut mpsc::Receiver<CodexFact>) -> (Vec<String>, ThreadId) {
    let mut said = Vec::new();
    loop {
        match next(facts).await {
            CodexFact::ThreadReplaced { why } => said.push(why),
            CodexFact::ThreadAdopted { thread_id } => return (said, thread_id),
            _ => {}
        }
    }
}

/// The conversation T is refused with these words, whenever it is asked for.
async fn behind_a_refusal(why: &'static str) -> (Vec<String>, ThreadId, Vec<String>) {
    behind(move || Err(why), || true).await
}

/// How the conversation T is opened at each try, and whether a new one can be made.
async fn behind(
    mut opens: impl FnMut() -> Result<(), &'static str> + Send + 'static,
    mut can_be_made: impl FnMut() -> bool + Send + 'static,
) -> (Vec<String>, ThreadId, Vec<String>) {
    let project = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (asked, mut was_asked) = mpsc::unbounded_channel();
    let answers = move |method: &str, _: &Value| match method {
        "initialize" => Ok(json!({"userAgent": "ctxrelay/0.169.0 (x) y"})),
        "thread/resume" => opens().map(|()| json!({"thread": thread("T", "idle")})),
        "thread/start" if can_be_made() => Ok(json!({"thread": thread("N", "idle")})),
        "thread/name/set" => Ok(json!({})),
        _ => Err("not here"),
    };
    let server = tokio::spawn(serve(listener, asked, answers));
    let (mut run, requests, mut facts) = run(project.path(), port);
    run.thread_state = ThreadState::new(Some("T".into()));
    let run = tokio::spawn(run.until_dropped());
    let (reply, _ensured) = oneshot::channel();
    requests.send(CodexRequest::Ensure { reply }).await.unwrap();
    let (said, thread_id) = adopted(&mut facts).await;
    drop(requests);
    timeout(SOON, run).await.expect("an end in time").unwrap();
    server.abort();
    let asked = std::iter::from_fn(|| was_asked.try_recv().ok()).collect();
    (said, thread_id, asked)
}

#[tokio::test]
async fn a_conversation_that_the_person_archived_is_followed_by_a_new_one_and_that_is_told() {
    let why = "session T is archived. Run `codex unarchive T` to unarchive it first.";
    let (said, thread_id, asked) = behind_a_refusal(why).await;
    assert_eq!(thread_id.as_str(), "N");
    let told = "Codex works in a new conversation: the one before, T, is archived";
    assert_eq!(said, [told]);
    let resumed = asked.iter().filter(|method| *method == "thread/resume");
    assert_eq!(resumed.count(), 1);
}

#[tokio::test]
async fn a_conversation_that_codex_cannot_read_is_tried_three_times_before_a_new_one_is_made() {
    let why = "failed to read thread: thread-store internal error";
    let (said, thread_id, asked) = behind_a_refusal(why).await;
    assert_eq!(thread_id.as_str(), "N");
    assert_eq!(said.len(), 1);
    assert!(said[0].contains(why), "{said:?}");
    let resumed = asked.iter().filter(|method| *method == "thread/resume");
    assert_eq!(resumed.count(), 3);
}

#[tokio::test]
async fn tries_at_a_conversation_that_is_open_elsewhere_do_not_count_as_unreadable() {
    let mut tries = 0;
    let opens = move || {
        tries += 1;
        match tries {
            1..=3 => Err(OPEN_ELSEWHERE),
            4 => Err("failed to read thread: it is busy"),
            _ => Ok(()),
        }
    };
    let (said, thread_id, asked) = behind(opens, || true).await;
    assert_eq!(thread_id.as_str(), "T");
    assert!(said.is_empty(), "{said:?}");
    assert!(!asked.contains(&"thread/start".to_owned()), "{asked:?}");
}

#[tokio::test]
async fn nothing_is_said_of_a_new_conversation_before_there_is_one() {
    let mut tries = 0;
    let can_be_made = move || {
        tries += 1;
        tries > 2
    };
    let archived = || Err("session T is archived. Run `codex unarchive T` first.");
    let (said, thread_id, _) = behind(archived, can_be_made).await;
    assert_eq!(thread_id.as_str(), "N");
    assert_eq!(said.len(), 1, "{said:?}");
}
