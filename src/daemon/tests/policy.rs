//! The operator's rules for the agents: who may set them, and what counts.

use serde_json::{Value, json};

use super::proposals::{approve, proposed_as};
use super::rig::{Guest, Rig};
use super::tamper::{configured, write_config};
use crate::adapters::codex::fact::{CodexFact, ReportedStatus};
use crate::core::agent::{Agent, Party};
use crate::core::delivery::OnBusy;
use crate::core::entry::{DeliveryResult, EntryKind, LifecycleEvent, TreeFound};
use crate::core::id::EntryId;
use crate::core::managed_block::with_block;
use crate::core::policy::{Coordinator, Permission, PermissionRule, PolicyChange};
use crate::store::testing::Place;
use crate::store::{config, trust};
use crate::wire::control::{
    ClearParams, Command, HookParams, PolicySet, RefusalCode, Reply, Role, TrustParams,
};

fn coordinator(to: Coordinator) -> Command {
    Command::SetPolicy(PolicyChange::Coordinator { to: Some(to) })
}

async fn set(rig: &mut Rig, operator: &Guest, command: Command) -> PolicySet {
    match rig.call(operator, command).await {
        Ok(Reply::PolicySet(set)) => set,
        other => panic!("{other:?}"),
    }
}

fn file(place: &Place) -> Value {
    serde_json::from_slice(&std::fs::read(place.dirs.config()).unwrap()).unwrap()
}

#[tokio::test]
async fn the_operator_alone_names_the_coordinator_and_the_files_with_a_block_say_so() {
    let place = Place::new();
    let root = place.dirs.root.clone();
    let agents = with_block("# Mine\n", "old words").unwrap();
    std::fs::write(root.join("AGENTS.md"), &agents).unwrap();
    std::fs::write(root.join("CLAUDE.md"), "# Mine alone\n").unwrap();
    write_config(&place, json!({"odd": 1}));
    let (mut rig, operator) = configured(&place).await;
    for role in [Role::Codex, Role::Claude, Role::Hook] {
        let agent = rig.connect(role, None, false);
        let refused = rig.call(&agent, coordinator(Coordinator::Codex)).await;
        assert_eq!(refused.unwrap_err().code, RefusalCode::OperatorOnly);
    }

    let done = set(&mut rig, &operator, coordinator(Coordinator::Codex)).await;
    assert_eq!(done.rewritten, ["AGENTS.md"]);
    assert!(done.left.is_empty(), "{:?}", done.left);
    let text = std::fs::read_to_string(root.join("AGENTS.md")).unwrap();
    assert!(
        text.starts_with("# Mine\n") && text.contains("Codex alone writes to git"),
        "{text}"
    );
    let theirs = std::fs::read_to_string(root.join("CLAUDE.md")).unwrap();
    assert_eq!(theirs, "# Mine alone\n");
    let stored = rig
        .daemon
        .base
        .recorder
        .ledger()
        .read(done.seq)
        .unwrap()
        .unwrap();
    assert_eq!(stored.entry.source, Party::Human);
    assert_eq!(stored.entry.content, "coordinator: codex");
    let kind = EntryKind::from(LifecycleEvent::CoordinatorChanged);
    assert_eq!(stored.entry.kind, kind);
    let said = json!({"odd": 1, "collaboration": {"coordinator": "codex"}});
    assert_eq!(file(&place), said);

    let status = rig.daemon.status().policy;
    assert_eq!(status.coordinator, Some(Coordinator::Codex));
    let rules: Vec<_> = status
        .rules
        .iter()
        .map(|it| (it.agent, it.enforced))
        .collect();
    assert_eq!(rules, [(Agent::Claude, false)], "no Claude is here");
}

