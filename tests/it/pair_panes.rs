//! `ctxrelay pair` in the real tmux, with programs in the agents' places.

use std::net::TcpListener;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::support::child::{is_alive, run};
use crate::support::hand_over::Tidy;
use crate::support::launch::Launch;
use crate::support::project::Project;
use crate::support::pty::{Key, Pty};
use crate::support::script_file::write_program;
use crate::support::wait::{timeout, wait_until};

/// A project with a claude that ends at once; its tmux ends with this value.
struct Panes {
    project: Project,
}

impl Panes {
    fn new(claude: &str) -> Self {
        let project = Project::new();
        for (name, text) in [("claude", claude), ("codex", "exit 1")] {
            write_program(&project.bin().join(name), &format!("#!/bin/sh\n{text}\n"));
        }
        Self { project }
    }

    /// As [`Self::new`], with this line in the user's configuration of tmux.
    fn configured(claude: &str, line: &str) -> Self {
        let panes = Self::new(claude);
        std::fs::write(panes.project.home().join(".tmux.conf"), line).unwrap();
        panes
    }

    fn pair(&self) -> Pty {
        let launch = self.project.ctxrelay(["pair"]);
        Pty::spawn_sized(&launch, 200, 50).labelled("pair")
    }

    fn socket(&self) -> Option<PathBuf> {
        let runs = std::fs::read_dir(self.project.registry().join("run")).ok()?;
        runs.map(|instance| instance.unwrap().path().join("operator.tmux"))
            .find(|path| path.exists())
    }

    fn tmux(&self, args: &[&str]) -> Launch {
        let socket = self.socket().expect("the pair's own tmux");
        let tmux = self.project.program("tmux").arg("-S").arg(socket);
        tmux.args(args)
    }

    fn count(&self, what: &str) -> usize {
        let listed = run(&self.tmux(&[what])).expect_success();
        listed.stdout.lines().count()
    }
}

impl Drop for Panes {
    fn drop(&mut self) {
        if self.socket().is_some() {
            run(&self.tmux(&["kill-server"]));
        }
    }
}

fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn the_words_of_an_agent_that_ends_at_once_stay_in_its_pane() {
    let panes = Panes::new("echo no such account; exit 3");
    let mut pair = panes.pair();
    pair.wait_for_text("no such account");
    pair.wait_for_text("claude has ended (exit code 3): Enter closes this pane");
    // Codex's own failure is ours to tell, and stays too.
    pair.wait_for_text("codex has ended (exit code 4): Enter closes this pane");
    assert_eq!(panes.count("list-panes"), 3);
    // The upper one on the right is Claude's.
    run(&panes.tmux(&["select-pane", "-t", "{top-right}"])).expect_success();
    pair.press_until(Key::Enter, "the pane to go", |screen| {
        !screen.contains("no such account")
    });
    wait_until("two panes", timeout(), || {
        (panes.count("list-panes") == 2).then_some(())
    });
}

#[test]
fn panes_of_another_pair_are_not_taken_for_those_that_were_asked_for() {
    const NAME: &str = "CONTEXTRELAY_RUNTIME_SESSION";
    let panes = Panes::new("echo claude is up; exec sleep 600");
    let named = |name: &str| {
        let launch = panes.project.ctxrelay(["pair"]).env(NAME, name);
        Pty::spawn_sized(&launch, 200, 50).labelled(name)
    };
    let mut first = named("two");
    first.wait_for_text("claude is up");
    let mut same = named("two");
    same.wait_for_text("claude is up");
    let mut other = panes.pair();
    other.wait_for_text("are those of the pair two");
    assert_eq!(other.wait_exit(), 2, "{}", other.screen());
    let mut other = named("three");
    other.wait_for_text("CONTEXTRELAY_RUNTIME_SESSION=three");
    assert_eq!(other.wait_exit(), 2, "{}", other.screen());
    assert_eq!(panes.count("list-panes"), 3);
}

