//! `ctxrelay instances`: the registered projects that still exist.

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

use crate::cli::exit::CliOutcome;
use crate::cli::offline::disk::unreadable;
use crate::cli::output::{Output, Tone};
use crate::cli::report::{Report, ReportText};
use crate::store::dirs::{ProjectDirs, UserDirs};
use crate::store::published::Published;
use crate::store::registry::{self, Instance, Ports};

/// How long a port of ours may take to accept; on loopback it does so at once or never.
const PROBE_WAIT: Duration = Duration::from_millis(250);

/// Arguments of `instances`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: ctxrelay instances --json")]
pub struct Args {}

/// A project and the daemon in it.
struct Row {
    instance: Instance,
    live: Option<Published>,
}

impl Row {
    /// Of one that does not run, those that are kept for it: a port that nobody of ours listens on
    /// may be anybody's now.
    fn ports(&self) -> String {
        match &self.live {
            Some(live) => format!("control {}", live.control_port),
            None => {
                let Ports {
                    codex,
                    proxy,
                    control,
                } = self.instance.group();
                format!("when it runs {codex}, {proxy}, {control}")
            }
        }
    }
}

/// Lists them. Needs no project.
pub fn run(out: &Output, user: &UserDirs, _args: &Args) -> CliOutcome {
    let rows: Vec<Row> = registry::list(user)
        .map_err(|error| unreadable(&user.instances(), &error))?
        .into_iter()
        .filter(|instance| instance.project_root.is_dir())
        .map(|instance| {
            let live = live(&instance);
            Row { instance, live }
        })
        .collect();
    let values: Vec<Value> = rows.iter().map(to_json).collect();
    let mut text = ReportText::new();
    if rows.is_empty() {
        text.note("no projects yet");
    }
    let ports: Vec<String> = rows.iter().map(Row::ports).collect();
    let width = ports.iter().map(String::len).max().unwrap_or_default();
    for (Row { instance, live }, ports) in rows.iter().zip(&ports) {
        let (tone, word) = match live {
            Some(_) => (Tone::Good, "runs     "),
            None => (Tone::Faint, "stopped  "),
        };
        text.spans(&[
            (tone, word),
            (
                Tone::Faint,
                &format!("{}  {ports:<width$}  ", instance.instance_id),
            ),
            (Tone::Plain, &instance.project_root.to_string_lossy()),
        ]);
    }
    out.report(Report::new(&json!({"instances": values}), text))
}

fn to_json(row: &Row) -> Value {
    let Row { instance, live } = row;
    json!({
        "instanceId": instance.instance_id,
        "projectRoot": instance.project_root,
        "stateDir": instance.state_dir,
        "running": live.is_some(),
        "pid": live.as_ref().map(|live| live.pid),
        "controlPort": live.as_ref().map(|live| live.control_port),
        "proxyPort": live.as_ref().map(|live| live.proxy_port),
        "registeredPorts": instance.group(),
        "lastSeenAt": instance.last_seen_at,
    })
}

/// Whether somebody listens where the project's daemon said that it does.
fn live(instance: &Instance) -> Option<Published> {
    let state = (!instance.state_dir.as_os_str().is_empty()).then(|| instance.state_dir.clone());
    let dirs = ProjectDirs::new(instance.project_root.clone(), state);
    let published = Published::read(&dirs)?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, published.control_port));
    TcpStream::connect_timeout(&address, PROBE_WAIT)
        .is_ok()
        .then_some(published)
}
