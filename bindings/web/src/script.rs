//! Controllers that are functions of the page: their feedback and plans as numbers.
//!
//! The simulator calls the page with a [`Call`], the number of a controller, and an array of
//! [`NUMBERS`] numbers. The array has the arguments; the page writes a plan over them. Its answer is
//! a sum of the bits [`PLAN`], [`FAILED`] and [`SENDS`]. Fields have the names and units of the
//! Python package.
//!
//! | call | arguments |
//! | --- | --- |
//! | `Start` | number of the script, `mss_bytes`, flow, connection, two halves of a random number |
//! | `Feedback` | the fields of [`write_feedback`], in their order |
//! | `Timer` | `now_s` |
//! | `Send` | `now_s`, number of the transmission, `size_bytes`, 1 for a retransmission |
//! | `Idle` | `now_s`, `idle_s`, `rto_s` |
//! | `End` | none: the run has dropped the controller |
//!
//! A plan is `cwnd_bytes`, `pacing_mbps` (NaN without), `gap_ms`, `burst_bytes`, the code point of
//! ECN, `timer_s` (NaN without), `reduces_by_prr` and `exact_window`.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use paceline_cc::{
    Congestion, Controller, Feedback, Halves, Outgoing, Plan, Setup, Signals, Span, Time,
};
use paceline_requests::{ECN_WORDS, FEEDBACK_SIGNALS, PlanLimits, PlanValues};
use paceline_schemes::SchemeEntry;
use paceline_sim::Names;

/// Count of numbers in the array.
pub const NUMBERS: usize = 24;
/// Bit of an answer: the array has a new plan.
pub const PLAN: u32 = 1;
/// Bit of an answer: the function has failed, and the run is to end.
pub const FAILED: u32 = 2;
/// Bit of the answer to `Start`: the controller has a function for packets that leave.
pub const SENDS: u32 = 4;

/// The function that is called.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[repr(u32)]
#[allow(clippy::exhaustive_enums, reason = "the page lists all calls")]
pub enum Call {
    /// A flow begins.
    Start = 0,
    /// An acknowledgement, or the expiry of a loss timer.
    Feedback = 1,
    /// The time of the plan's timer has come.
    Timer = 2,
    /// A packet leaves.
    Send = 3,
    /// Sending resumes with nothing in flight.
    Idle = 4,
    /// The controller is dropped.
    End = 5,
}

/// The page's side: takes a call, the number of a controller, and the array; returns the bits of an
/// answer.
pub type Script = fn(Call, u32, &mut [f64; NUMBERS]) -> u32;

/// Most scripts at the same time.
const MOST_SCRIPTS: usize = 200;
/// Shortest time from a call to the timer that its plan sets, so that a timer which is always in the
/// past cannot hold the simulated time.
const TIMER_DELAY: Span = Span::from_micros(10);
/// Limits of plans: ten times the fastest link, and windows of 100,000 packets, which the memory
/// holds for each flow.
const LIMITS: PlanLimits =
    PlanLimits { pacing_mbps: 1e4, unpaced_cwnd_bytes: 1.5e8, paced_cwnd_bytes: 1.5e8 };

/// The scripts of a page, and the first failure of one since it was last read.
pub(crate) struct Scripts {
    script: Script,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    failure: Mutex<Option<String>>,
    controllers: AtomicU32,
}

impl Shared {
    fn fail(&self, reason: impl FnOnce() -> String) {
        if let Ok(mut failure) = self.failure.lock() {
            failure.get_or_insert_with(reason);
        }
    }
}

impl Default for Scripts {
    fn default() -> Scripts {
        Scripts::new(|_, _, _| FAILED)
    }
}

impl Scripts {
    pub(crate) fn new(script: Script) -> Scripts {
        Scripts { script, shared: Arc::default() }
    }

    /// Returns the failure since the last call of this function, if there was one.
    pub(crate) fn take_failure(&self) -> Option<String> {
        self.shared.failure.lock().ok()?.take()
    }

