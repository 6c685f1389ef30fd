//! [`World`]: the clock, the dice, and everybody in it. Events happen one after the other; what
//! is addressed to somebody who has died meanwhile happens to nobody.

use super::fault::Fault;
use std::collections::BTreeMap;

use super::checks::Checks;
use super::claude::{Claude, ClaudeAct, Habit};
use super::daemon::{Call, Daemon};
use super::disk::{Disk, Write};
use super::leaving::RowWrite;
use super::server::{Request, Server, ServerStep, Thread};
use crate::agent::Agent;
use crate::entry::OnBusy;
use crate::id::{EntryId, TurnId};

/// How long things go wrong, ms.
const CHAOS_MS: i64 = 15_000;

/// How long everything works afterwards. Longer than any deadline of the machines.
const CALM_MS: i64 = 160_000;

/// So many messages to an idle Claude are more than the hooks of a turn carry.
const FLOOD: u32 = 30;

/// No world has so many events; one that does runs in a circle.
const EVENTS_MAX: u32 = 60_000;

/// What happens at one moment.
#[derive(Debug, Clone)]
pub enum Event {
    /// Somebody does something, or something breaks.
    Chance,
    /// Everything works from now on.
    Calm,
    /// In the calm: what waits for nobody has gone on.
    Alone,
    /// In the calm: the people do what is theirs.
    People,
    /// In the calm: more than one hook can carry is sent to Claude at once.
    Flood,
    /// All of that has come by itself.
    Ebb,
    /// Something reaches the daemon of this incarnation.
    Daemon(u64, Call),
    /// Its writer brings something to the disk.
    Write(u64, Write),
    /// Its other writer brings rows to the disk.
    Rows(u64, RowWrite),
    StartDaemon,
    /// Something reaches the adapter of this incarnation from the app-server of this life.
    Adapter(u64, u64, super::adapter::Note),
    /// An app-server comes up for this incarnation.
    ServerUp(u64),
    /// Something reaches the app-server of this life, or its time has come.
    Server(u64, ServerStep),
    /// Something reaches Claude's process, or its time has come.
    Claude(u32, ClaudeAct),
    StartClaude,
    /// An agent sends, or sends again.
    Send(Draft),
}

/// What an agent wants to send.
#[derive(Debug, Clone)]
pub struct Draft {
    pub to: Agent,
    pub on_busy: OnBusy,
    /// A handoff: sent again it is the same.
    pub handoff: Option<u32>,
    /// What this turn of Codex asked, answered.
    pub answers: Option<TurnId>,
    pub tries: u32,
}

/// What is so in this world from its beginning.
#[derive(Debug)]
pub struct Nature {
    /// Codex has `thread/queue`.
    pub has_queue: bool,
    pub channel_works: bool,
    /// The plugin's monitor runs.
    pub bell_hangs: bool,
    /// Its lines wake Claude.
    pub bell_works: bool,
    /// What Claude's model does with what it is given.
    pub habit: Habit,
    /// Of a hundred turns of Claude, whose words are read once they have ended.
    pub read_later: u32,
    /// Of a hundred recoveries, how many cannot tell.
    pub unknowable: u32,
    /// Of a hundred facts, how many come twice or late.
    pub unruly: u32,
    /// Of a thousand effects, before how many the daemon dies.
    pub mortal: u32,
    /// Of a hundred writes, how many the disk refuses.
    pub disk_refuses: u32,
}

/// Everything.
pub struct World {
    pub now: i64,
    pub rng: fastrand::Rng,
    events: BTreeMap<(i64, u64), Event>,
    order: u64,
    pub nature: Nature,
    pub is_calm: bool,
    /// Since when.
    pub calm_ms: i64,
    pub fault: Option<Fault>,
    pub disk: Disk,
    pub daemon: Option<Daemon>,
    pub incarnations: u64,
    pub server: Option<Server>,
    pub lives: u64,
    pub thread: Thread,
    pub claude: Option<Claude>,
    pub processes: u32,
    pub conns: u64,
    pub messages: u32,
    /// Which messages answer what a turn of Codex asked.
    pub answers: BTreeMap<EntryId, TurnId>,
    pub limited_until: i64,
    /// What is handed to Claude comes in its order.
    pub handed_until: i64,
    pub checks: Checks,
    pub trace: Option<Vec<String>>,
}