#[test]
fn a_second_pair_puts_an_agent_that_failed_into_its_pane_again() {
    let panes = Panes::new("echo no such account; exit 3");
    let mut first = panes.pair();
    first.wait_for_text("claude has ended (exit code 3)");
    let place = || {
        let format = "#{pane_id} #{pane_left} #{pane_top}";
        let args = ["display-message", "-p", "-t", "{top-right}", format];
        run(&panes.tmux(&args)).expect_success().stdout
    };
    let before = place();
    let claude = panes.project.bin().join("claude");
    write_program(&claude, "#!/bin/sh\necho claude is up\nexec sleep 600\n");
    let mut again = panes.pair();
    again.wait_for_text("claude is up");
    again.wait_for_text("codex has ended");
    assert!(
        !again.screen().contains("no such account"),
        "{}",
        again.screen()
    );
    assert_eq!((panes.count("list-panes"), place()), (3, before));
    // What runs is left alone.
    let pid = || {
        let args = ["display-message", "-p", "-t", "{top-right}", "#{pane_pid}"];
        run(&panes.tmux(&args)).expect_success().stdout
    };
    let runs = pid();
    let mut third = panes.pair();
    third.wait_for_text("claude is up");
    assert_eq!(pid(), runs);
}

#[test]
fn the_pairs_tmux_is_its_own_unknown_to_the_agents_and_joined_by_a_second_pair() {
    let panes = Panes::new("env >../agent-env; echo claude is up; exec sleep 600");
    let mut first = panes.pair();
    first.wait_for_text("claude is up");
    let socket = panes.socket().unwrap();
    assert_eq!(mode(socket.parent().unwrap()), 0o700);
    let env = panes.project.base().join("agent-env");
    let env = std::fs::read_to_string(env).unwrap();
    assert!(env.contains("CONTEXTRELAY_AGENT="), "{env}");
    for line in env.lines() {
        assert!(!line.starts_with("TMUX"), "{line}");
        assert!(!line.contains("operator.tmux"), "{line}");
    }
    // A tmux of the user's is another one.
    let plain = run(&panes.project.program("tmux").arg("list-sessions"));
    assert!(!plain.stdout.contains("ctxrelay-"), "{}", plain.stdout);

    let mut second = panes.pair();
    second.wait_for_text("claude is up");
    assert_eq!(panes.count("list-panes"), 3);
    assert_eq!(panes.count("list-clients"), 2);
}

#[test]
fn a_dry_run_prints_what_is_run_where_the_session_is_there_already() {
    let panes = Panes::new("echo claude is up; exec sleep 600");
    let dry_run = || {
        let said = panes.project.run(["pair", "--dry-run"]).expect_success();
        let lines: Vec<String> = said.stdout.lines().map(str::to_owned).collect();
        lines
    };
    assert!(dry_run()[0].contains("new-session"));
    let mut first = panes.pair();
    first.wait_for_text("claude is up");
    first.wait_for_text("codex has ended");
    // What has failed is put into its pane again, and nothing else is done.
    let said = dry_run();
    assert_eq!(said.len(), 3, "{said:?}");
    assert!(said[0].contains("set-option"), "{said:?}");
    assert!(said[1].contains("respawn-pane") && said[1].ends_with(" codex"));
    assert!(said[2].contains("attach-session"), "{said:?}");
    // Both agents' panes go.
    for left in [2, 1] {
        run(&panes.tmux(&["kill-pane", "-t", "{right}"])).expect_success();
        assert_eq!(panes.count("list-panes"), left);
    }
    let said = dry_run();
    let opened: Vec<bool> = (said.iter().map(|line| line.contains("split-window"))).collect();
    assert_eq!(opened, [true, true, false], "{said:?}");
    assert!(said[0].ends_with(" claude") && said[1].ends_with(" codex"));
    assert!(said[2].contains("attach-session"), "{said:?}");
    assert_eq!(panes.count("list-panes"), 1, "nothing was started");
    // What is printed opens the same panes: the upper one on the right is Claude's.
    for line in &said[..2] {
        let shell = panes.project.program("sh").args(["-c", line]);
        run(&shell).expect_success();
    }
    assert_eq!(panes.count("list-panes"), 3);
    let claude = [
        "display-message",
        "-p",
        "-t",
        "{top-right}",
        "#{pane_start_command}",
    ];
    let claude = run(&panes.tmux(&claude)).expect_success().stdout;
    assert!(claude.contains(" claude"), "{claude}");
}

