use super::*;
use crate::cli::settings::{Named, resolve};

#[test]
fn a_session_has_three_panes_and_no_secret_in_its_commands() {
    let dir = tempfile::tempdir().unwrap();
    let project = resolve(Some(dir.path()), Named::Exactly, |name| {
        (name == "HOME").then(|| "/tmp".into())
    })
    .unwrap();
    let env = |name: &str| match name {
        "CONTEXTRELAY_MODE" => Some("pull".into()),
        "CODEX_HOME" | "CLAUDE_CONFIG_DIR" => Some("/of/my/own".into()),
        "ANTHROPIC_API_KEY" | "OPENAI_API_KEY" => Some("sk-secret".into()),
        _ => None,
    };
    let mut commands = commands(&project, AgentPlace::Right, env);
    commands.push(attach(&project));
    // Behind the server's socket, which is none of the user's.
    assert!(commands.iter().all(|words| words[0] == "-S"));
    let verbs: Vec<_> = commands.iter().map(|words| words[2].clone()).collect();
    assert_eq!(
        verbs,
        [
            "new-session",
            "split-window",
            "split-window",
            "attach-session"
        ]
    );
    assert!(commands[0].contains(&"CONTEXTRELAY_MODE=pull".into()));
    for name in ["CODEX_HOME", "CLAUDE_CONFIG_DIR"] {
        let passed = OsString::from(format!("{name}=/of/my/own"));
        assert!(commands[..3].iter().all(|words| words.contains(&passed)));
    }
    let all = format!("{commands:?}");
    assert!(!all.contains("sk-secret"), "{all}");
    assert!(
        commands[..3]
            .iter()
            .all(|words| words.contains(&"/bin/sh".into()))
    );
    assert!(commands[1].ends_with(&["claude".into()]));
    assert!(commands[2].ends_with(&["codex".into()]));
}

#[test]
fn the_agents_of_a_pair_open_where_the_deck_keeps_its_room() {
    let dir = tempfile::tempdir().unwrap();
    let project = resolve(Some(dir.path()), Named::Exactly, |name| {
        (name == "HOME").then(|| "/tmp".into())
    })
    .unwrap();
    let session = session_name(&project.dirs.root, &project.dirs.instance_id());
    let deck = |id: &str| PairPane {
        part: PairPart::Deck,
        id: id.to_owned(),
        has_ended: false,
    };
    for (size, agents) in [
        (
            (200, 50),
            [
                "split-window -h -d -t HOME",
                "split-window -v -d -t HOME.{top-right}",
            ],
        ),
        (
            (100, 40),
            [
                "split-window -v -d -t HOME",
                "split-window -h -d -t HOME.{bottom-left}",
            ],
        ),
        (
            (80, 24),
            [
                "new-window -d -n claude -t HOME",
                "new-window -d -n codex -t HOME",
            ],
        ),
    ] {
        let place = AgentPlace::in_pane(size);
        let begins = |words: &[OsString], with: &str| {
            let with = with.replace("HOME", &format!("{session}:"));
            let with: Vec<OsString> = with.split(' ').map(OsString::from).collect();
            assert!(words.starts_with(&with), "{words:?} for {with:?}");
        };
        let outside = commands(&project, place, |_| None);
        for (words, with) in outside[1..].iter().zip(agents) {
            begins(&words[2..], with);
        }
        // In a tmux of the user's they open beside our own pane, or in its session.
        let inside = opened(&project, &[], place, true, vec![deck("%7")]);
        let first = match place {
            AgentPlace::Window => agents[0].replace(" -t HOME", " -c"),
            _ => agents[0].replace("HOME", "%7"),
        };
        begins(&inside[0], &first);
        assert_eq!(inside[1][0], *agents[1].split(' ').next().unwrap());
    }
}

#[test]
fn a_folders_odd_name_makes_a_plain_session_name() {
    let name = session_name(Path::new("/x/my.proj: ä"), "ctx_0123456789ab");
    assert_eq!(name, "ctxrelay-my-proj----0123");
}
