//! Making one cluster of running nodes, and waiting until it is one.
//!
//! Not `redis-cli --cluster create`: it wants at least 3 primaries, and polls once a second.

use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout_at};

use crate::{
    Error,
    cli::Cli,
    node::Node,
    view::{self, Peer},
};

const SLOTS: u32 = 16_384;
const POLL: Duration = Duration::from_millis(50);
/// A handshake takes a few messages; asking for it again earlier gains nothing.
const MEET_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Gives slots to the primaries, which come first, and makes the other nodes their replicas.
pub(crate) async fn create(cli: &Cli, nodes: &[Node], primaries: u16, limit: Duration) -> Result<(), Error> {
    for (index, (node, epoch)) in nodes.iter().zip(1_u32..).enumerate() {
        // Only a node that knows no other takes an epoch. Different ones save the cluster a round of conflicts.
        cli.command(node.address(), &["CLUSTER", "SET-CONFIG-EPOCH", &epoch.to_string()]).await?;
        if let Some((first, last)) = slots(index, primaries) {
            let (first, last) = (first.to_string(), last.to_string());
            cli.command(node.address(), &["CLUSTER", "ADDSLOTSRANGE", &first, &last]).await?;
        }
    }
    wait(cli, nodes, limit, Goal::Acquainted).await?;
    let (primaries, replicas) = nodes.split_at(usize::from(primaries));
    for (replica, primary) in replicas.iter().zip(primaries.iter().cycle()) {
        let primary = primary.id().ok_or(Error::NotACluster)?;
        cli.command(replica.address(), &["CLUSTER", "REPLICATE", primary]).await?;
    }
    Ok(())
}

/// The first and the last slot of a primary; none for the nodes behind the primaries. Rounded as redis-cli does.
fn slots(index: usize, primaries: u16) -> Option<(u32, u32)> {
    let index = u32::try_from(index).ok()?;
    let primaries = u32::from(primaries);
    let start = |of: u32| (of * SLOTS + primaries / 2) / primaries;
    (index < primaries).then(|| (start(index), start(index + 1) - 1))
}

/// Waits until all nodes know each other at their present addresses, hold the cluster for healthy, and replicas have
/// caught up. Nodes that don't know each other are introduced.
pub(crate) async fn settle(cli: &Cli, nodes: &[Node], limit: Duration) -> Result<(), Error> {
    wait(cli, nodes, limit, Goal::Healthy).await
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Goal {
    Acquainted,
    Healthy,
}

async fn wait(cli: &Cli, nodes: &[Node], limit: Duration, goal: Goal) -> Result<(), Error> {
    let start = Instant::now();
    let mut met: Option<Instant> = None;
    loop {
        let may_meet = met.is_none_or(|at| at.elapsed() >= MEET_AGAIN_AFTER);
        let mut obstacle = None;
        for node in nodes {
            let found = match timeout_at((start + limit).into(), check(cli, nodes, node, goal)).await {
                Ok(Ok(None)) => continue,
                Ok(Ok(Some(Obstacle::Strangers(strangers)))) => {
                    if may_meet {
                        met = Some(Instant::now());
                        introduce(cli, node, &strangers).await?;
                    }
                    format!("node {} to know all others", node.index)
                }
                Ok(Ok(Some(Obstacle::Other(what)))) => format!("node {}: {what}", node.index),
                Ok(Err(error)) => error.to_string(),
                Err(_) => format!("node {}: an answer", node.index),
            };
            obstacle.get_or_insert(found);
        }
        let Some(waiting_for) = obstacle else { return Ok(()) };
        if start.elapsed() >= limit {
            let logs = nodes.iter().map(|node| format!("node {}:\n{}", node.index, node.log()));
            return Err(Error::NotReady { after: limit, waiting_for, log: logs.collect::<Vec<_>>().join("\n") });
        }
        sleep(POLL).await;
    }
}

enum Obstacle<'a> {
    /// Nodes that the node does not know, or not by their present addresses.
    Strangers(Vec<&'a Node>),
    Other(String),
}

/// What keeps `node` from the goal, in its own view.
async fn check<'a>(cli: &Cli, nodes: &'a [Node], node: &Node, goal: Goal) -> Result<Option<Obstacle<'a>>, Error> {
    let peers = view::peers(&cli.command(node.address(), &["CLUSTER", "NODES"]).await?);
    let strangers: Vec<&Node> = nodes.iter().filter(|other| !peers.iter().any(|peer| is_known(peer, other))).collect();
    if !strangers.is_empty() {
        return Ok(Some(Obstacle::Strangers(strangers)));
    }
    if goal == Goal::Acquainted {
        return Ok(None);
    }
    if let Some(peer) = peers.iter().find(|peer| !peer.healthy) {
        return Ok(Some(Obstacle::Other(format!("a good link to {}", peer.id))));
    }
    let info = cli.command(node.address(), &["CLUSTER", "INFO"]).await?;
    let expected = [
        ("cluster_state", "ok".to_owned()),
        ("cluster_slots_ok", SLOTS.to_string()),
        ("cluster_known_nodes", nodes.len().to_string()),
    ];
    if let Some((name, value)) = expected.iter().find(|(name, value)| view::field(&info, name) != Some(value)) {
        return Ok(Some(Obstacle::Other(format!("{name} {value}"))));
    }
    if peers.iter().any(|peer| peer.myself && peer.replica) {
        let info = cli.command(node.address(), &["INFO", "replication"]).await?;
        if view::field(&info, "master_link_status") != Some("up") {
            return Ok(Some(Obstacle::Other("its link to the primary".into())));
        }
    }
    Ok(None)
}

fn is_known(peer: &Peer, node: &Node) -> bool {
    node.id() == Some(&peer.id) && peer.address == Some(node.address()) && peer.bus == Some(node.ports.bus)
}

/// Meeting a known node at another address makes the node take over the address.
async fn introduce(cli: &Cli, node: &Node, strangers: &[&Node]) -> Result<(), Error> {
    for stranger in strangers {
        let [ip, port, bus] =
            [stranger.address().ip().to_string(), stranger.ports.client.to_string(), stranger.ports.bus.to_string()];
        cli.command(node.address(), &["CLUSTER", "MEET", &ip, &port, &bus]).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_split_evenly_and_completely() {
        assert_eq!(
            [0, 1, 2, 3].map(|i| slots(i, 3)),
            [Some((0, 5460)), Some((5461, 10922)), Some((10923, 16383)), None]
        );
        for primaries in 1..200 {
            let ranges: Vec<_> = (0..usize::from(primaries)).filter_map(|i| slots(i, primaries)).collect();
            assert_eq!((ranges[0].0, ranges[ranges.len() - 1].1), (0, SLOTS - 1));
            assert!(ranges.windows(2).all(|pair| pair[0].1 + 1 == pair[1].0));
        }
    }
}