    /// Returns whether a script has failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.shared.failure.lock().is_ok_and(|failure| failure.is_some())
    }

    /// Returns the built-in names and those of the scripts, whose numbers are their places in
    /// `scripts`.
    pub(crate) fn names(&self, scripts: &[String]) -> Result<Names, String> {
        if scripts.len() > MOST_SCRIPTS {
            return Err(format!("expected at most {MOST_SCRIPTS} controllers"));
        }
        let mut names = paceline_remy::names();
        for (number, name) in scripts.iter().enumerate() {
            check_name(name)?;
            let (script, shared, label) = (self.script, self.shared.clone(), name.clone());
            let halves = Halves::sender(move |setup| {
                ScriptController::new(script, shared.clone(), number, &label, setup)
            });
            let entry = SchemeEntry::new(name.clone(), move |spec| {
                spec.params::<NoParams>()?;
                Ok(halves.clone())
            });
            let entry = entry.summary("A controller in JavaScript");
            names.schemes.add(entry).map_err(|error| error.to_string())?;
        }
        Ok(names)
    }
}

/// Checks a name by the rule of the Python package.
fn check_name(name: &str) -> Result<(), String> {
    let is_letter = |c: char| c.is_ascii_lowercase();
    let is_legal = name.starts_with(is_letter)
        && name.len() <= 40
        && name.chars().all(|c| is_letter(c) || c.is_ascii_digit() || c == '_');
    match is_legal {
        true => Ok(()),
        false => Err(format!(
            "`{name}` is not a name for a controller; use up to 40 small letters, digits and _, \
             beginning with a letter"
        )),
    }
}

paceline_cc::params! {
    /// A script has its parameters in its text.
    #[allow(unreachable_pub)]
    pub struct NoParams {}
}

/// A flow's controller, whose functions are in the page.
struct ScriptController {
    script: Script,
    shared: Arc<Shared>,
    name: String,
    number: u32,
    numbers: Box<[f64; NUMBERS]>,
    plan: Plan,
    sends: bool,
    failed: bool,
}

impl ScriptController {
    fn new(
        script: Script,
        shared: Arc<Shared>,
        place: usize,
        name: &str,
        setup: &Setup,
    ) -> ScriptController {
        let number = shared.controllers.fetch_add(1, Ordering::Relaxed);
        let mut controller = ScriptController {
            script,
            shared,
            name: name.to_string(),
            number,
            numbers: Box::new([0.0; NUMBERS]),
            plan: Plan::window(10 * u64::from(setup.mss)),
            sends: false,
            failed: false,
        };
        let key = setup.random("controller").next_u64();
        let halves = [(key >> 32) as u32, key as u32].map(f64::from);
        let [mss, flow, connection] = [setup.mss, setup.flow, setup.connection].map(f64::from);
        let arguments = [place as f64, mss, flow, connection, halves[0], halves[1]];
        let answer = controller.call(Call::Start, Time::ZERO, &arguments);
        controller.sends = answer & SENDS != 0;
        controller
    }

    /// Calls the page and takes over its plan. After a failure the controller keeps its last plan,
    /// without a timer, until the run ends.
    fn call(&mut self, call: Call, now: Time, arguments: &[f64]) -> u32 {
        if self.failed {
            return FAILED;
        }
        for (number, argument) in self.numbers.iter_mut().zip(arguments) {
            *number = *argument;
        }
        let answer = (self.script)(call, self.number, &mut self.numbers);
        let problem = match answer {
            answer if answer & FAILED != 0 => Some("its script has failed".to_string()),
            answer if answer & PLAN != 0 => match read_plan(&self.numbers, now) {
                Ok(plan) => {
                    self.plan = plan;
                    None
                }
                Err(problem) => Some(problem),
            },
            _ => None,
        };
        if let Some(problem) = problem {
            self.failed = true;
            self.plan.timer = Time::NEVER;
            self.shared.fail(|| format!("controller `{}`: {problem}", self.name));
        }
        answer
    }
}

