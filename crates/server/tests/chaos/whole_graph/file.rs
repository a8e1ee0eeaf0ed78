//! The graph of a file, and what it says by brute force.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, HashMap},
    env,
    fmt::Write as _,
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use flate2::read::MultiGzDecoder;
use rand::{SeedableRng, rngs::StdRng, seq::SliceRandom};

use crate::support::{graph, process::GRAPH_FILE, seed};

const USERS: i64 = 3_000;
const EDGES: usize = 40_000;
/// Added to the ids of the file: they become greater than 0, and are unlike all other numbers that are stored.
pub(super) const OFFSET: i64 = 1_000_000_000;

/// What is in the file. All ids have the offset.
pub(super) struct Graph {
    pub(super) path: PathBuf,
    /// For what tests choose at random.
    pub(super) seed: u64,
    pub(super) rows: usize,
    pub(super) selves: usize,
    /// Every user who is in a row, also in one with themselves.
    pub(super) users: Vec<i64>,
    pub(super) edges: BTreeSet<(i64, i64)>,
    following: Lists,
    followers: Lists,
}

/// Of each user who has one, a sorted list.
type Lists = HashMap<i64, Vec<i64>>;

impl Graph {
    /// The graph of the file that the environment names, which has rows of two ids and may be gzip, or one that is made up and written into a directory.
    pub(super) fn load(dir: &Path) -> Self {
        let seed = seed();
        let path = env::var_os(GRAPH_FILE).map_or_else(|| generated(dir, seed), PathBuf::from);
        let text = text(&path);
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let rows: Vec<(i64, i64)> = lines.map(row).collect();
        let users: BTreeSet<_> = rows.iter().flat_map(|&(follower, followee)| [follower, followee]).collect();
        let selves = rows.iter().filter(|(follower, followee)| follower == followee).count();
        let edges: BTreeSet<_> = rows.iter().copied().filter(|(follower, followee)| follower != followee).collect();
        let (mut following, mut followers) = (Lists::new(), Lists::new());
        for &(follower, followee) in &edges {
            following.entry(follower).or_default().push(followee);
            followers.entry(followee).or_default().push(follower);
        }
        Self { path, seed, rows: rows.len(), selves, users: users.into_iter().collect(), edges, following, followers }
    }

    /// Whom a user follows, sorted.
    pub(super) fn following(&self, user: i64) -> &[i64] {
        self.following.get(&user).map_or(&[], Vec::as_slice)
    }

    /// Who follows a user, sorted.
    pub(super) fn followers(&self, user: i64) -> &[i64] {
        self.followers.get(&user).map_or(&[], Vec::as_slice)
    }

    /// An account's edges of both directions, sorted.
    pub(super) fn edges_of(&self, user: i64) -> Vec<(i64, i64)> {
        let following = self.following(user).iter().map(|&followee| (user, followee));
        let mut edges: Vec<_> = following.chain(self.followers(user).iter().map(|&id| (id, user))).collect();
        edges.sort_unstable();
        edges
    }

    /// Who follows a user and is followed back, sorted.
    pub(super) fn mutuals(&self, user: i64) -> Vec<i64> {
        both(self.following(user), self.followers(user))
    }

    /// Pairs of users who follow each other, each pair once.
    pub(super) fn mutual_pairs(&self) -> usize {
        self.edges.iter().filter(|(one, other)| one < other && self.edges.contains(&(*other, *one))).count()
    }

    /// The users with the most edges of both directions, the largest first.
    pub(super) fn largest(&self, number: usize) -> Vec<i64> {
        let mut users = self.users.clone();
        users.sort_by_key(|&user| Reverse(self.following(user).len() + self.followers(user).len()));
        users.truncate(number);
        users
    }

    /// How it is called in what tests print.
    pub(super) fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// What is in both of two sorted lists.
pub(super) fn both(one: &[i64], other: &[i64]) -> Vec<i64> {
    one.iter().copied().filter(|id| other.binary_search(id).is_ok()).collect()
}

fn text(path: &Path) -> String {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut text = String::new();
    match bytes.as_slice() {
        [0x1f, 0x8b, ..] => MultiGzDecoder::new(bytes.as_slice()).read_to_string(&mut text).map(|_| ()),
        mut plain => plain.read_to_string(&mut text).map(|_| ()),
    }
    .expect("text");
    text
}

fn row(line: &str) -> (i64, i64) {
    let ids: Vec<i64> = line.split([' ', '\t', ',']).filter_map(|word| word.parse().ok()).take(2).collect();
    assert_eq!(ids.len(), 2, "not a row of two ids: {line:?}");
    (ids[0] + OFFSET, ids[1] + OFFSET)
}

/// A file as files of graphs are: ids from 0, some rows of users with themselves, in no order.
fn generated(dir: &Path, seed: u64) -> PathBuf {
    let mut rows: Vec<_> = graph::power_law(seed, USERS, EDGES).into_iter().collect();
    rows.extend((1..=USERS).step_by(10).map(|user| (user, user)));
    rows.shuffle(&mut StdRng::seed_from_u64(seed));
    let mut text = "# FollowerId\tFolloweeId\r\n".to_owned();
    for (follower, followee) in rows {
        write!(text, "{}\t{}\r\n", follower - 1, followee - 1).expect("a string");
    }
    let path = dir.join("power-law.txt");
    fs::write(&path, text).expect("write the file");
    path
}
