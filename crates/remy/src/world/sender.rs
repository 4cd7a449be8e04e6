//! A sender that follows a table and repairs nothing: what remains of a sender, an account and a
//! controller if nothing else is asked of them.

use paceline_cc::{Span, Time};
use paceline_schemes::remy::{Action, Memory, Place, RemyParams, RuleTable, Tracker};

/// Hears which rules are used.
pub(super) trait RuleUses {
    /// A sender used rule `rule` for `memory`.
    fn on_use(&mut self, rule: usize, memory: &Memory);
}

/// Nobody asks which rules are used.
impl RuleUses for () {
    #[inline(always)]
    fn on_use(&mut self, _rule: usize, _memory: &Memory) {}
}

/// A table, with what its rules mean to a sender.
pub(super) struct FollowedTable<'a> {
    table: &'a RuleTable,
    actions: Vec<(Action, Span)>,
    /// A connection that has begun, before its first packet.
    connection: Connection,
    /// True if its uses of rules are told.
    pub(super) counted: bool,
}

impl<'a> FollowedTable<'a> {
    /// Prepares a table for senders with these parameters.
    pub(super) fn new(
        table: &'a RuleTable,
        params: &RemyParams,
        counted: bool,
    ) -> FollowedTable<'a> {
        let prepared = |action: Action| (action, Span::from_secs_f64(action.intersend_ms / 1e3));
        let actions = table.rules().iter().map(|rule| prepared(rule.action)).collect();
        let connection = Connection::unbegun(params);
        let mut followed = FollowedTable { table, actions, connection, counted };
        // Nobody hears of the rule that a connection begins with.
        let mut connection = Connection::unbegun(params);
        connection.follow(&followed, &mut ());
        followed.connection = connection;
        followed
    }
}

/// What a sender knows of its present connection.
#[derive(Clone)]
struct Connection {
    tracker: Tracker,
    place: Place,
    /// The window in packets, and what it was before the acknowledgements of this instant.
    window: u32,
    before: u32,
    /// The instant of the last acknowledgements.
    at: Time,
    /// The present rule; tables have fewer rules than `usize::MAX`.
    rule: usize,
    /// The least time between packets, and when the last one left for which there was such a time;
    /// time zero before the first.
    gap: Span,
    last_sent: Time,
    /// When the next packet may leave.
    next_send: Time,
}

impl Connection {
    /// A connection without a rule.
    fn unbegun(params: &RemyParams) -> Connection {
        Connection {
            tracker: Tracker::new(params.resolution),
            place: Place::default(),
            window: 0,
            before: 0,
            at: Time::NEVER,
            rule: usize::MAX,
            gap: Span::ZERO,
            last_sent: Time::ZERO,
            next_send: Time::ZERO,
        }
    }

    /// Does what the rule for the present memory says. Where there is none, nothing changes.
    #[inline(always)]
    fn follow(&mut self, followed: &FollowedTable<'_>, uses: &mut impl RuleUses) {
        let memory = self.tracker.memory();
        let Some(rule) = followed.table.find(memory, &mut self.place) else { return };
        uses.on_use(rule, memory);
        let (action, gap) = &followed.actions[rule];
        self.window = action.apply(self.window);
        if rule != self.rule {
            self.rule = rule;
            if *gap != self.gap {
                self.gap = *gap;
                self.next_send = match gap.is_zero() || self.last_sent == Time::ZERO {
                    true => Time::ZERO,
                    false => self.last_sent + *gap,
                };
            }
        }
    }
}

/// A sender.
#[derive(Clone)]
pub(super) struct FastSender {
    connection: Connection,
    /// The number of the next packet, one more than the newest that was acknowledged, and the first of
    /// this connection.
    next: u64,
    acked: u64,
    first: u64,
    /// Which table it follows.
    pub(super) table: usize,
    /// True if it is on.
    pub(super) is_on: bool,
    /// How many of its periods have begun, and when it next switches on or off.
    pub(super) periods: usize,
    pub(super) switch: Time,
    /// When it next acts by itself, as it stands among the wake-ups.
    pub(super) wake: Time,
    /// Packets that arrived, and the times that they took.
    pub(super) packets: u64,
    pub(super) delay: Span,
}

impl FastSender {
    /// A sender that is off, and follows table number `table`.
    pub(super) fn new(table: usize, followed: &FollowedTable<'_>) -> FastSender {
        FastSender {
            connection: followed.connection.clone(),
            next: 0,
            acked: 0,
            first: 0,
            table,
            is_on: false,
            periods: 0,
            switch: Time::NEVER,
            wake: Time::NEVER,
            packets: 0,
            delay: Span::ZERO,
        }
    }

    /// Begins a new connection.
    pub(super) fn connect(&mut self, followed: &FollowedTable<'_>) {
        self.connection.clone_from(&followed.connection);
        (self.acked, self.first) = (self.next, self.next);
    }

    /// The acknowledgement comes of a packet of this connection, or of an earlier one, which tells
    /// nothing and yet applies the rule.
    #[inline(always)]
    pub(super) fn on_ack(
        &mut self,
        now: Time,
        (number, sent): (u64, Time),
        followed: &FollowedTable<'_>,
        uses: &mut impl RuleUses,
    ) {
        let connection = &mut self.connection;
        if number >= self.first {
            let ahead = (number + 1).saturating_sub(self.acked);
            connection.tracker.on_ack(sent, now, ahead);
            self.acked = self.acked.max(number + 1);
        }
        if connection.at == now {
            // More of the batch: the rule is applied once, to all of it.
            connection.window = connection.before;
        } else {
            (connection.at, connection.before) = (now, connection.window);
        }
        match followed.counted {
            true => connection.follow(followed, uses),
            false => connection.follow(followed, &mut ()),
        }
    }

    /// True if its window lets it send a packet.
    #[inline(always)]
    pub(super) fn has_window(&self) -> bool {
        self.next - self.acked < u64::from(self.connection.window.max(1))
    }

    /// When the next packet may leave by its pacing.
    #[inline(always)]
    pub(super) fn next_send(&self) -> Time {
        self.connection.next_send
    }

    /// A packet leaves; returns its number.
    #[inline(always)]
    pub(super) fn on_send(&mut self, now: Time) -> u64 {
        let connection = &mut self.connection;
        if !connection.gap.is_zero() {
            connection.last_sent = now;
            connection.next_send = now + connection.gap;
        }
        self.next += 1;
        self.next - 1
    }
}
