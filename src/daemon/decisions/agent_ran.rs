//! [`Base::agent_ran`]: when an agent itself runs a gate's command, that is recorded as its claim,
//! with the exit code that its program reported.

use std::path::Path;

use crate::core::agent::Agent;
use crate::core::entry::{Artifact, ArtifactKind, CommandRun, EntryKind};
use crate::core::id::RuntimeSession;
use crate::daemon::owners::Base;

impl Base {
    /// A command of an agent's ended in this folder. That it is a gate's is known by its text; whatever
    /// else agents run is not recorded.
    pub(in crate::daemon) fn agent_ran(
        &mut self,
        agent: Agent,
        pair: &RuntimeSession,
        run: CommandRun,
        cwd: &Path,
    ) {
        if self.recorder.space().admit_message().is_err() {
            return;
        }
        let root = &self.dirs.root;
        let mut gates = self.configuration.gates().iter();
        let Some(gate) = gates.find(|gate| {
            let folder = gate.cwd.as_deref().unwrap_or_default();
            run.is_of(&gate.cmd) && root.join(folder).components().eq(cwd.components())
        }) else {
            return;
        };
        let how = run.in_words();
        let content = format!(
            "{} ran the command of gate {} itself: {how}\n$ {}",
            agent.title(),
            gate.name,
            gate.cmd
        );
        let artifact = Artifact {
            kind: ArtifactKind::TestReport,
            title: gate.name.clone(),
            summary: how,
            status: run.status(),
            evidence: vec![gate.cmd.clone()],
            verified: None,
            // As the operator wrote it.
            ran: Some(CommandRun {
                cmd: gate.cmd.clone(),
                ..run
            }),
        };
        let entry = self.recorder.entry(
            agent.into(),
            None,
            EntryKind::Artifact(artifact),
            content,
            Some(pair.clone()),
        );
        // What comes while the disk refuses is not kept: what cannot be told again needs the room.
        self.recorder.mention_entry(entry);
    }
}
