use std::{
    fs::{self, File, TryLockError},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{Error, Topology, ports::Ports};

const LOCK: &str = "lock";
const RECORD: &str = "localcluster.json";

/// What the servers of a directory are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) topology: Topology,
    /// Whether the servers were ready once. Until then they have no data, and a bootstrap may be half done.
    pub(crate) ready: bool,
    pub(crate) ports: Vec<Ports>,
}

/// A data directory that is held against other processes.
#[derive(Debug)]
pub(crate) struct DataDir {
    path: PathBuf,
    _lock: File,
}

impl DataDir {
    /// Creates the directory if it is missing, and locks it until the value is dropped or the process ends.
    pub(crate) fn lock(path: &Path) -> Result<Self, Error> {
        fs::create_dir_all(path).map_err(Error::io("create", path))?;
        let path = path.canonicalize().map_err(Error::io("resolve", path))?;
        let lock_path = path.join(LOCK);
        let lock = File::create(&lock_path).map_err(Error::io("create", &lock_path))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path, _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(Error::InUse(path)),
            Err(TryLockError::Error(source)) => Err(Error::io("lock", lock_path)(source)),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn node(&self, index: usize) -> PathBuf {
        self.path.join(format!("node-{index}"))
    }

    /// The record, if the directory has servers' data of this topology.
    pub(crate) fn read(&self, wanted: Topology) -> Result<Option<Record>, Error> {
        let path = self.path.join(RECORD);
        let wrong = |reason: String| Error::Record { path: path.clone(), reason };
        if !path.exists() {
            let has_data = self.node(0).exists();
            return if has_data { Err(wrong("missing, but there is a node-0 beside it".into())) } else { Ok(None) };
        }
        let text = fs::read(&path).map_err(Error::io("read", &path))?;
        let record: Record = serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
        if !record.ready {
            return Ok(None);
        }
        if record.topology != wanted {
            return Err(Error::OtherTopology { dir: self.path.clone(), recorded: record.topology, wanted });
        }
        if record.ports.len() != wanted.nodes() {
            return Err(wrong(format!("has ports for {} nodes, not {}", record.ports.len(), wanted.nodes())));
        }
        Ok(Some(record))
    }

    /// Replaces the record in one step.
    pub(crate) fn write(&self, record: &Record) -> Result<(), Error> {
        let path = self.path.join(RECORD);
        let wrong = |reason: String| Error::Record { path: path.clone(), reason };
        let text = serde_json::to_vec_pretty(record).map_err(|error| wrong(error.to_string()))?;
        let new = path.with_extension("json.new");
        fs::write(&new, text).map_err(Error::io("write", &new))?;
        fs::rename(&new, &path).map_err(Error::io("replace", &path))
    }

    /// Removes what a bootstrap that was cut short has left.
    pub(crate) fn clear(&self) -> Result<(), Error> {
        for index in (0..).take_while(|index| self.node(*index).exists()) {
            let node = self.node(index);
            fs::remove_dir_all(&node).map_err(Error::io("remove", &node))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(topology: Topology, ready: bool) -> Record {
        Record { topology, ready, ports: vec![Ports { client: 1, bus: 2 }] }
    }

    #[test]
    fn a_directory_has_one_user() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let first = DataDir::lock(dir.path()).expect("free");
        assert!(matches!(DataDir::lock(dir.path()), Err(Error::InUse(_))));
        drop(first);
        DataDir::lock(dir.path()).expect("free again");
    }

    #[test]
    fn only_a_finished_bootstrap_is_taken_up_and_only_with_its_topology() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let dir = DataDir::lock(dir.path()).expect("free");
        assert_eq!(dir.read(Topology::Single).expect("empty"), None);
        dir.write(&record(Topology::Single, false)).expect("write");
        assert_eq!(dir.read(Topology::Single).expect("unfinished"), None);
        let done = record(Topology::Single, true);
        dir.write(&done).expect("write");
        assert_eq!(dir.read(Topology::Single).expect("finished"), Some(done));
        let cluster = Topology::Cluster { primaries: 3, replicas: 0 };
        let error = dir.read(cluster).expect_err("another topology").to_string();
        assert!(error.ends_with(
            "holds a single server, but a cluster of 3 primaries with 0 replicas each was asked for: use another directory"
        ));
    }

    #[test]
    fn data_without_a_record_is_left_alone() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let dir = DataDir::lock(dir.path()).expect("free");
        fs::create_dir(dir.node(0)).expect("create");
        assert!(matches!(dir.read(Topology::Single), Err(Error::Record { .. })));
    }
}
