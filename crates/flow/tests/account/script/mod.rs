//! The language of the scripts: see the crate's documentation.

mod events;
mod facts;
mod words;

use std::collections::BTreeSet;

use paceline_cc::{EcnFeedback, Signals, Time};
use paceline_flow::{Account, AccountConfig, LossRecovery, RtoBounds};

use self::facts::EventOutcome;
use self::words::{millis, show_millis, show_numbers};

/// Size of every packet in bytes.
pub(crate) const SIZE: u32 = 1500;

/// An account, and its surroundings in a script.
pub(crate) struct Script {
    config: AccountConfig,
    account: Account,
    /// The controller's window in bytes; a thousand packets unless a script sets it.
    window: u64,
    /// Segment of each packet sent.
    segments: Vec<u64>,
    /// The segments that have arrived, beyond those below `cumulative`.
    arrived: BTreeSet<u64>,
    cumulative: u64,
    /// The account's answer to the last event.
    told: EventOutcome,
}

/// Returns a connection that retransmits lost data.
pub(crate) fn stream() -> Script {
    Script::new(AccountConfig::stream(SIZE))
}

/// Returns a connection that retransmits nothing.
pub(crate) fn datagrams() -> Script {
    Script::new(AccountConfig::datagrams(SIZE))
}

impl Script {
    fn new(mut config: AccountConfig) -> Script {
        config.signals = Signals::FATES.and(Signals::DELIVERY_RATE).and(Signals::ECN);
        Script {
            account: Account::new(config.clone()),
            config,
            window: 1000 * u64::from(SIZE),
            segments: Vec::new(),
            arrived: BTreeSet::new(),
            cumulative: 0,
            told: EventOutcome::default(),
        }
    }

    /// Changes the configuration, before the first line.
    fn with(self, set: impl FnOnce(&mut AccountConfig)) -> Script {
        let mut config = self.config;
        set(&mut config);
        Script::new(config)
    }

    /// Sets how the receiver reports congestion marks.
    pub(crate) fn ecn(self, form: EcnFeedback) -> Script {
        self.with(|config| config.ecn = form)
    }

    /// Sets the bounds of the retransmission timeout.
    pub(crate) fn rto(self, bounds: RtoBounds) -> Script {
        self.with(|config| config.rto = bounds)
    }

    /// Detects losses and sets timers by RFC 9002's rules instead of Linux'.
    pub(crate) fn rfc9002(self) -> Script {
        self.with(|config| config.recovery = LossRecovery::Rfc9002)
    }

    /// The receiver asks this many times for a lost packet.
    pub(crate) fn requests(self, most: u32) -> Script {
        self.with(|config| config.requests = most)
    }

    /// Turns tail probes off.
    pub(crate) fn without_probes(self) -> Script {
        self.with(|config| config.probes = false)
    }

    /// Plays the lines of a script; can be called again with further lines.
    #[track_caller]
    pub(crate) fn run(mut self, script: &str) -> Script {
        for line in script.lines() {
            let text = line.split('#').next().unwrap_or("").trim();
            if text.is_empty() {
                continue;
            }
            if let Err(problem) = self.line(text) {
                panic!("in the line\n    {}\n{problem}", line.trim());
            }
        }
        self
    }

    fn line(&mut self, text: &str) -> Result<(), String> {
        let (event, expected) = text.split_once("->").unwrap_or((text, ""));
        let (time, event) = event.trim().split_once(' ').ok_or("an event is missing")?;
        let now = Time::ZERO + millis(time)?;
        let (word, rest) = event.trim().split_once(' ').unwrap_or((event.trim(), ""));
        let timer = matches!(word, "timeout" | "probe" | "loss-timer" | "request");
        let deadline = self.account.deadline();
        // After an undo the deadline of a loss may have passed already.
        let unexpected = if timer { deadline > now } else { deadline < now };
        if unexpected {
            return Err(format!("the deadline is at {}", show_millis(deadline.since(Time::ZERO))));
        }
        self.event(now, word, rest.trim())?;
        self.judge(word, expected)
    }

    /// Compares the account's answer with the expectation of a line.
    fn judge(&self, word: &str, expected: &str) -> Result<(), String> {
        let mut named = Vec::new();
        for expectation in expected.split(',').map(str::trim).filter(|text| !text.is_empty()) {
            let (name, expected) = expectation.split_once(' ').unwrap_or((expectation, ""));
            let fact = self.told.fact(name).or_else(|| self.fact(name));
            let fact = fact.ok_or_else(|| format!("`{name}` is nothing that can be expected"))?;
            if fact != expected.trim() {
                return Err(format!("{name} is {fact}"));
            }
            named.push(name);
        }
        if !named.contains(&"lost") && !self.told.lost.is_empty() {
            return Err(format!("lost is {}", show_numbers(&self.told.lost)));
        }
        let unnamed = !named.contains(&"congestion") && word != "timeout";
        match self.told.fact("congestion") {
            Some(fact) if unnamed && fact != "none" => Err(format!("congestion is {fact}")),
            _ => Ok(()),
        }
    }
}
