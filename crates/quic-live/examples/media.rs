//! A media-like stream over quinn in real time, for `paceline link`: 30 frames per second, each on
//! a stream of its own, as Media over QUIC sends groups.
//!
//! ```sh
//! paceline link --scenario path.toml --outside 'media receive' -- media send base copa 30 2.5
//! ```
//! `send HOST CONTROLLER SECONDS MBPS [qlog=FILE]` sends frames of MBPS / 30. A frame that is not
//! sent when 15 later ones are ready is dropped (its stream is reset), as in live media. `receive`
//! prints the number of complete frames and their delays, from the creation of a frame to the
//! arrival of its last byte, by the clock of the machine on which both ends run.
#![allow(clippy::print_stdout)]

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use paceline_quic_live::{NAME, Problem, address, option, receiver, sender};
use tokio::task::JoinHandle;

/// Frames per second.
const FPS: f64 = 30.0;
/// Most frames in flight: half a second.
const MOST: usize = 15;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Problem> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let qlog = option(&mut arguments, "qlog");
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["receive"] => receive(SocketAddr::from(([0, 0, 0, 0], 4433))).await,
        ["send", host, name, seconds, mbps] => {
            let frame = (mbps.parse::<f64>()? * 1e6 / 8.0 / FPS) as usize;
            let frames = (seconds.parse::<f64>()? * FPS) as usize;
            send(address(host)?, name, (frames, frame.max(8)), qlog.as_deref()).await
        }
        _ => Err("media receive | media send HOST CONTROLLER SECONDS MBPS [qlog=FILE]".into()),
    }
}

/// Returns the machine's clock in nanoseconds.
fn clock() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

async fn send(
    to: SocketAddr,
    name: &str,
    (frames, size): (usize, usize),
    qlog: Option<&str>,
) -> Result<(), Problem> {
    let endpoint = sender(name, qlog)?;
    let connection = endpoint.connect(to, NAME)?.await?;
    let mut ticks = tokio::time::interval(Duration::from_secs_f64(1.0 / FPS));
    let mut sending: VecDeque<JoinHandle<()>> = VecDeque::new();
    let mut given_up = 0;
    for _ in 0..frames {
        ticks.tick().await;
        let mut frame = vec![0; size];
        frame[..8].copy_from_slice(&clock().to_le_bytes());
        sending.retain(|task| !task.is_finished());
        if sending.len() >= MOST
            && let Some(oldest) = sending.pop_front()
        {
            // Dropping an unfinished stream resets it.
            oldest.abort();
            given_up += 1;
        }
        let connection = connection.clone();
        sending.push_back(tokio::spawn(async move {
            let Ok(mut stream) = connection.open_uni().await else { return };
            if stream.write_all(&frame).await.is_err() || stream.finish().is_err() {
                return;
            }
            // Waits until the frame is acknowledged.
            let _ = stream.stopped().await;
        }));
    }
    for task in sending {
        let _ = tokio::time::timeout(Duration::from_secs(1), task).await;
    }
    println!("{name}: {frames} frames made, {given_up} given up");
    connection.close(0u32.into(), b"done");
    let _ = tokio::time::timeout(Duration::from_millis(200), endpoint.wait_idle()).await;
    Ok(())
}

async fn receive(at: SocketAddr) -> Result<(), Problem> {
    let endpoint = receiver(at)?;
    while let Some(incoming) = endpoint.accept().await {
        let connection = incoming.await?;
        let mut reading = Vec::new();
        // An error means that the sender has closed the connection.
        while let Ok(mut stream) = connection.accept_uni().await {
            reading.push(tokio::spawn(async move {
                let frame = stream.read_to_end(1 << 24).await.ok()?;
                let made = u64::from_le_bytes(frame.get(..8)?.try_into().ok()?);
                Some(clock().saturating_sub(made) as f64 / 1e6)
            }));
        }
        let mut delays = Vec::new();
        for task in reading {
            delays.extend(task.await.ok().flatten());
        }
        delays.sort_by(f64::total_cmp);
        let quantile = |share: f64| {
            let at = (delays.len() as f64 * share) as usize;
            delays.get(at.min(delays.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
        };
        println!(
            "received frames {}, delay ms median {:.1}, p95 {:.1}, p99 {:.1}",
            delays.len(),
            quantile(0.5),
            quantile(0.95),
            quantile(0.99)
        );
    }
    Ok(())
}
