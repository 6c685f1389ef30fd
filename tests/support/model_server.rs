//! `ModelServer`: a scripted model service on loopback. It records every request, answers by the
//! first rule that matches, and leaves the wire format to its `Dialect`.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;
use std::marker::PhantomData;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use futures::stream;

use serde_json::json;

use super::model_request::{ModelRequest, Side};
use super::script::{Answer, Gate, Reply};
use super::wait::{never_within, poll_until, timeout};

/// The largest request body accepted; agents send some hundred kilobytes.
const MAX_BODY: usize = 64 * 1024 * 1024;

/// A service's wire format.
pub trait Dialect: Send + Sync + 'static {
    const NAME: &'static str;

    /// Reads an HTTP request.
    fn read(http: &HttpRequest) -> Incoming;

    /// Writes an answer, and that the context holds so many tokens with it. `Err` is a complaint: the script asked for something that this request
    /// does not offer.
    fn write(
        request: &ModelRequest,
        answer: Answer,
        tokens: Option<u64>,
    ) -> Result<HttpReply, String>;

    /// The answer to a side request that no rule is about.
    fn side_reply(request: &ModelRequest) -> Reply;
}

/// An HTTP request as it came.
#[derive(Debug)]
pub struct HttpRequest {
    pub method: String,
    pub path: String,
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

/// What a dialect makes of an HTTP request.
#[derive(Debug)]
pub enum Incoming {
    /// A request to the model; its number is given by the server.
    Model(Box<ModelRequest>),
    /// Something with a fixed answer that is no business of a script.
    Fixed(HttpReply),
    /// Something that this service does not know; the server complains.
    Unknown,
}

/// An HTTP answer, streamed.
#[derive(Debug)]
pub struct HttpReply {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<Chunk>,
}

/// A piece of a streamed body.
#[derive(Debug)]
pub enum Chunk {
    Bytes(String),
    Hold(Gate),
}

impl HttpReply {
    pub fn json(status: u16, body: &serde_json::Value) -> Self {
        Self {
            status,
            headers: vec![("content-type", "application/json".to_owned())],
            body: vec![Chunk::Bytes(body.to_string())],
        }
    }

    pub fn events(body: Vec<Chunk>) -> Self {
        Self {
            status: 200,
            headers: vec![("content-type", "text/event-stream".to_owned())],
            body,
        }
    }

