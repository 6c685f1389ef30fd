//! The durable append: in the daemon's process, by one writer and by eight, and over MCP; beside a
//! bare write and `fdatasync` of as many bytes on the same disk.
//!
//! Bare writes and appends alternate one by one: a disk may answer in 0.3 ms now and in 4 ms a
//! moment later, and two series measured one after the other then compare its moods. Rates are
//! taken from the clock for the same reason.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use ctxrelay::cli::settings::{Named, resolve};
use ctxrelay::client::Client;
use ctxrelay::core::agent::Agent as Who;
use ctxrelay::core::entry::NoteKind;
use ctxrelay::host::{ProjectContext, Running};
use ctxrelay::wire::control::{Command, NoteParams, Reply, Role, SendParams};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::agent::Agent;
use crate::figure::{Series, Table};
use crate::support::project::Project;

const ROUNDS: usize = 10;
const PER_ROUND: usize = 50;
const WRITERS: usize = 8;

/// What an append may cost: so many bare writes, and so many ms more.
pub const BOUND: (f64, f64) = (3.0, 0.3);

/// A disk this fast, in ms, has to give the absolute rate as well.
const FAST_DISK_MS: f64 = 0.3;

/// How long the daemon may take to end.
const END_WAIT: Duration = Duration::from_secs(15);

/// About as long as what an agent notes.
const TEXT: &str = "decision: one lock around the refresh, callers wait in a list; the old token \
    is dropped before the new one is handed out, so that nobody can use both";

/// Measures all of it.
pub fn measure(table: &mut Table) {
    in_process(table);
    operators_word(table);
    over_mcp(table);
}

fn in_process(table: &mut Table) {
    let project = Project::new();
    let hosted = Hosted::start(&project);
    let mut disk = Disk::open(&project.state().join("sessions/bare.txt"));
    let (mut bare, mut one) = <(Series, Series)>::default();
    let mut eight_s = 0.0;
    let writer = hosted.client();
    for _ in 0..ROUNDS {
        for _ in 0..PER_ROUND {
            disk.write(&mut bare);
            hosted.runtime.block_on(append(&writer, &mut one));
        }
        let start = Instant::now();
        hosted.append_by_many();
        eight_s += start.elapsed().as_secs_f64();
    }
    hosted.end();
    bare_row(table, &bare);
    table.row_over("durable append, daemon in process", &one, &bare, BOUND);
    let rate = (ROUNDS * WRITERS * PER_ROUND) as f64 / eight_s;
    row_of_eight(table, "8 writers, daemon in process", rate, &one, &bare);
}

/// The operator's word, which is acknowledged only once the head outside has it: three syncs more.
fn operators_word(table: &mut Table) {
    let project = Project::new();
    let hosted = Hosted::start(&project);
    let mut disk = Disk::open(&project.state().join("sessions/bare.txt"));
    let (mut bare, mut word) = <(Series, Series)>::default();
    let operator = hosted.client_of(Role::Deck, true);
    for _ in 0..ROUNDS * PER_ROUND {
        disk.write(&mut bare);
        hosted.runtime.block_on(say(&operator, &mut word));
    }
    hosted.end();
    let times = word.p50() / bare.p50();
    let measured = format!("{}, {times:.2} x bare ({})", word.words(), bare.words());
    table.baseline("operator's message, daemon in process", &measured);
}

/// A daemon of its own process, real bridges before it.
fn over_mcp(table: &mut Table) {
    let project = Project::live();
    let bridge = project.ctxrelay(["bridge"]);
    let mut agents: Vec<Agent> = (0..WRITERS).map(|_| Agent::start(&bridge)).collect();
    let mut disk = Disk::open(&project.state().join("sessions/bare.txt"));
    let (mut bare, mut one) = <(Series, Series)>::default();
    let mut eight_s = 0.0;
    for _ in 0..ROUNDS {
        for _ in 0..PER_ROUND {
            disk.write(&mut bare);
            one.time(|| note(&mut agents[0]));
        }
        let start = Instant::now();
        std::thread::scope(|scope| {
            for agent in &mut agents {
                scope.spawn(move || (0..PER_ROUND).for_each(|_| note(agent)));
            }
        });
        eight_s += start.elapsed().as_secs_f64();
    }
    bare_row(table, &bare);
    table.row_over("append_note over MCP, one bridge", &one, &bare, BOUND);
    let rate = (ROUNDS * WRITERS * PER_ROUND) as f64 / eight_s;
    row_of_eight(table, "append_note over MCP, 8 bridges", rate, &one, &bare);
}