#[test]
fn a_second_pair_opens_what_has_ended_meanwhile() {
    let panes = Panes::new("echo claude is up; exec sleep 600");
    let mut first = panes.pair();
    first.wait_for_text("claude is up");
    first.wait_for_text("✓ chain");
    // The deck at the left, and Claude above at the right.
    for (place, shows) in [("{left}", "✓ chain"), ("{top-right}", "claude is up")] {
        let pid = run(&panes.tmux(&["display-message", "-p", "-t", place, "#{pane_pid}"]));
        let pid = pid.expect_success().stdout.trim().parse().unwrap();
        run(&panes.tmux(&["kill-pane", "-t", place])).expect_success();
        // A deck takes its daemon along.
        wait_until("its end", timeout(), || (!is_alive(pid)).then_some(()));
        assert_eq!(panes.count("list-panes"), 2);
        let mut again = panes.pair();
        again.wait_for_text(shows);
        again.wait_for_text("codex has ended");
        assert_eq!(panes.count("list-panes"), 3);
    }
    let format = "#{pane_left} #{pane_top} #{pane_start_command}";
    let listed = run(&panes.tmux(&["list-panes", "-F", format])).expect_success();
    let at_left: Vec<&str> = listed
        .stdout
        .lines()
        .filter(|line| line.starts_with("0 0 "))
        .collect();
    assert_eq!(at_left.len(), 1, "{listed:?}");
    assert!(!at_left[0].contains("ctxrelay claude"), "{listed:?}");
}

#[test]
fn a_pane_that_tmux_keeps_of_what_has_ended_is_opened_again() {
    let panes = Panes::configured("exec sleep 600", "set-option -g remain-on-exit on\n");
    let mut first = panes.pair();
    first.wait_for_text("✓ chain");
    first.wait_for_text("codex has ended");
    let is_dead = || {
        let args = ["display-message", "-p", "-t", "{left}", "#{pane_dead}"];
        run(&panes.tmux(&args)).expect_success().stdout.trim() == "1"
    };
    run(&panes.tmux(&["send-keys", "-t", "{left}", "q"])).expect_success();
    wait_until("the deck's end", timeout(), || is_dead().then_some(()));
    let mut again = panes.pair();
    again.wait_for_text("✓ chain");
    assert!(!is_dead());
    assert_eq!(panes.count("list-panes"), 3);
}

#[test]
fn a_pair_opens_where_tmux_ends_sessions_that_nobody_is_attached_to() {
    let line = "set-option -g destroy-unattached on\n";
    let panes = Panes::configured("echo claude is up; exec sleep 600", line);
    let mut pair = panes.pair();
    pair.wait_for_text("claude is up");
    pair.wait_for_text("✓ chain");
    assert_eq!(panes.count("list-panes"), 3);
}

#[test]
fn why_no_daemon_can_start_stays_in_every_pane() {
    let panes = Panes::new("exec sleep 600");
    let port = panes.project.ports.control;
    let taken = TcpListener::bind(("127.0.0.1", port)).unwrap();
    let mut pair = panes.pair();
    for name in ["deck", "claude", "codex"] {
        pair.wait_for_text(&format!("{name} has ended (exit code 3)"));
    }
    let screen = pair.screen();
    let told = format!("port {port} is held by");
    assert_eq!(screen.matches(&told).count(), 3, "{screen}");
    // It is put into its pane again like an agent.
    drop(taken);
    let mut again = panes.pair();
    again.wait_for_text("✓ chain");
    assert_eq!(panes.count("list-panes"), 3);
}

#[test]
fn a_pair_whose_path_its_locale_cannot_write_is_found_again() {
    let panes = Panes::new("echo claude is up; exec sleep 600");
    let folder = panes.project.root().join("grün");
    std::fs::create_dir(&folder).unwrap();
    let pair = |args: &[&str]| {
        let args = ["pair", "--project"].iter().chain(args).copied();
        panes.project.ctxrelay(args).env("LANG", "C")
    };
    let folder = folder.to_str().unwrap();
    let mut first = Pty::spawn_sized(&pair(&[folder]), 200, 50).labelled("pair");
    first.wait_for_text("claude is up");
    first.wait_for_text("codex has ended");
    let shown = run(&pair(&[folder, "--dry-run"])).expect_success().stdout;
    assert!(!shown.contains("split-window"), "{shown}");
    assert!(shown.contains("respawn-pane"), "{shown}");
}

