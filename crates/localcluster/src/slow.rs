//! Makes a way to a server long.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    join,
    net::{
        TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::mpsc,
    time::{Instant, sleep_until},
};

/// Passes everything on between two connections, either way later by the same time, until both ways end.
pub async fn connect_slowly(one: TcpStream, other: TcpStream, delay: Duration) {
    if one.set_nodelay(true).and_then(|()| other.set_nodelay(true)).is_err() {
        return;
    }
    let (from_one, to_one) = one.into_split();
    let (from_other, to_other) = other.into_split();
    join!(forward(from_one, to_other, delay), forward(from_other, to_one, delay));
}

/// Delays each piece by the same time, however many are under way.
async fn forward(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, delay: Duration) {
    let (sender, mut under_way) = mpsc::unbounded_channel::<(Instant, Vec<u8>)>();
    let read = async move {
        loop {
            let mut piece = Vec::with_capacity(64 * 1024);
            match from.read_buf(&mut piece).await {
                Ok(0) | Err(_) => break,
                Ok(_) if sender.send((Instant::now() + delay, piece)).is_err() => break,
                Ok(_) => {}
            }
        }
    };
    let write = async move {
        while let Some((due, piece)) = under_way.recv().await {
            sleep_until(due).await;
            if to.write_all(&piece).await.is_err() {
                break;
            }
        }
    };
    join!(read, write);
}
