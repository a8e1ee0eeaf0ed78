//! A record at ERROR means that a human must look: no case may cause one.

use std::sync::{Mutex, Once, PoisonError};

use socialgraph_server::{
    config::{Log, LogFormat},
    telemetry,
};
use tracing_subscriber::fmt::MakeWriter;

static ERRORS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Begins to gather records at ERROR.
pub(super) fn watch() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let log = Log { filter: "error".to_owned(), format: LogFormat::Json };
        tracing::subscriber::set_global_default(telemetry::subscriber(&log, None, Errors)).expect("first subscriber");
    });
}

/// Fails if there is one. Cases run side by side, so that it may be another's.
pub(super) fn assert_no_error() {
    let errors = ERRORS.lock().unwrap_or_else(PoisonError::into_inner);
    assert!(errors.is_empty(), "logged at ERROR by this case or another: {errors:#?}");
}

#[derive(Clone, Copy)]
struct Errors;

impl std::io::Write for Errors {
    fn write(&mut self, record: &[u8]) -> std::io::Result<usize> {
        ERRORS.lock().unwrap_or_else(PoisonError::into_inner).push(String::from_utf8_lossy(record).into_owned());
        Ok(record.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Errors {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        Self
    }
}
