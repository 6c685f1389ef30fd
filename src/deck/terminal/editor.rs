//! [`Editor`]: a text in the person's own editor, in a private copy that is removed afterwards.

use std::fs::{self, File, Permissions};
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, getpgrp, kill_process_group};
use rustix::termios::tcgetpgrp;
use tempfile::TempDir;

use crate::deck::terminal::private_copy::private_copy;

/// The most that is read back, in bytes: what nobody can send is not taken into memory.
const TEXT_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// How long an editor has to end after it was told to.
const END_WAIT: Duration = Duration::from_millis(500);

/// Runs the editor as a job of its own: what it is sent from the keyboard (interrupt, suspend)
/// reaches it and not the daemon that this process may host. The shell gives the terminal to it and
/// takes it back, also where it died. The words of `$EDITOR` are the person's own command line, as
/// every program takes them. Without the trap the shell would follow a job that was interrupted,
/// before it has the terminal back.
///
/// A stopped editor goes on at once: nobody could bring it back, and it would end with what is not
/// saved. The status alone does not tell that it is stopped (an editor may exit with 148), and where
/// `fg` itself fails that is the end. dash refuses the first `exit` while a job is stopped.
const SCRIPT: &str = r#"trap : INT QUIT; set -m; eval "$EDITOR_COMMAND \"\$1\""; ended=$?
while jobs %% >/dev/null 2>&1; do fg >/dev/null; ended=$?; [ $ended -gt 128 ] || break; done
exit $ended; exit $ended"#;

/// An editor that runs on a copy of a text. Dropped, it ends and its copy is removed.
#[derive(Debug)]
pub(crate) struct Editor {
    child: Child,
    /// Who last had the terminal in the foreground: a terminal that is gone does not tell it.
    job: Option<Pid>,
    file: PathBuf,
    /// Removes the copy.
    folder: TempDir,
}

/// How an editor ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Edited {
    /// As it should, with this text in the copy.
    Text(String),
    /// Otherwise; one sentence.
    Failed(String),
}

/// The command of the person's editor.
pub(crate) fn command() -> Option<String> {
    ["VISUAL", "EDITOR"]
        .into_iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|command| !command.trim().is_empty())
}

impl Editor {
    /// Writes the [copy](private_copy) and begins the editor.
    ///
    /// # Errors
    ///
    /// When the copy cannot be written, or there is no shell.
    pub(crate) fn open(command: &str, text: &str) -> io::Result<Self> {
        let (folder, file) = private_copy("text.md", text)?;
        let child = Command::new("sh")
            .args(["-c", SCRIPT, "sh"])
            .arg(&file)
            .env("EDITOR_COMMAND", command)
            .spawn()?;
        Ok(Self {
            child,
            job: None,
            file,
            folder,
        })
    }

    /// What it came to, once it has ended.
    pub(in crate::deck) fn ended(&mut self) -> Option<Edited> {
        match self.child.try_wait() {
            Ok(None) => {
                self.look_for_job();
                None
            }
            Ok(Some(status)) => Some(self.result(status)),
            Err(error) => Some(Edited::Failed(format!("the editor is lost: {error}"))),
        }
    }

    fn look_for_job(&mut self) {
        let terminal = File::open("/dev/tty").ok();
        let job = terminal.and_then(|terminal| tcgetpgrp(terminal).ok());
        self.job = job.filter(|job| *job != getpgrp()).or(self.job);
    }

    /// Waits until it has ended.
    pub(crate) fn wait(&mut self) -> Edited {
        match self.child.wait() {
            Ok(status) => self.result(status),
            Err(error) => Edited::Failed(format!("the editor is lost: {error}")),
        }
    }

    /// What is saved in the copy, where that is another text than `before`.
    pub(in crate::deck) fn saved(&self, before: &str) -> Option<String> {
        read(&self.file).ok().filter(|text| text != before)
    }

    /// Whether it left files of its own beside the copy, such as the one by which it finds again
    /// what was not saved. A backup has what was there before, and a link is a lock.
    pub(in crate::deck) fn has_own_files(&self) -> bool {
        let files = fs::read_dir(self.folder.path());
        let mut files = files.into_iter().flatten().flatten();
        files.any(|found| {
            let is_backup = found.file_name().as_encoded_bytes().ends_with(b"~");
            let is_link = found.file_type().is_ok_and(|kind| kind.is_symlink());
            !(is_backup || is_link || found.path() == self.file)
        })
    }

    /// Leaves what was written where it is, for the person alone, once the editor has ended; where
    /// that is: the copy, or its folder where the editor's own files lie there too. None where
    /// nobody wrote anything: the copy is as `before`, and alone.
    pub(crate) fn keep(&mut self, before: &str) -> Option<PathBuf> {
        let has_own_files = self.has_own_files();
        let is_file = fs::symlink_metadata(&self.file).is_ok_and(|copy| copy.is_file());
        let is_as_before = || fs::read(&self.file).is_ok_and(|text| text == before.as_bytes());
        if !has_own_files && (!is_file || is_as_before()) {
            return None;
        }
        if is_file {
            // An editor may have put a file of its own in the place of ours.
            let _ = fs::set_permissions(&self.file, Permissions::from_mode(0o600));
        }
        self.folder.disable_cleanup(true);
        Some(match has_own_files {
            true => self.folder.path().to_owned(),
            false => self.file.clone(),
        })
    }

