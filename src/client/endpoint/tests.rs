use std::fs;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use super::*;
use crate::client::ClientError;
use crate::store::owner::OwnerLock;
use crate::wire::control::RefusalCode;

const TOKEN: &str = "a1b2c3d4a1b2c3d4a1b2c3d4a1b2c3d4a1b2c3d4a1b2c3d4a1b2c3d4a1b2c3d4";

fn project() -> (tempfile::TempDir, ProjectDirs) {
    let dir = tempfile::tempdir().unwrap();
    let dirs = ProjectDirs::new(dir.path().canonicalize().unwrap(), None);
    dirs.create().unwrap();
    (dir, dirs)
}

/// By another process: each one that some thread of this one is just starting has all open that this
/// one writes, and what somebody has open for writing cannot be run.
fn write_program(program: &Path, script: &str) {
    let draft = program.with_extension("draft");
    fs::write(&draft, script).unwrap();
    let mut install = Command::new("install");
    let copied = install
        .args(["-m", "0700"])
        .args([&*draft, program])
        .status();
    assert!(copied.unwrap().success());
}

fn own(dirs: &ProjectDirs) -> OwnerLock {
    OwnerLock::try_acquire(dirs).unwrap().unwrap()
}

fn publish(dirs: &ProjectDirs, port: u16) {
    let published = serde_json::json!({
        "pid": 1, "version": "0", "protocol": 1, "controlPort": port, "proxyPort": 1,
        "startedAt": 0, "detached": true,
    });
    dirs::write_private(
        &dirs.state_file("ports.json"),
        published.to_string().as_bytes(),
    )
    .unwrap();
    token(dirs, "token", TOKEN);
}

fn token(dirs: &ProjectDirs, name: &str, token: &str) {
    dirs::write_private(&dirs.state_file(name), format!("{token}\n").as_bytes()).unwrap();
}

fn control(port: u16, token: &str) -> Result<Endpoint, DialError> {
    let token = token.to_owned();
    Ok(Endpoint::Control { port, token })
}