#[test]
fn a_folder_whose_name_means_something_to_tmux_is_opened_and_nothing_in_it_runs() {
    for name in ["a#(touch new)b", "a##{pane_id}#[x]b#", "plums\\;", "pears;"] {
        let panes = Panes::new("echo claude is up; exec sleep 600");
        let root = panes.project.root();
        let folder = root.join(name);
        std::fs::create_dir(&folder).unwrap();
        let folder_name = folder.to_str().unwrap();
        let launch = panes.project.ctxrelay(["pair", "--project", folder_name]);
        let mut pair = Pty::spawn_sized(&launch, 200, 50).labelled("pair");
        pair.wait_for_text("claude is up");
        pair.wait_for_text("codex has ended");
        let listed = run(&panes.tmux(&["list-panes", "-F", "#{pane_current_path}"]));
        let listed = listed.expect_success().stdout;
        assert_eq!(listed.lines().collect::<Vec<_>>(), [folder_name; 3]);
        for place in [root, &folder, &panes.project.home()] {
            assert!(!place.join("new").exists(), "{name}: {}", place.display());
        }
    }
}

#[test]
fn in_a_small_terminal_the_deck_keeps_its_room_and_the_agents_have_windows() {
    let panes = Panes::new("echo claude is up; exec sleep 600");
    let launch = panes.project.ctxrelay(["pair"]);
    let mut pair = Pty::spawn_sized(&launch, 80, 24).labelled("pair");
    pair.wait_for_text("1 Agents");
    let format = "#{window_name} #{window_panes} #{pane_width}";
    let windows = || {
        run(&panes.tmux(&["list-windows", "-F", format]))
            .expect_success()
            .stdout
    };
    let opened = windows();
    assert!(opened.contains("claude 1 80\n"), "{opened}");
    assert!(opened.contains("codex 1 80\n"), "{opened}");
    assert_eq!(opened.lines().count(), 3, "{opened}");
    // What is open is found there by a second one.
    let mut again = Pty::spawn_sized(&launch, 80, 24).labelled("again");
    again.wait_for_text("1 Agents");
    assert_eq!(windows(), opened);
    run(&panes.tmux(&["select-window", "-t", "claude"])).expect_success();
    again.wait_for_text("claude is up");
}

/// Ends a tmux server with this value.
struct UsersTmux<'a> {
    project: &'a Project,
    socket: PathBuf,
}

impl UsersTmux<'_> {
    fn new(project: &Project) -> UsersTmux<'_> {
        let base = project.base();
        // A login shell would have another PATH.
        let settings = "set-option -g default-command sh\n";
        std::fs::write(base.join("users.tmux.conf"), settings).unwrap();
        UsersTmux {
            project,
            socket: base.join("users.tmux"),
        }
    }

    fn tmux(&self, args: &[&str]) -> Launch {
        let settings = self.socket.with_extension("tmux.conf");
        let tmux = self.project.program("tmux").arg("-S").arg(&self.socket);
        tmux.arg("-f").arg(settings).args(args.iter().copied())
    }

    /// A line for each pane of the server.
    fn panes(&self) -> Vec<String> {
        let format = "#{pane_pid} #{pane_start_command}";
        let listed = run(&self.tmux(&["list-panes", "-a", "-F", format]));
        listed.stdout.lines().map(str::to_owned).collect()
    }

    fn claudes(&self) -> Vec<String> {
        let mut panes = self.panes();
        panes.retain(|pane| pane.contains("ctxrelay claude "));
        panes
    }
}

impl Drop for UsersTmux<'_> {
    fn drop(&mut self) {
        if self.socket.exists() {
            run(&self.tmux(&["kill-server"]));
        }
    }
}

