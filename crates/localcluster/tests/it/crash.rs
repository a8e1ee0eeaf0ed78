//! Whatever happens to the process, its servers end with it. The process here is this test binary, started once more.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use socialgraph_localcluster::{LocalCluster, Options, Topology};

use crate::support::{LIMIT, THREE, assert_ended, assert_filled, assert_running, fill, start, temporary};

const DIR: &str = "LOCALCLUSTER_TEST_DIR";

/// Does nothing in an ordinary run. Started by [`Holder`], it starts a cluster, fills it, says so by a file and waits.
#[tokio::test]
async fn holder() {
    let Some(dir) = env::var_os(DIR).map(PathBuf::from) else { return };
    let _cluster = if dir.join("temporary").exists() {
        let cluster = temporary(Topology::Single).await;
        let reply = cluster.cli(0, &["CONFIG", "GET", "dir"]).await.expect("config");
        fs::write(dir.join("where"), reply.lines().nth(1).expect("a value")).expect("write");
        cluster
    } else {
        let cluster = start(&dir.join("data"), THREE).await;
        fill(&cluster).await;
        cluster
    };
    fs::write(dir.join("ready"), "").expect("write");
    std::future::pending::<()>().await;
}

struct Holder(Child);

impl Holder {
    async fn start(dir: &Path) -> Self {
        let child = Command::new(env::current_exe().expect("own path"))
            .args(["--exact", "crash::holder", "--nocapture"])
            .env(DIR, dir)
            .stdout(Stdio::null())
            .spawn()
            .expect("start the test binary");
        let ready = async {
            while !dir.join("ready").exists() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let holder = Self(child);
        tokio::time::timeout(LIMIT, ready).await.expect("ready in time");
        fs::remove_file(dir.join("ready")).expect("remove");
        holder
    }

    /// SIGKILL.
    fn kill(mut self) {
        self.0.kill().expect("kill");
        self.0.wait().expect("wait");
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn servers_of_a_killed_process_end_and_their_data_is_taken_up() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let data = dir.path().join("data");
    Holder::start(dir.path()).await.kill();
    assert_ended(&data).await;
    let cluster = start(&data, THREE).await;
    assert_filled(&cluster).await;
    cluster.stop().await;
}

#[tokio::test]
async fn a_start_right_after_a_kill_waits_for_the_old_servers() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let data = dir.path().join("data");
    Holder::start(dir.path()).await.kill();
    let cluster = start(&data, THREE).await;
    assert_filled(&cluster).await;
    cluster.stop().await;
}

#[tokio::test]
async fn servers_that_lost_their_watcher_too_are_stopped_by_the_next_start() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let data = dir.path().join("data");
    let holder = Holder::start(dir.path()).await;
    // Watchers still have the shell's name and the servers' arguments.
    for process in fs::read_dir("/proc").expect("list processes").flatten() {
        let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
        if line.starts_with(b"sh\0-c") && String::from_utf8_lossy(&line).contains(&*data.to_string_lossy()) {
            let pid = process.file_name().to_string_lossy().parse().expect("a pid");
            nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL).expect("kill");
        }
    }
    holder.kill();
    assert_running(&data, 3).await;
    let cluster = start(&data, THREE).await;
    assert_filled(&cluster).await;
    cluster.stop().await;
}

#[tokio::test]
async fn a_killed_process_leaves_no_temporary_data() {
    let dir = tempfile::tempdir().expect("temporary directory");
    fs::write(dir.path().join("temporary"), "").expect("write");
    let holder = Holder::start(dir.path()).await;
    let node = PathBuf::from(fs::read_to_string(dir.path().join("where")).expect("read"));
    let data = node.parent().expect("a parent").to_owned();
    assert!(data.exists());
    holder.kill();
    assert_ended(&data).await;
    assert!(!data.exists());
}

#[tokio::test]
async fn dropped_servers_end() {
    let dir = tempfile::tempdir().expect("temporary directory");
    drop(start(dir.path(), Topology::Single).await);
    assert_ended(dir.path()).await;

    let options = Options::temporary(Topology::Single).expect("temporary directory");
    let cluster = LocalCluster::start(options).await.expect("start");
    let reply = cluster.cli(0, &["CONFIG", "GET", "dir"]).await.expect("config");
    let node = PathBuf::from(reply.lines().nth(1).expect("a value"));
    assert!(node.exists());
    drop(cluster);
    assert!(!node.exists());
}
