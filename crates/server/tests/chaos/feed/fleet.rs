use std::{
    error::Error as _,
    fmt,
    future::Future,
    net::SocketAddr,
    sync::{
        Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use socialgraph::v1::{FeedItem, social_graph_client::SocialGraphClient};
use tokio::time::sleep;
use tonic::{Code, Request, Response, Status, transport::Endpoint};
use tonic_types::StatusExt;

use crate::{
    feeds::{How, Scroll},
    support::{
        LIMIT,
        caller::{Answer, Client},
        process::Process,
    },
};

const DEADLINE: Duration = Duration::from_secs(5);
/// What a dead server left is finished soon: a post after ten times the least age.
const QUICK: [&str; 8] =
    ["--relay-interval", "100ms", "--relay-min-age", "100ms", "--relay-lease", "1s", "--server-drain-delay", "0s"];
const PAUSE: Duration = Duration::from_millis(5);

/// Servers over one Redis, of which some may be dead, and a client of theirs: each attempt of a call goes to the next.
pub(super) struct Fleet<'a> {
    redis: Vec<SocketAddr>,
    settings: Vec<&'a str>,
    servers: Mutex<Vec<Option<Process>>>,
    clients: Mutex<Vec<Client>>,
    turn: AtomicUsize,
    /// Attempts that failed for a passing cause.
    pub(super) failures: AtomicU64,
}

impl<'a> Fleet<'a> {
    /// With these settings beside the usual ones.
    pub(super) async fn start(redis: Vec<SocketAddr>, servers: usize, settings: &[&'a str]) -> Self {
        let this = Self {
            redis,
            settings: [&QUICK, settings].concat(),
            servers: Mutex::default(),
            clients: Mutex::default(),
            turn: AtomicUsize::new(0),
            failures: AtomicU64::new(0),
        };
        for _ in 0..servers {
            let server = this.serve().await;
            this.clients.lock().unwrap().push(client(server.grpc));
            this.servers.lock().unwrap().push(Some(server));
        }
        this
    }

    async fn serve(&self) -> Process {
        Process::serve(&self.redis, &self.settings).await
    }

    /// SIGKILL.
    pub(super) async fn kill(&self, server: usize) {
        let killed = self.servers.lock().unwrap()[server].take();
        killed.expect("it runs").kill().await;
    }

    /// SIGTERM, and its end in order.
    pub(super) async fn terminate(&self, server: usize) {
        let stopped = self.servers.lock().unwrap()[server].take();
        stopped.expect("it runs").stop().await;
    }

    /// Starts one again that has ended.
    pub(super) async fn restart(&self, server: usize) {
        let started = self.serve().await;
        self.clients.lock().unwrap()[server] = client(started.grpc);
        self.servers.lock().unwrap()[server] = Some(started);
    }

    pub(super) async fn stop(self) {
        for server in self.servers.into_inner().unwrap().into_iter().flatten() {
            server.stop().await;
        }
    }

    /// A client of the server whose turn it is.
    fn client(&self) -> Client {
        let clients = self.clients.lock().unwrap();
        clients[self.turn.fetch_add(1, Ordering::Relaxed) % clients.len()].clone()
    }

    /// One attempt: `None` if it failed for a passing cause.
    pub(super) async fn attempt<Q, A, F>(
        &self,
        request: Q,
        call: impl Fn(Client, Request<Q>) -> F,
    ) -> Option<Result<A, Status>>
    where
        F: Future<Output = Result<Response<A>, Status>>,
    {
        let mut timed = Request::new(request);
        timed.set_timeout(DEADLINE);
        match call(self.client(), timed).await {
            Err(status) if passes(&status) => {
                self.failures.fetch_add(1, Ordering::Relaxed);
                None
            }
            answer => Some(answer.map(Response::into_inner)),
        }
    }

    /// Makes a call until it is answered or refused.
    pub(super) async fn call<Q, A, F>(
        &self,
        request: Q,
        call: impl Fn(Client, Request<Q>) -> F,
    ) -> Result<Answer<A>, Status>
    where
        Q: Clone + fmt::Debug,
        F: Future<Output = Result<Response<A>, Status>>,
    {
        let begun = Instant::now();
        for attempts in 1.. {
            if let Some(answer) = self.attempt(request.clone(), &call).await {
                return answer.map(|message| Answer { message, attempts });
            }
            assert!(begun.elapsed() < LIMIT, "given up after {attempts} attempts: {request:?}");
            sleep(PAUSE).await;
        }
        unreachable!("attempts don't end")
    }

    /// Reads a whole feed.
    pub(super) async fn scroll(&self, user: i64, how: How) -> Vec<FeedItem> {
        self.pages(user, how, usize::MAX).await.shown
    }

    /// Reads some pages of a feed.
    pub(super) async fn pages(&self, user: i64, how: How, pages: usize) -> Scroll {
        let mut scroll = Scroll::new(user, how);
        while !scroll.ended && scroll.pages < pages {
            let request = scroll.request();
            let answer = self.call(request, |mut c, r| async move { c.scroll_feed(r).await }).await;
            scroll.take(answer.expect("a page").message);
        }
        scroll
    }
}

fn client(server: SocketAddr) -> Client {
    SocialGraphClient::new(Endpoint::from_shared(format!("http://{server}")).expect("an address").connect_lazy())
}

/// Whether a call may succeed when it is made again: the connection broke, or the server says so.
fn passes(status: &Status) -> bool {
    match status.get_details_error_info() {
        Some(info) => ["OVERLOADED", "STORE_UNAVAILABLE", "DEADLINE"].contains(&info.reason.as_str()),
        None => status.source().is_some() || matches!(status.code(), Code::Unavailable | Code::DeadlineExceeded),
    }
}
