//! The graph that is imported.

use std::{
    env, fs,
    io::{BufWriter, Read, Write},
    path::{Path, PathBuf},
};

use flate2::read::MultiGzDecoder;
use rand::{Rng, SeedableRng, rngs::StdRng, seq::SliceRandom};

use crate::Result;

/// Names a file of rows of two ids.
const FILE: &str = "SOCIALGRAPH_BENCH_GRAPH";
const USERS: u64 = 82_000;
const EDGES: usize = 945_000;
const SEED: u64 = 2_009;

/// Rows of follower and followee, ids from 0.
pub(crate) struct Graph {
    pub(crate) name: String,
    pub(crate) rows: Vec<(u32, u32)>,
}

impl Graph {
    /// The one that the environment names, or else a generated one, sorted by follower.
    pub(crate) fn load() -> Result<Self> {
        match env::var_os(FILE) {
            Some(path) => Self::read(&PathBuf::from(path)),
            None => Ok(Self::generate()),
        }
    }

    fn read(path: &Path) -> Result<Self> {
        let bytes = fs::read(path).map_err(|error| format!("{FILE}: {}: {error}", path.display()))?;
        let mut text = String::new();
        if bytes.starts_with(&[0x1f, 0x8b]) {
            MultiGzDecoder::new(&bytes[..]).read_to_string(&mut text)?;
        } else {
            text = String::from_utf8(bytes)?;
        }
        let rows = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let rows = rows.map(|line| {
            let mut ids = line.split_whitespace().map(str::parse);
            Ok((ids.next().ok_or("too few columns")??, ids.next().ok_or("too few columns")??))
        });
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { name, rows: rows.collect::<Result<_>>()? })
    }

    /// Few users have most followers and follow most, as in real graphs; who they are does not show in their ids.
    fn generate() -> Self {
        let mut random = StdRng::seed_from_u64(SEED);
        let mut someone = |scramble: u64| {
            let rank = (random.random::<f64>().powi(2) * USERS as f64) as u64;
            (rank * scramble % USERS) as u32
        };
        let mut rows: Vec<(u32, u32)> = (0..EDGES).map(|_| (someone(40_009), someone(61_001))).collect();
        rows.retain(|(follower, followee)| follower != followee);
        rows.sort_unstable();
        rows.dedup();
        Self { name: "generated power-law graph".to_owned(), rows }
    }

    /// The same rows in another order.
    pub(crate) fn shuffled(&self) -> Self {
        let mut rows = self.rows.clone();
        rows.shuffle(&mut StdRng::seed_from_u64(SEED));
        Self { name: self.name.clone(), rows }
    }

    /// How many edges it has: rows of two different users, of which there are no two alike.
    pub(crate) fn edges(&self) -> u64 {
        self.rows.iter().filter(|(follower, followee)| follower != followee).count() as u64
    }

    /// Writes it as a file for `socialgraph import --id-offset 1`.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let mut file = BufWriter::new(fs::File::create(path)?);
        for (follower, followee) in &self.rows {
            writeln!(file, "{follower}\t{followee}")?;
        }
        Ok(file.flush()?)
    }
}
