//! [`FdMessage`]: bytes and open descriptors that one process sends to another, over a Unix socket
//! that both already have.
//!
//! The bytes are framed by their length; the descriptors travel with the frame's head
//! (`SCM_RIGHTS`). Knows nothing of the content. Blocks; the deadlines are those of the socket.

use std::io::{self, IoSlice, IoSliceMut, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// Descriptors in one parcel. Linux takes 253 with one message.
pub const DESCRIPTORS_MAX: usize = 128;

/// The largest text, in bytes. What is on its way between two agents is a few kilobytes, at most
/// some hundred messages of twenty thousand characters.
const TEXT_BYTES_MAX: usize = 32 * 1024 * 1024;

/// The length of the text, big endian.
const HEAD_BYTES: usize = 4;

/// What came.
#[derive(Debug)]
pub struct FdMessage {
    /// The bytes.
    pub text: Vec<u8>,
    /// The descriptors in the order in which they were sent, closed on exec.
    pub descriptors: Vec<OwnedFd>,
}

/// Sends a parcel.
///
/// # Errors
///
/// When it is too large (nothing was sent then), or the other side does not take it in the time
/// that the socket gives it.
pub fn send(
    mut socket: &UnixStream,
    text: &[u8],
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let too_large = || io::Error::new(io::ErrorKind::InvalidInput, "the parcel is too large");
    if text.len() > TEXT_BYTES_MAX || descriptors.len() > DESCRIPTORS_MAX {
        return Err(too_large());
    }
    let length = u32::try_from(text.len()).map_err(|_| too_large())?;
    let head = length.to_be_bytes();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(too_large());
    }
    // Four bytes into an empty socket go as one or not at all.
    let sent = rustix::io::retry_on_intr(|| {
        sendmsg(
            socket,
            &[IoSlice::new(&head)],
            &mut control,
            SendFlags::empty(),
        )
    })?;
    socket.write_all(&head[sent..])?;
    socket.write_all(text)
}

/// Receives a parcel.
///
/// # Errors
///
/// When the other side has gone, does not send in the time that the socket gives it, or sends
/// something that is no parcel. What was received of the descriptors is closed then.
pub fn receive(mut socket: &UnixStream) -> io::Result<FdMessage> {
    let mut head = [0; HEAD_BYTES];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = rustix::io::retry_on_intr(|| {
        recvmsg(
            socket,
            &mut [IoSliceMut::new(&mut head)],
            &mut control,
            RecvFlags::empty(),
        )
    })?;
    let mut descriptors = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            descriptors.extend(rights);
        }
    }
    for descriptor in &descriptors {
        // `MSG_CMSG_CLOEXEC` would do it in one step, and is not to be had everywhere. Nothing else
        // runs in a process that is being handed something.
        fcntl_setfd(descriptor, FdFlags::CLOEXEC)?;
    }
    if received.bytes == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    if received.flags.contains(ReturnFlags::CTRUNC) {
        let why = "some of the descriptors were lost";
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    socket.read_exact(&mut head[received.bytes..])?;
    let length = u32::from_be_bytes(head) as usize;
    if length > TEXT_BYTES_MAX {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "no parcel"));
    }
    let mut text = vec![0; length];
    socket.read_exact(&mut text)?;
    Ok(FdMessage { text, descriptors })
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd as _;
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn bytes_and_descriptors_arrive_in_their_order() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let mut files: Vec<File> = (0..DESCRIPTORS_MAX)
            .map(|_| tempfile::tempfile().unwrap())
            .collect();
        for (at, file) in files.iter_mut().enumerate() {
            write!(file, "{at}").unwrap();
        }
        // More than the socket's buffers hold.
        let text = vec![7; 3_000_000];
        let parcel = thread::scope(|scope| {
            scope.spawn(|| {
                let descriptors: Vec<_> = files.iter().map(|file| file.as_fd()).collect();
                send(&ours, &text, &descriptors).unwrap();
            });
            receive(&theirs).unwrap()
        });
        drop(files);
        assert_eq!(parcel.text, text);
        assert_eq!(parcel.descriptors.len(), DESCRIPTORS_MAX);
        for (at, descriptor) in parcel.descriptors.into_iter().enumerate() {
            let flags = rustix::io::fcntl_getfd(&descriptor).unwrap();
            assert!(flags.contains(FdFlags::CLOEXEC));
            let mut file = File::from(descriptor);
            io::Seek::rewind(&mut file).unwrap();
            let mut read = String::new();
            file.read_to_string(&mut read).unwrap();
            assert_eq!(read, at.to_string());
        }
    }

    #[test]
    fn a_sender_that_dies_in_the_middle_is_an_error() {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        drop(ours.try_clone());
        ours.write_all(&[0, 0, 0, 9, b'h', b'a']).unwrap();
        drop(ours);
        let error = receive(&theirs).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        let error = receive(&theirs).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn what_is_no_parcel_is_refused_and_nobody_is_waited_for_too_long() {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        ours.write_all(b"GET / HTTP/1.1").unwrap();
        let error = receive(&theirs).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        let (_ours, theirs) = UnixStream::pair().unwrap();
        theirs
            .set_read_timeout(Some(Duration::from_millis(20)))
            .unwrap();
        let error = receive(&theirs).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn too_much_is_refused_before_anything_is_sent() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let file = tempfile::tempfile().unwrap();
        let many = vec![file.as_fd(); DESCRIPTORS_MAX + 1];
        assert!(send(&ours, b"text", &many).is_err());
        send(&ours, b"text", &many[1..]).unwrap();
        assert_eq!(receive(&theirs).unwrap().text, b"text");
    }
}
