use std::path::Path;

use crate::{Topology, ports::Ports};

/// The file in a node's directory that it is started with.
pub(crate) const FILE: &str = "redis.conf";

/// The text of redis.conf. Later settings win, so `extra` comes last.
pub(crate) fn render(node_dir: &Path, ports: Ports, topology: Topology, extra: &[String]) -> String {
    let mut lines: Vec<String> = [
        include_str!("../../../deploy/redis.conf"),
        "bind 127.0.0.1",
        "protected-mode yes",
        "daemonize no",
        "enable-debug-command local",
        "repl-diskless-sync-delay 0",
        // Less than the watcher's grace, so that waiting for slow replicas doesn't end in SIGKILL.
        "shutdown-timeout 2",
    ]
    .map(str::to_owned)
    .into();
    lines.push(format!("port {}", ports.client));
    lines.push(format!("dir {}", quote(node_dir)));
    if topology.is_cluster() {
        lines.push(include_str!("../../../deploy/redis-cluster.conf").to_owned());
        lines.push(format!("cluster-port {}", ports.bus));
        lines.push("cluster-announce-ip 127.0.0.1".to_owned());
    }
    lines.extend_from_slice(extra);
    lines.push(String::new());
    lines.join("\n")
}

fn quote(path: &Path) -> String {
    let escaped = path.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extra_settings_come_last_and_paths_are_quoted() {
        let ports = Ports { client: 1, bus: 2 };
        let text = render(Path::new("/a \"b"), ports, Topology::Single, &["port 3".to_owned()]);
        assert!(text.contains("\ndir \"/a \\\"b\"\n"));
        assert!(text.ends_with("\nport 3\n"));
        assert!(!text.contains("cluster-"));
    }
}