#[tokio::test]
async fn what_the_file_says_counts_only_as_it_was_trusted() {
    let place = Place::new();
    // An agent wrote these.
    write_config(
        &place,
        json!({"permissions": {"git": "allow", "agents": {"claude": {"secrets": "allow"}}},
            "redaction": {"allow": ["AKIAEXAMPLE7EXAMPLE7"]}}),
    );
    let (mut rig, operator) = configured(&place).await;
    let deny = Command::SetPolicy(PolicyChange::Permission {
        permission: Permission::Secrets,
        agent: None,
        rule: Some(PermissionRule::Deny),
    });
    set(&mut rig, &operator, deny).await;
    assert_eq!(file(&place)["permissions"], json!({"secrets": "deny"}));
    let trusted = trust::read(&place.user, &place.dirs.instance_id())
        .unwrap()
        .keys;
    let keys: Vec<&str> = trusted.keys().map(String::as_str).collect();
    assert_eq!(keys, ["permissions"], "what else waits waits on");

    // And takes the rule away again.
    write_config(&place, json!({}));
    let loaded = config::load(&place.dirs, &place.user);
    rig.daemon.reconfigure(loaded, &[]);
    let rule = rig.daemon.base.configuration.policy();
    let rule = rule.rule(Agent::Claude, Permission::Secrets);
    assert_eq!(rule, PermissionRule::Deny);
    assert!(rig.daemon.base.notices.lines()[0].contains("permissions waits for your trust"));
}

#[tokio::test]
async fn what_counted_goes_on_counting_while_what_is_trusted_cannot_be_read() {
    let place = Place::new();
    write_config(&place, json!({"gates": [{"name": "tests", "cmd": "true"}]}));
    let (mut rig, operator) = configured(&place).await;
    let trust = Command::Trust(TrustParams {
        digest: config::load(&place.dirs, &place.user).digest,
        signing: None,
        signature: None,
    });
    rig.call(&operator, trust.clone()).await.unwrap();
    let path = place.user.trust(&place.dirs.instance_id());
    let kept = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();

    let reload = |rig: &mut Rig| {
        let loaded = config::load(&place.dirs, &place.user);
        rig.daemon.reconfigure(loaded, &[]);
    };
    reload(&mut rig);
    assert_eq!(rig.daemon.base.configuration.gates().len(), 1);
    let told = rig.daemon.base.notices.lines();
    assert!(told[0].contains("cannot be read"), "{told:?}");
    let refused = rig.call(&operator, coordinator(Coordinator::Human)).await;
    assert_eq!(refused.unwrap_err().code, RefusalCode::TrustFailed);
    assert!(path.is_dir());

    std::fs::remove_dir(&path).unwrap();
    std::fs::write(&path, kept).unwrap();
    reload(&mut rig);
    assert_eq!(rig.daemon.base.notices.lines(), [""; 0]);
    assert_eq!(rig.daemon.base.configuration.gates().len(), 1);
}

#[tokio::test]
async fn the_record_does_not_say_where_the_file_of_trust_is() {
    let place = Place::new();
    let (mut rig, _operator) = configured(&place).await;
    let path = place.user.trust(&place.dirs.instance_id());
    let path = path.to_string_lossy();
    let mut loaded = config::load(&place.dirs, &place.user);
    loaded.trust_lost = Some(format!("make {path} readable for you"));
    rig.daemon.reconfigure(loaded, &[]);
    rig.settle().await;
    let told = rig.daemon.base.notices.lines();
    assert!(told[0].contains(&*path), "{told:?}");
    let record = std::fs::read_to_string(rig.daemon.base.recorder.ledger().path()).unwrap();
    assert!(record.contains("trust_not_kept"), "{record}");
    assert!(!record.contains(&*path), "{record}");
}

