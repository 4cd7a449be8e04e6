//! Converts TCP's acknowledgements for the sender: sequence numbers become transmission numbers.
//!
//! TCP does not say which transmission of a segment has arrived, except with timestamps for the oldest
//! segment that an acknowledgement covers. As Linux does, this code assumes the newest one that left
//! at least the minimum RTT ago. TCP's receiver does not
//! acknowledge a second copy of a segment, but Paceline's receiver does. So the next TCP
//! acknowledgement that comes a round trip after the departure of such a copy also acknowledges the
//! copy's transmission number, in order of sending.

use paceline_cc::{ACK_BLOCKS, Ack, Body, Packet, Span, Stage};

use super::{Fate, Tcp};

/// Content of an acknowledgement.
#[derive(Clone, Debug, Default)]
pub struct Acknowledgement<'a> {
    /// Acknowledgement number.
    pub ack: u64,
    /// Selectively acknowledged ranges: first sequence number, and last sequence number plus one.
    pub sacks: &'a [(u64, u64)],
    /// The ECE flag.
    pub ece: bool,
    /// Departure time of the segment that it answers, from its timestamp.
    pub echoed: Option<Span>,
}

impl Tcp {
    /// Processes an acknowledgement.
    ///
    /// # Errors
    ///
    /// It acknowledges a part of a segment, or data that was not sent.
    pub fn acknowledge(&mut self, acknowledgement: &Acknowledgement<'_>) -> Result<(), String> {
        let Acknowledgement { ack, sacks, ece, echoed } = *acknowledgement;
        let cumulative = self.segment_at(ack)?;
        let oldest = self.cumulative;
        let next_cumulative = oldest.max(cumulative);
        let mut segments: Vec<usize> = (oldest..next_cumulative).collect();
        let mut numbers = Vec::new();
        for (index, block) in sacks.iter().enumerate() {
            let (first, end) = (self.segment_at(block.0)?, self.segment_at(block.1)?);
            let behind = sacks.get(1).filter(|_| index == 0);
            if end <= cumulative || behind.is_some_and(|b| b.0 <= block.0 && block.1 <= b.1) {
                // RFC 2883: these transmissions arrived twice.
                numbers.extend((first..end).flat_map(|segment| self.in_flight_of(segment)));
            }
            segments.extend(first.max(next_cumulative)..end);
        }
        segments.retain(|segment| !self.sacked.contains(segment));
        segments.sort_unstable();
        segments.dedup();
        for segment in segments {
            // RFC 7323 §4.3: an acknowledgement echoes the timestamp of the oldest segment that it
            // acknowledges, and of none beyond a gap.
            let is_oldest = segment == oldest && segment < next_cumulative;
            let echoed = echoed.filter(|_| is_oldest);
            let number = self.arrived_transmission(segment, echoed);
            numbers.push(number);
            let later = self.segments[segment].numbers.iter().filter(|later| **later > number);
            self.copies.extend(later);
            if segment >= next_cumulative {
                self.sacked.insert(segment);
            }
        }
        self.cumulative = next_cumulative;
        self.sacked = self.sacked.split_off(&next_cumulative);
        numbers.extend(self.arriving_copies());
        for number in numbers {
            self.transmissions[number].fate = Fate::Arrived;
            insert(&mut self.arrived, number as u64);
        }
        self.push(cumulative as u64, ece);
        Ok(())
    }

    /// Gives the sender an acknowledgement of everything that has arrived.
    fn push(&mut self, cumulative: u64, ece: bool) {
        let mut ack = Ack { cumulative, ece, received: self.now, ..Ack::default() };
        let mut older = Vec::new();
        if self.sack {
            let newest_first: Vec<(u64, u64)> = self.arrived.iter().rev().copied().collect();
            ack.largest = newest_first.first().map_or(0, |range| range.1);
            let mut above = ack.largest + 1;
            for (block, (first, last)) in newest_first.iter().take(ACK_BLOCKS).enumerate() {
                ack.lengths[block] = (last - first + 1) as u32;
                if block > 0 {
                    ack.gaps[block - 1] = (above - 1 - last) as u32;
                }
                above = *first;
            }
            older.extend(newest_first.into_iter().skip(ACK_BLOCKS));
        }
        if older.is_empty() {
            self.sender.push(self.now, &Packet { body: Body::Ack(ack), ..Packet::opaque(64) });
        } else {
            self.sender.push_ack(self.now, &ack, older.into_iter());
        }
        if std::mem::take(&mut self.watched().undone) {
            self.find_lost();
        }
        self.note_losses();
        self.pop_all();
    }

