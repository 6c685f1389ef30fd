use std::fs;
use std::process::Command;

use super::*;

fn spec(program: &Path, project: &Path) -> PluginSpec {
    PluginSpec {
        program: program.to_path_buf(),
        version: "0.1.0".to_owned(),
        project: Some(project.to_path_buf()),
        registry: Some(PathBuf::from("/of the user/registry")),
    }
}

fn read(dir: &Path, name: &str) -> Value {
    serde_json::from_slice(&fs::read(dir.join(name)).unwrap()).unwrap()
}

/// A program that prints its arguments, one a line, below a folder with a difficult name.
///
/// Another process writes it: what this one has open for writing, a process that another test
/// begins has open as well for a moment, and that cannot be run.
fn program(dir: &Path) -> PathBuf {
    let folder = dir.join("it's a \"folder\" $(exit 9)");
    fs::create_dir(&folder).unwrap();
    let (draft, program) = (dir.join("draft"), folder.join("ctxrelay"));
    fs::write(&draft, "#!/bin/sh\nprintf '%s\\n' \"$@\"\n").unwrap();
    let mut install = Command::new("install");
    let copied = install.args(["-m", "0700"]).arg(draft).arg(&program);
    assert!(copied.status().unwrap().success());
    program
}

fn shell(command: &str, project: Option<&Path>) -> (bool, String) {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command);
    if let Some(project) = project {
        shell.env("CLAUDE_PROJECT_DIR", project);
    }
    let output = shell.output().unwrap();
    (
        output.status.success(),
        String::from_utf8(output.stdout).unwrap(),
    )
}

#[test]
fn its_commands_run_the_program_with_paths_as_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let program = program(dir.path());
    let project = dir.path().join("my `project` & co");
    let plugin = dir.path().join("plugin");
    spec(&program, &project).write(&plugin).unwrap();

    let server = &read(&plugin, ".claude-plugin/plugin.json")["mcpServers"]["contextrelay"];
    assert_eq!(server["command"], program.to_str().unwrap());
    assert_eq!(
        server["args"],
        json!([
            "bridge",
            "--registry",
            "/of the user/registry",
            "--project",
            project.to_str().unwrap()
        ])
    );
    assert_eq!(server["alwaysLoad"], true);

    let monitor = &read(&plugin, "monitors/monitors.json")[0]["command"];
    let (ok, printed) = shell(monitor.as_str().unwrap(), None);
    assert!(ok);
    assert_eq!(
        printed,
        format!("doorbell\n--project\n{}\n", project.display())
    );

    let hooks = &read(&plugin, "hooks/hooks.json")["hooks"];
    for event in HookEvent::ALL.iter().filter(|event| event.is_claudes()) {
        let hook = hooks[event.to_string()][0]["hooks"][0]["command"]
            .as_str()
            .unwrap();
        let (ok, printed) = shell(hook, None);
        assert!(ok);
        assert_eq!(
            printed,
            format!(
                "hook\n{event}\n--judged\n--registry\n/of the user/registry\n--project\n{}\n",
                project.display()
            )
        );
    }
}

#[test]
fn without_its_program_hooks_succeed_and_the_monitor_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let plugin = dir.path().join("plugin");
    spec(&dir.path().join("gone"), dir.path())
        .write(&plugin)
        .unwrap();
    let hooks = &read(&plugin, "hooks/hooks.json")["hooks"];
    let hook = hooks["Stop"][0]["hooks"][0]["command"].as_str().unwrap();
    assert_eq!(shell(hook, None), (true, String::new()));
    let monitor = read(&plugin, "monitors/monitors.json")[0]["command"].clone();
    // The same guard with a sleep that ends.
    let monitor = monitor.as_str().unwrap().replace("86400", "0");
    assert_eq!(shell(&monitor, None), (true, String::new()));
}

#[test]
fn a_plugin_for_any_project_takes_it_from_the_hooks_environment_unharmed() {
    let dir = tempfile::tempdir().unwrap();
    let program = program(dir.path());
    let plugin = dir.path().join("plugin");
    let mut spec = spec(&program, dir.path());
    spec.project = None;
    spec.registry = None;
    spec.write(&plugin).unwrap();
    let manifest = fs::read_to_string(plugin.join(".claude-plugin/plugin.json")).unwrap();
    assert!(!manifest.contains("--project"));
    let hooks = &read(&plugin, "hooks/hooks.json")["hooks"];
    let hook = hooks["Stop"][0]["hooks"][0]["command"].as_str().unwrap();
    let hostile = Path::new("/tmp/$(exit 3) \"x\"");
    assert_eq!(
        shell(hook, Some(hostile)),
        (
            true,
            format!("hook\nStop\n--judged\n--project\n{}\n", hostile.display())
        )
    );
}

#[test]
fn it_is_written_again_only_where_it_changed() {
    let dir = tempfile::tempdir().unwrap();
    let plugin = dir.path().join("plugin");
    let spec = spec(Path::new("/usr/bin/ctxrelay"), dir.path());
    assert!(!spec.is_current(&plugin));
    assert!(spec.write(&plugin).unwrap());
    assert!(!spec.write(&plugin).unwrap());
    assert!(spec.is_current(&plugin));
    fs::write(plugin.join("commands/status.md"), "changed").unwrap();
    assert!(!spec.is_current(&plugin));
    assert!(spec.write(&plugin).unwrap());
    assert!(spec.is_current(&plugin));
    let names = fs::read_dir(plugin.join("commands")).unwrap();
    assert_eq!(names.count(), 6, "no temporary file stays");
}

#[test]
fn no_command_is_the_beginning_of_another() {
    let dir = tempfile::tempdir().unwrap();
    let tree = spec(Path::new("/x"), dir.path()).tree().unwrap();
    let commands: Vec<_> = tree
        .iter()
        .filter_map(|(name, _)| name.strip_prefix("commands/")?.strip_suffix(".md"))
        .collect();
    assert_eq!(
        commands,
        [
            "handoff",
            "status",
            "finalize",
            "sync",
            "recall",
            "objective"
        ]
    );
    for one in &commands {
        for other in &commands {
            assert!(one == other || !other.starts_with(one));
        }
    }
}

#[test]
fn a_path_that_claude_would_change_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let spec = spec(Path::new("/x"), Path::new("/a/${HOME}"));
    let error = spec.write(&dir.path().join("plugin")).unwrap_err();
    assert!(matches!(error, PluginError::Path { .. }), "{error}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn the_flags_do_not_swallow_a_prompt() {
    assert_eq!(
        launch_args(Path::new("/d a/p")),
        [
            "--plugin-dir",
            "/d a/p",
            "--allowedTools=mcp__plugin_contextrelay_contextrelay"
        ]
    );
}