#[tokio::test]
async fn a_daemon_that_never_knew_what_is_trusted_approves_nothing() {
    let place = Place::new();
    let path = place.user.trust(&place.dirs.instance_id());
    std::fs::create_dir_all(&path).unwrap();
    let (mut rig, _operator) = configured(&place).await;
    let claude = rig.connect(Role::Claude, None, false);
    let proposal = proposed_as(&mut rig, &claude, "done", Vec::new(), None).await;
    let refused = approve(&mut rig, &proposal, TreeFound::NoRepository, None);
    let refused = refused.await.unwrap().unwrap_err();
    assert_eq!(refused.code, RefusalCode::GatesNotGreen);
    let said = &refused.message;
    assert!(said.contains("cannot be read"), "{said}");
    std::fs::remove_dir(&path).unwrap();
    let loaded = config::load(&place.dirs, &place.user);
    rig.daemon.reconfigure(loaded, &[]);
    let approved = approve(&mut rig, &proposal, TreeFound::NoRepository, None);
    rig.settle().await;
    approved.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_rule_for_claude_is_enforced_once_its_hooks_run_and_what_they_refuse_is_on_record() {
    let place = Place::new();
    write_config(&place, json!({}));
    let (mut rig, operator) = configured(&place).await;
    set(&mut rig, &operator, coordinator(Coordinator::Human)).await;
    let _bridge = rig.connect(Role::Claude, Some(4_000_000), false);
    assert!(!rig.daemon.status().policy.rules[0].enforced);
    let hook = rig.connect(Role::Hook, None, false);
    // Its plugin is of an earlier build, and judges nothing.
    let began = Command::Hook(HookParams {
        event: "PostCompact".into(),
        claude_pid: Some(4_000_000),
        ..HookParams::default()
    });
    rig.call(&hook, began).await.unwrap();
    assert!(!rig.daemon.status().policy.rules[0].enforced);
    let refused = Command::Hook(HookParams {
        event: "PreToolUse".into(),
        claude_pid: Some(4_000_000),
        is_judged: true,
        text: Some("ctxrelay: `git push` writes to git".to_owned()),
        ..HookParams::default()
    });
    rig.call(&hook, refused).await.unwrap();
    rig.settle().await;
    let rules = rig.daemon.status().policy.rules;
    let enforced: Vec<_> = rules.iter().map(|it| (it.agent, it.enforced)).collect();
    assert_eq!(enforced, [(Agent::Claude, true), (Agent::Codex, false)]);
    let kind = EntryKind::from(LifecycleEvent::ToolRefused);
    // A second one goes free.
    let _second = rig.connect(Role::Claude, Some(4_000_009), false);
    assert!(!rig.daemon.status().policy.rules[0].enforced);
    let recent = rig.daemon.base.recorder.recent();
    let said = recent.iter().find(|stored| stored.entry.kind == kind);
    assert!(said.unwrap().entry.content.contains("`git push`"));
}

/// What the record says of what Codex was told.
fn said_to_be_told(rig: &Rig) -> Vec<String> {
    let told = EntryKind::from(LifecycleEvent::CoordinatorTold);
    let recent = rig.daemon.base.recorder.recent().iter();
    let told = recent.filter(|stored| stored.entry.kind == told);
    told.map(|stored| stored.entry.content.clone()).collect()
}

#[tokio::test]
async fn codex_is_told_of_a_new_coordinator_once_with_its_next_message() {
    let place = Place::new();
    write_config(&place, json!({}));
    let (mut rig, operator) = configured(&place).await;
    rig.codex_runs().await;
    let claude = rig.connect(Role::Claude, None, false);
    let first = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    assert!(!rig.delivered()[0].1.contains("who writes to git"));
    rig.user_message("turn-1", Some(&first));
    rig.completed("turn-1", std::slice::from_ref(&first), "yes");
    rig.settle().await;

    set(&mut rig, &operator, coordinator(Coordinator::Claude)).await;
    // What is in force is told, however often it was changed.
    set(&mut rig, &operator, coordinator(Coordinator::Human)).await;
    assert!(
        rig.daemon
            .base
            .recorder
            .world()
            .untold_coordinator
            .is_some()
    );
    rig.status(ReportedStatus::Idle);
    let second = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    let texts = rig.delivered();
    let (id, text) = texts.last().unwrap();
    assert_eq!(*id, second);
    let note = "\n\n[ctxrelay] The operator changed who writes to git: The operator alone";
    assert!(text.contains(note), "{text}");
    assert_eq!(said_to_be_told(&rig), [""; 0]);

    rig.user_message("turn-2", Some(&second));
    rig.settle().await;
    assert_eq!(rig.daemon.base.recorder.world().untold_coordinator, None);
    let told = said_to_be_told(&rig);
    assert_eq!(told.len(), 1);
    assert!(told[0].contains(second.short()));
    rig.completed("turn-2", std::slice::from_ref(&second), "yes");
    rig.status(ReportedStatus::Idle);
    rig.settle().await;
    let third = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    let texts = rig.delivered();
    assert!(!texts.last().unwrap().1.contains("who writes to git"));
    rig.user_message("turn-3", Some(&third));
    rig.completed("turn-3", std::slice::from_ref(&third), "yes");
    rig.status(ReportedStatus::Idle);
    rig.settle().await;

    // Another session counts its entries anew.
    let before = rig.daemon.base.recorder.world().seq;
    let clear = Command::Clear(ClearParams::default());
    rig.call(&operator, clear).await.unwrap();
    set(&mut rig, &operator, coordinator(Coordinator::Codex)).await;
    assert!(rig.daemon.base.recorder.world().seq < before);
    let _fourth = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    let texts = rig.delivered();
    assert!(
        texts
            .last()
            .unwrap()
            .1
            .contains("who writes to git: Codex alone"),
        "{texts:?}"
    );
}

/// A message of Claude's that is on its way to Codex, with a new coordinator.
async fn telling(place: &Place) -> (Rig, Guest, EntryId) {
    write_config(place, json!({}));
    let (mut rig, operator) = configured(place).await;
    rig.codex_runs().await;
    let claude = rig.connect(Role::Claude, None, false);
    set(&mut rig, &operator, coordinator(Coordinator::Claude)).await;
    rig.status(ReportedStatus::Idle);
    let id = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    assert!(rig.delivered()[0].1.contains("who writes to git"));
    (rig, claude, id)
}

#[tokio::test]
async fn codex_is_told_of_a_new_coordinator_again_where_the_message_with_it_came_back() {
    let place = Place::new();
    let (mut rig, claude, id) = telling(&place).await;
    rig.fact(CodexFact::NotTaken {
        message_id: id.clone(),
        why: "the conversation moved on".to_owned(),
    });
    rig.settle().await;
    let again = rig.delivered();
    assert_eq!(again[0].0, id);
    assert!(again[0].1.contains("who writes to git"), "{}", again[0].1);
    // It has not heard of it, however often that was tried.
    assert_eq!(said_to_be_told(&rig), [""; 0]);
    rig.user_message("turn-1", Some(&id));
    rig.completed("turn-1", std::slice::from_ref(&id), "yes");
    rig.status(ReportedStatus::Idle);
    rig.settle().await;
    let _next = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    assert!(!rig.delivered()[0].1.contains("who writes to git"));
    assert_eq!(said_to_be_told(&rig).len(), 1);
}

#[tokio::test]
async fn codex_is_told_of_a_new_coordinator_by_another_message_while_nobody_knows_of_the_first() {
    let place = Place::new();
    let (mut rig, claude, first) = telling(&place).await;
    rig.nobody_knows(&first);
    rig.settle().await;
    let unsettled = &rig.daemon.base.recorder.world().unsettled;
    assert_eq!(unsettled[&first].result, Some(DeliveryResult::Ambiguous));
    rig.status(ReportedStatus::Idle);
    let second = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    let texts = rig.delivered();
    let (id, text) = texts.last().unwrap();
    assert_eq!(*id, second);
    assert!(text.contains("who writes to git"), "{text}");
    rig.user_message("turn-1", Some(&second));
    rig.settle().await;
    let told = said_to_be_told(&rig);
    assert_eq!(told.len(), 1);
    assert!(told[0].contains(second.short()));
}

#[tokio::test]
async fn a_coordinator_that_is_trusted_in_the_file_is_told_like_one_that_is_set() {
    let place = Place::new();
    write_config(&place, json!({"collaboration": {"coordinator": "codex"}}));
    let (mut rig, operator) = configured(&place).await;
    assert_eq!(rig.daemon.base.configuration.policy().coordinator, None);
    let loaded = config::load(&place.dirs, &place.user);
    let trust = Command::Trust(TrustParams {
        digest: loaded.digest,
        signing: None,
        signature: None,
    });
    rig.call(&operator, trust).await.unwrap();
    let policy = rig.daemon.base.configuration.policy();
    assert_eq!(policy.coordinator, Some(Coordinator::Codex));
    assert!(
        rig.daemon
            .base
            .recorder
            .world()
            .untold_coordinator
            .is_some()
    );
}
