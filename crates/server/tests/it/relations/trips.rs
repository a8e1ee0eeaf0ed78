//! How often a call goes to Redis and waits: a proxy delays every byte, and the time tells.

use std::time::{Duration, Instant};

use localcluster::connect_slowly;
use socialgraph::v1::{Consistency, GetRelationshipsRequest, consistency::Requirement};

use super::book::{BEGIN, Book};
use tasks::Tasks;
use tokio::net::{TcpListener, TcpStream};

use crate::support::{Backend, LIMIT, Place, run};

/// How long everything takes each way.
const DELAY: Duration = Duration::from_millis(60);
const CALLS: usize = 5;
const ME: i64 = 1;

/// A slow way to a server, as `redis.urls` takes it. Ends with the tasks.
async fn slow_way(server: String, tasks: &Tasks) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let ways = tasks.clone();
    tasks.spawn_once("proxy", async move {
        let token = ways.token();
        while let Some(Ok((client, _))) = token.run_until_cancelled(listener.accept()).await {
            let server = TcpStream::connect(&server).await.unwrap();
            let token = token.clone();
            ways.spawn_once("proxy-way", async move {
                token.run_until_cancelled(connect_slowly(client, server, DELAY)).await;
            });
        }
    });
    address
}

/// The least number of round trips of some calls, and a part of one.
async fn trips(call: impl AsyncFn()) -> f64 {
    let mut least = f64::MAX;
    for _ in 0..CALLS {
        let started = Instant::now();
        call().await;
        least = least.min(started.elapsed().as_secs_f64() / (2 * DELAY).as_secs_f64());
    }
    least
}

#[test]
fn relationships_of_200_take_two_round_trips() {
    run(Backend::Single, relationships_of_200);
}

async fn relationships_of_200(place: Place) {
    let mut book = Book::default();
    let near = place.serve(&[]).await;
    // Targets with lists of several segments, in which the edge to the viewer is the oldest; the viewer has one as well.
    let targets: Vec<i64> = (1_000..1_200).collect();
    book.import(&near, targets.iter().flat_map(|&id| [(id, ME, BEGIN), (ME, id, BEGIN + id)])).await;
    book.import(&near, (2_000..2_300).map(|id| (ME, id, BEGIN + 10_000 + id))).await;
    let far_off = targets[..5].iter().flat_map(|&id| (5_000..5_300).map(move |other| (id, other, BEGIN + other)));
    book.import(&near, far_off).await;
    let token = near.follow(ME, 9_999).await.consistency_token;

    let tasks = Tasks::new();
    let proxy = slow_way(place.redis.urls(), &tasks).await;
    let far = place.serve(&[("redis.urls", &proxy), ("relay.interval", "1m"), ("relay.lease", "3m")]).await;
    book.check_relationships(&far, ME, &targets).await;
    let long = trips(async || book.check_relationships(&far, ME, &targets).await).await;
    assert!((2.0..2.9).contains(&long), "{long} round trips");
    let short = trips(async || book.check_relationships(&far, ME, &[2_299, 3, 4, 3]).await).await;
    assert!((1.0..1.9).contains(&short), "{short} round trips");
    // To look for a write costs none.
    let fresh = trips(async || {
        let consistency = Some(Consistency { requirement: Some(Requirement::AtLeastAsFresh(token.clone())) });
        let request = GetRelationshipsRequest { viewer_id: ME, target_ids: vec![9_999], consistency };
        assert!(far.social().get_relationships(request).await.unwrap().into_inner().relationships[0].following);
    })
    .await;
    assert!((1.0..1.9).contains(&fresh), "{fresh} round trips");
    far.stop().await;
    tasks.shutdown(LIMIT).await.unwrap();
}