fn why(found: Result<Endpoint, DialError>) -> String {
    match found {
        Err(DialError::NotYet(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_endpoint_is_what_the_daemon_published() {
    let (_dir, dirs) = project();
    let dial = project_dial(dirs.clone(), Role::Cli, None);
    assert_eq!(why(dial.look()), NO_DAEMON);
    let _owner = own(&dirs);
    publish(&dirs, 4502);
    assert_eq!(dial.look(), control(4502, TOKEN));
    fs::write(dirs.state_file("killed"), "").unwrap();
    assert_eq!(dial.look(), Err(DialError::Dormant(Dormancy::Killed)));
}

#[test]
fn each_role_comes_with_its_own_token_and_with_no_other() {
    let (_dir, dirs) = project();
    let _owner = own(&dirs);
    publish(&dirs, 4502);
    let dialled = |role| project_dial(dirs.clone(), role, None).look();
    let refused = why(dialled(Role::Claude));
    assert!(refused.contains("the token cannot be read"), "{refused}");
    let (claude, codex) = ("c".repeat(64), "d".repeat(64));
    token(&dirs, "claude-token", &claude);
    token(&dirs, "codex-token", &codex);
    for (role, own) in [
        (Role::Claude, &claude),
        (Role::Hook, &claude),
        (Role::Codex, &codex),
    ] {
        assert_eq!(dialled(role), control(4502, own), "{role:?}");
    }
    for role in [Role::Cli, Role::Deck] {
        assert_eq!(dialled(role), control(4502, TOKEN), "{role:?}");
    }
}

#[test]
fn a_token_that_is_a_link_or_no_token_is_not_used() {
    let (dir, dirs) = project();
    let _owner = own(&dirs);
    publish(&dirs, 4502);
    let dial = project_dial(dirs.clone(), Role::Cli, None);
    let token = dirs.state_file("token");
    fs::write(&token, "x\r\nHost: elsewhere\n").unwrap();
    let refused = why(dial.look());
    assert!(refused.contains("does not hold a token"), "{refused}");
    fs::remove_file(&token).unwrap();
    let elsewhere = dir.path().join("elsewhere");
    fs::write(&elsewhere, TOKEN).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &token).unwrap();
    let refused = why(dial.look());
    assert!(refused.contains("the token cannot be read"), "{refused}");
}

#[test]
fn debug_does_not_show_the_token() {
    let shown = control(4502, TOKEN).unwrap();
    assert_eq!(format!("{shown:?}"), "127.0.0.1:4502");
}

#[tokio::test]
async fn a_daemon_is_started_once_when_none_answers_and_not_when_one_does() {
    let (dir, dirs) = project();
    let marks = dir.path().join("starts");
    let program = dir.path().join("program");
    let script = format!(
        "#!/bin/sh\nprintf '%s|%s|%s\\n' \"$*\" \"$PWD\" \"$CLAUDECODE\" >> '{}'\n",
        marks.display()
    );
    write_program(&program, &script);
    let autostart = Autostart::detached(program, &dirs, dirs.relay.clone());
    let dial = project_dial(dirs.clone(), Role::Cli, Some(autostart));

    assert_eq!(why(dial.look()), "a daemon is starting");
    assert_eq!(
        why(dial.look()),
        "a daemon was started and does not answer yet"
    );
    let deadline = Instant::now() + Duration::from_secs(20);
    let root = dirs.root.display();
    let expected = format!("--json daemon --detach --project {root}|{root}|\n");
    while fs::read_to_string(&marks).unwrap_or_default() != expected {
        assert!(
            Instant::now() < deadline,
            "{:?}",
            fs::read_to_string(&marks)
        );
        std::thread::yield_now();
    }
    let over = tokio::time::timeout(Duration::from_secs(20), dial.news());
    over.await.expect("that the start is over is told");

    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let _owner = own(&dirs);
    publish(&dirs, listener.local_addr().unwrap().port());
    assert!(dial.look().is_ok());
}

#[tokio::test]
async fn why_a_daemon_did_not_start_is_told_until_one_does() {
    let (dir, dirs) = project();
    let [program, go] = ["program", "go"].map(|name| dir.path().join(name));
    let script = format!(
        r#"#!/bin/sh
while [ ! -e '{}' ]; do sleep 0.01; done
echo '{{"error":{{"code":"queue","message":"no room","hint":"make some"}}}}'
exit 3
"#,
        go.display()
    );
    write_program(&program, &script);
    let autostart = Autostart::detached(program, &dirs, dirs.relay.clone());
    let dial = project_dial(dirs.clone(), Role::Cli, Some(autostart));
    assert_eq!(why(dial.look()), "a daemon is starting");
    fs::write(go, "").unwrap();
    let over = tokio::time::timeout(Duration::from_secs(20), dial.news());
    over.await.expect("that the start is over is told");
    let told = "no daemon runs, and none can be started: no room (make some)";
    assert_eq!(why(dial.look()), told);
}

#[test]
fn a_program_that_is_gone_is_named_by_every_call_that_finds_no_daemon() {
    let (dir, dirs) = project();
    let program = dir.path().join("removed");
    let autostart = Autostart::detached(program.clone(), &dirs, dirs.relay.clone());
    let dial = project_dial(dirs, Role::Cli, Some(autostart));
    let told = why(dial.look());
    let begin = "no daemon runs, and none can be started: ";
    assert!(
        told.starts_with(begin) && told.contains(program.to_str().unwrap()),
        "{told}"
    );
    // Also within the pause before the next try.
    assert_eq!(why(dial.look()), told);
}

#[test]
fn a_stranger_on_the_port_of_a_daemon_that_died_is_not_dialled_and_another_one_is_started() {
    let (dir, dirs) = project();
    let stranger = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    stranger.set_nonblocking(true).unwrap();
    let owner = own(&dirs);
    publish(&dirs, stranger.local_addr().unwrap().port());
    let waiting = project_dial(dirs.clone(), Role::Cli, None);
    assert!(waiting.look().is_ok());
    drop(owner);
    assert_eq!(why(waiting.look()), NO_DAEMON);
    let program = dir.path().join("nothing");
    let autostart = Autostart::detached(program, &dirs, dirs.relay.clone());
    let starting = project_dial(dirs.clone(), Role::Cli, Some(autostart));
    let why = why(starting.look());
    assert!(why.contains("none can be started"), "{why}");
    let nobody = stranger.accept().unwrap_err();
    assert_eq!(nobody.kind(), ErrorKind::WouldBlock);
}

#[test]
fn nothing_is_started_where_nobody_has_begun() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let dirs = ProjectDirs::new(root.clone(), None);
    let program = dir.path().join("nothing");
    let autostart = Autostart::detached(program, &dirs, dirs.config());
    let dial = project_dial(dirs.clone(), Role::Cli, Some(autostart));
    let dormant = DialError::Dormant(Dormancy::NoProject(root));
    assert_eq!(dial.look(), Err(dormant.clone()));
    assert!(!dirs.relay.exists());
    dirs.create().unwrap();
    assert_eq!(dial.look(), Err(dormant), "not without the file");
    fs::write(dirs.config(), "{}").unwrap();
    let why = why(dial.look());
    assert!(why.contains("none can be started"), "{why}");
}

#[test]
fn a_project_whose_folder_was_moved_is_not_to_be_begun_where_it_was() {
    let (dir, dirs) = project();
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let _owner = own(&dirs);
    publish(&dirs, listener.local_addr().unwrap().port());
    let dial_of = || {
        let program = dir.path().join("nothing");
        let autostart = Autostart::detached(program, &dirs, dirs.relay.clone());
        project_dial(dirs.clone(), Role::Cli, Some(autostart))
    };
    let dial = dial_of();
    assert!(dial.look().is_ok());
    let gone = Err(DialError::Dormant(Dormancy::Gone(dirs.root.clone())));
    let elsewhere = tempfile::tempdir().unwrap();
    let moved = elsewhere.path().join("moved");
    fs::rename(&dirs.root, &moved).unwrap();
    assert_eq!(dial.look(), gone);
    // Nor by one that comes now.
    assert_eq!(dial_of().look(), gone);
    // An agent that works on wrote a file there.
    fs::create_dir(&dirs.root).unwrap();
    assert_eq!(dial.look(), gone);
    let none = DialError::Dormant(Dormancy::NoProject(dirs.root.clone()));
    assert_eq!(dial_of().look(), Err(none));
    fs::remove_dir(&dirs.root).unwrap();
    fs::rename(&moved, &dirs.root).unwrap();
    assert!(dial.look().is_ok());
    let refusal = ClientError::ProjectGone(dirs.root.clone()).to_refusal();
    assert_eq!(refusal.code, RefusalCode::FolderLost);
    let (_, to_begin) = refusal.hint.split_once("after `ctxrelay uninit`").unwrap();
    assert_eq!(refusal.hint.matches(" init").count(), 1, "{refusal:?}");
    assert!(to_begin.contains("`ctxrelay init`"), "{refusal:?}");
}

#[test]
fn a_project_that_was_given_up_where_it_is_is_not_said_to_have_been_moved() {
    let (dir, dirs) = project();
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let _owner = own(&dirs);
    publish(&dirs, listener.local_addr().unwrap().port());
    let program = dir.path().join("nothing");
    let autostart = Autostart::detached(program, &dirs, dirs.relay.clone());
    let dial = project_dial(dirs.clone(), Role::Cli, Some(autostart));
    assert!(dial.look().is_ok());
    fs::remove_dir_all(&dirs.relay).unwrap();
    let gone = Dormancy::Gone(dirs.root.clone());
    assert_eq!(dial.look(), Err(DialError::Dormant(gone)));
    let said = ClientError::ProjectGone(dirs.root.clone()).to_string();
    assert!(said.contains("or the .contextrelay/ in it"), "{said}");
}
