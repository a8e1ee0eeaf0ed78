//! Driving and disturbing running servers.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::{Error, LocalCluster, Node};

const KILL_LIMIT: Duration = Duration::from_secs(10);
const RESHARD_LIMIT: Duration = Duration::from_secs(300);

impl LocalCluster {
    /// Runs a command on a node through redis-cli, and returns the reply as that prints it to a pipe.
    ///
    /// # Errors
    /// [`Error::Cli`] for an error reply or no connection, [`Error::CliTimeout`] after 10 s.
    pub async fn cli<S: AsRef<str>>(&self, node: usize, command: &[S]) -> Result<String, Error> {
        self.cli.command(self.node(node)?.address(), command).await
    }

    /// Kills a node with SIGKILL and waits until it is dead.
    ///
    /// # Errors
    /// [`Error::State`] if it does not run.
    pub async fn kill(&self, node: usize) -> Result<(), Error> {
        let node = self.node(node)?;
        let mut slot = node.process.lock().await;
        let process = slot.as_mut().ok_or(Error::State { node: node.index, running: false })?;
        process.kill();
        if !process.wait(Instant::now() + KILL_LIMIT).await {
            let waiting_for = format!("the end of node {} after SIGKILL", node.index);
            return Err(Error::NotReady { after: KILL_LIMIT, waiting_for, log: node.log() });
        }
        node.forget_process(&mut slot);
        Ok(())
    }

    /// Starts a killed node again, on its address and data, and waits until it answers and has loaded. Its cluster may need
    /// longer to take it up again: [`LocalCluster::settle`].
    ///
    /// # Errors
    /// [`Error::State`] if it runs already, [`Error::Died`] or [`Error::NotReady`] if it does not get up.
    pub async fn restart(&self, node: usize) -> Result<(), Error> {
        let node = self.node(node)?;
        if let Some(process) = node.process.lock().await.as_mut()
            && !process.ended()
        {
            return Err(Error::State { node: node.index, running: true });
        }
        node.launch(&self.options, &self.dir).await?;
        node.up(&self.cli, self.options.ready_within).await
    }

    /// Stops a node from running with SIGSTOP: it keeps its connections and does not answer.
    ///
    /// # Errors
    /// [`Error::State`] if it does not run.
    pub async fn pause(&self, node: usize) -> Result<(), Error> {
        self.signal(node, Signal::SIGSTOP).await
    }

    /// Lets a paused node go on.
    ///
    /// # Errors
    /// [`Error::State`] if it does not run.
    pub async fn resume(&self, node: usize) -> Result<(), Error> {
        self.signal(node, Signal::SIGCONT).await
    }

    async fn signal(&self, node: usize, signal: Signal) -> Result<(), Error> {
        let node = self.node(node)?;
        let mut slot = node.process.lock().await;
        let process = slot.as_mut().ok_or(Error::State { node: node.index, running: false })?;
        process.signal(signal);
        Ok(())
    }

    /// Moves that many slots, with their keys, from one primary to another while both serve. Dropped before it is done, it
    /// leaves a slot open, which `redis-cli --cluster fix` closes.
    ///
    /// # Errors
    /// [`Error::NotACluster`]; [`Error::Cli`] if the nodes don't agree on the slots beforehand, for which
    /// [`LocalCluster::settle`] waits, or a move fails; [`Error::CliTimeout`] after 300 s.
    pub async fn reshard(&self, from: usize, to: usize, slots: u16) -> Result<(), Error> {
        let address = self.node(from)?.address().to_string();
        let [from, to] = [self.id(from)?, self.id(to)?];
        let slots = slots.to_string();
        let arguments = [
            "--cluster",
            "reshard",
            &address,
            "--cluster-from",
            from,
            "--cluster-to",
            to,
            "--cluster-slots",
            &slots,
            "--cluster-yes",
        ];
        self.cli.run(&arguments, RESHARD_LIMIT).await.map(drop)
    }

    fn id(&self, node: usize) -> Result<&str, Error> {
        self.node(node)?.id().ok_or(Error::NotACluster)
    }

    fn node(&self, node: usize) -> Result<&Node, Error> {
        self.nodes.get(node).ok_or(Error::NoNode { node, nodes: self.nodes.len() })
    }
}
