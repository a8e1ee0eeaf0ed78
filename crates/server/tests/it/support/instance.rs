//! A server in this process, put together as the binary does it.

use std::{ops::Deref, sync::Arc};

use socialgraph_server::{
    app::{self, AppError},
    config::{self, Flags, Mode},
    serve::{Addresses, ServeError},
    telemetry::metrics,
};
use tasks::Tasks;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{Api, RUNTIME};

/// A running server and a client of it. Dropped, it is told to stop.
pub(crate) struct Instance {
    api: Api,
    addresses: Addresses,
    shutdown: CancellationToken,
    serving: Option<JoinHandle<Result<(), ServeError>>>,
}

impl Instance {
    pub(crate) async fn start(settings: Vec<(&'static str, String)>) -> Result<Self, AppError> {
        let flags = Flags { file: None, values: settings };
        let config = config::load(Mode::Serve, &flags, []).expect("configuration");
        let (tasks, shutdown) = (Tasks::new(), CancellationToken::new());
        let opened = app::open(Arc::new(config), &tasks, metrics::install(), &shutdown).await;
        if opened.is_err() {
            tasks.shutdown(super::LIMIT).await.expect("tasks end");
        }
        let (server, readiness) = opened?;
        let addresses = server.addresses();
        let serving = RUNTIME.spawn(server.run(shutdown.clone()));
        readiness.ready().await;
        let api = Api::connect(&format!("http://{}", addresses.grpc)).await;
        Ok(Self { api, addresses, shutdown, serving: Some(serving) })
    }

    pub(crate) fn endpoint(&self) -> String {
        format!("http://{}", self.addresses.grpc)
    }

    /// A connection of its own.
    pub(crate) async fn connect(&self) -> Api {
        Api::connect(&self.endpoint()).await
    }

    /// Drains the server and waits for its end.
    pub(crate) async fn stop(mut self) {
        self.shutdown.cancel();
        self.serving.take().expect("running").await.expect("no panic").expect("clean end");
    }
}

impl Deref for Instance {
    type Target = Api;

    fn deref(&self) -> &Api {
        &self.api
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.shutdown.cancel();
    }
}
