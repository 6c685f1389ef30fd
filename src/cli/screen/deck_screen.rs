//! [`DeckScreen`]: the screen of a deck on this terminal, and what every deck here receives.

use std::future::ready;
use std::path::Path;
use std::process::{Command as Process, Stdio};
use std::sync::{Arc, OnceLock};

use ctxrelay_ui::model::{Level, SearchScope};
use ctxrelay_ui::{Depth, Msg, OwnFiles, QuitChoice, Settings};
use rustix::process::Signal;
use tokio::signal::unix::{Signal as UnixSignal, SignalKind, signal};
use tokio::sync::watch;

use crate::adapters::git::difference::difference;
use crate::adapters::git::found::{tree_found_since, tree_glanced_since};
use crate::adapters::program_start::{start, stop_group};
use crate::cli::agents::agent_place::AgentPlace;
use crate::cli::agents::own_pane::beside_us;
use crate::cli::capsule::for_deck;
use crate::cli::decisions::review::import_from_deck;
use crate::cli::exit::Failure;
use crate::cli::lifecycle::end_signals::EndSignals;
use crate::cli::offline::disk;
use crate::cli::record::instructions::rules_of_files;
use crate::cli::record::ledger::show;
use crate::cli::record::recover::recovery_view;
use crate::cli::record::search::{self, SearchPlace};
use crate::cli::screen::notify_command::NotifyCommand;
use crate::cli::screen::screen_files::ScreenFiles;
use crate::cli::screen::screen_watch::ScreenWatch;
use crate::cli::settings::environment;
use crate::cli::signing::operator_key::{deck_key, deck_ssh};
use crate::client::Client;
use crate::core::agent::Agent;
use crate::deck::calls::elsewhere::Elsewhere;
use crate::deck::clock::{local_time, now_ms};
use crate::deck::deck_about::{DeckAbout, WaitingTrust};
use crate::deck::deck_options::{DeckOptions, project_name};
use crate::deck::event_loop::deck_exit::DeckExit;
use crate::deck::event_loop::opening::while_opening;
use crate::deck::key_slot::KeySlot;
use crate::deck::signing::OperatorKeyAccess;
use crate::deck::terminal::display::{Display, DisplayTeller};
use crate::deck::terminal::display_host::DisplayHost;
use crate::deck::terminal::term::is_light;
use crate::host::ProjectContext;
use crate::store::ledger::{ReadProgress, ReadSoFar};
use crate::store::{config, unsent};
use crate::wire::config::Waiting;
use crate::wire::control::{Command, StopParams};

/// What a daemon of another process is told where the person has left the deck like this.
pub(in crate::cli) fn stop_of(left: DeckExit) -> Option<Command> {
    let kill = match left {
        DeckExit::Chosen(QuitChoice::Stop) => false,
        DeckExit::Chosen(QuitChoice::KeepStopped) => true,
        DeckExit::Chosen(QuitChoice::Stay) | DeckExit::Gone | DeckExit::Failed => return None,
    };
    Some(Command::Stop(StopParams { kill }))
}

/// A screen, and what it listens to beside its keys.
pub(in crate::cli) struct DeckScreen {
    pub(in crate::cli) display: Display,
    pub(in crate::cli) told_to_end: watch::Receiver<bool>,
    key_slot: KeySlot,
    /// Ends with the screen.
    _watch: ScreenWatch,
}

impl DeckScreen {
    /// Takes the terminal and draws the first frame.
    pub(in crate::cli) fn open() -> Result<Self, Failure> {
        // From the first touch of the terminal on: who is told to end gives it back.
        let signals = DeckSignals::listen()?;
        let files = ScreenFiles::from_env();
        let own = files
            .read()
            .map_err(|error| Failure::internal("read the keymap", error))?;
        let settings = screen_settings(&own)?;
        let keeper = files.clone();
        let teller: Arc<OnceLock<DisplayTeller>> = Arc::default();
        let failing = Arc::clone(&teller);
        let key_slot = KeySlot::default();
        let command = NotifyCommand::new(files.folder());
        let notify = move |words, text| {
            let failing = Arc::clone(&failing);
            command.begin(words, text, move |why| {
                if let Some(teller) = failing.get() {
                    teller.tell(Msg::Notice(Level::Warn, why));
                }
            });
        };
        let host = DisplayHost {
            notify: Box::new(notify),
            keep_theme: Box::new(move |name| keeper.keep_theme(name)),
            stop_group,
            key_slot: key_slot.clone(),
        };
        let display = Display::open(settings, host)
            .map_err(|error| Failure::internal("show the deck", error))?;
        let _ = teller.set(display.teller());
        Ok(Self {
            told_to_end: signals.heed(display.teller()),
            key_slot,
            _watch: ScreenWatch::start(files, own, display.teller()),
            display,
        })
    }

