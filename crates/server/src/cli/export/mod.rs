//! `export`: writes all follows as a file that `import` reads.

mod file;

use std::{
    io::{BufWriter, Write},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use clap::Args;
use serde_json::json;
use socialgraph::v1::{ExportEdgesRequest, ExportEdgesResponse, social_graph_client::SocialGraphClient};
use tonic::{Status, transport::Channel};

use self::file::PartialFile;
use super::{Error, Target, print::Printer, rate, retry::Retries, time};

/// Large enough that system calls do not show beside the formatting.
const BUFFER: usize = 256 * 1024;

/// `export`.
///
/// Each line is FOLLOWER FOLLOWEE TIME, separated by tabs, as `import` reads it; TIME is RFC 3339 to the microsecond. Equal graphs
/// give equal files, in keyspaces of as many partitions. When the server is away, the export waits for up to half a minute and then goes on where it was.
#[derive(Debug, Args)]
pub struct Export {
    /// Where to write, or - for standard output. A file is there only once it is complete
    #[arg(long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    #[command(flatten)]
    pub(super) target: Target,
}

/// What was written.
#[derive(Default)]
struct Written {
    edges: u64,
    followers: u64,
}

impl Export {
    pub(super) async fn run(self, printer: &mut Printer<'_>) -> Result<(), Error> {
        let mut client = SocialGraphClient::new(self.target.connect().await?);
        if self.output == Path::new("-") {
            let mut out = BufWriter::with_capacity(BUFFER, &mut *printer.out);
            copy(&mut client, &mut out, Error::Output).await?;
            return Ok(out.flush()?);
        }
        let begun = Instant::now();
        let failed = |source| Error::Write { path: self.output.clone(), source };
        let mut file = PartialFile::create(&self.output).map_err(failed)?;
        let written = copy(&mut client, file.writer(), failed).await?;
        file.complete().map_err(failed)?;
        report(&written, begun.elapsed(), printer)
    }
}

/// Writes all edges, beginning again where it was when the server was away.
async fn copy(
    client: &mut SocialGraphClient<Channel>,
    out: &mut (dyn Write + Send),
    failed: impl Fn(std::io::Error) -> Error,
) -> Result<Written, Error> {
    let (mut written, mut resume_token, mut retries) = (Written::default(), String::new(), Retries::new());
    loop {
        let mut broken = None;
        match client.export_edges(ExportEdgesRequest { resume_token: resume_token.clone() }).await {
            Err(status) => broken = Some(status),
            Ok(stream) => {
                let mut chunks = stream.into_inner();
                while let Some(chunk) = chunks.message().await.unwrap_or_else(|status| note(&mut broken, status)) {
                    write_chunk(out, &chunk, &mut written).map_err(&failed)?;
                    resume_token = chunk.resume_token;
                    retries.progressed();
                }
            }
        }
        let Some(status) = broken else { return Ok(written) };
        retries
            .wait(status)
            .await
            .map_err(|status| Error::ExportBroken { status: Box::new(status), edges: written.edges })?;
    }
}

fn note(broken: &mut Option<Status>, status: Status) -> Option<ExportEdgesResponse> {
    *broken = Some(status);
    None
}

fn write_chunk(
    out: &mut (dyn Write + Send),
    chunk: &ExportEdgesResponse,
    written: &mut Written,
) -> std::io::Result<()> {
    for follower in &chunk.followers {
        for followee in &follower.followees {
            let at = time::micros(followee.followed_at.unwrap_or_default());
            writeln!(out, "{}\t{}\t{at}", follower.follower_id, followee.user_id)?;
        }
        written.edges += follower.followees.len() as u64;
    }
    written.followers += chunk.followers.len() as u64;
    Ok(())
}

fn report(written: &Written, elapsed: Duration, printer: &mut Printer<'_>) -> Result<(), Error> {
    let Written { edges, followers } = written;
    let (seconds, rate) = (elapsed.as_secs_f64(), rate(*edges, elapsed));
    if printer.json {
        let summary = json!({
            "edges": edges.to_string(),
            "followers": followers.to_string(),
            "elapsed": format!("{seconds:.3}s"),
            "edgesPerSecond": rate.to_string(),
        });
        writeln!(printer.out, "{summary}")?;
    } else {
        writeln!(printer.out, "{edges} edges of {followers} followers in {seconds:.2} s, {rate} edges/s")?;
    }
    Ok(())
}
