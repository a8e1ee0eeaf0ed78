//! What a node says about its cluster.

use std::net::SocketAddr;

/// One line of CLUSTER NODES.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Peer {
    pub(crate) id: String,
    /// `None` if the node does not know it, or knows it by a name.
    pub(crate) address: Option<SocketAddr>,
    pub(crate) bus: Option<u16>,
    pub(crate) myself: bool,
    pub(crate) replica: bool,
    /// Linked, and neither failing nor in a handshake.
    pub(crate) healthy: bool,
}

/// Reads the reply to CLUSTER NODES; lines that it does not understand are left out.
pub(crate) fn peers(reply: &str) -> Vec<Peer> {
    reply.lines().filter_map(peer).collect()
}

fn peer(line: &str) -> Option<Peer> {
    let mut fields = line.split(' ');
    let id = fields.next()?.to_owned();
    // `ip:port@bus`, then perhaps `,hostname` and more.
    let (address, bus) = fields.next()?.split(',').next()?.split_once('@')?;
    let flags: Vec<&str> = fields.next()?.split(',').collect();
    let linked = fields.nth(4)? == "connected";
    let troubled = ["fail", "fail?", "handshake", "noaddr"].iter().any(|flag| flags.contains(flag));
    Some(Peer {
        id,
        address: address.parse().ok(),
        bus: bus.parse().ok(),
        myself: flags.contains(&"myself"),
        replica: flags.contains(&"slave"),
        healthy: linked && !troubled,
    })
}

/// The value of a field in a reply of `name:value` lines, as INFO and CLUSTER INFO give.
pub(crate) fn field<'a>(reply: &'a str, name: &str) -> Option<&'a str> {
    reply.lines().find_map(|line| line.trim_end().strip_prefix(name)?.strip_prefix(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cluster_nodes_is_read() {
        let peers = peers(
            "a1 127.0.0.1:7001@17001 myself,master - 0 1 1 connected 0-5460\n\
             b2 127.0.0.1:7002@17002,host,shard-id=3 slave,fail? a1 0 1 1 connected\n\
             c3 :0@0 master,noaddr - 0 1 1 disconnected\nnonsense\n",
        );
        let address = |port| Some(SocketAddr::from(([127, 0, 0, 1], port)));
        let expected = [
            ("a1", address(7001), Some(17001), true, false, true),
            ("b2", address(7002), Some(17002), false, true, false),
            ("c3", None, Some(0), false, false, false),
        ]
        .map(|(id, address, bus, myself, replica, healthy)| Peer {
            id: id.to_owned(),
            address,
            bus,
            myself,
            replica,
            healthy,
        });
        assert_eq!(peers, expected);
    }

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let reply = "# Persistence\r\nasync_loading:1\r\nloading:0\r\n";
        assert_eq!(field(reply, "loading"), Some("0"));
        assert_eq!(field(reply, "load"), None);
    }
}
