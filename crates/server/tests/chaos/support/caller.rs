//! A client as it should be: it repeats what failed for a passing cause, until it succeeds.

use std::{
    error::Error as _,
    fmt,
    future::Future,
    iter::successors,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use socialgraph::v1::social_graph_client::SocialGraphClient;
use tokio::time::sleep;
use tonic::{
    Code, Request, Response, Status, TimeoutExpired,
    transport::{Channel, Endpoint},
};

use super::LIMIT;

pub(crate) type Client = SocialGraphClient<Channel>;

/// The pause before a call is repeated.
const PAUSE: Duration = Duration::from_millis(20);

/// Calls a server. Clones share the connection and the counts.
#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) client: Client,
    pub(crate) counts: Arc<Counts>,
    deadline: Duration,
}

/// What became of the calls.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) calls: AtomicU64,
    /// Calls of which at least one attempt failed.
    repeated: AtomicU64,
    unavailable: AtomicU64,
    too_late: AtomicU64,
    most_attempts: AtomicU64,
}

/// An answer, and how many attempts it took.
pub(crate) struct Answer<A> {
    pub(crate) message: A,
    pub(crate) attempts: u64,
}

impl Caller {
    /// A caller whose attempts have a deadline each.
    pub(crate) fn new(server: SocketAddr, deadline: Duration) -> Self {
        let channel = Endpoint::from_shared(format!("http://{server}")).expect("an address").connect_lazy();
        Self { client: SocialGraphClient::new(channel), counts: Arc::default(), deadline }
    }

    /// Makes a call until it succeeds. Fails the test if that takes too long, or for an error that should not be.
    pub(crate) async fn call<Q, A, F>(&self, request: Q, call: impl Fn(Client, Request<Q>) -> F) -> Answer<A>
    where
        Q: Clone + fmt::Debug,
        F: Future<Output = Result<Response<A>, Status>>,
    {
        self.counts.calls.fetch_add(1, Ordering::Relaxed);
        let started = Instant::now();
        for attempts in 1.. {
            let mut timed = Request::new(request.clone());
            timed.set_timeout(self.deadline);
            let status = match call(self.client.clone(), timed).await {
                Ok(answer) => return Answer { message: answer.into_inner(), attempts },
                Err(status) => status,
            };
            self.counts.failed(&status, attempts);
            assert!(started.elapsed() < LIMIT, "given up after {attempts} attempts: {request:?}: {status:?}");
            sleep(PAUSE).await;
        }
        unreachable!("attempts don't end")
    }
}

impl Counts {
    /// Attempts that failed.
    pub(crate) fn failures(&self) -> u64 {
        self.unavailable.load(Ordering::Relaxed) + self.too_late.load(Ordering::Relaxed)
    }

    fn failed(&self, status: &Status, attempts: u64) {
        let code = code(status);
        let count = if code == Code::Unavailable { &self.unavailable } else { &self.too_late };
        assert!(
            matches!(code, Code::Unavailable | Code::DeadlineExceeded),
            "a call failed without a cause: {status:?}"
        );
        count.fetch_add(1, Ordering::Relaxed);
        if attempts == 1 {
            self.repeated.fetch_add(1, Ordering::Relaxed);
        }
        self.most_attempts.fetch_max(attempts + 1, Ordering::Relaxed);
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        write!(
            f,
            "{} calls, {} of them repeated (at most {} attempts); failed attempts: {} unavailable, {} too late",
            count(&self.calls),
            count(&self.repeated),
            count(&self.most_attempts).max(1),
            count(&self.unavailable),
            count(&self.too_late)
        )
    }
}

/// The code of a status. The client's own clock may beat the server's answer, and tonic calls that CANCELLED.
pub(crate) fn code(status: &Status) -> Code {
    let expired = successors(status.source(), |error| (*error).source()).any(|error| error.is::<TimeoutExpired>());
    if expired { Code::DeadlineExceeded } else { status.code() }
}
