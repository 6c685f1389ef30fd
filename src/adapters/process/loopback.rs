//! [`holder`] and [`is_held_by`]: the process at the other end of a loopback connection.

use std::fs;

use super::ProcessStat;
#[cfg(target_os = "linux")]
use super::socket_diag::inode as asked;

/// The process of this user that holds the other end, where `/proc` tells: the socket is looked
/// up by its two ports, then the descriptors of the processes are searched for it. A process that it
/// is just starting holds it for a moment as well, and is not meant.
pub fn holder(peer_port: u16, our_port: u16) -> Option<u32> {
    let wanted = peer_socket(peer_port, our_port)?;
    let mut holder = fs::read_dir("/proc")
        .ok()?
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .find(|pid| holds(*pid, &wanted))?;
    let starter = |pid: u32| Some(ProcessStat::of(pid)?.parent).filter(|of| holds(*of, &wanted));
    while let Some(pid) = starter(holder) {
        holder = pid;
    }
    Some(holder)
}

/// Whether a process holds the other end. Spares the search through all processes where one says
/// who it is; false also where the operating system does not tell.
pub fn is_held_by(pid: u32, peer_port: u16, our_port: u16) -> bool {
    peer_socket(peer_port, our_port).is_some_and(|wanted| holds(pid, &wanted))
}

fn peer_socket(peer_port: u16, our_port: u16) -> Option<String> {
    let listed = || {
        let table = fs::read_to_string("/proc/net/tcp").ok()?;
        inode_of(&table, peer_port, our_port)
    };
    let inode = asked(peer_port, our_port).or_else(listed)?;
    Some(format!("socket:[{inode}]"))
}

/// Only Linux can be asked for one connection.
#[cfg(not(target_os = "linux"))]
fn asked(_: u16, _: u16) -> Option<u64> {
    None
}

/// The socket whose own side has the peer's port: a line is
/// `sl local_address rem_address st … uid timeout inode`.
fn inode_of(table: &str, peer_port: u16, our_port: u16) -> Option<u64> {
    let port = |address: &str| {
        let (_, port) = address.split_once(':')?;
        u16::from_str_radix(port, 16).ok()
    };
    table.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let ends = (port(fields.get(1)?)?, port(fields.get(2)?)?);
        let inode = fields.get(9)?.parse().ok()?;
        (ends == (peer_port, our_port) && inode != 0).then_some(inode)
    })
}

fn holds(pid: u32, wanted: &str) -> bool {
    let Ok(descriptors) = fs::read_dir(format!("/proc/{pid}/fd")) else {
        return false;
    };
    descriptors
        .flatten()
        .filter_map(|entry| fs::read_link(entry.path()).ok())
        .any(|target| target.as_os_str() == wanted)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn the_process_at_the_other_end_is_found_and_another_is_not_taken_for_it() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (_server, peer) = listener.accept().unwrap();
        let ours = listener.local_addr().unwrap().port();
        assert_eq!(holder(peer.port(), ours), Some(std::process::id()));
        assert!(is_held_by(std::process::id(), peer.port(), ours));
        // Not every kernel can be asked for one; what is told of it is what its table says.
        let table = fs::read_to_string("/proc/net/tcp").unwrap();
        let listed = inode_of(&table, peer.port(), ours);
        assert!(listed.is_some());
        assert!([None, listed].contains(&asked(peer.port(), ours)));
        assert_eq!(asked(ours, 1), None);
        let mut other = std::process::Command::new("cat")
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        assert!(!is_held_by(other.id(), peer.port(), ours));
        drop((client, other.stdin.take()));
        other.wait().unwrap();
    }
}
