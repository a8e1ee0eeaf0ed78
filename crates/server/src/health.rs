//! `grpc.health.v1`, following the readiness.

use std::time::Duration;

use tasks::Tasks;
use tokio::time::{MissedTickBehavior, interval};
use tonic_health::{
    ServingStatus,
    pb::health_server::{Health, HealthServer},
    server::HealthReporter,
};

use crate::readiness::Readiness;

/// How soon a dead task shows. Other changes show at once.
const RECHECK: Duration = Duration::from_millis(500);

/// The health service of a port, NOT_SERVING until a background task has seen that the server is ready, and what ends its watches. It
/// knows the whole server, which has no name, and the service of the port.
pub(crate) async fn follow(
    readiness: &Readiness,
    tasks: &Tasks,
    service: &'static str,
) -> (Watches, HealthServer<impl Health + use<>>) {
    let (reporter, server) = tonic_health::server::health_reporter();
    let services = ["", service];
    report(&reporter, services, false).await;

    let (readiness, token) = (readiness.clone(), tasks.token().clone());
    let watches = Watches { reporter: reporter.clone(), services };
    tasks.spawn("health", async move {
        let mut ticks = interval(RECHECK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut reported = false;
        let forever = async {
            loop {
                tokio::select! {
                    _ = ticks.tick() => {}
                    () = readiness.changed() => {}
                }
                let ready = readiness.is_ready();
                if ready != reported {
                    report(&reporter, services, ready).await;
                    reported = ready;
                }
            }
        };
        token.run_until_cancelled(forever).await.unwrap_or(())
    });
    (watches, server)
}

async fn report(reporter: &HealthReporter, services: [&str; 2], ready: bool) {
    let status = if ready { ServingStatus::Serving } else { ServingStatus::NotServing };
    for service in services {
        reporter.set_service_status(service, status).await;
    }
}

/// The streams of `Watch`, which would otherwise keep their connections open for ever.
pub(crate) struct Watches {
    reporter: HealthReporter,
    services: [&'static str; 2],
}

impl Watches {
    /// Tells NOT_SERVING to every watch, at once.
    pub(crate) async fn not_serving(&self) {
        report(&self.reporter, self.services, false).await;
    }

    /// Ends every watch.
    pub(crate) async fn end(&mut self) {
        for service in self.services {
            self.reporter.clear_service_status(service).await;
        }
    }
}
