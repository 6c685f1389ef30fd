//! The durable append: in the daemon's process, by one writer and by eight, and over MCP; beside a
//! bare write and `fdatasync` of as many bytes on the same disk.
//!
//! The bare writes are spread between the others in rounds, because a disk's mood changes within
//! seconds.

use std::fs::File;
use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ctxrelay::cli::settings::{Named, resolve};
use ctxrelay::client::Client;
use ctxrelay::core::agent::Agent as Who;
use ctxrelay::core::entry::NoteKind;
use ctxrelay::host::{Running, Setting};
use ctxrelay::wire::control::{Command, NoteParams, Reply, Role};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::agent::Agent;
use crate::figure::{Series, Table, ms};
use crate::support::project::Project;

const ROUNDS: usize = 10;
const PER_ROUND: usize = 50;
const WRITERS: usize = 8;

/// How long the daemon may take to end.
const END_WAIT: Duration = Duration::from_secs(15);

/// About as long as what an agent notes.
const TEXT: &str = "decision: one lock around the refresh, callers wait in a list; the old token \
    is dropped before the new one is handed out, so that nobody can use both";

/// Measures all of it.
pub fn measure(table: &mut Table) {
    let project = Project::new();
    let hosted = Hosted::start(&project);
    let mut disk = Disk::open(&project);
    let (mut bare, mut one, mut eight) = Default::default();
    let mut eight_s = 0.0;
    hosted.append(20);
    for _ in 0..ROUNDS {
        disk.write(&mut bare);
        let alone: Series = hosted.append(PER_ROUND);
        Series::extend(&mut one, alone);
        let start = Instant::now();
        Series::extend(&mut eight, hosted.append_by_many());
        eight_s += start.elapsed().as_secs_f64();
    }
    hosted.end();
    let bare_p50 = bare.p50();
    table.baseline("bare write + fdatasync", &bare.words());
    let times = one.p50() / bare_p50;
    table.row(
        "durable append, daemon in process",
        &one.words(),
        &format!("{times:.2} x bare"),
        "<= 3 x bare + 0.3 ms",
        one.p50() <= 3.0 * bare_p50 + 0.3,
    );
    let rate = (ROUNDS * WRITERS * PER_ROUND) as f64 / eight_s;
    let single = 1000.0 / one.p50();
    row_of_eight(
        table,
        "8 writers, daemon in process",
        rate,
        single,
        bare_p50,
        &eight,
    );
    over_mcp(table);
}

fn row_of_eight(
    table: &mut Table,
    what: &str,
    rate: f64,
    single: f64,
    bare_p50: f64,
    each: &Series,
) {
    let target = if bare_p50 <= 0.3 {
        ">= 5 x one writer and >= 4000/s"
    } else {
        ">= 5 x one writer"
    };
    table.row(
        what,
        &format!("{rate:.0}/s, each {}", each.words()),
        &format!("{:.2} x one writer ({single:.0}/s)", rate / single),
        target,
        rate >= 5.0 * single && (bare_p50 > 0.3 || rate >= 4000.0),
    );
}

/// A daemon of its own process, real bridges before it.
fn over_mcp(table: &mut Table) {
    let project = Project::new();
    let _daemon = project.daemon();
    let bridge = project.ctxrelay(["bridge"]);
    let mut agents: Vec<Agent> = (0..WRITERS).map(|_| Agent::start(&bridge)).collect();
    let mut disk = Disk::open(&project);
    let (mut bare, mut one) = (Series::default(), Series::default());
    for _ in 0..ROUNDS {
        disk.write(&mut bare);
        note_often(&mut agents[0], &mut one);
    }
    table.baseline("bare write + fdatasync, again", &bare.words());
    let bound = 3.0 * bare.p50() + 0.3;
    table.row(
        "append_note over MCP, one bridge",
        &one.words(),
        &format!("{:.2} x bare, bound {}", one.p50() / bare.p50(), ms(bound)),
        "<= 3 x bare + 0.3 ms",
        one.p50() <= bound,
    );
    let mut eight = Series::default();
    let start = Instant::now();
    std::thread::scope(|scope| {
        let writers: Vec<_> = agents
            .iter_mut()
            .map(|agent| {
                scope.spawn(move || {
                    let mut own = Series::default();
                    for _ in 0..4 {
                        note_often(agent, &mut own);
                    }
                    own
                })
            })
            .collect();
        for writer in writers {
            eight.extend(writer.join().unwrap());
        }
    });
    let rate = (4 * WRITERS * PER_ROUND) as f64 / start.elapsed().as_secs_f64();
    let single = 1000.0 / one.p50();
    row_of_eight(
        table,
        "append_note over MCP, 8 bridges",
        rate,
        single,
        bare.p50(),
        &eight,
    );
}

