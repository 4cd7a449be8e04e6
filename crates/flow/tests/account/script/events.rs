//! The events of scripts.

use paceline_cc::NO_SEGMENT;
use paceline_cc::{ACK_BLOCKS, Ack, Feedback, Time};
use paceline_flow::{Account, Expired, Sent};

use super::facts::EventOutcome;
use super::words::numbers;
use super::{SIZE, Script};

impl Script {
    /// Executes one event.
    pub(super) fn event(&mut self, now: Time, word: &str, rest: &str) -> Result<(), String> {
        self.told = EventOutcome::default();
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
                    self.send(now, new, Sent::retransmission(repair))?;
                }
            }
            "fill" => self.fill(now)?,
            "full" => self.account.on_window_limited(),
            "open" => self.account.on_window_open(),
            "idle" => self.account.on_app_limited(),
            "window" => self.window = numbers(rest)?[0] * u64::from(SIZE),
            "ack" => self.ack(now, rest)?,
            "timeout" | "probe" | "loss-timer" | "request" => self.expire(now, word)?,
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

    /// Sends as much as the window allows, like a driver whose application always has data.
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
                    Sent::retransmission(repair)
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
        let (mut below, mut older) = (None, Vec::new());
        for (i, block) in blocks.iter().enumerate() {
            let block = numbers(block)?;
            let (first, last) = (block[0], block[block.len() - 1]);
            match below {
                _ if i >= ACK_BLOCKS => older.push((first, last)),
                None => ack.largest = last,
                Some(below) => ack.gaps[i - 1] = (below - 1 - last) as u32,
            }
            if i < ACK_BLOCKS {
                ack.lengths[i] = block.len() as u32;
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
        let told = EventOutcome::new(
            &self.account.on_ack_with_older(now, &ack, older.into_iter()),
            &self.segments,
        )?;
        self.hear(told);
        Ok(())
    }

    fn expire(&mut self, now: Time, word: &str) -> Result<(), String> {
        let told = |feedback: &Feedback<'_>| EventOutcome::new(feedback, &self.segments);
        let (told, brought) = match self.account.on_deadline(now) {
            // Neither a loss nor a probe: requests have arrived, or packets were given up.
            Expired::Nothing => (EventOutcome::default(), "request"),
            Expired::Probe => (EventOutcome::default(), "probe"),
            Expired::Losses(feedback) => (told(&feedback)?, "loss-timer"),
            Expired::Timeout(feedback) => (told(&feedback)?, "timeout"),
        };
        if brought != word {
            return Err(format!("the deadline brings {brought}"));
        }
        self.hear(told);
        Ok(())
    }

    /// Stores the outcome; the controller has reacted to it and set its window.
    fn hear(&mut self, told: EventOutcome) {
        self.account.on_window(self.window);
        self.told = told;
    }
}
