//! A trial that was played, as a script in packetdrill's language and a recording of Linux
//! ([`crate::linux`]).

use std::fmt::Write as _;

use paceline_cc::Span;
use paceline_os::tcp_info::TcpInfo;

use super::receiver::Answer;
use super::segment::{WINDOW, WINDOW_SCALE};
use super::trial::Trial;

/// The kernel's timestamp in its SYN-ACK, as written in scripts.
const FIRST_TIMESTAMP: u32 = 1000;

/// Texts of a script and its recording.
#[derive(Clone, Debug)]
pub struct Files {
    /// Name of the script, without extension.
    pub name: String,
    /// The script.
    pub script: String,
    /// The recording.
    pub recording: String,
    timestamps: bool,
    ecn: bool,
    /// Line of the last input.
    line: usize,
}

impl Files {
    /// Begins with a comment about the trial, and the kernel's settings.
    pub(super) fn new(trial: &Trial) -> Files {
        let (timestamps, ecn) = (trial.timestamps, trial.ecn);
        let mut files = Files {
            name: trial.name.clone(),
            script: String::new(),
            recording: String::new(),
            timestamps,
            ecn,
            line: 0,
        };
        let (control, rtt) = (trial.control.name(), trial.rtt.as_millis_f64());
        files.add(&format!(
            "// {control}, RTT {rtt:.1} ms; inputs as a receiver gave them to Linux."
        ));
        let settings = format!(
            "net.ipv4.tcp_congestion_control={control} net.ipv4.tcp_slow_start_after_idle=1 net.ipv4.tcp_ecn=2"
        );
        files.add(&format!("`sysctl -q {settings}`"));
        files
    }

    fn add(&mut self, line: &str) {
        self.script.push_str(line);
        self.script.push('\n');
        self.line += 1;
    }

    /// Adds the SYN, which begins the script at time 0.
    pub(super) fn syn(&mut self, mss: u16) {
        let flags = if self.ecn { "SEW" } else { "S" };
        let timestamp = if self.timestamps { "TS val 1 ecr 0,nop," } else { "nop," };
        self.add(&format!(
            "0.000000 < {flags} 0:0(0) win {WINDOW} <mss {mss},sackOK,{timestamp}wscale {WINDOW_SCALE}>"
        ));
    }

    /// Adds the time that the kernel's tick count had reached at the SYN.
    pub(super) fn uptime(&mut self, uptime: Span) {
        let _ = writeln!(self.recording, "T {:.3}", uptime.as_millis_f64());
    }

    /// Adds the kernel's SYN-ACK.
    pub(super) fn syn_ack(&mut self, time: Span, ece: bool) {
        let flags = if ece { "SE." } else { "S." };
        let timestamp = match self.timestamps {
            true => format!("TS val {FIRST_TIMESTAMP} ecr 1,"),
            false => "nop,nop,".to_string(),
        };
        self.add(&format!(
            "{} > {flags} 0:0(0) ack 1 <mss 1460,sackOK,{timestamp}nop,wscale 10>",
            seconds(time)
        ));
    }

    /// Adds an acknowledgement; `echo` is the echoed timestamp minus the SYN-ACK's timestamp.
    pub(super) fn acknowledgement(&mut self, time: Span, answer: &Answer, echo: u32) {
        let mut options = Vec::new();
        if self.timestamps {
            let value = 1 + time.as_millis_f64() as u32;
            options.push(format!("TS val {value} ecr {}", FIRST_TIMESTAMP.wrapping_add(echo)));
        }
        if !answer.sacks.is_empty() {
            let blocks: Vec<String> =
                answer.sacks.iter().map(|(first, end)| format!("{first}:{end}")).collect();
            options.push(format!("sack {}", blocks.join(" ")));
        }
        let options = match options.is_empty() {
            true => String::new(),
            false => format!(" <{}>", options.join(",")),
        };
        let flags = if answer.ece { "E." } else { "." };
        let (time, ack) = (seconds(time), answer.ack);
        self.add(&format!("{time} < {flags} 1:1(0) ack {ack} win {WINDOW}{options}"));
    }

    /// Adds a write of the application.
    pub(super) fn write(&mut self, time: Span, bytes: u64) {
        self.add(&format!("{} write(4, ..., {bytes}) = {bytes}", seconds(time)));
    }

    /// Adds data that the kernel has sent.
    pub(super) fn sent(&mut self, time: Span, range: (u64, u64)) {
        let _ = writeln!(self.recording, "S {:.3} {} {}", time.as_millis_f64(), range.0, range.1);
    }

    /// Adds the kernel's state after the last input.
    pub(super) fn state(&mut self, info: &TcpInfo) {
        let TcpInfo { cwnd, ssthresh, ca_state, unacked, sacked, lost, retrans, rto } = info;
        let (line, rto) = (self.line, rto.as_millis());
        let _ = writeln!(
            self.recording,
            "@ {line} {cwnd} {ssthresh} {ca_state} {unacked} {sacked} {lost} {retrans} rto {rto}"
        );
    }
}

fn seconds(time: Span) -> String {
    format!("{:.6}", time.as_secs_f64())
}
