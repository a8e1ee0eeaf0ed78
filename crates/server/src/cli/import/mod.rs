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

use std::{path::PathBuf, thread};

use clap::Args;
use socialgraph::v1::{ImportEdgesResponse, social_graph_client::SocialGraphClient};
use tokio::sync::{mpsc, oneshot};

use self::{
    input::Input,
    parse::parse,
    progress::Progress,
    report::{Problem, Report},
};
use super::{Error, Target, print::Printer, rate};

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
/// running it again.
#[derive(Debug, Args)]
pub struct Import {
    /// The file, or - for standard input
    file: PathBuf,
    /// Added to both ids of each row, such as 1 for a file whose ids begin at 0
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    id_offset: i64,
    #[command(flatten)]
    pub(super) target: Target,
}

impl Import {
    pub(super) async fn run(self, printer: &mut Printer<'_>) -> Result<(), Error> {
        let input = Input::open(&self.file)?;
        let mut client = SocialGraphClient::new(self.target.connect().await?);
        let progress = Progress::start(input.size, !self.target.json);

        let (sender, batches) = mpsc::channel(CHANNEL);
        let (done, parsed) = oneshot::channel();
        let offset = self.id_offset;
        // Not the runtime's blocking pool, which the process waits for when it ends: a read from a pipe may take for ever.
        thread::Builder::new()
            .name("import-parser".to_owned())
            .spawn(move || done.send(parse(input, offset, &sender)))
            .map_err(|_| Error::Internal("no thread for the parser"))?;

        let answer = client.import_edges(progress.count(batches)).await;
        let elapsed = progress.finish();
        let answer = answer.map_err(|status| Error::ImportBroken {
            status: Box::new(status),
            sent: progress.sent(),
            line: progress.line(),
        })?;
        let mut parsed = parsed.await.map_err(|_| Error::Internal("the parser ended without a result"))?;
        Report::new(answer.get_ref(), &mut parsed, elapsed).print(printer.out, printer.json)?;
        if let Some((line, source)) = parsed.failure {
            return Err(Error::Truncated { line, source });
        }
        check_counts(progress.sent(), answer.get_ref())
    }
}

/// Holds the server to its promise that every row is counted, so that none is lost unseen.
fn check_counts(sent: u64, answer: &ImportEdgesResponse) -> Result<(), Error> {
    let ImportEdgesResponse { created, existing, superseded, self_, invalid, over_limit, unavailable, errors: _ } =
        answer;
    let counted = created + existing + superseded + self_ + invalid + over_limit + unavailable;
    if u64::try_from(counted) == Ok(sent) { Ok(()) } else { Err(Error::Miscounted { sent, counted }) }
}
