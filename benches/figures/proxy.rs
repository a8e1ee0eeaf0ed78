//! Makes a cluster slow: every byte to and from a node takes a while, as on a long cable.

use std::{net::SocketAddr, time::Duration};

use localcluster::{LocalCluster, connect_slowly};
use tasks::Tasks;
use tokio::{
    net::{TcpListener, TcpStream},
    time::sleep,
};

use crate::Result;

/// How long everything takes each way.
pub(crate) const DELAY: Duration = Duration::from_millis(20);

/// Puts a slow proxy before each node and makes the nodes announce the proxies' ports, so that clients of the cluster only
/// go through them. Gives the addresses of the proxies.
pub(crate) async fn slow_down(cluster: &LocalCluster, tasks: &Tasks) -> Result<Vec<SocketAddr>> {
    let mut proxies = Vec::new();
    for (node, address) in cluster.addresses().into_iter().enumerate() {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let proxy = listener.local_addr()?;
        cluster.cli(node, &["CONFIG", "SET", "cluster-announce-port", &proxy.port().to_string()]).await?;
        tasks.spawn("proxy", accept(listener, address, tasks.clone()));
        proxies.push(proxy);
    }
    for node in 0..proxies.len() {
        while !knows_all(&cluster.cli(node, &["CLUSTER", "SLOTS"]).await?, &proxies) {
            sleep(Duration::from_millis(50)).await;
        }
    }
    Ok(proxies)
}

fn knows_all(slots: &str, proxies: &[SocketAddr]) -> bool {
    proxies.iter().all(|proxy| slots.lines().any(|line| line.trim() == proxy.port().to_string()))
}

async fn accept(listener: TcpListener, node: SocketAddr, tasks: Tasks) {
    let token = tasks.token().clone();
    while let Some(Ok((client, _))) = token.run_until_cancelled(listener.accept()).await {
        let Ok(server) = TcpStream::connect(node).await else { continue };
        let token = token.clone();
        tasks.spawn_once("proxy-way", async move {
            token.run_until_cancelled(connect_slowly(client, server, DELAY)).await;
        });
    }
}