    /// Waits for a start, and says meanwhile what it does. `None` when the operator left before it
    /// was done; the terminal is given back then.
    pub(in crate::cli) async fn wait_for<T>(
        mut self,
        about: DeckAbout,
        reading: &ReadProgress,
        start: impl Future<Output = T>,
    ) -> Option<(Self, T)> {
        let told_to_end = self.told_to_end.clone();
        let doing = || doing(reading.so_far());
        let done = while_opening(&mut self.display, about, doing, told_to_end, start).await;
        match done {
            Some(done) => Some((self, done)),
            None => {
                self.display.close().await;
                None
            }
        }
    }
}

pub(in crate::cli) fn about(project: &ProjectContext, demo: bool) -> DeckAbout {
    DeckAbout {
        project: project_name(&project.dirs.root),
        root: project.dirs.root.to_string_lossy().into_owned(),
        runtime_session: project.runtime_session.to_string(),
        demo,
        local: local_time(now_ms()),
    }
}

pub(in crate::cli) fn options(
    project: &ProjectContext,
    about: DeckAbout,
    client: Client,
    operator: Client,
    screen: &DeckScreen,
) -> DeckOptions {
    let root = project.dirs.root.clone();
    let (glanced_at, compared) = (root.clone(), root.clone());
    let starter = project.clone();
    let reader = project.clone();
    let (recovering, importer) = (project.clone(), project.clone());
    let trusting = project.clone();
    let (unlocker, asker) = (project.clone(), project.clone());
    let (user, instance_id) = (project.user_dirs.clone(), project.dirs.instance_id());
    let kept_unsent = unsent::latest(&user, &instance_id);
    DeckOptions {
        client,
        operator,
        hosting: false,
        about,
        start_agent: Arc::new(move |agent| start_agent(&starter, agent)),
        restart: Arc::new(|| {
            let why = "it cannot be started from here".to_owned();
            Box::pin(ready(Err(why)))
        }),
        import_review: Arc::new(move |client| Box::pin(import_from_deck(client, importer.clone()))),
        read_tree: Arc::new(move |approved| tree_found_since(&root, approved.as_ref())),
        glance_at_tree: Arc::new(move |approved| {
            tree_glanced_since(&glanced_at, approved.as_ref())
        }),
        read_trust: Arc::new(move || {
            let loaded = config::load(&trusting.dirs, &trusting.user_dirs);
            let is_lost = loaded.trust_lost.is_some();
            let acts = is_lost || loaded.waiting.iter().any(Waiting::matters_now);
            (acts && loaded.file.is_some()).then(|| WaitingTrust {
                problems: loaded.ineffective(),
                digest: loaded.digest,
                waiting: loaded.waiting,
            })
        }),
        read_rules: Arc::new(move |agent, said| rules_of_files(&reader, agent, said)),
        capsules: for_deck::access(project),
        read_diff: Arc::new(move |commit| difference(&compared, commit)),
        read_recovery: Arc::new(move || recovery_view(&recovering)),
        keys: OperatorKeyAccess {
            unlock: Arc::new(move |wanted, typed| deck_key(&unlocker, wanted, typed)),
            elsewhere: Arc::new(move |wanted, bytes, is_left| {
                deck_ssh(&asker, wanted, bytes, is_left)
            }),
        },
        key_slot: screen.key_slot.clone(),
        elsewhere: elsewhere(project),
        notice: kept_unsent.map(|file| (Level::Warn, told_unsent(&file))),
        keep_unsent: Arc::new(move |text| unsent::keep(&user, &instance_id, text)),
        told_to_end: screen.told_to_end.clone(),
    }
}

/// Until the person has removed it.
fn told_unsent(file: &Path) -> String {
    let file = file.display();
    format!("not sent when a terminal was lost: read it in {file}, then remove that file")
}

