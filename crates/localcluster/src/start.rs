use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use nix::sys::signal::Signal;

use crate::{
    Error, Options, Topology, bootstrap,
    cli::{self, Cli},
    dir::{DataDir, Record},
    leftovers,
    node::{Node, Role},
    ports, view,
};

const MAX_NODES: usize = 1_000;
/// How often other ports are tried when another process takes the chosen ones first.
const PORT_ATTEMPTS: usize = 10;
/// More than the servers' own shutdown-timeout.
const STOP_LIMIT: Duration = Duration::from_secs(10);

/// Running servers.
///
/// They end with the value. [`LocalCluster::stop`] waits for it; dropping only asks them to end, except that servers with
/// a temporary directory are killed. They also end when the process does, even by SIGKILL.
#[derive(Debug)]
pub struct LocalCluster {
    pub(crate) nodes: Vec<Node>,
    pub(crate) cli: Cli,
    pub(crate) dir: DataDir,
    pub(crate) options: Options,
}

impl LocalCluster {
    /// Starts the servers and waits until they are ready: data loaded, all slots covered, every node in good terms with
    /// every other, replicas in sync.
    ///
    /// The directory is locked. If servers were started on it before, their data is taken up again, on the same ports where
    /// these are free. Servers that are left on it from a process that died are stopped first.
    ///
    /// # Errors
    /// [`Error::Missing`] and [`Error::Unsupported`] for the binaries, [`Error::InUse`], [`Error::OtherTopology`] and
    /// [`Error::Record`] for the directory, [`Error::Died`] and [`Error::NotReady`] with the servers' logs. After an error
    /// no server is left running.
    pub async fn start(options: Options) -> Result<Self, Error> {
        let topology = options.topology;
        if !(1..=MAX_NODES).contains(&topology.nodes()) {
            return Err(Error::BadTopology(topology));
        }
        cli::check_versions(&options.server, &options.cli).await?;
        let dir = DataDir::lock(&options.dir)?;
        leftovers::stop(dir.path()).await?;
        let known = dir.read(topology)?;
        let wanted = known.as_ref().map_or(&[][..], |record| &record.ports);
        let ports = ports::choose(topology.nodes(), wanted)?;
        if known.is_none() {
            dir.write(&Record { topology, ready: false, ports: ports.clone() })?;
            dir.clear()?;
        }
        let nodes = ports.into_iter().enumerate().map(|(index, ports)| Node::new(index, ports, &dir)).collect();
        let mut cluster = Self { nodes, cli: Cli::new(options.cli.clone()), dir, options };
        cluster.launch().await?;
        cluster.form(known.is_none()).await?;
        let ports = cluster.nodes.iter().map(|node| node.ports).collect();
        cluster.dir.write(&Record { topology, ready: true, ports })?;
        tracing::info!(%topology, dir = %cluster.dir.path().display(), addresses = ?cluster.addresses(), "redis is ready");
        Ok(cluster)
    }

    /// Starts the processes and waits until they answer. A node whose port was taken after it was chosen gets other ones.
    async fn launch(&mut self) -> Result<(), Error> {
        for node in &self.nodes {
            node.launch(&self.options, &self.dir).await?;
        }
        for node in &mut self.nodes {
            let mut attempts = 1..PORT_ATTEMPTS;
            while let Err(error) = node.up(&self.cli, self.options.ready_within).await {
                if !matches!(error, Error::Died { port_taken: true, .. }) || attempts.next().is_none() {
                    return Err(error);
                }
                tracing::debug!(node = node.index, ports = ?node.ports, "ports were taken, trying others");
                node.ports = ports::choose(1, &[])?[0];
                node.launch(&self.options, &self.dir).await?;
            }
        }
        Ok(())
    }

    /// Makes a cluster of the running nodes if they are to be one.
    async fn form(&mut self, new: bool) -> Result<(), Error> {
        let Topology::Cluster { primaries, .. } = self.options.topology else { return Ok(()) };
        for node in &mut self.nodes {
            node.id = Some(self.cli.command(node.address(), &["CLUSTER", "MYID"]).await?);
        }
        let limit = self.options.ready_within;
        if new {
            bootstrap::create(&self.cli, &self.nodes, primaries, limit).await?;
        }
        bootstrap::settle(&self.cli, &self.nodes, limit).await?;
        for node in &mut self.nodes {
            let peers = view::peers(&self.cli.command(node.address(), &["CLUSTER", "NODES"]).await?);
            let replica = peers.iter().any(|peer| peer.myself && peer.replica);
            node.role = if replica { Role::Replica } else { Role::Primary };
        }
        Ok(())
    }

    /// Where clients reach the nodes, in the order of the nodes.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.nodes.iter().map(Node::address).collect()
    }

    /// The nodes. In a new cluster the primaries come first, then the first replica of each, and so on.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Waits until the whole cluster is as [`LocalCluster::start`] leaves it, for instance after faults.
    ///
    /// # Errors
    /// [`Error::NotReady`] after `limit`.
    pub async fn settle(&self, limit: Duration) -> Result<(), Error> {
        if self.options.topology.is_cluster() {
            bootstrap::settle(&self.cli, &self.nodes, limit).await
        } else {
            self.nodes[0].up(&self.cli, limit).await
        }
    }

    /// Stops the servers in order, with all data on disk, and frees the directory. A server that doesn't end within 10 s is
    /// killed, which may cost it the last second of writes.
    pub async fn stop(mut self) {
        let deadline = Instant::now() + STOP_LIMIT;
        for node in &mut self.nodes {
            if let Some(process) = node.process.get_mut() {
                // A paused one only takes SIGTERM when it continues.
                process.signal(Signal::SIGCONT);
                process.signal(Signal::SIGTERM);
            }
        }
        for node in &mut self.nodes {
            let Some(process) = node.process.get_mut() else { continue };
            if !process.wait(deadline).await {
                tracing::warn!(node = node.index, "redis-server did not stop in time, killing it");
                process.kill();
                process.wait(Instant::now() + STOP_LIMIT).await;
            }
        }
    }
}

impl Drop for LocalCluster {
    fn drop(&mut self) {
        if self.options.temporary.is_none() {
            return;
        }
        // The directory is about to be removed, so nothing may write to it any more.
        let deadline = Instant::now() + Duration::from_secs(1);
        let mut processes: Vec<_> = self.nodes.iter_mut().filter_map(|node| node.process.get_mut().take()).collect();
        processes.iter_mut().for_each(|process| process.kill());
        while Instant::now() < deadline && !processes.iter_mut().all(|process| process.ended()) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
