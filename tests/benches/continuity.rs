//! What it costs that no agent forgets at a compaction: the hooks around it, what is looked at of
//! each tool call, the packet and the rules that are made for it, and the status line. The hooks
//! around it also over a million entries, with `CTXRELAY_BENCH_MILLION=1`.

use std::hint::black_box;
use std::time::Duration;

use ctxrelay::adapters::project_rules::ProjectRules;
use ctxrelay::core::agent::{Agent, Party};
use ctxrelay::core::continuity::{PACKET_CHARS_MAX, Packet, PacketTerms};
use ctxrelay::core::entry::{ContinuityFact, Entry, EntryKind, NoteKind, ReloadCause, TurnFiles};
use ctxrelay::core::fold::fold;
use ctxrelay::core::id::{EntryId, RuntimeSession, Seq, SessionId};
use ctxrelay::core::instructions::{SHARED_CHARS_MAX, SharedRules, read_or_said};
use ctxrelay::core::redact::Redactor;
use ctxrelay::core::snapshot::Snapshot;
use ctxrelay::store::dirs::ProjectDirs;
use serde_json::{Value, json};

use crate::agent::Agent as Bridge;
use crate::figure::{Series, Table, ms};
use crate::hook::run;
use crate::record::Record;
use crate::support::child::run as run_child;
use crate::support::codex_home;
use crate::support::operator::Operator;
use crate::support::pair::Pair;
use crate::support::project::Project;
use crate::support::script::Reply;
use crate::support::wait::{timeout, wait_until};

const RUNS: usize = 100;

/// The entries of a record of many years.
const MILLION: usize = 1_000_000;

/// Claude waits for each hook, in ms.
const HOOK_MS: f64 = 20.0;

/// What a tool call may cost more where its file is noted, in ms.
const OBSERVED_MS: f64 = 0.2;

/// What a packet may take without git, in ms.
const PACKET_MS: f64 = 2.0;

/// What 50 files of rules of one megabyte may take, in ms.
const RULES_MS: f64 = 20.0;

/// From what Codex tells of a compaction to its packet on record, behind which it is put into the
/// thread, in ms.
const INJECTED_MS: f64 = 30.0;

/// How often the real Codex is compacted.
const COMPACTIONS: usize = 8;

/// Beside the person's own status line, in ms.
const LINE_MS: f64 = 30.0;

const RULE_FILES: usize = 50;
const RULE_FILE_BYTES: usize = 20_000;

/// Measures it.
pub fn measure(table: &mut Table) {
    hooks(table);
    if std::env::var("CTXRELAY_BENCH_MILLION").is_ok_and(|wish| wish == "1") {
        let project = Project::new();
        let dirs = ProjectDirs::new(project.root().to_owned(), None);
        Record::of(MILLION).lay_into(&dirs);
        let _daemon = project.daemon();
        let nothing = around_a_compaction(&project, "1M: ", table);
        beside_a_turn(&project, &nothing, "1M: ", table);
    }
    packet(table);
    rules(table);
    injection(table);
}

/// What Claude waits for before and after its compaction, in a project whose daemon runs.
fn around_a_compaction(project: &Project, of: &str, table: &mut Table) -> Series {
    let mut claude = Bridge::start(&project.ctxrelay(["bridge"]));
    for n in 0..20 {
        let note = json!({"text": format!("step {n} of the sorting"), "kind": "next_step"});
        claude.tool("append_note", note);
    }
    let mut nothing = Series::default();
    for _ in 0..RUNS {
        nothing.time(|| run(&project.program("true"), ""));
    }
    table.baseline("`true`", &nothing.words());
    for (event, input) in [
        ("PreCompact", json!({"trigger": "auto"})),
        ("SessionStart", json!({"source": "compact"})),
    ] {
        let hook = project.ctxrelay(["hook", event]);
        let mut times = Series::default();
        for _ in 0..RUNS {
            times.time(|| run(&hook, &input.to_string()));
        }
        let over = format!("{} over a process", ms(times.p50() - nothing.p50()));
        let what = format!("{of}hook {event}, with what it gives");
        table.row(
            &what,
            &times.words(),
            &over,
            "<= 20 ms",
            times.p50() <= HOOK_MS,
        );
    }
    nothing
}

