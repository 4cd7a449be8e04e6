//! A file transfer over quinn in real time, for `paceline link`.
//!
//! ```sh
//! cargo build --release -p paceline-quic-live --example transfer
//! paceline link --scenario path.toml --summary summary.json \
//!   --outside 'transfer receive' -- transfer send base bbr3 30
//! ```
//! `send HOST CONTROLLER SECONDS [qlog=FILE]` sends to HOST (`base` is the outside of the emulator)
//! as fast as CONTROLLER allows. `own-cubic`, `own-newreno` and `own-bbr` are quinn's own
//! controllers, other names are Paceline's. `receive` reads all data and prints the rate, until it
//! is ended. qlog needs `--features qlog`.
#![allow(clippy::print_stdout)]

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use paceline_quic_live::{NAME, Problem, address, option, receiver, sender};

/// Bytes of one write.
static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Problem> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let qlog = option(&mut arguments, "qlog");
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["receive"] => receive(SocketAddr::from(([0, 0, 0, 0], 4433))).await,
        ["send", host, name, seconds] => {
            let seconds = Duration::from_secs_f64(seconds.parse()?);
            send(address(host)?, name, seconds, qlog.as_deref()).await
        }
        _ => Err("transfer receive | transfer send HOST CONTROLLER SECONDS [qlog=FILE]".into()),
    }
}

async fn send(
    to: SocketAddr,
    name: &str,
    seconds: Duration,
    qlog: Option<&str>,
) -> Result<(), Problem> {
    let endpoint = sender(name, qlog)?;
    let connection = endpoint.connect(to, NAME)?.await?;
    let mut stream = connection.open_uni().await?;
    let end = tokio::time::Instant::now() + seconds;
    let mut sent = 0u64;
    // A write waits while the windows do not allow it; the end of the time ends the wait.
    while let Ok(written) = tokio::time::timeout_at(end, stream.write(&ZEROS)).await {
        sent += written? as u64;
    }
    let path = connection.stats().path;
    println!(
        "{name}: {:.2} Mbit/s written, {} of {} packets lost, RTT {:.1} ms",
        sent as f64 * 8.0 / seconds.as_secs_f64() / 1e6,
        path.lost_packets,
        path.sent_packets,
        path.rtt.as_secs_f64() * 1e3
    );
    // Drops data that was not sent. A reset is repeated if it is lost in a full queue; a close is
    // not.
    let _ = stream.reset(0u32.into());
    tokio::time::sleep(Duration::from_millis(300)).await;
    connection.close(0u32.into(), b"done");
    let _ = tokio::time::timeout(Duration::from_millis(200), endpoint.wait_idle()).await;
    Ok(())
}

async fn receive(at: SocketAddr) -> Result<(), Problem> {
    let endpoint = receiver(at)?;
    while let Some(incoming) = endpoint.accept().await {
        let connection = incoming.await?;
        let mut stream = connection.accept_uni().await?;
        let (start, mut received) = (Instant::now(), 0u64);
        // An error means that the sender has reset the stream or closed the connection.
        while let Ok(Some(chunk)) = stream.read_chunk(usize::MAX, true).await {
            received += chunk.bytes.len() as u64;
        }
        let seconds = start.elapsed().as_secs_f64();
        println!("received {received} bytes, Mbit/s {:.2}", received as f64 * 8.0 / seconds / 1e6);
    }
    Ok(())
}
