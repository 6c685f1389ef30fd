use std::fs;

use super::*;
use crate::core::managed_block::with_block;

/// A folder above which no agent's files lie, with these in it; `ours` is our block alone.
fn project(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = dir.path().join("project").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text = match *text {
            "ours" => with_block("", "x").unwrap(),
            "both" => with_block("# Mine\n", "x").unwrap(),
            text => text.to_owned(),
        };
        fs::write(path, text).unwrap();
    }
    dir
}

fn planned(files: &[(&str, &str)]) -> Plan {
    planned_with(files, None)
}

fn planned_with(files: &[(&str, &str)], config: Option<&str>) -> Plan {
    let dir = project(files);
    let home = dir.path().join("home");
    let codex = home.join(".codex");
    fs::create_dir_all(&codex).unwrap();
    fs::create_dir_all(dir.path().join("project")).unwrap();
    if let Some(config) = config {
        fs::write(codex.join("config.toml"), config).unwrap();
    }
    let homes = Homes {
        home: Some(home),
        codex: Some(codex),
    };
    Plan::of(&dir.path().join("project"), &homes)
}

fn names(plan: &Plan) -> (Vec<&str>, Vec<&str>) {
    (
        plan.with.iter().map(String::as_str).collect(),
        plan.without.iter().map(String::as_str).collect(),
    )
}

#[test]
fn nothing_new_is_put_before_what_an_agent_reads() {
    for (files, with) in [
        (&[][..], &["AGENTS.md"][..]),
        (&[("AGENTS.md", "# A")], &["AGENTS.md"]),
        (&[("CLAUDE.md", "# C")], &["CLAUDE.md", "AGENTS.md"]),
        (
            &[("CLAUDE.md", "# C"), ("AGENTS.md", "# A")],
            &["CLAUDE.md", "AGENTS.md"],
        ),
        (
            &[("CLAUDE.local.md", "# L"), ("AGENTS.md", "# A")],
            &["CLAUDE.md", "AGENTS.md"],
        ),
        (
            &[(".claude/CLAUDE.md", "# C")],
            &[".claude/CLAUDE.md", "AGENTS.md"],
        ),
        // An empty one is none, for Claude as well.
        (&[("CLAUDE.md", "\n"), ("AGENTS.md", "# A")], &["AGENTS.md"]),
        (
            &[("AGENTS.override.md", "# O"), ("AGENTS.md", "# A")],
            &["AGENTS.md", "AGENTS.override.md"],
        ),
        // As an earlier version left it, with and without rules of the user's.
        (
            &[("CLAUDE.md", "ours"), ("AGENTS.md", "both")],
            &["AGENTS.md"],
        ),
        (
            &[("CLAUDE.md", "ours"), ("AGENTS.md", "ours")],
            &["AGENTS.md"],
        ),
    ] {
        let plan = planned(files);
        assert_eq!(plan.with, with, "{files:?}");
        assert_eq!(plan.left, None, "{files:?}");
    }
}

#[test]
fn a_file_of_ours_that_hides_rules_is_found() {
    let plan = planned(&[("CLAUDE.md", "ours"), ("AGENTS.md", "both")]);
    assert_eq!(names(&plan), (vec!["AGENTS.md"], vec!["CLAUDE.md"]));
    assert_eq!(
        plan.hiding,
        [Hiding {
            ours: "CLAUDE.md".to_owned(),
            hidden: "AGENTS.md".to_owned(),
            agent: "Claude"
        }]
    );
    // Nothing of the user's is hidden here.
    let plan = planned(&[("CLAUDE.md", "ours"), ("AGENTS.md", "ours")]);
    assert_eq!(plan.hiding, []);
    let plan = planned(&[
        ("CLAUDE.md", "ours"),
        ("CLAUDE.local.md", "# L"),
        ("AGENTS.md", "both"),
    ]);
    assert_eq!(plan.hiding, []);
    assert_eq!(plan.with, ["CLAUDE.md", "AGENTS.md"]);
}

#[test]
fn codexs_fallback_names_are_not_hidden() {
    let config = Some("project_doc_fallback_filenames = [\"TEAM.md\", \"CLAUDE.md\", \"../x\"]\n");
    let plan = planned_with(&[("CLAUDE.md", "# C")], config);
    assert_eq!(names(&plan), (vec!["CLAUDE.md"], vec![]));
    let plan = planned_with(&[("TEAM.md", "# T"), ("CLAUDE.md", "# C")], config);
    assert_eq!(plan.with, ["CLAUDE.md", "TEAM.md"]);
    // For Claude there is no place that hides nothing.
    let plan = planned_with(&[("TEAM.md", "# T")], config);
    assert_eq!(plan.with, ["TEAM.md"]);
    assert!(plan.left.unwrap().contains("CLAUDE.md"));
    let plan = planned_with(&[("TEAM.md", "# T"), ("AGENTS.md", "ours")], config);
    assert_eq!(names(&plan), (vec!["TEAM.md"], vec!["AGENTS.md"]));
    assert_eq!(plan.hiding[0].agent, "Codex");
    assert_eq!(plan.hiding[0].hidden, "TEAM.md");
}

#[test]
fn an_agents_md_is_not_made_where_codexs_names_are_unknown() {
    let config = Some("project_doc_fallback_filenames = [\n");
    let plan = planned_with(&[("CLAUDE.md", "# C")], config);
    assert_eq!(plan.with, ["CLAUDE.md"]);
    assert!(plan.left.unwrap().contains("config.toml"));
    let plan = planned_with(&[("AGENTS.md", "# A")], config);
    assert_eq!((plan.with.len(), plan.left), (1, None));
}

#[test]
fn claudes_file_above_the_project_counts_and_the_homes_own_does_not() {
    let dir = project(&[("AGENTS.md", "# A")]);
    let root = dir.path().join("project");
    let homes = |home: &Path| Homes {
        home: Some(home.to_path_buf()),
        codex: None,
    };
    fs::create_dir(dir.path().join(".claude")).unwrap();
    fs::write(dir.path().join(".claude/CLAUDE.md"), "# Mine").unwrap();
    assert_eq!(Plan::of(&root, &homes(dir.path())).with, ["AGENTS.md"]);
    let links = tempfile::tempdir().unwrap();
    let linked = links.path().join("home");
    std::os::unix::fs::symlink(dir.path(), &linked).unwrap();
    assert_eq!(Plan::of(&root, &homes(&linked)).with, ["AGENTS.md"]);
    let elsewhere = homes(Path::new("/nowhere"));
    let both = ["CLAUDE.md", "AGENTS.md"];
    assert_eq!(Plan::of(&root, &elsewhere).with, both);
}

#[test]
fn a_file_of_two_names_has_the_block_once() {
    let dir = project(&[("CLAUDE.md", "# Mine")]);
    let root = dir.path().join("project");
    std::os::unix::fs::symlink("CLAUDE.md", root.join("AGENTS.md")).unwrap();
    let homes = Homes {
        home: None,
        codex: None,
    };
    let plan = Plan::of(&root, &homes);
    assert_eq!((plan.with.len(), plan.without.len()), (1, 0), "{plan:?}");
}