    /// Puts transmissions that counted as lost back in flight: the sender has undone a reaction.
    fn find_lost(&mut self) {
        for transmission in &mut self.transmissions {
            if transmission.fate == Fate::Lost {
                transmission.fate = Fate::InFlight;
            }
        }
    }

    /// Returns the index of the segment that begins at a sequence number.
    fn segment_at(&self, sequence: u64) -> Result<usize, String> {
        let index = self.segments.partition_point(|segment| segment.range.1 <= sequence);
        match self.segments.get(index).map(|segment| segment.range.0) {
            Some(first) if first < sequence => Err(format!("{sequence} lies within a segment")),
            None if self.sent_end() < sequence => {
                Err(format!("{sequence} is beyond what was sent"))
            }
            _ => Ok(index),
        }
    }

    /// Returns the transmission of a segment that counts as arrived.
    fn arrived_transmission(&self, segment: usize, echoed: Option<Span>) -> usize {
        let numbers = &self.segments[segment].numbers;
        let can_have_arrived = |number: &&usize| {
            let sent = self.transmissions[**number].sent;
            match echoed {
                Some(echoed) => sent <= super::START + echoed,
                None => self.now.since(sent) >= self.least_round_trip(),
            }
        };
        *numbers.iter().rev().find(can_have_arrived).unwrap_or(&numbers[0])
    }

    /// Returns the shortest time after which an acknowledgement can belong to a transmission:
    /// slightly less than the minimum RTT, because times in scripts are rounded.
    fn least_round_trip(&self) -> Span {
        let least = self.sender.rtt().min();
        least - least / 16
    }

    fn in_flight_of(&self, segment: usize) -> Vec<usize> {
        let is_in_flight = |number: &usize| self.transmissions[*number].fate == Fate::InFlight;
        self.segments[segment].numbers.iter().copied().filter(is_in_flight).collect()
    }

    /// Takes the copies of arrived segments that have arrived themselves by now. Packets arrive in
    /// order of departure, so a copy has not arrived while an earlier packet is in flight.
    fn arriving_copies(&mut self) -> Vec<usize> {
        // With timestamps, the other ends of the scripts report each copy (RFC 2883).
        if self.copies.is_empty() || self.timestamps {
            return Vec::new();
        }
        let missing = (self.cumulative..self.segments.len())
            .filter(|segment| !self.sacked.contains(segment))
            .flat_map(|segment| self.in_flight_of(segment));
        let oldest_missing = missing.min().unwrap_or(usize::MAX);
        let (least, now) = (self.least_round_trip(), self.now);
        let transmissions = &self.transmissions;
        let arrives = |number: &mut usize| {
            let transmission = &transmissions[*number];
            transmission.fate == Fate::InFlight
                && *number < oldest_missing
                && now.since(transmission.sent) >= least
        };
        self.copies.extract_if(.., arrives).collect()
    }
}

/// Adds a number to a list of ascending ranges.
fn insert(ranges: &mut Vec<(u64, u64)>, number: u64) {
    let above = ranges.partition_point(|range| range.0 <= number);
    let extends_below = above > 0 && ranges[above - 1].1 + 1 >= number;
    let extends_above = ranges.get(above).is_some_and(|range| range.0 == number + 1);
    match (extends_below, extends_above) {
        (true, true) => {
            ranges[above - 1].1 = ranges[above].1;
            ranges.remove(above);
        }
        (true, false) => ranges[above - 1].1 = ranges[above - 1].1.max(number),
        (false, true) => ranges[above].0 = number,
        (false, false) => ranges.insert(above, (number, number)),
    }
}

#[cfg(test)]
mod tests {
    use super::insert;

    #[test]
    fn ranges_grow_and_join() {
        let mut ranges = Vec::new();
        for number in [5, 7, 6, 1, 2, 6, 9, 8, 0] {
            insert(&mut ranges, number);
        }
        assert_eq!(ranges, [(0, 2), (5, 9)]);
    }
}