fn note_often(agent: &mut Agent, into: &mut Series) {
    for _ in 0..PER_ROUND {
        into.time(|| agent.tool("append_note", json!({"text": TEXT, "kind": "decision"})));
    }
}

/// A daemon in this process.
struct Hosted {
    runtime: Runtime,
    running: Running,
    setting: Arc<Setting>,
}

impl Hosted {
    fn start(project: &Project) -> Self {
        let launch = project.ctxrelay([]);
        let var = |name: &str| launch.env.get(std::ffi::OsStr::new(name)).cloned();
        let setting = resolve(Some(project.root()), Named::Exactly, var).unwrap();
        // As many threads as the program itself has.
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let running = runtime.block_on(setting.start_daemon(false, true)).unwrap();
        Self {
            runtime,
            running,
            setting: Arc::new(setting),
        }
    }

    fn append(&self, count: usize) -> Series {
        self.runtime
            .block_on(append(self.running.handle.clone(), &self.setting, count))
    }

    fn append_by_many(&self) -> Series {
        self.runtime.block_on(async {
            let writers: Vec<_> = (0..WRITERS)
                .map(|_| {
                    let (handle, setting) =
                        (self.running.handle.clone(), Arc::clone(&self.setting));
                    tokio::spawn(async move { append(handle, &setting, PER_ROUND).await })
                })
                .collect();
            let mut all = Series::default();
            for writer in writers {
                all.extend(writer.await.unwrap());
            }
            all
        })
    }

    fn end(self) {
        self.runtime.block_on(async {
            self.running.handle.shutdown(false).await;
            let ended = self.running.handle.ended().cancelled();
            tokio::time::timeout(END_WAIT, ended).await.unwrap();
        });
    }
}

async fn append(
    handle: ctxrelay::daemon::handle::DaemonHandle,
    setting: &Setting,
    count: usize,
) -> Series {
    let hello = setting.hello(Role::Codex, None);
    let client = Client::in_process(handle, hello, false).await.unwrap();
    let mut times = Series::default();
    for _ in 0..count {
        let note = Command::AppendNote(NoteParams {
            agent: Who::Codex,
            text: TEXT.to_owned(),
            kind: NoteKind::Decision,
            handles: Vec::new(),
            runtime_session_id: None,
        });
        let start = Instant::now();
        let reply = client.call(note).await.unwrap();
        times.push(start.elapsed());
        assert!(matches!(reply, Reply::Recorded(_)), "{reply:?}");
    }
    times
}

/// A file that is appended to as the record is.
struct Disk {
    file: File,
    line: Vec<u8>,
}

impl Disk {
    fn open(project: &Project) -> Self {
        let path = project.state().join("sessions/bare.txt");
        let file = File::options()
            .create(true)
            .append(true)
            .open(path)
            .unwrap();
        // What a note's line has besides its text: ids, time, chain.
        let mut line = vec![b'x'; TEXT.len() + 520];
        line.push(b'\n');
        Self { file, line }
    }

    fn write(&mut self, into: &mut Series) {
        for _ in 0..PER_ROUND {
            into.time(|| {
                self.file.write_all(&self.line).unwrap();
                self.file.sync_data().unwrap();
            });
        }
    }
}
