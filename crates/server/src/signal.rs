//! The system's wish that the process end.

use std::io;

use tasks::Tasks;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Cancelled by SIGTERM or SIGINT.
///
/// # Errors
///
/// If signals cannot be caught.
pub fn shutdown_on_signal(tasks: &Tasks) -> io::Result<CancellationToken> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let shutdown = CancellationToken::new();
    let (cancel, token) = (shutdown.clone(), tasks.token().clone());
    tasks.spawn("signals", async move {
        let name = tokio::select! {
            _ = terminate.recv() => "SIGTERM",
            _ = interrupt.recv() => "SIGINT",
            () = token.cancelled() => return,
        };
        tracing::info!(signal = name, "told to stop");
        cancel.cancel();
        // A task of `Tasks` stays until it is told to end.
        token.cancelled().await;
    });
    Ok(shutdown)
}