fn hooks(table: &mut Table) {
    let project = Project::live();
    let nothing = around_a_compaction(&project, "", table);
    beside_a_turn(&project, &nothing, "", table);
}

/// What comes with each tool call, and with each look of the person's status line. `nothing`: a
/// process that does nothing.
fn beside_a_turn(project: &Project, nothing: &Series, of: &str, table: &mut Table) {
    // In turns, so that both see the same machine.
    let hook = project.ctxrelay(["hook", "PostToolUse"]);
    let (mut unseen, mut seen) = (Series::default(), Series::default());
    for n in 0..RUNS * 2 {
        let other = json!({"tool_name": "Bash", "tool_input": {"command": "ls"}});
        unseen.time(|| run(&hook, &other.to_string()));
        let file = project.root().join(format!("src/file{n}.rs"));
        let read = json!({"tool_name": "Read", "tool_input": {"file_path": file}});
        seen.time(|| run(&hook, &read.to_string()));
    }
    let more = seen.p50() - unseen.p50();
    table.row(
        &format!("{of}a tool call whose file is noted"),
        &seen.words(),
        &format!("{} over one without", ms(more.max(0.0))),
        "<= 0.2 ms over it",
        more <= OBSERVED_MS,
    );

    let own = project.ctxrelay(["statusline", "--around", "true"]);
    let input = json!({"session_id": "s", "context_window": {"context_window_size": 200_000}});
    let mut line = Series::default();
    for _ in 0..RUNS {
        line.time(|| run(&own, &input.to_string()));
    }
    let beside = line.p50() - nothing.p50();
    table.row(
        &format!("{of}status line beside the person's own"),
        &line.words(),
        &format!("{} over that alone", ms(beside)),
        "<= 30 ms over it",
        beside <= LINE_MS,
    );
}

/// A world in which every section of a packet has more than there is room for.
fn world() -> Snapshot {
    let mut world = Snapshot::default();
    let mut seq = 0;
    let mut add = |kind: EntryKind, content: String| {
        seq += 1;
        let entry = Entry {
            id: EntryId::new(format!("e{seq}")),
            timestamp_ms: 1_795_000_000_000,
            session_id: SessionId::new("session_1795000000000_00000000"),
            content,
            runtime_session: Some(RuntimeSession::default()),
            seq: Seq(seq),
            ..Entry::new(Party::Agent(Agent::Claude), kind)
        };
        fold(&mut world, &entry);
    };
    for kind in [
        NoteKind::Goal,
        NoteKind::Plan,
        NoteKind::Constraint,
        NoteKind::Decision,
        NoteKind::NextStep,
        NoteKind::Question,
        NoteKind::Assumption,
        NoteKind::Hypothesis,
    ] {
        for n in 0..20 {
            let note = EntryKind::note(kind);
            add(
                note,
                format!("{n}: {}", "what holds of the plums ".repeat(20)),
            );
        }
    }
    let files = TurnFiles {
        written: (0..10).map(|n| format!("src/file{n}.rs")).collect(),
        ..TurnFiles::default()
    };
    add(
        ContinuityFact::TurnFiles(files).of(Agent::Claude),
        String::new(),
    );
    world
}

fn packet(table: &mut Table) {
    let world = world();
    let pair = RuntimeSession::default();
    let mut times = Series::default();
    for _ in 0..RUNS {
        let terms = PacketTerms {
            agent: Agent::Claude,
            pair: &pair,
            cause: &ReloadCause::Compacted,
            at: "now",
            chars_max: PACKET_CHARS_MAX,
        };
        let packet = times
            .time(|| Packet::of(black_box(&world), None, terms))
            .unwrap();
        assert!(packet.text.chars().count() <= PACKET_CHARS_MAX && !packet.left_out.is_empty());
    }
    table.row(
        "a full packet, without git",
        &times.words(),
        "",
        "<= 2 ms",
        times.p50() <= PACKET_MS,
    );
}

