//! `import`: streams a file of follows through one `ImportEdges` call.
//!
//! A thread parses the file and hands batches over a bounded channel to the request stream, which the connection drains as
//! fast as the server takes rows; so memory stays bounded for files of any size.

mod input;
mod line_map;
mod lines;
mod parse;
mod progress;
mod report;
mod row;

use std::{
    path::{Path, PathBuf},
    thread,
    time::Instant,
};

use clap::Args;
use futures::StreamExt;
use socialgraph::v1::{ImportEdgesResponse, social_graph_client::SocialGraphClient};
use tokio::sync::{mpsc, oneshot};
use tonic::{Status, transport::Channel};

use self::{
    input::Input,
    parse::{Parsed, parse},
    progress::Progress,
    report::{Problem, Report},
};
use super::{Error, Target, print::Printer, rate, retry::Retries};

/// Batches between the parser and the connection: enough that neither waits for the other's hiccups.
const CHANNEL: usize = 8;
/// How many problem lines are named. The server names as many.
const SHOWN_PROBLEMS: usize = 100;

/// `import`.
///
/// Each line of FILE is a row: FOLLOWER FOLLOWEE [TIME], separated by a tab, a comma or spaces. Blank lines and lines that
/// begin with # are skipped. TIME is RFC 3339, or Unix time whose unit is told by its magnitude: 10 digits are seconds,
/// 13 milliseconds, 16 microseconds; without it, a follow begins now. A row that cannot be read is counted and named by its
/// line and does not stop the import.
///
/// FILE may be compressed with gzip. Importing a file again changes nothing, so that an import that broke is completed by
/// running it again. With an id, that skips what was written, and the import of a file goes on by itself when the server was
/// away for up to half a minute.
#[derive(Debug, Args)]
pub struct Import {
    /// The file, or - for standard input
    file: PathBuf,
    /// Added to both ids of each row, such as 1 for a file whose ids begin at 0
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    id_offset: i64,
    /// Names the import, for the server to skip what it has written of it; letters, digits, _, . and -, at most 64
    #[arg(long, value_name = "ID")]
    import_id: Option<String>,
    #[command(flatten)]
    pub(super) target: Target,
}

impl Import {
    pub(super) async fn run(self, printer: &mut Printer<'_>) -> Result<(), Error> {
        let mut input = Input::open(&self.file)?;
        let mut client = SocialGraphClient::new(self.target.connect().await?);
        let (begun, mut retries, mut most_sent) = (Instant::now(), Retries::new(), 0);
        loop {
            let progress = Progress::start(input.size, !self.target.json);
            let status = match self.attempt(&mut client, input, &progress).await? {
                (Ok(answer), mut parsed) => {
                    Report::new(&answer, &mut parsed, begun.elapsed()).print(printer.out, printer.json)?;
                    if let Some((line, source)) = parsed.failure {
                        return Err(Error::Truncated { line, source });
                    }
                    return check_counts(progress.sent(), &answer);
                }
                (Err(status), _) => status,
            };
            if progress.sent() > most_sent {
                most_sent = progress.sent();
                retries.progressed();
            }
            // Without an id everything would be written again, and standard input cannot be read again.
            let may_resume = self.import_id.is_some() && self.file != Path::new("-");
            let given_up = if may_resume { retries.wait(status).await.err() } else { Some(status) };
            if let Some(status) = given_up {
                let (sent, line) = (progress.sent(), progress.line());
                return Err(Error::ImportBroken { status: Box::new(status), sent, line });
            }
            input = Input::open(&self.file)?;
        }
    }

    /// Sends the file once. What was parsed is known only of a call that was answered.
    async fn attempt(
        &self,
        client: &mut SocialGraphClient<Channel>,
        input: Input,
        progress: &Progress,
    ) -> Result<(Result<ImportEdgesResponse, Status>, Parsed), Error> {
        let (sender, batches) = mpsc::channel(CHANNEL);
        let (done, parsed) = oneshot::channel();
        let offset = self.id_offset;
        // Not the runtime's blocking pool, which the process waits for when it ends: a read from a pipe may take for ever.
        thread::Builder::new()
            .name("import-parser".to_owned())
            .spawn(move || done.send(parse(input, offset, &sender)))
            .map_err(|_| Error::Internal("no thread for the parser"))?;

        let mut import_id = self.import_id.clone();
        let rows = progress.count(batches).map(move |mut row| {
            // That of the first row counts.
            row.import_id = import_id.take().unwrap_or_default();
            row
        });
        let answer = client.import_edges(rows).await;
        progress.finish();
        match answer {
            Err(status) => Ok((Err(status), Parsed::default())),
            Ok(answer) => {
                let parsed = parsed.await.map_err(|_| Error::Internal("the parser ended without a result"))?;
                Ok((Ok(answer.into_inner()), parsed))
            }
        }
    }
}

/// Holds the server to its promise that every row is counted, so that none is lost unseen.
fn check_counts(sent: u64, answer: &ImportEdgesResponse) -> Result<(), Error> {
    let ImportEdgesResponse {
        created,
        existing,
        superseded,
        self_,
        invalid,
        over_limit,
        unavailable,
        blocked,
        errors: _,
        rows_skipped: _,
    } = answer;
    let counted = created + existing + superseded + self_ + invalid + over_limit + unavailable + blocked;
    if u64::try_from(counted) == Ok(sent) { Ok(()) } else { Err(Error::Miscounted { sent, counted }) }
}
