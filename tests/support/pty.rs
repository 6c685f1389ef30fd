//! `Pty`: a program in a pseudo terminal of the test, with the screen that a human would see.

use std::fmt;
use std::io::{Read, Write};
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use portable_pty::{MasterPty, PtySize, native_pty_system};
use rustix::io::retry_on_intr;
use rustix::process::{WaitId, WaitIdOptions, waitid};

use super::child::end_group;
use super::launch::Launch;
use super::wait::{poll_until, timeout};

/// Rows kept above the screen, for text that has scrolled away.
const SCROLLBACK: usize = 2000;

/// The transcript's bound: a test that prints more is lost anyway.
const MAX_TRANSCRIPT: usize = 8 * 1024 * 1024;

/// How long a key may take to have its effect on the screen. A second one of a program that is only
/// slow may undo what the first one did.
const PRESS_AGAIN: Duration = Duration::from_secs(5);

/// How long Claude may take to close a dialog of its own. Enter in an empty composer does nothing.
const ENTER_AGAIN: Duration = Duration::from_millis(500);

/// How long a frame may take from its beginning to its end.
const FRAME: Duration = Duration::from_secs(5);

/// How long words that stand on the screen already may take to stand there once more.
const ECHO: Duration = Duration::from_secs(2);

/// Between two presses that belong together.
const PRESS_TWICE: Duration = Duration::from_millis(300);

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Char(char),
    Enter,
    Escape,
    Tab,
    BackTab,
    Backspace,
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    /// Control and a letter.
    Ctrl(char),
}

impl Key {
    fn bytes(self) -> Vec<u8> {
        match self {
            Self::Char(letter) => letter.to_string().into_bytes(),
            Self::Enter => b"\r".to_vec(),
            Self::Escape => b"\x1b".to_vec(),
            Self::Tab => b"\t".to_vec(),
            Self::BackTab => b"\x1b[Z".to_vec(),
            Self::Backspace => b"\x7f".to_vec(),
            Self::Up => b"\x1b[A".to_vec(),
            Self::Down => b"\x1b[B".to_vec(),
            Self::Right => b"\x1b[C".to_vec(),
            Self::Left => b"\x1b[D".to_vec(),
            Self::PageUp => b"\x1b[5~".to_vec(),
            Self::PageDown => b"\x1b[6~".to_vec(),
            Self::Ctrl(letter) => vec![letter.to_ascii_lowercase() as u8 & 0x1f],
        }
    }
}

type Writer = Arc<Mutex<Box<dyn Write + Send>>>;

/// Answers what programs ask a terminal; without an answer they wait or give up.
struct Answers {
    writer: Writer,
    /// The program is in the middle of a frame that is to be seen at once (private mode 2026).
    in_frame: bool,
    /// How many such frames have ended.
    frames: usize,
    /// What is said to who asks for the background (OSC 11); most terminals of the tests do not
    /// know the question.
    background: Option<&'static str>,
    /// The window's title, and those that it was asked to keep.
    title: String,
    kept_titles: Vec<String>,
}

impl Answers {
    fn send(&self, answer: &[u8]) {
        let mut writer = self.writer.lock().unwrap();
        // The program may have ended since it asked.
        let _ = writer.write_all(answer).and_then(|()| writer.flush());
    }
}

impl vt100::Callbacks for Answers {
    fn set_window_title(&mut self, _: &mut vt100::Screen, title: &[u8]) {
        self.title = String::from_utf8_lossy(title).into_owned();
    }

    fn unhandled_osc(&mut self, _: &mut vt100::Screen, params: &[&[u8]]) {
        if let ([b"11", b"?"], Some(color)) = (params, self.background) {
            self.send(format!("\x1b]11;{color}\x07").as_bytes());
        }
    }

    fn unhandled_csi(
        &mut self,
        screen: &mut vt100::Screen,
        intermediate: Option<u8>,
        _second: Option<u8>,
        params: &[&[u16]],
        command: char,
    ) {
        match (
            intermediate,
            params
                .first()
                .and_then(|param| param.first())
                .copied()
                .unwrap_or(0),
            command,
        ) {
            // Where is the cursor?
            (None, 6, 'n') => {
                let (row, column) = screen.cursor_position();
                self.send(format!("\x1b[{};{}R", row + 1, column + 1).as_bytes());
            }
            (None, 5, 'n') => self.send(b"\x1b[0n"),
            // What are you? A VT100 with advanced video.
            (None, 0, 'c') => self.send(b"\x1b[?1;2c"),
            (Some(b'?'), 2026, 'h') => self.in_frame = true,
            (Some(b'?'), 2026, 'l') => {
                self.frames += usize::from(self.in_frame);
                self.in_frame = false;
            }
            // Keep the title, and have it back.
            (None, 22, 't') => self.kept_titles.push(self.title.clone()),
            (None, 23, 't') => {
                if let Some(title) = self.kept_titles.pop() {
                    self.title = title;
                }
            }
            _ => {}
        }
    }
}

