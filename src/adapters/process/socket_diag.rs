//! [`inode`]: one TCP connection, looked up by the kernel itself. Printing its whole table
//! (`/proc/net/tcp`) takes milliseconds, however few connections there are.

use rustix::net::netlink::{SOCK_DIAG, SocketAddrNetlink};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recvfrom, send, socket_with,
};

/// `SOCK_DIAG_BY_FAMILY`: the question, and the answer to it.
const BY_FAMILY: u16 = 20;

/// `NLM_F_REQUEST`.
const REQUEST: u16 = 1;

const IPV4: u8 = 2;
const TCP: u8 = 6;

/// Of whatever state, and whatever the kernel's own name of it is.
const ANY: [u8; 4] = [0xff; 4];

/// Of a message (`nlmsghdr`), and of a connection in it (`inet_diag_msg`), in bytes.
const HEADER: usize = 16;
const CONNECTION: usize = 72;

/// Where the ports and the inode are in an answer.
const PORTS: usize = HEADER + 4;
const INODE: usize = HEADER + 68;

/// The inode of the socket whose own side is the first of these ports of 127.0.0.1, and whose peer the
/// second. None where there is no such socket, it has no owner, or this kernel is not asked so.
pub(super) fn inode(its: u16, peers: u16) -> Option<u64> {
    let kernel = socket_with(
        AddressFamily::NETLINK,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        Some(SOCK_DIAG),
    )
    .ok()?;
    let ports = [its.to_be_bytes(), peers.to_be_bytes()].concat();
    let question = question(&ports);
    send(&kernel, &question, SendFlags::empty()).ok()?;
    let mut answer = [0; 512];
    // It is there before `send` returns.
    let (_, bytes, from) = recvfrom(&kernel, &mut answer, RecvFlags::DONTWAIT).ok()?;
    let from = SocketAddrNetlink::try_from(from?).ok()?;
    let is_answer = from.pid() == 0
        && bytes >= HEADER + CONNECTION
        && answer[4..6] == BY_FAMILY.to_ne_bytes()
        && answer[HEADER] == IPV4
        && answer[PORTS..PORTS + 4] == *ports;
    let inode = u32::from_ne_bytes(answer[INODE..INODE + 4].try_into().ok()?);
    (is_answer && inode != 0).then_some(u64::from(inode))
}

/// `inet_diag_req_v2` behind its header.
fn question(ports: &[u8]) -> Vec<u8> {
    const LOOPBACK: [u8; 16] = [127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let mut body = vec![IPV4, TCP, 0, 0];
    body.extend(ANY);
    body.extend(ports);
    body.extend(LOOPBACK);
    body.extend(LOOPBACK);
    // At any interface.
    body.extend([0; 4]);
    body.extend([ANY, ANY].concat());
    let bytes = u32::try_from(HEADER + body.len()).unwrap_or_default();
    let mut question = bytes.to_ne_bytes().to_vec();
    question.extend(BY_FAMILY.to_ne_bytes());
    question.extend(REQUEST.to_ne_bytes());
    // Its number, and from whom it is, which the kernel puts in.
    question.extend([0; 8]);
    question.extend(body);
    question
}
