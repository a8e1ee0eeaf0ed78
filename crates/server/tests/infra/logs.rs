//! What is logged of calls, and as what.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
};

use socialgraph_server::{
    config::{Log, LogFormat},
    telemetry::subscriber,
};
use tracing_subscriber::fmt::MakeWriter;

use crate::{
    harness::{TestServer, on_this_thread},
    service::BEHAVIOUR,
};

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Lines {
    fn json(&self) -> Vec<serde_json::Value> {
        let bytes = self.0.lock().unwrap();
        String::from_utf8_lossy(&bytes).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Lines {
    type Writer = Self;
    fn make_writer(&self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn errors_are_logged_once_with_method_request_id_and_cause_and_good_calls_are_not() {
    let lines = Lines::default();
    let log = Log { filter: "info".to_owned(), format: LogFormat::Json };
    // For this thread, which runs all of this test.
    let _guards = on_this_thread(subscriber(&log, None, lines.clone()));
    let server = TestServer::start(&[]).await;
    let client = server.client();
    client.unary("Follow", &[]).await.unwrap();
    for behaviour in ["internal", "panic"] {
        client.unary("ListFollowing", &[(BEHAVIOUR, behaviour), ("x-request-id", behaviour)]).await.unwrap_err();
    }
    server.stop().await.unwrap();

    let lines = lines.json();
    let errors: Vec<_> = lines.iter().filter(|line| line["level"] == "ERROR").collect();
    assert_eq!(errors.len(), 2, "{errors:?}");
    for (error, request_id) in errors.iter().zip(["internal", "panic"]) {
        assert_eq!(error["method"], "socialgraph.v1.SocialGraph/ListFollowing");
        assert_eq!(error["request_id"], request_id);
        assert_eq!(error["cause"], "a secret of the handler");
    }
    assert!(lines.iter().all(|line| line["message"].as_str().unwrap().chars().next().unwrap().is_lowercase()));
    assert!(!lines.iter().any(|line| line.to_string().contains("SocialGraph/Follow\"")));
}