struct Shown {
    terminal: vt100::Parser<Answers>,
    transcript: Vec<u8>,
    /// Nothing more comes: the program has ended, perhaps in the middle of a frame.
    ended: bool,
}

/// What the program has printed so far, and a bell for whoever waits for more.
struct Output {
    shown: Mutex<Shown>,
    more: Condvar,
    /// Nobody reads the terminal.
    is_stopped: Mutex<bool>,
    goes_on: Condvar,
}

impl Output {
    fn wait_to_go_on(&self) {
        let stopped = self.is_stopped.lock().unwrap();
        let _going = self
            .goes_on
            .wait_while(stopped, |stopped| *stopped)
            .unwrap();
    }

    /// As a human sees it: never half a frame.
    fn whole(&self) -> MutexGuard<'_, Shown> {
        let shown = self.shown.lock().unwrap();
        let half = |shown: &mut Shown| shown.terminal.callbacks().in_frame && !shown.ended;
        self.more.wait_timeout_while(shown, FRAME, half).unwrap().0
    }

    /// The program has ended: waits until all that it printed is read.
    fn wait_last_words(&self) {
        let shown = self.shown.lock().unwrap();
        let reads = |shown: &mut Shown| !shown.ended;
        let _ended = self.more.wait_timeout_while(shown, LAST_WORDS, reads);
    }
}

/// How long what a program printed last may take to be read. What it leaves behind may hold the
/// terminal open for longer.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// A program in a terminal. Its process group ends with this value.
pub struct Pty {
    label: String,
    pid: u32,
    child: Box<dyn portable_pty::Child + Send + Sync>,
    master: Box<dyn MasterPty + Send>,
    writer: Writer,
    output: Arc<Output>,
}

impl fmt::Debug for Pty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pty")
            .field("label", &self.label)
            .field("pid", &self.pid)
            .finish_non_exhaustive()
    }
}

impl Pty {
    /// Starts a program in a terminal of 120 columns and 40 rows.
    #[track_caller]
    pub fn spawn(launch: &Launch) -> Self {
        Self::spawn_sized(launch, 120, 40)
    }

    #[track_caller]
    pub fn spawn_sized(launch: &Launch, columns: u16, rows: u16) -> Self {
        Self::spawn_on(launch, columns, rows, None)
    }

    /// In a terminal that knows its background, as `rgb:ffff/ffff/ffff`.
    #[track_caller]
    pub fn spawn_on(
        launch: &Launch,
        columns: u16,
        rows: u16,
        background: Option<&'static str>,
    ) -> Self {
        let pair = native_pty_system().openpty(size(columns, rows)).unwrap();
        let child = pair
            .slave
            .spawn_command(launch.pty())
            .unwrap_or_else(|error| panic!("cannot start {launch:?}: {error}"));
        // While we hold the slave, the end of the program is no end of file for the reader.
        drop(pair.slave);
        let writer: Writer = Arc::new(Mutex::new(pair.master.take_writer().unwrap()));
        let answers = Answers {
            writer: Arc::clone(&writer),
            in_frame: false,
            frames: 0,
            background,
            title: String::new(),
            kept_titles: Vec::new(),
        };
        let terminal =
            vt100::Parser::new_with_callbacks(cells(rows), cells(columns), SCROLLBACK, answers);
        let output = Arc::new(Output {
            shown: Mutex::new(Shown {
                terminal,
                transcript: Vec::new(),
                ended: false,
            }),
            more: Condvar::new(),
            is_stopped: Mutex::new(false),
            goes_on: Condvar::new(),
        });
        let mut reader = pair.master.try_clone_reader().unwrap();
        let sink = Arc::clone(&output);
        std::thread::spawn(move || {
            let mut buffer = [0; 8192];
            while let Ok(read @ 1..) = reader.read(&mut buffer) {
                sink.wait_to_go_on();
                let mut shown = sink.shown.lock().unwrap();
                shown.terminal.process(&buffer[..read]);
                if shown.transcript.len() < MAX_TRANSCRIPT {
                    shown.transcript.extend_from_slice(&buffer[..read]);
                }
                drop(shown);
                sink.more.notify_all();
            }
            sink.shown.lock().unwrap().ended = true;
            sink.more.notify_all();
        });
        let pid = child.process_id().unwrap();
        Self {
            label: launch.name(),
            pid,
            child,
            master: pair.master,
            writer,
            output,
        }
    }