fn rules(table: &mut Table) {
    let project = Project::new();
    let paragraph = |file: usize, n: usize| format!("Rule {n} of file {file} holds.\n\n");
    for file in 0..RULE_FILES {
        let mut text = String::new();
        for n in 0.. {
            text.push_str(&paragraph(file, n));
            if text.len() >= RULE_FILE_BYTES {
                break;
            }
        }
        project.write(&format!(".cursor/rules/{file:02}.mdc"), &text);
    }
    let redactor = Redactor::new();
    let (mut reading, mut merging) = (Series::default(), Series::default());
    for _ in 0..RUNS / 5 {
        let rules = reading.time(|| ProjectRules::read(project.root(), &redactor));
        assert_eq!(rules.files.len(), RULE_FILES);
        let given = merging.time(|| {
            let read = read_or_said(Agent::Claude, &rules.files, &[], None);
            let shared = SharedRules::of(Agent::Claude, &rules.files, &read);
            shared.text(SHARED_CHARS_MAX, "read the files")
        });
        assert!(given.is_some());
    }
    table.baseline("reading and masking these files", &reading.words());
    table.row(
        "merging 50 files of rules, 1 MB",
        &merging.words(),
        "",
        "<= 20 ms",
        merging.p50() <= RULES_MS,
    );
}

/// The real Codex on a scripted model, compacted between its turns. Both times are the daemon's own,
/// in the record.
fn injection(table: &mut Table) {
    let Some(pair) = Pair::new() else {
        return;
    };
    pair.responses.otherwise(|_| Reply::text("ok"));
    let _daemon = pair.daemon();
    // A bridge below this process would make it an agent's.
    let mut operator = Operator::connect(&pair.project);
    let goal = json!({"values": [{"kind": "goal", "text": "sort the pears"}]});
    operator.call("work/state", goal).unwrap();
    let mut codex = pair.codex();
    codex.wait_for_text(codex_home::COMPOSER);
    idle(&pair);
    codex.submit("begin");
    wait_until("a first turn", timeout(), || {
        let turns = events(&pair, "turn");
        let ended = turns
            .iter()
            .any(|turn| turn["runtimeEvent"]["status"] == "completed");
        ended.then_some(())
    });
    for done in 1..=COMPACTIONS {
        idle(&pair);
        let compact = json!({"agent": "codex", "act": "compact"});
        operator.call("agent/attend", compact).unwrap();
        wait_until("the packet", timeout(), || {
            (offered(&pair).len() == done).then_some(())
        });
    }
    let mut times = Series::default();
    let at = |line: &Value| line["timestamp"].as_i64().unwrap();
    for (compacted, offered) in events(&pair, "context_compacted")
        .iter()
        .zip(offered(&pair))
    {
        let took = u64::try_from(at(&offered) - at(compacted)).unwrap_or(0);
        times.push(Duration::from_millis(took));
    }
    table.row(
        "Codex compacted to packet on record, with git",
        &times.words(),
        "",
        "<= 30 ms",
        times.p50() <= INJECTED_MS,
    );
}

fn idle(pair: &Pair) {
    wait_until("an idle Codex", timeout(), || {
        let status = run_child(&pair.ctxrelay(["status", "--json"])).json();
        (status["agents"]["codex"]["state"] == "idle").then_some(())
    });
}

fn events(pair: &Pair, kind: &str) -> Vec<Value> {
    let mut events = pair.project.ledger();
    events.retain(|line| line["runtimeEvent"]["kind"] == kind);
    events
}

/// The packets that followed a compaction.
fn offered(pair: &Pair) -> Vec<Value> {
    let mut steps = events(pair, "context_reloaded");
    steps.retain(|line| {
        let event = &line["runtimeEvent"];
        event["status"] == "offered" && event["reload"]["cause"] == "compacted"
    });
    steps
}
