//! [`talk`]: one session, from its first frame to its last.

use std::collections::VecDeque;

use tokio::sync::mpsc;
use tokio::time::sleep_until;
use tracing::Instrument as _;

use super::backlog::take_end;
use super::{End, Over};
use crate::adapters::codex::inflight::Outgoing;
use crate::adapters::codex::request::CodexRequest;
use crate::adapters::codex::rpc::Lost;
use crate::adapters::codex::server::AppServer;
use crate::adapters::codex::session::Session;
use crate::core::id::ThreadId;

/// Requests and frames, until the session is over.
pub(super) async fn talk(
    mut session: Session<'_>,
    server: &mut AppServer,
    requests: &mut mpsc::Receiver<CodexRequest>,
    backlog: &mut VecDeque<CodexRequest>,
    wishes: &mut mpsc::Receiver<()>,
) -> Over {
    loop {
        if let Some(end) = take_end(backlog) {
            if matches!(end, End::Release(..)) {
                // What the frames so far asked for; the next owner has not seen them.
                let _ = session.settle().await;
            }
            session.close().await;
            return Over::End(end);
        }
        let work = async {
            session.settle().await?;
            if let Some(request) = backlog.pop_front() {
                perform(&mut session, request).await?;
                session.settle().await?;
            }
            Ok(())
        };
        // No request is taken in meanwhile: each of these is short, and has its deadline.
        if let Err(lost) = work.await {
            return over(lost);
        }
        if !backlog.is_empty() {
            continue;
        }
        let due_at = session.next_due();
        let due = async {
            match due_at {
                Some(when) => sleep_until(when).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            frame = session.next() => match frame {
                Ok(frame) => session.take_frame(frame).await,
                Err(lost) => return over(lost),
            },
            request = requests.recv() => match request {
                Some(request) => backlog.push_back(request),
                None => {
                    session.close().await;
                    return Over::End(End::Dropped);
                }
            },
            // It has what it wants.
            Some(()) = wishes.recv() => {}
            () = due => {
                if let Err(lost) = session.on_time().await {
                    return over(lost);
                }
            }
            why = server.gone() => return Over::Gone(why),
        }
    }
}

fn over(lost: Lost) -> Over {
    Over::Lost(lost.to_string())
}

async fn perform(session: &mut Session<'_>, request: CodexRequest) -> Result<(), Lost> {
    match request {
        CodexRequest::Ensure { reply } => {
            let thread_id: Option<ThreadId> = session.thread_id().cloned();
            let _ = reply.send(thread_id.ok_or_else(|| "codex has no thread".to_owned()));
            Ok(())
        }
        CodexRequest::Deliver {
            message_id,
            text,
            on_busy,
            cut_off_in,
            thread,
            attempt,
        } => {
            let message = Outgoing {
                id: message_id,
                attempt: Some(attempt),
                text,
                cut_off_in,
            };
            let following = message.following();
            let delivering = session.deliver(message, on_busy, thread.as_ref());
            delivering.instrument(following).await
        }
        CodexRequest::Recover { messages } => session.recover(messages).await,
        CodexRequest::TakeBack { message_id } => {
            let following = session.following(&message_id);
            session.take_back(&message_id).instrument(following).await
        }
        CodexRequest::Interrupt { turn_id, reply } => {
            let done = session.interrupt(&turn_id).await?;
            let _ = reply.send(done);
            Ok(())
        }
        CodexRequest::Compact { reply } => {
            let begun = session.compact().await?;
            let _ = reply.send(begun);
            Ok(())
        }
        CodexRequest::AnswerApproval {
            request_id,
            choice,
            reply,
        } => {
            let answered = session.answer_approval(&request_id, &choice).await?;
            let _ = reply.send(answered);
            Ok(())
        }
        CodexRequest::ReleaseQueue => session.release_queue().await,
        CodexRequest::Inject {
            packet_id,
            text,
            by_hook,
        } => session.inject(packet_id, text, by_hook).await,
        CodexRequest::FindPacket { packet_id, sha256 } => {
            session.find_packet(packet_id, sha256).await;
            Ok(())
        }
        CodexRequest::AskLimit { reply } => {
            let checked = session.ask_limit().await?;
            let _ = reply.send(checked);
            Ok(())
        }
        // Taken out of the backlog before.
        CodexRequest::Stop { .. } | CodexRequest::Release { .. } => Ok(()),
    }
}
