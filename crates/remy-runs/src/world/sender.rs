//! A sender that follows a table and retransmits nothing: the minimum of a sender, an account and a
//! controller.

use paceline_cc::{Span, Time};
use paceline_schemes::remy::{
    Action, ActionBasis, Memory, Place, RemyParams, RuleTable, Ticker, Tracker,
};

/// Receives reports of rule uses.
pub(super) trait RuleUses {
    /// Reports that a sender used rule `rule` for `memory`.
    fn on_use(&mut self, rule: usize, memory: &Memory);
}

/// Ignores rule uses.
impl RuleUses for () {
    #[inline(always)]
    fn on_use(&mut self, _rule: usize, _memory: &Memory) {}
}

/// A table, prepared for senders.
pub(super) struct FollowedTable<'a> {
    table: &'a RuleTable,
    actions: Vec<(Action, Span)>,
    /// The state of a connection that has begun and has not sent a packet.
    connection: Connection,
    /// True if its rule uses are reported.
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
        let resolution = params.resolution_with(table);
        let connection = Connection::unbegun(resolution, table);
        let mut followed = FollowedTable { table, actions, connection, counted };
        // The use of the first rule is not reported.
        let mut connection = Connection::unbegun(resolution, table);
        connection.follow(&followed, &mut ());
        followed.connection = connection;
        followed
    }
}

/// A sender's state for its present connection.
#[derive(Clone)]
struct Connection {
    tracker: Tracker,
    ticker: Ticker,
    place: Place,
    /// Window in packets, and its value before the acknowledgements of this instant.
    window: u32,
    before: u32,
    /// Time of the last acknowledgements.
    at: Time,
    /// Number of the present rule. Tables have fewer rules than `usize::MAX`.
    rule: usize,
    /// Minimum time between packets, and when the last packet left to which such a time applied;
    /// time zero before the first.
    gap: Span,
    last_sent: Time,
    /// When the next packet may leave.
    next_send: Time,
}

impl Connection {
    /// Creates a connection without a rule.
    fn unbegun(resolution: Span, table: &RuleTable) -> Connection {
        Connection {
            tracker: Tracker::new(resolution).with_rate(table.follows_rate()),
            ticker: Ticker::new(table.timer()),
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

    /// Applies the rule for the present memory. Without a rule, changes nothing.
    #[inline(always)]
    fn follow(&mut self, followed: &FollowedTable<'_>, uses: &mut impl RuleUses) {
        let memory = self.tracker.memory();
        let Some(rule) = followed.table.find(memory, &mut self.place) else { return };
        uses.on_use(rule, memory);
        let (action, gap) = &followed.actions[rule];
        if action.basis == ActionBasis::Rate {
            let (rate, min_rtt_ms) = self.tracker.rate_and_min_rtt();
            let (window, gap) = action.apply_to_rate(rate, min_rtt_ms);
            (self.window, self.rule) = (window, rule);
            self.space(Span::from_nanos(gap));
            return;
        }
        self.window = action.apply(self.window);
        if rule != self.rule {
            self.rule = rule;
            self.space(*gap);
        }
    }

    /// Sets the minimum time between packets, also from the packet sent last to the next one.
    #[inline(always)]
    fn space(&mut self, gap: Span) {
        if gap != self.gap {
            self.gap = gap;
            self.next_send = match gap.is_zero() || self.last_sent == Time::ZERO {
                true => Time::ZERO,
                false => self.last_sent + gap,
            };
        }
    }
}

/// A sender.
#[derive(Clone)]
pub(super) struct FastSender {
    connection: Connection,
    /// Number of the next packet, one more than the newest acknowledged number, and the first
    /// number of this connection.
    next: u64,
    acked: u64,
    first: u64,
    /// Index of the table that it follows.
    pub(super) table: usize,
    /// True if it is on.
    pub(super) is_on: bool,
    /// Number of its periods that have begun, and when it next switches on or off.
    pub(super) periods: usize,
    pub(super) switch: Time,
    /// When it next acts without an acknowledgement, as stored in the wake-ups.
    pub(super) wake: Time,
    /// Number of arrived packets, and the sum of their delays.
    pub(super) packets: u64,
    pub(super) delay: Span,
}

impl FastSender {
    /// Creates a sender that is off and follows table number `table`.
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

    /// Handles an acknowledgement of a packet of this connection or of an earlier one. The latter
    /// does not change the memory, but the rule is applied.
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
            connection.ticker.on_ack(now);
            self.acked = self.acked.max(number + 1);
        }
        if connection.at == now {
            // A further acknowledgement of this instant: apply the rule once to the whole batch.
            connection.window = connection.before;
        } else {
            (connection.at, connection.before) = (now, connection.window);
        }
        match followed.counted {
            true => connection.follow(followed, uses),
            false => connection.follow(followed, &mut ()),
        }
    }

    /// Returns when the rule is next looked up without an acknowledgement.
    #[inline(always)]
    pub(super) fn next_tick(&self) -> Time {
        self.connection.ticker.next()
    }

    /// Looks the rule up without an acknowledgement, if packets are outstanding.
    #[cold]
    #[inline(never)]
    pub(super) fn on_tick(
        &mut self,
        now: Time,
        followed: &FollowedTable<'_>,
        uses: &mut impl RuleUses,
    ) {
        let connection = &mut self.connection;
        let silence = connection.ticker.on_tick(now);
        if self.next == self.acked {
            return;
        }
        connection.tracker.on_silence(silence);
        connection.window = connection.before;
        match followed.counted {
            true => connection.follow(followed, uses),
            false => connection.follow(followed, &mut ()),
        }
    }

    /// Returns true if the window allows a packet.
    #[inline(always)]
    pub(super) fn has_window(&self) -> bool {
        self.next - self.acked < u64::from(self.connection.window.max(1))
    }

    /// Returns when pacing allows the next packet.
    #[inline(always)]
    pub(super) fn next_send(&self) -> Time {
        self.connection.next_send
    }

    /// Notes that a packet leaves. Returns its number.
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
