//! The language of the scripts: see the crate's documentation.

mod facts;
mod words;

use std::collections::BTreeSet;

use paceline_cc::packet::NO_SEGMENT;
use paceline_cc::{Ack, EcnFeedback, Feedback, Signals, Time};
use paceline_flow::{Account, AccountConfig, Expired, RtoBounds, Sent};

use self::facts::Told;
use self::words::{millis, numbers, show_millis, show_numbers};

/// Bytes of every packet.
pub(crate) const SIZE: u32 = 1500;

/// An account, and what stands around it in a script.
pub(crate) struct Script {
    config: AccountConfig,
    account: Account,
    /// The controller's window in bytes; a thousand packets unless a script says otherwise.
    window: u64,
    /// The segment of each packet sent.
    segments: Vec<u64>,
    /// The segments that have arrived, beyond those below `cumulative`.
    arrived: BTreeSet<u64>,
    cumulative: u64,
    /// What the account said about the last event.
    told: Told,
}

/// A connection that sends lost data again.
pub(crate) fn stream() -> Script {
    Script::new(AccountConfig::stream(SIZE))
}

/// A connection that sends nothing again.
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
            told: Told::default(),
        }
    }

    /// The same with another setting; for before the first line.
    fn with(self, set: impl FnOnce(&mut AccountConfig)) -> Script {
        let mut config = self.config;
        set(&mut config);
        Script::new(config)
    }

    /// How congestion marks come back.
    pub(crate) fn ecn(self, form: EcnFeedback) -> Script {
        self.with(|config| config.ecn = form)
    }

    /// The bounds of the retransmission timeout.
    pub(crate) fn rto(self, bounds: RtoBounds) -> Script {
        self.with(|config| config.rto = bounds)
    }

    /// The tail is not probed.
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
        let timer = matches!(word, "timeout" | "probe" | "loss-timer");
        let deadline = self.account.deadline();
        if deadline < now || (timer && deadline > now) {
            return Err(format!("the deadline is at {}", show_millis(deadline.since(Time::ZERO))));
        }
        self.event(now, word, rest.trim())?;
        self.judge(word, expected)
    }

    fn event(&mut self, now: Time, word: &str, rest: &str) -> Result<(), String> {
        self.told = Told::default();
        match word {
            "send" => {
                for number in numbers(rest)? {
                    self.send(now, number, Sent::segment(self.account.next_segment(), SIZE))?;
                }
            }
            "beat" => self.send(now, numbers(rest)?[0], Sent::empty(64))?,
            "again" | "repeat" => {
                let (old, new) = rest.split_once(" as ").ok_or("`as` is missing")?;
                let (old, new) = (numbers(old)?, numbers(new)?);
                for (old, new) in old.into_iter().zip(new) {
                    let repair = match word {
                        "again" => self.account.take_repair(),
                        _ => self.account.newest(),
                    };
                    let repair = repair.ok_or("there is nothing to be repeated")?;
                    if repair.number != old || repair.segment != self.segments[old as usize] {
                        return Err(format!("it is {repair:?} that is to be repeated"));
                    }
                    self.send(now, new, Sent::again(repair))?;
                }
            }
            "fill" => self.fill(now)?,
            "full" => self.account.on_window_limited(),
            "idle" => self.account.on_app_limited(),
            "window" => self.window = numbers(rest)?[0] * u64::from(SIZE),
            "ack" => self.ack(now, rest)?,
            "timeout" | "probe" | "loss-timer" => self.expire(now, word)?,
            "reconnect" => {
                self.cumulative = numbers(rest)?[0];
                self.arrived.clear();
                self.account.reconnect(self.cumulative);
            }
            "forget-repairs" => self.account.forget_repairs(),
            _ => return Err(format!("`{word}` is no event")),
        }
        Ok(())
    }

    fn send(&mut self, now: Time, number: u64, sent: Sent) -> Result<(), String> {
        let given = self.account.on_sent(now, sent.tagged(number + 7));
        self.segments.push(sent.segment);
        if given == number { Ok(()) } else { Err(format!("the packet got the number {given}")) }
    }

    /// Sends what the window allows, as a driver does whose application always has data.
    fn fill(&mut self, now: Time) -> Result<(), String> {
        let fits = |account: &Account, window| {
            let in_flight = account.in_flight();
            in_flight == 0 || in_flight + u64::from(SIZE) <= account.window(window, true)
        };
        while fits(&self.account, self.window) {
            let number = self.account.next_number();
            let sent = match self.account.take_repair() {
                Some(repair) => {
                    self.told.resent.push(repair.number);
                    Sent::again(repair)
                }
                None => Sent::segment(self.account.next_segment(), SIZE),
            };
            self.told.sent.push(number);
            self.send(now, number, sent)?;
        }
        self.account.on_window_limited();
        Ok(())
    }

    fn ack(&mut self, now: Time, text: &str) -> Result<(), String> {
        let mut ack = Ack { received: now, ..Ack::default() };
        let (options, blocks): (Vec<&str>, Vec<&str>) =
            text.split(' ').partition(|word| word.starts_with(char::is_alphabetic));
        let mut below = None;
        for (i, block) in blocks.iter().enumerate() {
            let block = numbers(block)?;
            let (first, last) = (block[0], block[block.len() - 1]);
            ack.lengths[i] = block.len() as u32;
            match below {
                None => ack.largest = last,
                Some(below) => ack.gaps[i - 1] = (below - 1 - last) as u32,
            }
            below = Some(first);
            let sent = block.iter().filter_map(|n| self.segments.get(*n as usize));
            self.arrived.extend(sent.filter(|segment| **segment != NO_SEGMENT));
        }
        while self.config.reliable && self.arrived.contains(&self.cumulative) {
            self.cumulative += 1;
        }
        ack.cumulative = self.cumulative;
        for option in options {
            match option.split_once('=') {
                None if option == "ece" => ack.ece = true,
                Some(("ce", count)) => ack.ce_packets = count.parse().map_err(|_| "ce=number")?,
                Some(("cumulative", to)) => ack.cumulative = numbers(to)?[0],
                _ => return Err(format!("`{option}` says nothing about an acknowledgement")),
            }
        }
        let told = Told::new(&self.account.on_ack(now, &ack), &self.segments)?;
        self.hear(told);
        Ok(())
    }

    fn expire(&mut self, now: Time, word: &str) -> Result<(), String> {
        let told = |feedback: &Feedback<'_>| Told::new(feedback, &self.segments);
        let (told, brought) = match self.account.on_deadline(now) {
            Expired::Nothing => (Told::default(), "nothing"),
            Expired::Probe => (Told::default(), "probe"),
            Expired::Losses(feedback) => (told(&feedback)?, "loss-timer"),
            Expired::Timeout(feedback) => (told(&feedback)?, "timeout"),
        };
        if brought != word {
            return Err(format!("the deadline brings {brought}"));
        }
        self.hear(told);
        Ok(())
    }

    /// The controller has been told, and has its window.
    fn hear(&mut self, told: Told) {
        self.account.on_window(self.window);
        self.told = told;
    }

    /// Compares what the account said with what a line expects.
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