    pub fn header(mut self, name: &'static str, value: impl fmt::Display) -> Self {
        self.headers.push((name, value.to_string()));
        self
    }
}

type Condition = Box<dyn Fn(&ModelRequest) -> bool + Send>;
type Author = Box<dyn FnMut(&ModelRequest) -> Reply + Send>;

struct Rule {
    when: Condition,
    /// How often it may still be used; `None` is always.
    left: Option<usize>,
    author: Author,
}

#[derive(Default)]
struct Shared {
    rules: Vec<Rule>,
    fallback: Option<Author>,
    requests: Vec<ModelRequest>,
    complaints: Vec<String>,
    compaction: Option<Gate>,
}

/// A scripted model service. Ends with its value; complains when the script did not fit.
pub struct ModelServer<D> {
    address: SocketAddr,
    shared: Arc<Mutex<Shared>>,
    runtime: Option<tokio::runtime::Runtime>,
    dialect: PhantomData<D>,
}

impl<D> fmt::Debug for ModelServer<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelServer")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl<D: Dialect> ModelServer<D> {
    /// Starts the service on a free port of 127.0.0.1, with a runtime of its own.
    pub fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let listener = runtime
            .block_on(tokio::net::TcpListener::bind(("127.0.0.1", 0)))
            .unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Mutex::new(Shared::default()));
        let app = axum::Router::new()
            .fallback(serve::<D>)
            .with_state(Arc::clone(&shared));
        runtime.spawn(async move { axum::serve(listener, app).await });
        Self {
            address,
            shared,
            runtime: Some(runtime),
            dialect: PhantomData,
        }
    }

    /// `http://127.0.0.1:PORT`, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Begins a rule for the requests that `condition` likes. The first rule that fits answers;
    /// side requests are not looked at by rules.
    pub fn when(
        &self,
        condition: impl Fn(&ModelRequest) -> bool + Send + 'static,
    ) -> RuleDraft<'_> {
        RuleDraft {
            shared: &self.shared,
            when: Box::new(condition),
            left: None,
        }
    }

    /// The next compaction is answered when the gate is open.
    pub fn hold_compaction(&self, gate: &Gate) {
        self.shared.lock().unwrap().compaction = Some(gate.clone());
    }

    /// What is answered when no rule fits; the text `ok` unless told otherwise.
    pub fn otherwise(&self, mut author: impl FnMut(&ModelRequest) -> Reply + Send + 'static) {
        self.shared.lock().unwrap().fallback = Some(Box::new(move |request| author(request)));
    }

    /// Every model request so far, side requests included.
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.shared.lock().unwrap().requests.clone()
    }

    /// The steps of conversations so far, side requests left out.
    pub fn steps(&self) -> Vec<ModelRequest> {
        self.requests()
            .into_iter()
            .filter(ModelRequest::is_step)
            .collect()
    }

    /// How many steps so far had `needle` in their new input: how often it *reached* the model.
    pub fn times_heard(&self, needle: &str) -> usize {
        let heard = super::model_request::hears(needle);
        self.steps().iter().filter(|request| heard(request)).count()
    }

    /// Waits for a request (steps and side requests) that `wanted` likes.
    #[track_caller]
    pub fn wait_for_request(
        &self,
        what: &str,
        wanted: impl Fn(&ModelRequest) -> bool,
    ) -> ModelRequest {
        let found = poll_until(timeout(), || {
            self.shared
                .lock()
                .unwrap()
                .requests
                .iter()
                .find(|request| wanted(request))
                .cloned()
        });
        found.unwrap_or_else(|| panic!("{}: no request came: {what}\n{}", D::NAME, self.log()))
    }

    /// Watches for `span` that no request comes that `unwanted` likes.
    #[track_caller]
    pub fn never_asked(
        &self,
        what: &str,
        span: std::time::Duration,
        unwanted: impl Fn(&ModelRequest) -> bool,
    ) {
        never_within(what, span, || {
            self.requests()
                .iter()
                .find(|request| unwanted(request))
                .map(ModelRequest::summary)
        });
    }

    /// What did not fit so far: unknown paths, tools that were not on offer.
    pub fn complaints(&self) -> Vec<String> {
        self.shared.lock().unwrap().complaints.clone()
    }

    /// Takes the complaints that a test expects, so that they do not fail it.
    pub fn take_complaints(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.lock().unwrap().complaints)
    }

    /// All requests, a line each.
    pub fn log(&self) -> String {
        let shared = self.shared.lock().unwrap();
        let mut lines: Vec<String> = shared.requests.iter().map(ModelRequest::summary).collect();
        lines.extend(
            shared
                .complaints
                .iter()
                .map(|complaint| format!("complaint: {complaint}")),
        );
        format!("--- {} requests\n{}", D::NAME, lines.join("\n"))
    }
}

impl<D> Drop for ModelServer<D> {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
        let Ok(shared) = self.shared.lock() else {
            return;
        };
        if std::thread::panicking() {
            for request in &shared.requests {
                eprintln!("{} {}", self.address, request.summary());
            }
            eprintln!("{} complaints: {:#?}", self.address, shared.complaints);
        } else {
            assert!(
                shared.complaints.is_empty(),
                "the script did not fit: {:#?}",
                shared.complaints
            );
        }
    }
}

/// A rule that still lacks its answer.
pub struct RuleDraft<'a> {
    shared: &'a Mutex<Shared>,
    when: Condition,
    left: Option<usize>,
}

