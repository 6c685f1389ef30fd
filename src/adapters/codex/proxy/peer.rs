//! [`process_of`]: which process is at the other end of a loopback connection.

use std::fs;

/// The process of this user that holds the other end, where `/proc` tells: the socket is looked
/// up by its two ports, then the descriptors of the processes are searched for it.
pub(super) fn process_of(peer_port: u16, our_port: u16) -> Option<u32> {
    let table = fs::read_to_string("/proc/net/tcp").ok()?;
    let inode = inode_of(&table, peer_port, our_port)?;
    let wanted = format!("socket:[{inode}]");
    fs::read_dir("/proc")
        .ok()?
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .find(|pid| holds(*pid, &wanted))
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
