use std::os::unix::fs::PermissionsExt as _;

use super::*;
use crate::wire::control::ProgramCode;

fn with(pairs: &[(&str, &str)]) -> Result<ProjectContext, Failure> {
    let dir = tempfile::tempdir().unwrap();
    let pairs: Vec<(String, OsString)> = pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), OsString::from(value)))
        .chain([("HOME".to_owned(), dir.path().into())])
        .collect();
    resolve(Some(dir.path()), Named::Exactly, |name| {
        pairs
            .iter()
            .find(|(has, _)| has == name)
            .map(|(_, value)| value.clone())
    })
}

fn code(pairs: &[(&str, &str)]) -> String {
    with(pairs).unwrap_err().code.to_string()
}

#[test]
fn all_three_ports_or_none() {
    let all = [
        ("CODEX_WS_PORT", "5001"),
        ("CODEX_PROXY_PORT", "5002"),
        ("CONTEXTRELAY_CONTROL_PORT", "5003"),
    ];
    let ports = with(&all).unwrap().ports.unwrap();
    assert_eq!(
        (ports.codex, ports.proxy, ports.control),
        (5001, 5002, 5003)
    );
    assert!(with(&[]).unwrap().ports.is_none());
    for count in 1..3 {
        let failure = with(&all[..count]).unwrap_err();
        assert_eq!(failure.code, ProgramCode::PartialPorts.into());
        assert_eq!(failure.kind.code(), 3);
        assert!(failure.message.contains("CONTEXTRELAY_CONTROL_PORT"));
    }
    // An empty variable is an unset one.
    assert!(with(&[("CODEX_WS_PORT", "")]).unwrap().ports.is_none());
}

#[test]
fn a_port_is_digits_in_range_and_used_once() {
    for value in ["0", "65536", "+5001", " 5001", "0x10", "5001a", "-1"] {
        let pairs = [
            ("CODEX_WS_PORT", value),
            ("CODEX_PROXY_PORT", "5002"),
            ("CONTEXTRELAY_CONTROL_PORT", "5003"),
        ];
        assert_eq!(code(&pairs), "bad_environment", "{value:?}");
    }
    let twice = [
        ("CODEX_WS_PORT", "5002"),
        ("CODEX_PROXY_PORT", "5002"),
        ("CONTEXTRELAY_CONTROL_PORT", "5003"),
    ];
    assert_eq!(code(&twice), "bad_environment");
    assert_eq!(
        code(&[("CONTEXTRELAY_PORT_BASE", "65534")]),
        "bad_environment"
    );
    assert_eq!(
        with(&[("CONTEXTRELAY_PORT_BASE", "6000")])
            .unwrap()
            .port_base,
        6000
    );
}

#[test]
fn a_mode_or_session_that_makes_no_sense_is_named() {
    assert_eq!(
        with(&[("CONTEXTRELAY_MODE", "pull")]).unwrap().mode,
        DeliveryMode::Pull
    );
    let failure = with(&[("CONTEXTRELAY_MODE", "PULL")]).unwrap_err();
    assert!(failure.message.contains("CONTEXTRELAY_MODE"), "{failure}");
    assert_eq!(
        code(&[("CONTEXTRELAY_RUNTIME_SESSION", "a\nb")]),
        "bad_environment"
    );
    // The daemon takes no longer one: every tool of such a pair would be refused.
    let longest = "ü".repeat(RuntimeSession::CHARS_MAX);
    let named = with(&[("CONTEXTRELAY_RUNTIME_SESSION", &longest)]);
    assert_eq!(named.unwrap().runtime_session.as_str(), longest);
    let over = format!("{longest}ü");
    let failure = with(&[("CONTEXTRELAY_RUNTIME_SESSION", &over)]).unwrap_err();
    let bound = "a name of at most 100 characters";
    assert!(failure.message.contains(bound), "{failure}");
    assert_eq!(
        code(&[("CONTEXTRELAY_STATE_DIR", "relative")]),
        "bad_environment"
    );
}

