use std::time::{SystemTime, UNIX_EPOCH};

use futures::stream;
use prost_types::Timestamp;
use rand::Rng;
use socialgraph::v1::{ImportEdgesRequest, ImportEdgesResponse};
use tonic::Request;

use super::{State, Worker};

const MICROS: i64 = 1_000_000;
const MOST_ROWS: usize = 40;

/// When a row says that its follow began.
#[derive(Clone, Copy, Debug)]
enum Begin {
    Now,
    Past(i64),
    Future(i64),
}

impl Worker {
    /// Imports some rows, reads them back and checks them.
    pub(super) async fn import(&mut self) {
        let rows: Vec<_> = (0..self.random.random_range(1..=MOST_ROWS)).map(|_| (self.edge(), self.begin())).collect();
        let own = self.follower();
        let selves = self.random.random_range(0..3);
        let mut expected = ImportEdgesResponse { self_: selves, ..Default::default() };
        let mut created = Vec::new();
        // Rows that are superseded, and of which a later row makes the edge: if all are sent again, the edge is there before them.
        let (mut superseded, mut perhaps_existing) = (Vec::new(), 0);
        for (edge, begin) in &rows {
            let twice = created.iter().any(|(made, _)| made == edge);
            match (self.knows(*edge).state, begin) {
                _ if twice => expected.existing += 1,
                (State::Present(_), _) => expected.existing += 1,
                (State::Left, Begin::Past(_)) => {
                    expected.superseded += 1;
                    superseded.push(*edge);
                }
                (State::Left, Begin::Now | Begin::Future(_)) | (State::Never, _) => {
                    expected.created += 1;
                    perhaps_existing += superseded.iter().filter(|row| *row == edge).count() as i64;
                    created.push((*edge, *begin));
                }
            }
        }

        let requests = rows.iter().map(|(edge, begin)| request(*edge, *begin));
        let requests: Vec<_> = requests.chain((0..selves).map(|_| request((own, own), Begin::Now))).collect();
        let answer = self.caller.call(requests, |mut c, r| async move {
            let (metadata, extensions, rows) = r.into_parts();
            c.import_edges(Request::from_parts(metadata, extensions, stream::iter(rows))).await
        });
        let answer = answer.await;
        let denied = expected.created - answer.message.created;
        let late = expected.superseded - answer.message.superseded;
        if (1..=perhaps_existing).contains(&late) {
            expected.superseded -= late;
            expected.existing += late;
        }
        let counts = |i: &ImportEdgesResponse| [i.superseded, i.self_, i.invalid, i.over_limit, i.created + i.existing];
        assert_eq!(counts(&answer.message), counts(&expected), "{rows:?}: {answer:?}", answer = answer.message);
        assert!(denied >= 0, "{rows:?}: {:?}, expected {expected:?}", answer.message);
        (0..denied).for_each(|_| self.check_change(false, answer.attempts));
        for (edge, begin) in created {
            self.learn_imported(edge, begin).await;
        }
    }

    fn begin(&mut self) -> Begin {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_micros() as i64;
        match self.random.random_range(0..3) {
            0 => Begin::Now,
            1 => Begin::Past(now - self.random.random_range(3_600..10_000_000) * MICROS),
            _ => Begin::Future(now + self.random.random_range(1..5) * MICROS),
        }
    }

    async fn learn_imported(&mut self, edge: (i64, i64), begin: Begin) {
        let at = self.since(edge, false).await.unwrap_or_else(|| panic!("{edge:?} was imported and is not there"));
        match begin {
            Begin::Past(begin) => assert_eq!(at, begin, "{edge:?}"),
            Begin::Future(begin) => assert!(at <= begin, "{edge:?} begins later than told"),
            Begin::Now => {}
        }
        // An import does not tell whether its second half is done.
        let known = self.knows(edge).present(at, false);
        self.learn(edge, known);
    }
}

fn request(edge: (i64, i64), begin: Begin) -> ImportEdgesRequest {
    let followed_at = match begin {
        Begin::Now => None,
        Begin::Past(at) | Begin::Future(at) => {
            Some(Timestamp { seconds: at / MICROS, nanos: (at % MICROS) as i32 * 1_000 })
        }
    };
    ImportEdgesRequest { follower_id: edge.0, followee_id: edge.1, followed_at, import_id: String::new() }
}
