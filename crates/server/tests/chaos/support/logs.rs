//! The log of the servers that run in this process.

use std::{
    io,
    sync::{Arc, Mutex, OnceLock},
};

use socialgraph_server::{
    config::{Log, LogFormat},
    telemetry,
};
use tracing_subscriber::util::SubscriberInitExt as _;

/// The records since the last look, one JSON object a line.
#[derive(Clone, Default)]
pub(crate) struct Logs(Arc<Mutex<Vec<u8>>>);

impl Logs {
    /// The log of this process, emptied. Only one test at a time may have a server in this process.
    pub(crate) fn capture() -> Self {
        static LOGS: OnceLock<Logs> = OnceLock::new();
        let logs = LOGS.get_or_init(|| {
            let logs = Logs::default();
            let log = Log { filter: "info,fred=error".to_owned(), format: LogFormat::Json };
            let writer = logs.clone();
            telemetry::subscriber(&log, None, move || writer.clone()).init();
            logs
        });
        logs.0.lock().unwrap().clear();
        logs.clone()
    }

    /// The records of a level.
    pub(crate) fn of_level(&self, level: &str) -> Vec<String> {
        let text = self.0.lock().unwrap().clone();
        let mark = format!("\"level\":\"{level}\"");
        String::from_utf8_lossy(&text).lines().filter(|line| line.contains(&mark)).map(str::to_owned).collect()
    }

    /// An ERROR means that a human must look, and no fault of these tests is one.
    pub(crate) fn assert_no_errors(&self) {
        assert_eq!(self.of_level("ERROR"), [""; 0]);
    }
}

impl io::Write for Logs {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