/// Reads the plan in the array, made at `now`.
fn read_plan(numbers: &[f64; NUMBERS], now: Time) -> Result<Plan, String> {
    let [cwnd_bytes, pacing, gap_ms, burst, ecn, timer, prr, exact, ..] = *numbers;
    if !(0.0..=f64::from(u32::MAX)).contains(&burst) {
        return Err("burst_bytes: expected a number from 0 on".into());
    }
    let code_points = ECN_WORDS.iter().enumerate();
    let mut code_points = code_points.filter(|(code, _)| *code as f64 == ecn);
    let Some((_, &(ecn, _))) = code_points.next() else {
        return Err("ecn: expected not-ect, ect0, ect1 or ce".into());
    };
    let values = PlanValues {
        cwnd_bytes,
        pacing_mbps: (!pacing.is_nan()).then_some(pacing),
        gap_ms,
        burst_bytes: burst as u32,
        ecn,
        timer_s: (!timer.is_nan()).then_some(timer),
        reduces_by_prr: prr != 0.0,
        exact_window: exact != 0.0,
    };
    let plan = values.plan(&LIMITS)?;
    Ok(plan.timer(plan.timer.max(now + TIMER_DELAY)))
}

/// Returns the fields of feedback in the order of the array; NaN stands for a missing value.
fn write_feedback(feedback: &Feedback<'_>) -> [f64; 23] {
    let flag = |is: bool| f64::from(u8::from(is));
    let echo = ECN_WORDS.iter().position(|(ecn, _)| *ecn == feedback.echo);
    [
        feedback.now.as_secs_f64(),
        f64::from(feedback.mss),
        feedback.acked as f64,
        f64::from(feedback.acked_packets),
        feedback.lost as f64,
        f64::from(feedback.lost_packets),
        f64::from(feedback.marked_packets),
        echo.unwrap_or(0) as f64,
        feedback.prior_in_flight as f64,
        feedback.in_flight as f64,
        flag(feedback.cwnd_limited),
        feedback.rtt.map_or(f64::NAN, Span::as_millis_f64),
        feedback.srtt.as_millis_f64(),
        feedback.min_rtt.as_millis_f64(),
        feedback.delivered as f64,
        feedback.round as f64,
        flag(feedback.round_start),
        feedback.sample.map_or(f64::NAN, |sample| sample.rate.as_mbps()),
        flag(feedback.sample.is_some_and(|sample| sample.app_limited)),
        match feedback.congestion {
            None => 0.0,
            Some(Congestion::Loss) => 1.0,
            Some(Congestion::LossAfterMark) => 2.0,
            Some(Congestion::Ecn) => 3.0,
            Some(Congestion::Timeout) => 4.0,
            Some(Congestion::Undo) => 5.0,
        },
        flag(feedback.in_recovery),
        feedback.max_in_flight as f64,
        flag(feedback.may_raise_cwnd),
    ]
}

impl Controller for ScriptController {
    /// Requires every signal that the array carries; the simulator has them all.
    fn needs(&self) -> Signals {
        FEEDBACK_SIGNALS
    }

    fn on_send(&mut self, now: Time, packet: &mut Outgoing) -> u64 {
        if self.sends {
            let is_again = f64::from(u8::from(packet.retransmission));
            let (number, size) = (packet.number as f64, f64::from(packet.size));
            self.call(Call::Send, now, &[now.as_secs_f64(), number, size, is_again]);
        }
        0
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        self.call(Call::Feedback, feedback.now, &write_feedback(feedback));
    }

    fn on_timer(&mut self, now: Time) {
        self.plan.timer = Time::NEVER;
        self.call(Call::Timer, now, &[now.as_secs_f64()]);
    }

    fn on_idle(&mut self, now: Time, idle: Span, rto: Span) {
        let arguments = [now.as_secs_f64(), idle.as_secs_f64(), rto.as_secs_f64()];
        self.call(Call::Idle, now, &arguments);
    }

    fn plan(&self) -> Plan {
        // Makes sender ask for the plan again after a packet that may have changed it.
        self.plan.changing_on_send(self.sends)
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("cwnd", self.plan.cwnd as f64 / 1500.0);
    }
}

impl Drop for ScriptController {
    fn drop(&mut self) {
        (self.script)(Call::End, self.number, &mut self.numbers);
    }
}