#[test]
fn a_state_folder_of_another_project_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().canonicalize().unwrap();
    let other = root.join("other");
    std::fs::create_dir_all(other.join(".contextrelay")).unwrap();
    let state = root.join("state");
    std::fs::create_dir(&state).unwrap();
    let other = ProjectDirs::new(other, Some(state.clone()));
    crate::store::state_owner::mark_state(&other).unwrap();
    let failure = with(&[("CONTEXTRELAY_STATE_DIR", state.to_str().unwrap())]).unwrap_err();
    assert_eq!(failure.kind.code(), 3);
    let named = other.root.display().to_string();
    assert!(failure.message.contains(&named), "{failure}");
}

#[test]
fn a_program_is_named_or_on_the_path_and_never_below_a_relative_folder() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("codex");
    std::fs::write(&file, "#!/bin/sh\n").unwrap();
    let path = dir.path().to_str().unwrap();
    assert_eq!(
        with(&[("PATH", path)]).unwrap().codex_program.find(),
        None,
        "not executable yet"
    );
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(
        with(&[("PATH", path)]).unwrap().codex_program.find(),
        Some(file.clone())
    );
    assert_eq!(
        with(&[("PATH", "bin:.")]).unwrap().codex_program.find(),
        None
    );
    // A named program that is not there is missing, whatever PATH has.
    let named = with(&[("PATH", path), ("CONTEXTRELAY_CODEX_BIN", "/nowhere/codex")]).unwrap();
    assert_eq!(named.codex_program.find(), None);
}

#[test]
fn a_project_that_is_no_folder_is_refused() {
    let failure = resolve(Some(Path::new("/nowhere/at/all")), Named::Exactly, |name| {
        (name == "HOME").then(|| "/tmp".into())
    })
    .unwrap_err();
    assert_eq!(
        (failure.kind.code(), &*failure.code.to_string()),
        (3, "no_project")
    );
}

#[test]
fn an_agent_deep_in_a_project_is_in_that_project() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let deep = root.join("a/b");
    std::fs::create_dir_all(&deep).unwrap();
    std::fs::create_dir(root.join(".contextrelay")).unwrap();
    let home = |name: &str| (name == "HOME").then(|| "/tmp".into());
    assert_eq!(
        resolve(Some(&deep), Named::Near, home).unwrap().dirs.root,
        root
    );
    assert_eq!(
        resolve(Some(&deep), Named::Exactly, home)
            .unwrap()
            .dirs
            .root,
        deep
    );
}

/// The project of the folder `from`, with these files in the home, and whether it was begun.
fn found(files: &[&str], from: &str) -> (String, bool) {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().canonicalize().unwrap();
    for file in files {
        let path = home.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
    }
    let from = home.join(from);
    std::fs::create_dir_all(&from).unwrap();
    let dirs = ProjectDirs::discover(&from, Some(&home), None).unwrap();
    let root = dirs.root.strip_prefix(&home).unwrap();
    let is_begun = dirs.begun(Some(&home)).exists();
    (root.display().to_string(), is_begun)
}

#[test]
fn a_home_or_a_folder_above_the_git_root_is_a_project_only_by_init() {
    const HOME: &str = ".contextrelay/current";
    const INIT: &str = ".contextrelay/config.json";
    let at = |root: &str, is_begun| (root.to_owned(), is_begun);
    // Something made `.contextrelay/` in the home once: it takes no project below it.
    assert_eq!(found(&[HOME], "work/a"), at("work/a", false));
    assert_eq!(found(&[HOME], ""), at("", false));
    assert_eq!(found(&[INIT], "work/a"), at("", true));
    // Dotfiles in git make no project of the home either.
    assert_eq!(found(&[".git/HEAD"], "work/a"), at("work/a", false));
    assert_eq!(found(&[".git/HEAD", HOME], "work/a"), at("work/a", false));
    // Above the git root.
    let above = ["work/.contextrelay/current", "work/a/.git/HEAD"];
    assert_eq!(found(&above, "work/a/src"), at("work/a", false));
    let made = ["work/.contextrelay/config.json", "work/a/.git/HEAD"];
    assert_eq!(found(&made, "work/a/src"), at("work", true));
    // Anywhere else the nearest one is.
    let plain = ["work/.contextrelay/current"];
    assert_eq!(found(&plain, "work/a/src"), at("work", true));
    let below = ["a/.git/HEAD", "a/b/.contextrelay/current"];
    assert_eq!(found(&below, "a/b/c"), at("a/b", true));
}
