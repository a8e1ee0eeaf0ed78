//! A look at the admin port.

use std::net::SocketAddr;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// The status and the body of a GET.
pub(crate) async fn get(address: SocketAddr, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).await.expect("connect to the admin port");
    let request = format!("GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("write");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("read");
    let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
    let body = answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default();
    (status, body)
}

/// The sum of a metric's values over all labels that contain `labels`.
pub(crate) async fn metric(address: SocketAddr, name: &str, labels: &str) -> f64 {
    let (_, text) = get(address, "/metrics").await;
    sum(&text, name, labels)
}

/// The same of a rendered text.
pub(crate) fn sum(text: &str, name: &str, labels: &str) -> f64 {
    let lines = text.lines().filter_map(|line| line.strip_prefix(name)).filter(|rest| rest.starts_with(['{', ' ']));
    lines.filter(|rest| rest.contains(labels)).filter_map(|rest| rest.rsplit(' ').next()?.parse::<f64>().ok()).sum()
}