/// As `ctxrelay search --in` and `ledger show` read it.
fn elsewhere(project: &ProjectContext) -> Elsewhere {
    let (searched, read) = (project.clone(), project.clone());
    Elsewhere::new(
        Arc::new(move |place, words, limit, after| {
            let place = match place {
                SearchScope::Record => SearchPlace::Record,
                SearchScope::Capsules => SearchPlace::Capsules,
                SearchScope::Archives => SearchPlace::Archives,
                SearchScope::All => SearchPlace::All,
            };
            let found = search::for_deck(&searched, &words, place, limit, after.as_deref());
            found.map_err(|failure| failure.message)
        }),
        Arc::new(move |session, line| {
            let reading = disk::reading(&read, session.as_str());
            let reading = reading.map_err(|failure| failure.message)?;
            let show = |full| {
                let args = show::Args {
                    entry: line.to_string(),
                    session: None,
                    full,
                };
                show::from_file(&reading, &args)
            };
            // A long text that is lost: its beginning says itself that it is one.
            let shown = show(true).or_else(|_| show(false));
            shown.map_err(|failure| failure.message)
        }),
    )
}

fn screen_settings(own: &OwnFiles) -> Result<Settings, Failure> {
    let mut settings =
        Settings::new().map_err(|error| Failure::internal("read the keymap", error))?;
    settings.keymap = own.keymap.clone();
    settings.themes = own.themes.clone();
    settings.problems = own.problems.clone();
    settings.notification = own.notification.clone();
    let var = |name: &str| std::env::var(name).ok();
    settings.depth = Depth::detect(
        var("NO_COLOR").as_deref(),
        var("COLORTERM").as_deref(),
        var("TERM").as_deref(),
    );
    settings.opens_panes = is_in_tmux();
    if let Some(name) = &own.theme {
        settings.theme = name.clone();
    } else if settings.depth != Depth::None && is_light() {
        settings.theme = "default-light".to_owned();
    }
    let speaks_utf8 = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .filter_map(|name| var(name).filter(|value| !value.is_empty()))
        .next()
        .is_none_or(|value| value.to_lowercase().replace('-', "").contains("utf8"));
    if !speaks_utf8 {
        settings.glyphs = ctxrelay_ui::Glyphs::Ascii;
    }
    Ok(settings)
}

fn is_in_tmux() -> bool {
    std::env::var_os("TMUX").is_some_and(|tmux| !tmux.is_empty())
}

/// Opens a pane beside the deck. Only inside tmux: another terminal cannot be opened from here.
fn start_agent(project: &ProjectContext, agent: Agent) -> Result<String, String> {
    let command = format!("ctxrelay {agent}");
    if !is_in_tmux() {
        return Err(format!(
            "run `{command}` in another terminal in this project"
        ));
    }
    // Where the pane's size is not known there is no room in it.
    let place = AgentPlace::in_pane(crossterm::terminal::size().unwrap_or_default());
    let mut tmux = Process::new("tmux");
    tmux.args(beside_us(project, agent, place, environment))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    match start(&mut tmux).and_then(|mut child| child.wait()) {
        Ok(status) if status.success() => Ok(format!("{command} starts {}", place.as_words())),
        _ => Err(format!(
            "tmux opened no pane; run `{command}` in another terminal"
        )),
    }
}

/// The signals that a deck heeds. One that comes before [`Self::heed`] is kept.
struct DeckSignals {
    to_end: EndSignals,
    continued: UnixSignal,
    resized: UnixSignal,
}

impl DeckSignals {
    fn listen() -> Result<Self, Failure> {
        let listen =
            |kind| signal(kind).map_err(|error| Failure::internal("listen for signals", error));
        Ok(Self {
            to_end: EndSignals::listen()?,
            continued: listen(SignalKind::from_raw(Signal::CONT.as_raw()))?,
            resized: listen(SignalKind::window_change())?,
        })
    }

    /// Tells the screen what is its own; becomes true when the process is told to end.
    fn heed(mut self, screen: DisplayTeller) -> watch::Receiver<bool> {
        let (tell, told) = watch::channel(false);
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    () = self.to_end.next() => { let _ = tell.send(true); }
                    Some(()) = self.continued.recv() => screen.continued(),
                    Some(()) = self.resized.recv() => screen.resized(),
                }
            }
        });
        told
    }
}

/// What a start does, as far as can be told from outside.
fn doing(ReadSoFar { bytes, of, .. }: ReadSoFar) -> String {
    match bytes.saturating_mul(100).checked_div(of) {
        Some(percent) => format!("opening the record … {} %", percent.min(100)),
        None => "starting the daemon …".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{ReadSoFar, doing};

    #[test]
    fn what_is_read_is_told_in_percent_once_its_length_is_known() {
        let so_far = |bytes, of| ReadSoFar {
            bytes,
            of,
            entries: 7,
        };
        assert_eq!(doing(so_far(0, 0)), "starting the daemon …");
        assert_eq!(doing(so_far(61, 100)), "opening the record … 61 %");
        assert_eq!(doing(so_far(161, 100)), "opening the record … 100 %");
    }
}
