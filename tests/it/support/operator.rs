//! [`call`]: one command over the operator's socket, as the deck and the command line send it.

use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::UnixStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::client_async;
use tokio_tungstenite::tungstenite::Message;

use super::project::Project;
use super::wait::timeout;
use super::ws::RpcError;

/// Says hello and sends one command.
///
/// # Errors
///
/// What the daemon refuses it with.
#[track_caller]
pub fn call(project: &Project, method: &str, params: Value) -> Result<Value, RpcError> {
    let runs = std::fs::read_dir(project.registry().join("run")).unwrap();
    let socket = runs
        .map(|instance| instance.unwrap().path().join("operator.sock"))
        .find(|path| path.exists())
        .expect("an operator's socket");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let conversation = async {
        let stream = UnixStream::connect(&socket).await.unwrap();
        let (mut ws, _) = client_async("ws://operator/", stream).await.unwrap();
        let hello = json!({"protocol": 1, "role": "cli", "pid": std::process::id()});
        ask(&mut ws, 1, "hello", hello).await.unwrap();
        ask(&mut ws, 2, method, params).await
    };
    runtime.block_on(async { tokio::time::timeout(timeout(), conversation).await.unwrap() })
}

async fn ask(
    ws: &mut WebSocketStream<UnixStream>,
    id: u64,
    method: &str,
    params: Value,
) -> Result<Value, RpcError> {
    let frame = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    ws.send(Message::text(frame.to_string())).await.unwrap();
    loop {
        let Some(Ok(message)) = ws.next().await else {
            panic!("the daemon hung up before it answered {method}");
        };
        let Message::Text(text) = message else {
            continue;
        };
        let mut frame: Value = serde_json::from_str(&text).unwrap();
        if frame["id"] != id {
            continue;
        }
        return match frame.get_mut("error") {
            None => Ok(frame["result"].take()),
            Some(error) => Err(RpcError {
                code: error["code"].as_i64().unwrap_or_default(),
                message: error["message"].as_str().unwrap_or_default().to_owned(),
                data: error["data"].take(),
            }),
        };
    }
}
