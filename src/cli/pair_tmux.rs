//! The pair's own tmux server, and what keeps a pane whose program has ended.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::host::ProjectContext;
use crate::store::operator_socket;

/// Runs the words behind it. When they fail, or end within ten seconds, the pane stays with what
/// they said until somebody presses Enter. The trap keeps Ctrl-C from ending the shell first; what
/// it runs gets the signal as always.
const KEEP: &str = "name=$1; shift; began=$(date +%s); trap : INT; \"$@\"; code=$?; \
    [ $code -eq 0 ] && [ $(($(date +%s) - began)) -ge 10 ] && exit 0; \
    stty sane 2>/dev/null; \
    printf '\\n%s has ended (exit code %s): Enter closes this pane\\n' \"$name\" \"$code\"; \
    read -r line; exit $code";

/// A command for a pane that stays when the command has failed or ends at once.
pub fn kept(name: &str, command: Vec<OsString>) -> Vec<OsString> {
    let shell = ["/bin/sh", "-c", KEEP, "ctxrelay", name];
    shell
        .into_iter()
        .map(OsString::from)
        .chain(command)
        .collect()
}

/// The socket of the pair's tmux server: in a folder that is private, beside the operator's, and
/// not one that a tmux of the user's would look for.
pub fn socket(setting: &ProjectContext) -> PathBuf {
    let operator = operator_socket::place(&setting.user_dirs, &setting.dirs.instance_id());
    operator.with_extension("tmux")
}

/// The arguments before a command for that server. A configuration of the user's counts as always.
pub fn server(socket: &Path) -> [OsString; 2] {
    ["-S".into(), socket.as_os_str().to_owned()]
}

/// Whether `TMUX` names this server: `SOCKET,PROCESS,SESSION`.
pub fn is_ours(setting: &ProjectContext, tmux: Option<&OsStr>) -> bool {
    let socket = socket(setting);
    tmux.and_then(|tmux| tmux.as_bytes().strip_prefix(socket.as_os_str().as_bytes()))
        .is_some_and(|rest| rest.first() == Some(&b','))
}
