//! The scripted `codex app-server`: its own process, which the real adapter starts. It speaks the
//! part of the protocol that the adapter uses, and has one model that knows one story.
//!
//! - [`arguments`]: the part of the command line that matters.
//! - [`server`]: connections and requests; [`thread`]: its state.
//! - [`turn`]: what the scripted Codex does with a message; [`mcp`]: its way to its tools.
//!
//! Keeps nothing on disk: after a crash its threads are unknown, as after a lost `$CODEX_HOME`.

mod arguments;
mod mcp;
mod server;
mod thread;
mod turn;

use std::ffi::OsString;

use arguments::Arguments;

/// The version that it claims to be: the one whose behaviour it imitates.
pub const VERSION: &str = "0.169.0";

/// Exit codes as a shell has them.
const FAILED: i32 = 1;
const USAGE: i32 = 2;

/// Runs `demo-codex --speed N -- app-server --listen ws://… …` and returns the exit code. `args`
/// are those behind `demo-codex`. Ends with a signal, or when it cannot listen.
pub fn main(args: Vec<OsString>) -> i32 {
    let arguments = match Arguments::read(args) {
        Ok(arguments) => arguments,
        Err(why) => {
            eprintln!("Error: {why}");
            return USAGE;
        }
    };
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("Error: no runtime: {error}");
            return FAILED;
        }
    };
    match runtime.block_on(server::serve(arguments)) {
        Ok(()) => 0,
        Err(error) => {
            // The adapter looks for these words when a port is taken.
            if error.kind() == std::io::ErrorKind::AddrInUse {
                eprintln!("Error: Address in use");
            } else {
                eprintln!("Error: {error}");
            }
            FAILED
        }
    }
}
