//! Free ports, below the range from which the kernel takes the ports of outgoing connections: a node that is down for a
//! moment must find its port free when it comes back.

use std::{
    collections::HashSet,
    hash::{BuildHasher, RandomState},
    net::{Ipv4Addr, TcpListener},
    ops::Range,
};

use serde::{Deserialize, Serialize};

use crate::Error;

const RANGE: Range<u16> = 16_384..32_000;

/// The ports of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ports {
    /// For clients.
    pub(crate) client: u16,
    /// For the other nodes. Not the default of `client` + 10000, which may be beyond the last port.
    pub(crate) bus: u16,
}

impl Ports {
    pub(crate) fn are_free(self) -> bool {
        is_free(self.client) && is_free(self.bus)
    }
}

/// Pairs of free ports for `nodes` nodes. Those in `wanted` are kept where they are free; the others are none of `wanted`,
/// so that no node gets an address by which its peers know another.
pub(crate) fn choose(nodes: usize, wanted: &[Ports]) -> Result<Vec<Ports>, Error> {
    let taken: HashSet<u16> = wanted.iter().flat_map(|ports| [ports.client, ports.bus]).collect();
    let width = RANGE.end - RANGE.start;
    // A random start keeps processes that choose at the same time apart.
    let offset = RandomState::new().hash_one(std::process::id()) % u64::from(width);
    let mut candidates = (0..u64::from(width))
        .map(|step| (offset + step) % u64::from(width))
        .filter_map(|position| Some(RANGE.start + u16::try_from(position).ok()?));
    let mut next = || candidates.find(|port| !taken.contains(port) && is_free(*port)).ok_or(Error::NoPorts(RANGE));
    (0..nodes)
        .map(|node| match wanted.get(node) {
            Some(ports) if ports.are_free() => Ok(*ports),
            _ => Ok(Ports { client: next()?, bus: next()? }),
        })
        .collect()
}

fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_ports_are_kept_and_taken_ones_replaced() {
        let first = choose(3, &[]).expect("free ports");
        assert_eq!(choose(3, &first).expect("free ports"), first);
        let _taken = TcpListener::bind((Ipv4Addr::LOCALHOST, first[1].bus)).expect("was free");
        let second = choose(3, &first).expect("free ports");
        assert_eq!((second[0], second[2]), (first[0], first[2]));
        let old: Vec<u16> = first.iter().flat_map(|ports| [ports.client, ports.bus]).collect();
        assert!(!old.contains(&second[1].client) && !old.contains(&second[1].bus));
    }
}
