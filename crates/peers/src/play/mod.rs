//! Plays a script: gives its inputs to a sender, and compares the sender's segments with those that
//! the script expects. Continues after a difference.
//!
//! Adjacent segments that leave together count as one, because segmentation offload is the host's
//! decision.

mod expect;
mod handshake;

use std::collections::BTreeMap;

use paceline_cc::Span;

use crate::script::{Event, Script, Segment, What, When, python};
use crate::tcp::{Acknowledgement, Tcp};
use handshake::{Connection, connect};

/// Schemes in place of Linux' congestion controls.
#[derive(Clone, Debug)]
pub struct Schemes {
    /// Scheme for `cubic`.
    pub cubic: String,
    /// Scheme for `reno`.
    pub reno: String,
}

impl Default for Schemes {
    /// Cubic with Linux' growth and whole packets; NewReno.
    fn default() -> Schemes {
        Schemes {
            cubic: "cubic[growth=linux,whole_packets=true]".to_string(),
            reno: "newreno".to_string(),
        }
    }
}

/// A remark on a line of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// Line in the script, from 1.
    pub line: usize,
    /// Text of the remark.
    pub text: String,
}

/// Result of a script.
#[derive(Clone, Debug, Default)]
pub struct Played {
    /// Number of segments and assertions that agree with the script.
    pub held: usize,
    /// Segments and assertions that differ.
    pub differences: Vec<Remark>,
    /// Parts of the script that were not compared.
    pub not_compared: Vec<Remark>,
    /// Line and reason of an early end of the script.
    pub stopped: Option<Remark>,
}

impl Played {
    /// True if there is no difference and at least one comparison.
    pub fn holds(&self) -> bool {
        self.differences.is_empty() && self.held > 0
    }

    fn differ(&mut self, line: usize, text: String) {
        self.differences.push(Remark { line, text });
    }
}

/// Plays a script from its beginning, and compares.
pub fn play(script: &Script, schemes: &Schemes) -> Played {
    let mut player = match Player::new(script, schemes, None) {
        Ok(player) => player,
        Err(stopped) => return Played { stopped: Some(stopped), ..Played::default() },
    };
    player.run(&mut |_, _| {});
    player.played
}

/// Times of a recording's inputs.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// Time of each event of the script since the SYN.
    pub times: Vec<Span>,
    /// Time that the kernel's tick count had reached at the SYN; `None` if timers are to expire
    /// exactly.
    pub uptime: Option<Span>,
}

/// Plays a script's inputs at the times of `inputs`; calls `see` with the sender after each event
/// that expects no segment.
pub fn play_inputs(
    script: &Script,
    schemes: &Schemes,
    inputs: &Inputs,
    see: &mut dyn FnMut(usize, &mut Tcp),
) -> Played {
    let mut player = match Player::new(script, schemes, Some(inputs)) {
        Ok(player) => player,
        Err(stopped) => return Played { stopped: Some(stopped), ..Played::default() },
    };
    player.run(see);
    player.played
}

/// A script in progress.
struct Player<'a> {
    script: &'a Script,
    connection: Connection,
    tcp: Tcp,
    /// Times of the events, if they are not the script's own.
    times: Option<&'a [Span]>,
    played: Played,
    /// Variables of the script's Python code.
    names: BTreeMap<String, f64>,
    /// Time of the previous event.
    last: Span,
    /// Sequence number at which the receiver's window ends, once it is known. The sender itself has
    /// no such limit.
    limit: Option<u64>,
}

