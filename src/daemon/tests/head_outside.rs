//! The head outside of the project cannot be written.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::rig::Rig;
use crate::core::agent::Agent;
use crate::daemon::fault::DaemonFault;
use crate::daemon::stop::Stop;
use crate::store::testing::Place;
use crate::wire::control::{ClearParams, Command, RefusalCode, Role, SendParams};
use crate::wire::status::NoticeKey;

/// A head that cannot be replaced while a folder has its name.
struct Blocked {
    head: PathBuf,
    folder: PathBuf,
}

impl Blocked {
    fn new(place: &Place) -> Self {
        let head = place.user.head(&place.dirs.instance_id());
        let folder = head.with_extension("folder");
        fs::create_dir(&folder).unwrap();
        let blocked = Self { head, folder };
        blocked.swap();
        blocked
    }

    /// Puts the folder in the place of the head, or the head back, in one step: it may be written in
    /// this moment.
    fn swap(&self) {
        let [head, folder]: [&Path; 2] = [&self.head, &self.folder];
        renameat_with(CWD, head, CWD, folder, RenameFlags::EXCHANGE).unwrap();
    }
}

async fn wait_for_notice(rig: &mut Rig, is_there: bool) {
    while rig.daemon.base.notices.has(&NoticeKey::HeadUnwritable) != is_there {
        rig.next_is_tree().await;
    }
}

fn word() -> Command {
    Command::Send(SendParams {
        from: None,
        to: Some(Agent::Claude),
        text: "please look".to_owned(),
        ..SendParams::default()
    })
}

#[tokio::test]
async fn decisions_that_are_refused_for_the_head_outside_are_a_notice_until_it_can_be_written() {
    let place = Place::new();
    let mut rig = Rig::start(&place).await;
    let operator = rig.connect(Role::Deck, None, true);
    rig.call(&operator, word()).await.unwrap();
    let blocked = Blocked::new(&place);
    let refused = rig.call(&operator, word()).await.unwrap_err();
    assert_eq!(refused.code, RefusalCode::HeadUnwritable, "{refused:?}");
    wait_for_notice(&mut rig, true).await;
    let told = rig.daemon.base.notices.lines();
    let head = blocked.head.to_str().unwrap();
    assert!(told.iter().any(|told| told.contains(head)), "{told:?}");
    let clear = Command::Clear(ClearParams::default());
    let refused = rig.call(&operator, clear).await.unwrap_err();
    assert_eq!(refused.code, RefusalCode::ClearFailed, "{refused:?}");
    let hint = &refused.hint;
    assert!(hint.contains("make that folder writable"), "{refused:?}");
    assert!(!hint.contains("project folder"), "{refused:?}");
    blocked.swap();
    wait_for_notice(&mut rig, false).await;
    rig.call(&operator, word()).await.unwrap();
}

#[tokio::test]
async fn an_end_that_could_not_be_marked_outside_is_said_at_once_and_at_the_next_start() {
    let place = Place::new();
    let mut rig = Rig::start(&place).await;
    let operator = rig.connect(Role::Deck, None, true);
    rig.call(&operator, word()).await.unwrap();
    let blocked = Blocked::new(&place);
    rig.daemon.stop(Stop::now(false));
    rig.settle().await;
    assert_eq!(rig.finish().await, Err(DaemonFault::Unmarked));
    blocked.swap();
    let rig = Rig::start(&place).await;
    let recent = rig.daemon.base.recorder.recent().iter();
    let said: Vec<_> = recent.map(|stored| &stored.entry.content).collect();
    let names = |text: &str| said.iter().any(|said| said.contains(text));
    assert!(names("its end could not be marked"), "{said:?}");
    assert!(!names("ended without a word"), "{said:?}");
}