    /// The name used in messages and for the transcript; the program's own unless told otherwise.
    pub fn labelled(mut self, label: &str) -> Self {
        label.clone_into(&mut self.label);
        self
    }

    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The text on the screen, a line for each row, blanks at the ends cut off.
    pub fn screen(&self) -> String {
        let shown = self.output.whole();
        let screen = shown.terminal.screen();
        let (_, columns) = screen.size();
        screen
            .rows(0, columns.get())
            .map(|row| row.trim_end().to_owned())
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// The screen as cells, for pictures and colours.
    pub fn with_screen<T>(&self, look: impl FnOnce(&vt100::Screen) -> T) -> T {
        look(self.output.whole().terminal.screen())
    }

    /// The title of the window.
    pub fn title(&self) -> String {
        self.output.whole().terminal.callbacks().title.clone()
    }

    /// How many frames the program has drawn.
    pub fn frames(&self) -> usize {
        let shown = self.output.shown.lock().unwrap();
        shown.terminal.callbacks().frames
    }

    /// Every byte that the program has printed.
    pub fn transcript(&self) -> Vec<u8> {
        self.output.shown.lock().unwrap().transcript.clone()
    }

    /// Whether `text` is on the screen, no matter where the lines break.
    pub fn shows(&self, text: &str) -> bool {
        squeeze(&self.screen()).contains(&squeeze(text))
    }

    /// Waits until `text` is on the screen.
    #[track_caller]
    pub fn wait_for_text(&mut self, text: &str) {
        self.wait_for_screen(&format!("the text {text:?}"), |screen| {
            squeeze(screen).contains(&squeeze(text))
        });
    }

    /// Waits until `text` is no longer on the screen.
    #[track_caller]
    pub fn wait_until_gone(&mut self, text: &str) {
        self.wait_for_screen(&format!("{text:?} to go"), |screen| {
            !squeeze(screen).contains(&squeeze(text))
        });
    }

    /// Waits until the screen is as `wanted`.
    #[track_caller]
    pub fn wait_for_screen(&mut self, what: &str, wanted: impl Fn(&str) -> bool) {
        let found = poll_until(timeout(), || {
            if wanted(&self.screen()) {
                return Some(true);
            }
            // The last words of an ended program may still be on their way to the screen.
            self.exit_code().map(|_| {
                poll_until(timeout() / 20, || wanted(&self.screen()).then_some(())).is_some()
            })
        });
        if found != Some(true) {
            let state = if found.is_some() {
                "the program has ended"
            } else {
                "time is up"
            };
            panic!(
                "{} never showed {what} ({state}); the screen is\n{}",
                self.label,
                framed(&self.screen())
            );
        }
    }

    /// Types text as fast as a terminal takes it.
    #[track_caller]
    pub fn type_text(&mut self, text: &str) {
        self.send(text.as_bytes());
    }

    /// Presses a key.
    #[track_caller]
    pub fn press(&mut self, key: Key) {
        self.send(&key.bytes());
    }

    /// Presses a key, and again when the screen has not become as `wanted` for a while: dialogs do
    /// not listen in their first moments. Not for a key that takes back what it did.
    #[track_caller]
    pub fn press_until(&mut self, key: Key, what: &str, wanted: impl Fn(&str) -> bool) {
        self.press_each(PRESS_AGAIN, key, what, wanted);
    }

    /// Presses Enter until this question of a dialog of Claude's is gone. A dialog takes no key in its
    /// first 0.3 s.
    #[track_caller]
    pub fn enter_until_gone(&mut self, question: &str) {
        let is_gone = |screen: &str| !screen.contains(question);
        self.press_each(ENTER_AGAIN, Key::Enter, "the dialog to go", is_gone);
    }

    #[track_caller]
    fn press_each(&mut self, again: Duration, key: Key, what: &str, wanted: impl Fn(&str) -> bool) {
        let seen = poll_until(timeout(), || {
            self.press(key);
            poll_until(again, || wanted(&self.screen()).then_some(()))
        });
        if seen.is_none() {
            let screen = framed(&self.screen());
            panic!(
                "{key:?} never made {} show {what}; the screen is\n{screen}",
                self.label
            );
        }
    }

    /// Reads nothing more of what the program prints: it fills the terminal's own buffer and blocks.
    pub fn stop_reading(&self) {
        *self.output.is_stopped.lock().unwrap() = true;
    }

    /// Reads on.
    pub fn read_again(&self) {
        *self.output.is_stopped.lock().unwrap() = false;
        self.output.goes_on.notify_all();
    }

    /// Sends bytes as they are.
    #[track_caller]
    pub fn send(&mut self, bytes: &[u8]) {
        let mut writer = self.writer.lock().unwrap();
        // A program that has ended shows itself where its screen is awaited.
        let _ = writer.write_all(bytes).and_then(|()| writer.flush());
    }

    /// Types a prompt, waits until it stands in the composer, and sends it off. Both agents take
    /// characters that arrive together with Enter for a paste, and keep the Enter as a newline.
    #[track_caller]
    pub fn submit(&mut self, prompt: &str) {
        let times = |shown: &str| squeeze(shown).matches(&squeeze(prompt)).count();
        let before = times(&self.screen());
        self.type_text(prompt);
        // The same words may stand there from an earlier prompt, and may go from there meanwhile.
        poll_until(ECHO, || (times(&self.screen()) > before).then_some(()));
        self.wait_for_text(prompt);
        self.press(Key::Enter);
    }

    pub fn resize(&mut self, columns: u16, rows: u16) {
        // What the program prints for the new size is not read before the screen has it.
        let mut shown = self.output.shown.lock().unwrap();
        self.master.resize(size(columns, rows)).unwrap();
        let screen = shown.terminal.screen_mut();
        screen.set_size(cells(rows), cells(columns));
    }

    /// The exit code, if the program has ended.
    pub fn exit_code(&mut self) -> Option<u32> {
        self.child
            .try_wait()
            .unwrap()
            .map(|status| status.exit_code())
    }

    /// Waits for the program's end by itself.
    #[track_caller]
    pub fn wait_exit(&mut self) -> u32 {
        self.wait_end();
        match self.exit_code() {
            Some(code) => {
                self.output.wait_last_words();
                code
            }
            None => panic!(
                "{} does not end; the screen is\n{}",
                self.label,
                framed(&self.screen())
            ),
        }
    }

    /// Until the program has ended, or everybody's patience has: it is not looked at again and again,
    /// so that its time can be taken.
    fn wait_end(&self) {
        let pid = rustix::process::Pid::from_raw(self.pid.cast_signed()).unwrap();
        let (sender, ended) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            // It stays for who started it.
            let end = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            let _ = sender.send(retry_on_intr(|| waitid(WaitId::Pid(pid), end)));
        });
        let _ = ended.recv_timeout(timeout());
    }

    /// Presses a key again and again until the program has ended: agents want a second Ctrl-C
    /// shortly after the first.
    #[track_caller]
    pub fn press_until_exit(&mut self, key: Key) -> u32 {
        let code = poll_until(timeout(), || {
            self.press(key);
            poll_until(PRESS_TWICE, || self.exit_code())
        });
        code.unwrap_or_else(|| {
            panic!(
                "{} does not end; the screen is\n{}",
                self.label,
                framed(&self.screen())
            )
        })
    }

    /// SIGKILL to the program alone, as a crash would be.
    #[track_caller]
    pub fn crash(&mut self) {
        self.signal(rustix::process::Signal::KILL);
        self.wait_exit();
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(self.pid.cast_signed()).unwrap();
        let _ = rustix::process::kill_process(pid, signal);
    }

    /// Writes the transcript and the last screen below the build directory.
    fn dump(&self) -> std::io::Result<PathBuf> {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("failures");
        std::fs::create_dir_all(&folder)?;
        let path = folder.join(format!("{}-{}.transcript", self.label, self.pid));
        std::fs::write(&path, self.transcript())?;
        std::fs::write(path.with_extension("screen"), self.screen())?;
        Ok(path)
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        self.read_again();
        if std::thread::panicking() {
            let dumped = self.dump();
            eprintln!(
                "--- last screen of {} (transcript: {dumped:?})\n{}",
                self.label,
                framed(&self.screen())
            );
        }
        end_group(self.pid, || self.child.try_wait().ok().flatten().is_some());
    }
}

fn size(columns: u16, rows: u16) -> PtySize {
    PtySize {
        rows,
        cols: columns,
        pixel_width: 0,
        pixel_height: 0,
    }
}

/// A terminal has at least one row and one column.
fn cells(count: u16) -> NonZero<u16> {
    NonZero::new(count).unwrap()
}

fn squeeze(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn framed(screen: &str) -> String {
    let rows: String = screen
        .trim_end()
        .lines()
        .map(|row| format!("| {row}\n"))
        .collect();
    if rows.is_empty() {
        "| (empty)\n".to_owned()
    } else {
        rows
    }
}
