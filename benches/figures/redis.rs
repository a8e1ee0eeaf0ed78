//! A client to each node by itself, for what nodes tell about themselves.

use std::{collections::BTreeMap, net::SocketAddr};

use fred::{
    clients::Client,
    interfaces::ClientLike,
    types::{
        Builder, ClusterHash, CustomCommand, Value,
        config::{Config, ServerConfig},
    },
};

use crate::Result;

/// Processor time in INFO, with that of processes that write the data down.
const CPU_FIELDS: [&str; 4] = ["used_cpu_sys:", "used_cpu_user:", "used_cpu_sys_children:", "used_cpu_user_children:"];

/// The nodes of a cluster.
pub(crate) struct Nodes(Vec<Client>);

/// How often a command was run by Redis, and for how long in all.
#[derive(Clone, Copy, Default)]
pub(crate) struct CommandStats {
    pub(crate) calls: u64,
    pub(crate) micros: u64,
}

impl Nodes {
    pub(crate) async fn connect(addresses: &[SocketAddr]) -> Result<Self> {
        let mut nodes = Vec::new();
        for address in addresses {
            let server = ServerConfig::new_centralized(address.ip().to_string(), address.port());
            let client = Builder::from_config(Config { server, ..Config::default() }).build()?;
            client.init().await?;
            nodes.push(client);
        }
        Ok(Self(nodes))
    }

    /// A client of each node.
    pub(crate) fn each(&self) -> impl Iterator<Item = &Client> {
        self.0.iter()
    }

    /// The answer of each node to a command.
    pub(crate) async fn all(&self, name: &'static str, args: &[&str]) -> Result<Vec<Value>> {
        let mut answers = Vec::new();
        for node in &self.0 {
            let args: Vec<Value> = args.iter().map(|&arg| arg.into()).collect();
            answers.push(node.custom(CustomCommand::new_static(name, ClusterHash::Random, false), args).await?);
        }
        Ok(answers)
    }

    /// Bytes that all nodes together use for data, and around it.
    pub(crate) async fn used_memory(&self) -> Result<u64> {
        let infos = self.all("INFO", &["memory"]).await?;
        let used =
            infos.iter().filter_map(Value::as_str).filter_map(|info| field(&info, "used_memory:")?.parse::<u64>().ok());
        Ok(used.sum::<u64>())
    }

    /// Seconds of processor time that all nodes together have used.
    pub(crate) async fn cpu_seconds(&self) -> Result<f64> {
        Ok(self.cpu_seconds_each().await?.iter().sum())
    }

    /// The same of each node.
    pub(crate) async fn cpu_seconds_each(&self) -> Result<Vec<f64>> {
        let infos = self.all("INFO", &["cpu"]).await?;
        let used = |info: &str| CPU_FIELDS.iter().filter_map(|name| field(info, name)?.parse::<f64>().ok()).sum();
        Ok(infos.iter().filter_map(Value::as_str).map(|info| used(&info)).collect())
    }

    /// What all nodes together have run, by command.
    pub(crate) async fn command_stats(&self) -> Result<BTreeMap<String, CommandStats>> {
        let mut stats = BTreeMap::<String, CommandStats>::new();
        for info in self.all("INFO", &["commandstats"]).await?.iter().filter_map(Value::as_str) {
            for line in info.lines() {
                let Some((name, facts)) = line.strip_prefix("cmdstat_").and_then(|line| line.split_once(':')) else {
                    continue;
                };
                let number = |key: &str| facts.split(',').find_map(|fact| fact.strip_prefix(key)?.parse::<u64>().ok());
                let sum = stats.entry(name.to_owned()).or_default();
                sum.calls += number("calls=").unwrap_or(0);
                sum.micros += number("usec=").unwrap_or(0);
            }
        }
        Ok(stats)
    }

    /// How long commands took Redis, in microseconds by command: p50, p99 and p99.9, each of the node where it is highest.
    pub(crate) async fn latency_stats(&self) -> Result<BTreeMap<String, [f64; 3]>> {
        let mut stats = BTreeMap::<String, [f64; 3]>::new();
        for info in self.all("INFO", &["latencystats"]).await?.iter().filter_map(Value::as_str) {
            for line in info.lines() {
                let Some((name, facts)) =
                    line.strip_prefix("latency_percentiles_usec_").and_then(|line| line.split_once(':'))
                else {
                    continue;
                };
                let number = |key: &str| facts.split(',').find_map(|fact| fact.strip_prefix(key)?.parse().ok());
                let most = stats.entry(name.to_owned()).or_default();
                for (most, key) in most.iter_mut().zip(["p50=", "p99=", "p99.9="]) {
                    *most = most.max(number(key).unwrap_or(0.0));
                }
            }
        }
        Ok(stats)
    }
}

/// What follows a name in the lines of INFO.
fn field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    info.lines().find_map(|line| line.trim_end().strip_prefix(name))
}