impl fmt::Debug for RuleDraft<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RuleDraft")
            .field("left", &self.left)
            .finish_non_exhaustive()
    }
}

impl RuleDraft<'_> {
    /// For the first fitting request only.
    pub fn once(mut self) -> Self {
        self.left = Some(1);
        self
    }

    /// Always the same answer.
    pub fn reply(self, reply: Reply) {
        self.reply_with(move |_| reply.clone());
    }

    /// An answer made from the request, for ids that only the request knows.
    pub fn reply_with(self, author: impl FnMut(&ModelRequest) -> Reply + Send + 'static) {
        let rule = Rule {
            when: self.when,
            left: self.left,
            author: Box::new(author),
        };
        self.shared.lock().unwrap().rules.push(rule);
    }
}

async fn serve<D: Dialect>(State(shared): State<Arc<Mutex<Shared>>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let http = HttpRequest {
        method: head.method.to_string(),
        path: head.uri.path().to_owned(),
        headers: head
            .headers
            .iter()
            .map(|(name, value)| {
                (
                    name.to_string(),
                    String::from_utf8_lossy(value.as_bytes()).into_owned(),
                )
            })
            .collect(),
        body: to_bytes(body, MAX_BODY)
            .await
            .map(Vec::from)
            .unwrap_or_default(),
    };
    let (behind, reply) = match D::read(&http) {
        Incoming::Model(request) => answer::<D>(&mut shared.lock().unwrap(), *request),
        Incoming::Fixed(reply) => (None, reply),
        Incoming::Unknown => {
            let complaint = format!("{} does not know {} {}", D::NAME, http.method, http.path);
            shared.lock().unwrap().complaints.push(complaint);
            let error = json!({"error": {"type": "not_found_error", "message": "not scripted"}});
            (None, HttpReply::json(404, &error))
        }
    };
    if let Some(gate) = behind {
        gate.pass().await;
    }
    stream_out(reply)
}

fn answer<D: Dialect>(shared: &mut Shared, mut request: ModelRequest) -> (Option<Gate>, HttpReply) {
    request.number = 1 + shared
        .requests
        .iter()
        .filter(|earlier| earlier.is_step() == request.is_step())
        .count();
    let reply = if request.is_step() {
        let rule = shared
            .rules
            .iter_mut()
            .find(|rule| rule.left != Some(0) && (rule.when)(&request));
        match (rule, &mut shared.fallback) {
            (Some(rule), _) => {
                rule.left = rule.left.map(|left| left - 1);
                (rule.author)(&request)
            }
            (None, Some(fallback)) => fallback(&request),
            (None, None) => Reply::text("ok"),
        }
    } else {
        let reply = D::side_reply(&request);
        let is_compaction = request.side == Some(Side::Compaction);
        match shared.compaction.take_if(|_| is_compaction) {
            Some(gate) => reply.behind(&gate),
            None => reply,
        }
    };
    let written = D::write(&request, reply.answer, reply.tokens).unwrap_or_else(|complaint| {
        // An error that no agent tries to get around, so that the test sees it soon.
        let error = json!({"error": {"type": "invalid_request_error", "message": complaint}});
        shared.complaints.push(complaint);
        HttpReply::json(400, &error)
    });
    shared.requests.push(request);
    (reply.behind, written)
}

fn stream_out(reply: HttpReply) -> Response {
    let mut response = Response::builder().status(reply.status);
    for (name, value) in reply.headers {
        response = response.header(name, value);
    }
    let chunks = stream::unfold(reply.body.into_iter(), |mut chunks| async move {
        loop {
            match chunks.next()? {
                Chunk::Bytes(bytes) => return Some((Ok::<_, Infallible>(bytes), chunks)),
                Chunk::Hold(gate) => gate.pass().await,
            }
        }
    });
    response.body(Body::from_stream(chunks)).unwrap()
}
