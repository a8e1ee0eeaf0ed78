use fred::error::{Error as RedisError, ErrorKind};
use thiserror::Error;

/// Why the store could not do something.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StoreError {
    /// Redis cannot be reached, or is moving or failing over the slot. A write may have happened. Trying again may help.
    #[error("redis is unavailable: {0}")]
    Unavailable(String),
    /// The caller's deadline passed. A write may have happened.
    #[error("the deadline passed")]
    Deadline,
    /// Redis refused the command for good, or answered what no command of ours is answered. Trying again does not help.
    #[error("redis refused: {0}")]
    Refused(String),
}

/// How to react to an error of Redis or of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reaction {
    /// The node does not know the script: send its source.
    SendSource,
    /// The command was not run. Run it again in a moment.
    Retry(&'static str),
    /// The command may have been run. It may be run again because each of ours is idempotent.
    RetryAmbiguous(&'static str),
    /// It will not get better by trying again soon, but somebody can mend it: memory is full, a disk is.
    GiveUp,
    /// A mistake of ours, of the configuration, or of what is stored.
    Refuse,
}

/// What to do about an error.
pub(crate) fn reaction(error: &RedisError) -> Reaction {
    let details = error.details();
    let code = details.split_whitespace().next().unwrap_or_default();
    match code {
        "NOSCRIPT" => return Reaction::SendSource,
        "TRYAGAIN" | "ASK" | "MOVED" => return Reaction::Retry("moving"),
        "CLUSTERDOWN" | "LOADING" | "MASTERDOWN" | "READONLY" | "BUSY" => return Reaction::Retry("down"),
        "OOM" | "MISCONF" | "NOREPLICAS" => return Reaction::GiveUp,
        _ => {}
    }
    match error.kind() {
        ErrorKind::Routing => Reaction::Retry("moving"),
        ErrorKind::Cluster | ErrorKind::Backpressure => Reaction::Retry("down"),
        ErrorKind::IO | ErrorKind::Canceled => Reaction::RetryAmbiguous("connection"),
        ErrorKind::Timeout => Reaction::RetryAmbiguous("timeout"),
        ErrorKind::Unknown if details.contains("Too many failed write attempts") => {
            Reaction::RetryAmbiguous("connection")
        }
        ErrorKind::Config
        | ErrorKind::Auth
        | ErrorKind::InvalidCommand
        | ErrorKind::InvalidArgument
        | ErrorKind::Url
        | ErrorKind::Protocol
        | ErrorKind::Unknown
        | ErrorKind::Parse
        | ErrorKind::Sentinel
        | ErrorKind::NotFound => Reaction::Refuse,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_has_its_reaction() {
        use Reaction::*;
        let table = [
            (ErrorKind::Routing, "Too many redirections.", Retry("moving")),
            (ErrorKind::Cluster, "MOVED 5 127.0.0.1:7000", Retry("moving")),
            (ErrorKind::Cluster, "ASK 5 127.0.0.1:7000", Retry("moving")),
            (ErrorKind::Unknown, "TRYAGAIN Multiple keys request during rehashing of slot", Retry("moving")),
            (ErrorKind::Cluster, "CLUSTERDOWN Hash slot not served", Retry("down")),
            (ErrorKind::Unknown, "LOADING Redis is loading the dataset in memory", Retry("down")),
            (ErrorKind::Unknown, "MASTERDOWN Link with MASTER is down", Retry("down")),
            (ErrorKind::Unknown, "READONLY You can't write against a read only replica.", Retry("down")),
            (ErrorKind::Unknown, "BUSY Redis is busy running a script.", Retry("down")),
            (ErrorKind::Backpressure, "", Retry("down")),
            (ErrorKind::Unknown, "NOSCRIPT No matching script.", SendSource),
            (ErrorKind::IO, "Connection reset", RetryAmbiguous("connection")),
            (ErrorKind::Canceled, "Canceled", RetryAmbiguous("connection")),
            (ErrorKind::Unknown, "Too many failed write attempts.", RetryAmbiguous("connection")),
            (ErrorKind::Timeout, "Request timed out.", RetryAmbiguous("timeout")),
            (ErrorKind::Unknown, "OOM command not allowed when used memory > 'maxmemory'.", GiveUp),
            (ErrorKind::Unknown, "MISCONF Redis is configured to save RDB snapshots", GiveUp),
            (ErrorKind::Unknown, "NOREPLICAS Not enough good replicas to write.", GiveUp),
            (ErrorKind::InvalidArgument, "WRONGTYPE Operation against a key", Refuse),
            (ErrorKind::Auth, "NOAUTH Authentication required.", Refuse),
            (ErrorKind::Unknown, "ERR user_script:1: boom", Refuse),
            (ErrorKind::Unknown, "NOPERM this user has no permissions", Refuse),
            (ErrorKind::Protocol, "bad frame", Refuse),
            (ErrorKind::Config, "cluster support disabled", Refuse),
            (ErrorKind::NotFound, "", Refuse),
        ];
        for (kind, details, expected) in table {
            assert_eq!(reaction(&RedisError::new(kind.clone(), details)), expected, "{kind:?} {details}");
        }
    }
}