    /// Ends it, where it has not ended.
    pub(in crate::deck) fn end(&mut self) {
        if !matches!(self.child.try_wait(), Ok(None)) {
            return;
        }
        // The job in the foreground, and not the shell: that one gives the terminal back.
        self.look_for_job();
        for signal in [Signal::HUP, Signal::KILL] {
            if let Some(job) = self.job {
                let _ = kill_process_group(job, signal);
            }
            let until = Instant::now() + END_WAIT;
            while Instant::now() < until {
                if !matches!(self.child.try_wait(), Ok(None)) {
                    return;
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn result(&self, status: ExitStatus) -> Edited {
        match (status.code(), status.signal()) {
            (Some(0), _) => match read(&self.file) {
                Ok(text) => Edited::Text(text),
                Err(error) => {
                    Edited::Failed(format!("what the editor left is unreadable: {error}"))
                }
            },
            (Some(127), _) => Edited::Failed("$EDITOR was not found".to_owned()),
            (Some(code), _) => Edited::Failed(format!("$EDITOR failed with exit code {code}")),
            (None, signal) => {
                let signal = signal.unwrap_or_default();
                Edited::Failed(format!("$EDITOR was ended by signal {signal}"))
            }
        }
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        self.end();
    }
}

fn read(file: &std::path::Path) -> io::Result<String> {
    let found = fs::symlink_metadata(file)?;
    if !found.is_file() {
        return Err(io::Error::other("not a plain file"));
    }
    let mut bytes = Vec::new();
    File::open(file)?
        .take(TEXT_BYTES_MAX + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > TEXT_BYTES_MAX {
        return Err(io::Error::other("longer than 4 MiB"));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::{Edited, Editor, TEXT_BYTES_MAX};

    fn run(command: &str, text: &str) -> (Edited, std::path::PathBuf) {
        let mut editor = Editor::open(command, text).unwrap();
        let file = editor.file.clone();
        loop {
            if let Some(edited) = editor.ended() {
                return (edited, file);
            }
            std::thread::yield_now();
        }
    }

    #[test]
    fn what_the_editor_leaves_comes_back_and_no_copy_stays() {
        let (edited, file) = run("sed -i s/one/two/", "one\n");
        assert_eq!(edited, Edited::Text("two\n".to_owned()));
        assert!(!file.parent().unwrap().exists());
        let (edited, _) = run("true", "as it was");
        assert_eq!(edited, Edited::Text("as it was".to_owned()));
    }

    #[test]
    fn what_was_written_can_be_kept_for_the_person_alone_and_what_was_not_is_removed() {
        let command = "sh -c 'sed -i s/one/two/ \"$1\" && chmod 644 \"$1\"' sh";
        let mut editor = Editor::open(command, "one\n").unwrap();
        assert_eq!(editor.wait(), Edited::Text("two\n".to_owned()));
        let file = editor.keep("one\n").unwrap();
        drop(editor);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "two\n");
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::remove_dir_all(file.parent().unwrap()).unwrap();
        let backup = "sh -c 'cp \"$1\" \"$1~\"' sh";
        let lock = "sh -c 'ln -s me@host.7 \"${1%/*}/.#text.md\"' sh";
        for command in ["true", "rm", "ln -sf /etc/hostname", backup, lock] {
            let mut editor = Editor::open(command, "one\n").unwrap();
            editor.wait();
            assert_eq!(editor.keep("one\n"), None, "{command}");
            let folder = editor.file.parent().unwrap().to_owned();
            drop(editor);
            assert!(!folder.exists());
        }
    }

    #[test]
    fn the_folder_is_kept_where_the_editor_left_a_file_of_its_own_beside_the_copy() {
        let beside = "sh -c 'printf unsaved > \"${1%/*}/.text.md.swp\"' sh";
        for command in [beside, &format!("{beside} \"$1\"; rm")] {
            let mut editor = Editor::open(command, "one\n").unwrap();
            editor.wait();
            let folder = editor.file.parent().unwrap().to_owned();
            assert_eq!(editor.keep("one\n").as_ref(), Some(&folder), "{command}");
            drop(editor);
            let unsaved = std::fs::read_to_string(folder.join(".text.md.swp")).unwrap();
            assert_eq!(unsaved, "unsaved");
            std::fs::remove_dir_all(folder).unwrap();
        }
    }

    #[test]
    fn the_copy_is_private() {
        let mut editor = Editor::open("sleep 60 #", "secret").unwrap();
        let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&editor.file), 0o600);
        assert_eq!(mode(editor.file.parent().unwrap()), 0o700);
        assert_eq!(editor.ended(), None);
        let file = editor.file.clone();
        drop(editor);
        assert!(!file.exists());
    }

    #[test]
    fn an_editor_that_fails_is_said_with_its_reason() {
        let failed = |command: &str| match run(command, "text").0 {
            Edited::Failed(why) => why,
            other => panic!("{command}: {other:?}"),
        };
        assert_eq!(failed("exit 3;"), "$EDITOR failed with exit code 3");
        assert_eq!(failed("no-such-editor-at-all"), "$EDITOR was not found");
        assert!(failed("rm").contains("unreadable"));
        let much = TEXT_BYTES_MAX + 1;
        assert!(failed(&format!("truncate -s {much}")).contains("longer than 4 MiB"));
        assert!(failed("ln -sf /etc/hostname").contains("not a plain file"));
    }
}
