use std::sync::OnceLock;

/// A Lua script. Its file says what it takes, gives and costs.
#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) name: &'static str,
    pub(crate) source: &'static str,
    libraries: &'static [&'static str],
    sha: OnceLock<String>,
}

impl Script {
    const fn new(name: &'static str, source: &'static str, libraries: &'static [&'static str]) -> Self {
        Self { name, source, libraries, sha: OnceLock::new() }
    }

    /// Whether it works on lists in segments, of which it may ask for more. See `list.lua`.
    pub(crate) fn takes_segments(&self) -> bool {
        self.libraries.contains(&"list")
    }

    /// What Redis knows the script by.
    pub(crate) fn sha(&'static self) -> &'static str {
        self.sha.get_or_init(|| fred::util::sha1_hash(self.source))
    }
}

/// A script is its file, after the shared functions that it uses.
macro_rules! scripts {
    ($($name:ident: $file:literal $(with $($library:literal)*)?),* $(,)?) => {
        $(pub(crate) static $name: Script = Script::new(
            $file,
            concat!($($(include_str!(concat!("lua/lib/", $library, ".lua")),)*)? include_str!(concat!("lua/", $file, ".lua"))),
            &[$($($library),*)?],
        );)*

        static ALL: &[&Script] = &[$(&$name),*];
    };
}

scripts! {
    ADOPT: "adopt" with "order" "list",
    APPLY: "apply" with "order" "list",
    ASIDE: "aside" with "order",
    BEGIN_IMPORT: "begin_import",
    BLOCK: "block" with "order" "list",
    CHECK_IDS: "check_ids" with "order" "list",
    CLAIM: "claim",
    CLOSE_SHARD: "close_shard" with "order" "list",
    COMPACT: "compact",
    CONVERT: "convert" with "order" "list",
    COUNTS: "counts" with "order" "list",
    DELETE_POST: "delete_post" with "order" "list",
    DELETE_USER: "delete_user" with "order" "list",
    DISMISS: "dismiss",
    DROP_NOTE: "drop_note",
    DUE: "due",
    END_DELETION: "end_deletion",
    END_MOVE: "end_move",
    ERASE_POSTS: "erase_posts" with "order" "list",
    FOLLOW: "follow" with "order" "list",
    FORGET: "forget" with "order" "segments" "inbox",
    FORMAT: "format",
    HAND_OVER: "hand_over" with "order" "list",
    KEPT: "kept",
    LEASE: "lease",
    LIKE: "like",
    LISTED: "listed" with "order" "list",
    LOOK_UP: "look_up" with "order" "list",
    MARKED: "marked",
    MARKS: "marks" with "order",
    MARK_PULLED: "mark_pulled" with "order" "list",
    MERGE: "merge" with "order" "segments" "inbox" "list",
    MOVE_EDGES: "move_edges" with "order" "list",
    MUTE: "mute",
    MUTED: "muted",
    NEWEST: "newest" with "order" "list",
    NOTE_LIKE: "note_like",
    OUTLINE: "outline" with "order" "list",
    PLACE: "place" with "order" "segments" "inbox",
    PROBE: "probe" with "order" "list",
    PROBE_FOLLOWERS: "probe_followers",
    PUBLISH: "publish" with "order" "segments" "inbox" "list",
    PURGE: "purge" with "order" "segments" "inbox" "list",
    PUSH: "push" with "order" "segments" "inbox",
    RANGE: "range" with "order" "list",
    READ_LOG: "read_log",
    RECOUNT: "recount",
    RESTATE: "restate" with "order" "list",
    SAVE_DELIVERY: "save_delivery",
    SAVE_IMPORT: "save_import",
    SAVE_MOVE: "save_move",
    SAVE_TURN: "save_turn",
    SCROLL: "scroll" with "order" "segments" "inbox" "list",
    SET_STATE: "set_state" with "order" "list",
    SHORT_LISTS: "short_lists" with "order" "list",
    SOME_LIKERS: "some_likers",
    SPREAD: "spread" with "order" "list",
    TALLY: "tally" with "order" "list",
    TIMELINE: "timeline" with "order" "list",
    TRIM: "trim",
    UNFOLLOW: "unfollow" with "order" "list",
    UNFOLLOW_MANY: "unfollow_many" with "order" "list",
    UNLIKE: "unlike",
    UNMARK: "unmark",
    VIEWED_POST: "viewed_post",
    WITHDRAW: "withdraw" with "order" "list",
    WRITTEN: "written",
}

/// The name and the text of every script, for tools that look into Redis.
pub fn scripts() -> impl Iterator<Item = (&'static str, &'static str)> {
    ALL.iter().map(|script| (script.name, script.source))
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;

    #[test]
    fn every_file_is_a_script_and_every_script_tells_its_contract() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lua");
        let files: BTreeSet<String> = fs::read_dir(folder)
            .unwrap()
            .map(Result::unwrap)
            .filter(|file| file.file_type().unwrap().is_file())
            .map(|file| file.file_name().to_string_lossy().trim_end_matches(".lua").to_owned())
            .collect();
        assert_eq!(files, ALL.iter().map(|script| script.name.to_owned()).collect());
        for script in ALL {
            for part in ["Keys:", "Arguments:", "Returns:", "Slot rule:", "Idempotent:", "Cost:"] {
                let line = format!("-- {part}");
                assert!(script.source.lines().any(|l| l.starts_with(&line)), "{}.lua lacks {part}", script.name);
            }
        }
    }
}