pub fn bare_row(table: &mut Table, bare: &Series) {
    let measured = format!("{}, {:.0}/s", bare.words(), bare.rate());
    table.baseline("bare write + fdatasync", &measured);
}

fn row_of_eight(table: &mut Table, what: &str, rate: f64, one: &Series, bare: &Series) {
    let fast_disk = bare.p50() <= FAST_DISK_MS;
    let target = if fast_disk {
        ">= 5 x one writer and >= 10000/s"
    } else {
        ">= 5 x one writer"
    };
    table.row(
        what,
        &format!("{rate:.0}/s"),
        &format!(
            "{:.2} x one writer ({:.0}/s)",
            rate / one.rate(),
            one.rate()
        ),
        target,
        rate >= 5.0 * one.rate() && (!fast_disk || rate >= 10_000.0),
    );
}

fn note(agent: &mut Agent) {
    agent.tool("append_note", json!({"text": TEXT, "kind": "decision"}));
}

/// A daemon in this process.
struct Hosted {
    runtime: Runtime,
    running: Running,
    context: ProjectContext,
}

impl Hosted {
    fn start(project: &Project) -> Self {
        let launch = project.ctxrelay([]);
        let var = |name: &str| launch.env.get(std::ffi::OsStr::new(name)).cloned();
        let context = resolve(Some(project.root()), Named::Exactly, var).unwrap();
        // As many threads as the program itself has.
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let running = runtime.block_on(context.start_daemon()).unwrap();
        Self {
            runtime,
            running,
            context,
        }
    }

    fn client(&self) -> Client {
        self.client_of(Role::Codex, false)
    }

    fn client_of(&self, role: Role, operator: bool) -> Client {
        let hello = self.context.hello(role, None);
        let joined = Client::in_process(self.running.handle.clone(), hello, operator);
        self.runtime.block_on(joined).unwrap()
    }

    fn append_by_many(&self) {
        let clients: Vec<Client> = (0..WRITERS).map(|_| self.client()).collect();
        self.runtime.block_on(async {
            let writers: Vec<_> = clients
                .into_iter()
                .map(|client| {
                    tokio::spawn(async move {
                        let mut times = Series::default();
                        for _ in 0..PER_ROUND {
                            append(&client, &mut times).await;
                        }
                    })
                })
                .collect();
            for writer in writers {
                writer.await.unwrap();
            }
        });
    }

    fn end(self) {
        self.runtime.block_on(async {
            self.running.handle.shutdown(false).await;
            let ended = self.running.handle.ended().cancelled();
            tokio::time::timeout(END_WAIT, ended).await.unwrap();
        });
    }
}

async fn append(client: &Client, into: &mut Series) {
    let note = Command::AppendNote(NoteParams::new(Who::Codex, NoteKind::Decision, TEXT));
    let start = Instant::now();
    let reply = client.call(note).await.unwrap();
    into.push(start.elapsed());
    assert!(matches!(reply, Reply::Recorded(_)), "{reply:?}");
}

async fn say(operator: &Client, into: &mut Series) {
    let message = Command::Send(SendParams {
        to: Some(Who::Claude),
        text: TEXT.to_owned(),
        ..SendParams::default()
    });
    let start = Instant::now();
    let reply = operator.call(message).await.unwrap();
    into.push(start.elapsed());
    assert!(matches!(reply, Reply::Sent(_)), "{reply:?}");
}

/// A file that is appended to as the record is.
#[derive(Debug)]
pub struct Disk {
    file: File,
    line: Vec<u8>,
}

impl Disk {
    /// Opens the file, or makes it; on the disk that the record lies on.
    pub fn open(path: &Path) -> Self {
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

    /// One bare write and sync.
    pub fn write(&mut self, into: &mut Series) {
        into.time(|| {
            self.file.write_all(&self.line).unwrap();
            self.file.sync_data().unwrap();
        });
    }
}
