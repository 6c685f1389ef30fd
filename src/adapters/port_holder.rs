//! [`holder`]: the process that listens on a port of 127.0.0.1, as far as `/proc` shows it.

use std::fmt;
use std::fs;
use std::path::Path;

use super::process::ProcessStat;

/// The state of a listening socket in `/proc/net/tcp`.
const LISTEN: &str = "0A";

/// The longest name of a program that is shown, in characters.
const NAME_CHARS_MAX: usize = 64;

/// A process that listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Its number.
    pub pid: u32,
    /// What the system calls it; any process names itself as it likes.
    pub program: String,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} ({})", self.pid, self.program)
    }
}

/// Who listens on the port; `None` when nobody does, when it is another user's process, and where
/// there is no `/proc`.
pub fn holder(port: u16) -> Option<Holder> {
    let inodes: Vec<String> = ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .filter_map(|table| fs::read_to_string(table).ok())
        .flat_map(|table| listening(&table, port))
        .collect();
    if inodes.is_empty() {
        return None;
    }
    let names: Vec<String> = inodes
        .iter()
        .map(|inode| format!("socket:[{inode}]"))
        .collect();
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let open: Vec<(u32, ProcessStat)> = processes
        .filter_map(|process| process.file_name().to_str()?.parse().ok())
        .filter(|pid| has_open(*pid, &names))
        // One that has ended meanwhile holds nothing.
        .filter_map(|pid| Some((pid, ProcessStat::of(pid)?)))
        .collect();
    // A child has it as well until it runs another program.
    let has_it_from_parent =
        |stat: &ProcessStat| open.iter().any(|(parent, _)| *parent == stat.parent);
    let first = open.iter().find(|(_, stat)| !has_it_from_parent(stat));
    let pid = first.or(open.first())?.0;
    let comm = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let program = comm.trim_end().chars().filter(|char| !char.is_control());
    Some(Holder {
        pid,
        program: program.take(NAME_CHARS_MAX).collect(),
    })
}

/// The inodes of the sockets that listen on a port, by a table of the kernel's.
fn listening(table: &str, port: u16) -> Vec<String> {
    let ends = format!(":{port:04X}");
    let inode = |line: &str| {
        let mut words = line.split_whitespace().skip(1);
        let (local, _remote, state) = (words.next()?, words.next()?, words.next()?);
        let inode = words.nth(5)?;
        (local.ends_with(&ends) && state == LISTEN).then(|| inode.to_owned())
    };
    table.lines().skip(1).filter_map(inode).collect()
}

fn has_open(pid: u32, names: &[String]) -> bool {
    let Ok(descriptors) = fs::read_dir(Path::new("/proc").join(pid.to_string()).join("fd")) else {
        return false;
    };
    descriptors.flatten().any(|descriptor| {
        fs::read_link(descriptor.path())
            .is_ok_and(|link| names.iter().any(|name| link.as_os_str() == name.as_str()))
    })
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;
    use std::process::Command;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_listener_is_found_in_the_kernels_table() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
             0: 0100007F:1196 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0 100 0 0 10 0\n   \
             1: 0100007F:1196 0100007F:9C40 01 00000000:00000000 00:00000000 00000000  1000        0 4712 1 0 20 4 30 10 -1\n";
        assert_eq!(listening(table, 4502), ["4711"]);
        assert_eq!(listening(table, 4503), [""; 0]);
        assert_eq!(listening("nonsense\nx y\n", 1), [""; 0]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_port_of_ours_is_ours() {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        assert_eq!(holder(port).unwrap().pid, std::process::id());
        // As a child does that runs no other program yet.
        let mut child = Command::new("sleep")
            .arg("60")
            .stdin(OwnedFd::from(listener.try_clone().unwrap()))
            .spawn()
            .unwrap();
        assert_eq!(holder(port).unwrap().pid, std::process::id());
        drop(listener);
        // Children of other tests have it as well, until they run theirs.
        let becomes = |pid: Option<u32>| {
            let until = Instant::now() + Duration::from_secs(60);
            while holder(port).map(|holder| holder.pid) != pid {
                assert!(Instant::now() < until, "{:?}", holder(port));
                std::thread::yield_now();
            }
        };
        becomes(Some(child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
        becomes(None);
    }
}