impl World {
    pub fn new(seed: u64, fault: Option<Fault>, traced: bool) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed);
        let nature = Nature {
            has_queue: rng.u32(..100) < 85,
            channel_works: rng.u32(..100) < 40,
            bell_hangs: rng.u32(..100) < 80,
            bell_works: rng.u32(..100) < 85,
            habit: [Habit::Acknowledges, Habit::Silent, Habit::Fetches][rng.usize(..3)],
            read_later: [0, 50, 100][rng.usize(..3)],
            unknowable: [0, 0, 10, 40][rng.usize(..4)],
            unruly: [0, 5, 20][rng.usize(..3)],
            mortal: [0, 2, 10][rng.usize(..3)],
            disk_refuses: [0, 0, 4][rng.usize(..3)],
        };
        let mut world = Self {
            now: 1_000_000,
            rng,
            events: BTreeMap::new(),
            order: 0,
            nature,
            is_calm: false,
            calm_ms: i64::MAX,
            fault,
            disk: Disk::default(),
            daemon: None,
            incarnations: 0,
            server: None,
            lives: 0,
            thread: Thread::default(),
            claude: None,
            processes: 0,
            conns: 0,
            messages: 0,
            answers: BTreeMap::new(),
            limited_until: 0,
            handed_until: 0,
            checks: Checks::default(),
            trace: traced.then(Vec::new),
        };
        world.after(0, Event::StartDaemon);
        world.after(5, Event::StartClaude);
        world.after(50, Event::Chance);
        world.after(CHAOS_MS, Event::Calm);
        world
    }

    /// Runs until nothing happens any more, or something is wrong.
    pub fn run(&mut self) -> Result<(), String> {
        let end = self.now + CHAOS_MS + CALM_MS;
        let mut count = 0;
        while let Some(((at, _), event)) = self.events.pop_first() {
            if at > end || self.checks.wrong.is_some() {
                break;
            }
            count += 1;
            if count > EVENTS_MAX {
                self.checks.fail("the world runs in a circle".to_owned());
                break;
            }
            self.now = at;
            self.note(|| format!("{event:?}"));
            self.happen(event);
        }
        self.check_end();
        match self.checks.wrong.take() {
            Some(wrong) => Err(wrong),
            None => Ok(()),
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Chance => {
                self.chance();
                if !self.is_calm {
                    let pause = self.rng.i64(5..500);
                    self.after(pause, Event::Chance);
                }
            }
            Event::Calm => self.calm(),
            Event::Alone => self.check_queue(),
            Event::People => self.people(),
            Event::Flood => self.flood(),
            Event::Ebb => self.check_ebb(),
            Event::Daemon(incarnation, call) => {
                if self
                    .daemon
                    .as_ref()
                    .is_some_and(|d| d.incarnation == incarnation)
                {
                    self.call(call);
                }
            }
            Event::Write(incarnation, write) => self.write(incarnation, write),
            Event::Rows(incarnation, write) => self.rows_reach_disk(incarnation, write),
            Event::StartDaemon => self.start_daemon(),
            Event::Adapter(incarnation, life, note) => {
                if self
                    .daemon
                    .as_ref()
                    .is_some_and(|d| d.incarnation == incarnation)
                {
                    self.adapter_hears(life, note);
                }
            }
            Event::ServerUp(incarnation) => {
                if self
                    .daemon
                    .as_ref()
                    .is_some_and(|d| d.incarnation == incarnation)
                {
                    self.server_up();
                }
            }
            Event::Server(life, step) => {
                if self
                    .server
                    .as_ref()
                    .is_some_and(|server| server.life == life)
                {
                    self.server_step(step);
                }
            }
            Event::Claude(process, step) => {
                if self
                    .claude
                    .as_ref()
                    .is_some_and(|claude| claude.process == process)
                {
                    self.claude_step(step);
                }
            }
            Event::StartClaude => self.start_claude(),
            Event::Send(draft) => self.send(draft),
        }
    }

    /// One thing that nobody planned.
    fn chance(&mut self) {
        if self.is_calm {
            return;
        }
        match self.rng.u32(..100) {
            0..30 => {
                let on_busy = match self.rng.u32(..10) {
                    0..6 => OnBusy::Queue,
                    6..9 => OnBusy::Steer,
                    _ => OnBusy::Reject,
                };
                let draft = Draft {
                    to: Agent::Codex,
                    on_busy,
                    handoff: self.rng.bool().then(|| self.rng.u32(..1_000)),
                    answers: None,
                    tries: 0,
                };
                self.after(0, Event::Send(draft));
            }
            30..52 => {
                let draft = Draft {
                    to: Agent::Claude,
                    on_busy: OnBusy::Queue,
                    handoff: self.rng.bool().then(|| self.rng.u32(..1_000)),
                    answers: None,
                    tries: 0,
                };
                self.after(0, Event::Send(draft));
            }
            52..57 => self.human_prompts_codex(),
            57..62 => self.human_stops_codex(),
            62..65 => self.human_prompts_claude(),
            65..67 => self.claude_clears(),
            67..70 => self.claude_asks(),
            70..74 => self.operator_acts(),
            74..77 => self.terminal(),
            77..80 => self.kill_daemon("by chance"),
            80..82 => self.daemon_leaves(),
            82..87 => self.kill_server(),
            87..90 => self.kill_claude(),
            90..93 => self.cut_bridge(),
            93..95 => self.cut_bell(),
            95..97 => self.limited_until = self.now + self.rng.i64(200..6_000),
            _ => self.ask_the_watchdog(),
        }
    }

    fn calm(&mut self) {
        self.is_calm = true;
        self.calm_ms = self.now;
        self.limited_until = 0;
        self.nature.unruly = 0;
        self.nature.mortal = 0;
        self.nature.disk_refuses = 0;
        if self.daemon.is_none() {
            self.after(0, Event::StartDaemon);
        }
        if self.claude.is_none() {
            self.after(1, Event::StartClaude);
        }
        let late = (110_000..145_000).step_by(2_500);
        self.after(14_000, Event::Alone);
        for pause in [15_000, 40_000, 60_000].into_iter().chain(late) {
            self.after(pause, Event::People);
        }
        self.after(66_000, Event::Flood);
        self.after(105_000, Event::Ebb);
    }

    fn flood(&mut self) {
        for _ in 0..FLOOD {
            let draft = Draft {
                to: Agent::Claude,
                on_busy: OnBusy::Queue,
                handoff: None,
                answers: None,
                tries: 0,
            };
            self.after(0, Event::Send(draft));
        }
    }

    /// The human goes on in Codex, and in Claude when all that waits must have been announced.
    fn people(&mut self) {
        self.terminal_comes();
        self.human_prompts_codex();
        self.operator_releases();
        if self.now > 1_000_000 + CHAOS_MS + 30_000 {
            self.check_announced();
            self.human_prompts_claude();
        }
    }

    pub fn after(&mut self, delay_ms: i64, event: Event) {
        self.order += 1;
        self.events.insert((self.now + delay_ms, self.order), event);
    }

    /// A short way between processes.
    pub fn hop(&mut self) -> i64 {
        self.rng.i64(0..4)
    }

    pub fn percent(&mut self, chance: u32) -> bool {
        chance > 0 && self.rng.u32(..100) < chance
    }

    pub fn request(&mut self, life: u64, request: Request) {
        let hop = self.hop();
        self.after(hop, Event::Server(life, ServerStep::Request(request)));
    }

    pub fn note(&mut self, line: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            let line = line();
            trace.push(format!("{:>8} {line}", self.now - 1_000_000));
        }
    }

    pub fn new_id(&mut self) -> EntryId {
        self.messages += 1;
        EntryId::new(format!("m{}", self.messages))
    }
}