#[test]
fn a_second_pair_in_a_tmux_of_the_users_opens_only_what_is_missing() {
    let panes = Panes::new("echo claude is up; exec sleep 600");
    let project = &panes.project;
    let _tidy = Tidy(project);
    let users = UsersTmux::new(project);
    let launch = users.tmux(&["new-session"]).envs(project.env());
    let mut terminal = Pty::spawn_sized(&launch, 200, 50).labelled("tmux");
    wait_until("a pane", timeout(), || {
        (users.panes().len() == 1).then_some(())
    });
    let pair = format!("{} pair\r", env!("CARGO_BIN_EXE_ctxrelay"));
    let leave = |terminal: &mut Pty| {
        terminal.press(Key::Char('q'));
        terminal.wait_until_gone("✓ chain");
    };
    terminal.type_text(&pair);
    terminal.wait_for_text("✓ chain");
    terminal.wait_for_text("claude is up");
    terminal.wait_for_text("codex has ended");
    assert_eq!(users.panes().len(), 3);
    let claudes = users.claudes();
    assert_eq!(claudes.len(), 1, "{claudes:?}");

    // Our own pane is the shell again, and the agents' panes are there.
    leave(&mut terminal);
    terminal.type_text(&pair);
    terminal.wait_for_text("✓ chain");
    assert_eq!(users.panes().len(), 3);
    assert_eq!(users.claudes(), claudes, "the same one");

    // From another window too.
    leave(&mut terminal);
    run(&users.tmux(&["new-window"])).expect_success();
    terminal.wait_until_gone("claude is up");
    terminal.type_text(&pair);
    terminal.wait_for_text("✓ chain");
    assert_eq!(users.panes().len(), 4);
    assert_eq!(users.claudes(), claudes, "the same one");
}

#[test]
fn in_a_tmux_of_the_users_an_agent_has_its_folders_and_what_tmux_lacks_is_named() {
    let panes = Panes::new("echo \"in $CLAUDE_CONFIG_DIR <$ANTHROPIC_API_KEY>\"; exec sleep 600");
    let project = &panes.project;
    let _tidy = Tidy(project);
    let users = UsersTmux::new(project);
    let launch = users.tmux(&["new-session"]).envs(project.env());
    let mut terminal = Pty::spawn_sized(&launch, 200, 50).labelled("tmux");
    wait_until("a pane", timeout(), || {
        (users.panes().len() == 1).then_some(())
    });
    terminal.type_text("export CLAUDE_CONFIG_DIR=/of/my/own ANTHROPIC_API_KEY=sk-secret\r");
    let pair = format!("{} pair\r", env!("CARGO_BIN_EXE_ctxrelay"));
    terminal.type_text(&pair);
    terminal.wait_for_text("in /of/my/own <>");
    terminal.wait_for_text("ANTHROPIC_API_KEY is set here and not in tmux");
    let panes = users.panes();
    assert!(
        panes.iter().all(|pane| !pane.contains("sk-secret")),
        "{panes:?}"
    );
}

#[test]
fn what_pair_would_do_is_shown_also_where_the_tmux_around_it_is_gone() {
    let panes = Panes::new("exec sleep 600");
    let launch = panes.project.ctxrelay(["pair", "--dry-run"]);
    let shown = run(&launch.env("TMUX", "/nowhere,1,0"))
        .expect_success()
        .stdout;
    for verb in ["claude", "codex"] {
        let opens = |line: &str| line.contains("split-window") && line.contains(verb);
        assert!(shown.lines().any(opens), "{shown}");
    }
}

#[test]
fn what_the_deck_copies_is_in_the_tmux_of_the_pair() {
    let panes = Panes::new("echo claude is up; exec sleep 600");
    let mut pair = panes.pair();
    pair.wait_for_text("✓ chain");
    pair.wait_for_text("claude is up");
    pair.wait_for_text("codex has ended");
    let mut socket = panes.project.agent("codex");
    let note = json!({"agent": "codex", "kind": "note", "text": "words to be copied"});
    socket.expect("note/append", note);
    pair.wait_for_screen("the selected note", |screen| {
        let is_selected = |line: &str| line.contains('▸') && line.contains("words to be copied");
        screen.lines().any(is_selected)
    });
    pair.press(Key::Char('y'));
    let copied = wait_until("what was copied", timeout(), || {
        let shown = run(&panes.tmux(&["show-buffer"]));
        (shown.code() == 0).then_some(shown.stdout)
    });
    assert!(copied.contains("words to be copied"), "{copied}");
}