impl<'a> Player<'a> {
    fn new(
        script: &'a Script,
        schemes: &Schemes,
        inputs: Option<&'a Inputs>,
    ) -> Result<Player<'a>, Remark> {
        let times = inputs.map(|inputs| &inputs.times[..]);
        let mut connection = connect(script, schemes, times)?;
        connection.terms.uptime = inputs.and_then(|inputs| inputs.uptime);
        let stop = |text: String| Remark { line: connection.line, text };
        let tcp = Tcp::new(&connection.terms).map_err(stop)?;
        let last = connection.terms.established.0;
        let (played, names) = (Played::default(), BTreeMap::new());
        Ok(Player { script, connection, tcp, times, played, names, last, limit: None })
    }

    fn run(&mut self, see: &mut dyn FnMut(usize, &mut Tcp)) {
        for index in self.connection.next_event..self.script.events.len() {
            let event = &self.script.events[index];
            let happened = self.happen(index, event).and_then(|goes_on| {
                let exceeds = self.limit.is_some_and(|limit| limit < self.tcp.sent_end());
                let limited = || "the receiver's window limits the sender".to_string();
                if exceeds { Err(limited()) } else { Ok(goes_on) }
            });
            match happened {
                Ok(true) => {}
                Ok(false) => return,
                Err(text) => {
                    self.played.stopped = Some(Remark { line: event.line, text });
                    return;
                }
            }
            if !matches!(event.what, What::Out(_)) {
                see(event.line, &mut self.tcp);
            }
        }
        // Ignores segments after the last one that is expected, as packetdrill does.
    }

    /// Plays one event; returns false if the script ends here.
    fn happen(&mut self, index: usize, event: &Event) -> Result<bool, String> {
        let (from, to) = match (self.times, event.when) {
            (Some(times), _) => (times[index], times[index]),
            (None, When::At(time)) => (time, time),
            (None, When::After(from, to)) => (self.last + from, self.last + to),
            (None, When::Any) => (self.last, self.last + Span::from_secs(3600)),
        };
        if let What::Out(segment) = &event.what {
            return Ok(self.times.is_some() || self.expect(event.line, segment, from, to));
        }
        self.tcp.advance(from);
        self.last = self.tcp.now();
        match &event.what {
            What::In(segment) => self.take(segment),
            What::Python(code) => {
                self.judge(event.line, code);
                Ok(true)
            }
            What::Call(name, arguments, result) => self.call(name, arguments, result),
            What::Shell(command) if command.contains("qdisc") => {
                Err("the host's queue discipline changes".to_string())
            }
            _ => Ok(true),
        }
    }

    /// Gives the sender a segment that arrives.
    fn take(&mut self, segment: &Segment) -> Result<bool, String> {
        if segment.is_of_state() {
            return Ok(false);
        }
        let ack = segment.ack.unwrap_or(0);
        let echoed = segment.options.timestamp.and_then(|(_, echo)| self.connection.left_at(echo));
        let sacks = &segment.options.sacks;
        self.tcp.acknowledge(&Acknowledgement { ack, sacks, ece: segment.has('E'), echoed })?;
        let scale = self.connection.window_scale;
        self.limit = segment.window.map(|window| ack.saturating_add(window.min(0xffff) << scale));
        Ok(true)
    }

    /// Plays a system call of the application; returns false if it ends the connection.
    fn call(&mut self, name: &str, arguments: &str, result: &str) -> Result<bool, String> {
        match name {
            "write" | "send" | "sendto" => {
                self.tcp.write(result.parse().unwrap_or(0));
                Ok(true)
            }
            "close" | "shutdown" => Ok(false),
            "accept" | "bind" | "connect" | "fcntl" | "getsockopt" | "listen" | "read"
            | "setsockopt" | "socket" => Ok(true),
            _ => Err(format!("the call {name}({arguments}) is not played")),
        }
    }

    fn judge(&mut self, line: usize, code: &str) {
        let (tcp, names) = (&self.tcp, &mut self.names);
        let judged = python::run(code, names, &|name| tcp.look_up(name));
        self.played.held += judged.held;
        for text in judged.failed {
            self.played.differ(line, text);
        }
        let remarks = judged.unknown.into_iter().map(|text| Remark { line, text });
        self.played.not_compared.extend(remarks);
    }
}
