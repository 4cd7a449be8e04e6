//! Shows how Paceline's sender responds to the inputs of a script, beside a recording of Linux if
//! there is one: `cargo run -p paceline-peers --example trace -- SCRIPT.pkt`. `SCRIPT.linux` is the
//! recording.

#![allow(clippy::print_stdout)]

use std::path::PathBuf;
use std::{env, fs};

use paceline_peers::linux::{Recording, inputs, read};
use paceline_peers::play::{Schemes, play, play_inputs};
use paceline_peers::script;
use paceline_peers::tcp::Tcp;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = PathBuf::from(env::args().nth(1).ok_or("usage: trace SCRIPT.pkt")?);
    let script = script::read(&fs::read_to_string(&path)?)?;
    let schemes = Schemes::default();
    let Ok(text) = fs::read_to_string(path.with_extension("linux")) else {
        let played = play(&script, &schemes);
        for remark in played.differences.iter().chain(&played.not_compared).chain(&played.stopped) {
            println!("line {}: {}", remark.line, remark.text);
        }
        println!("{} held, {} differ", played.held, played.differences.len());
        return Ok(());
    };
    let recording = read(&text)?;
    let inputs = inputs(&script, &recording);
    play_inputs(&script, &schemes, &inputs, &mut |line, tcp| show(line, tcp, &recording));
    Ok(())
}

/// Prints the segments that have left since the previous input, and the states of both senders
/// after the input in `line`.
fn show(line: usize, tcp: &mut Tcp, recording: &Recording) {
    while let Some(left) = tcp.departed().pop_front() {
        println!("S {:.1} {} {}", left.time.as_millis_f64(), left.range.0, left.range.1);
    }
    println!("line {line}, {:.1} ms: {:?}", tcp.now().as_millis_f64(), tcp.info());
    if let Some(state) = recording.states.iter().find(|state| state.line == line) {
        println!("  Linux {:?}", state.info);
    }
}
