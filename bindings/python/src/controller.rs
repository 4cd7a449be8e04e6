//! Controllers written in Python, and the objects that they get.

use std::sync::{Arc, Mutex, PoisonError};

use paceline_cc::{
    Controller, Ecn, Feedback, Halves, Outgoing, Plan, Rate, Setup, Signals, Span, Time,
};
use paceline_requests::{ECN_WORDS, FEEDBACK_SIGNALS, PlanLimits, PlanValues, congestion_word};
use paceline_schemes::SchemeEntry;
use paceline_sim::Names;
use pyo3::exceptions::{PyAttributeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::run::RunControl;

/// Content of one acknowledgement, or of one expiry of a loss timer, for a controller.
#[pyclass(frozen, get_all, name = "Feedback", module = "paceline._native")]
pub(crate) struct PyFeedback {
    /// Time at the sender, in seconds since the run began.
    now_s: f64,
    /// Size of the largest packet, in bytes on the wire: the unit in which windows grow.
    mss_bytes: u32,
    /// Bytes newly acknowledged.
    acked_bytes: u64,
    /// Packets newly acknowledged.
    acked_packets: u32,
    /// Bytes newly declared lost.
    lost_bytes: u64,
    /// Packets newly declared lost.
    lost_packets: u32,
    /// Packets newly reported as received with CE.
    marked_packets: u32,
    /// Mark that the acknowledgement echoes: ``not-ect``, ``ect0``, ``ect1`` or ``ce``; under ABC ``ect1`` is an
    /// accelerate and ``ect0`` a brake.
    echo: &'static str,
    /// Bytes in flight before this acknowledgement.
    prior_in_flight_bytes: u64,
    /// Bytes in flight after it.
    in_flight_bytes: u64,
    /// True if the window, not the application or the pacer, has limited sending in the last round trip.
    cwnd_limited: bool,
    /// RTT of the newest packet newly acknowledged, in milliseconds; ``None`` if there is none.
    rtt_ms: Option<f64>,
    /// Smoothed RTT (RFC 6298) in milliseconds; zero before the first sample.
    srtt_ms: f64,
    /// Minimum RTT of the connection in milliseconds; zero before the first sample.
    min_rtt_ms: f64,
    /// Bytes delivered since the start.
    delivered_bytes: u64,
    /// Round trips since the start.
    round: u64,
    /// True on the first acknowledgement of a round trip.
    round_start: bool,
    /// Sample of the delivery rate in Mbit/s; ``None`` if this acknowledgement gives none.
    delivery_rate_mbps: Option<f64>,
    /// True if the application, not the window, limited sending during that sample.
    app_limited: bool,
    /// Conclusion of the connection, at most once per window: ``loss``, ``ecn``, ``timeout``, or ``undo`` if the last
    /// reaction was a mistake; and ``loss_after_mark`` in the round trip after ``ecn``, which a scheme that halves its
    /// window for a mark may ignore.
    congestion: Option<&'static str>,
    /// True while losses of the last congestion event are being repaired.
    in_recovery: bool,
}

impl From<&Feedback<'_>> for PyFeedback {
    fn from(feedback: &Feedback<'_>) -> PyFeedback {
        PyFeedback {
            now_s: feedback.now.as_secs_f64(),
            mss_bytes: feedback.mss,
            acked_bytes: feedback.acked,
            acked_packets: feedback.acked_packets,
            lost_bytes: feedback.lost,
            lost_packets: feedback.lost_packets,
            marked_packets: feedback.marked_packets,
            echo: ecn_name(feedback.echo),
            prior_in_flight_bytes: feedback.prior_in_flight,
            in_flight_bytes: feedback.in_flight,
            cwnd_limited: feedback.cwnd_limited,
            rtt_ms: feedback.rtt.map(Span::as_millis_f64),
            srtt_ms: feedback.srtt.as_millis_f64(),
            min_rtt_ms: feedback.min_rtt.as_millis_f64(),
            delivered_bytes: feedback.delivered,
            round: feedback.round,
            round_start: feedback.round_start,
            delivery_rate_mbps: feedback.sample.map(|sample| sample.rate.as_mbps()),
            app_limited: feedback.sample.is_some_and(|sample| sample.app_limited),
            congestion: feedback.congestion.map(congestion_word),
            in_recovery: feedback.in_recovery,
        }
    }
}

#[pymethods]
impl PyFeedback {
    fn __repr__(&self) -> String {
        let rtt = self.rtt_ms.map_or("None".into(), |rtt| format!("{rtt:.3}"));
        format!(
            "Feedback(now_s={:.6}, acked_bytes={}, lost_bytes={}, rtt_ms={rtt}, in_flight_bytes={})",
            self.now_s, self.acked_bytes, self.lost_bytes, self.in_flight_bytes
        )
    }
}

fn ecn_name(ecn: Ecn) -> &'static str {
    ECN_WORDS.iter().find(|(known, _)| *known == ecn).map_or("", |(_, word)| word)
}

/// Limits of plans: the highest rate of a link, and a window that the memory holds.
const LIMITS: PlanLimits =
    PlanLimits { pacing_mbps: 1e6, unpaced_cwnd_bytes: 1e9, paced_cwnd_bytes: f64::INFINITY };

/// Instructions of a controller to its sender, valid until the controller returns another plan.
///
/// Args:
///     cwnd_bytes: The congestion window: bytes on the wire that may be in flight; at most 1e9 without
///         pacing, since they leave at one moment.
///     pacing_mbps: The pacing rate in Mbit/s, at most 1e6; ``None`` sends as soon as the window allows.
///     gap_ms: The minimum time between two packets in milliseconds, in addition to the pacing rate.
///     burst_bytes: With pacing, packets leave in groups of this many bytes.
///     ecn: The ECN code point of outgoing packets: ``not-ect``, ``ect0`` or ``ect1``.
///     timer_s: Time of the next call of ``on_timer``, in seconds since the run began, or ``None``.
///     reduces_by_prr: Whether a reduction of the window is spread over a round trip by Proportional
///         Rate Reduction (RFC 6937) while losses are repaired.
///     exact_window: Whether the window is exact. If not, a sender with nothing in flight sends one
///         packet even if the window is smaller.
///
/// Raises:
///     ValueError: If a number is negative, NaN or too large, or a word is unknown.
#[pyclass(frozen, name = "Plan", module = "paceline._native", from_py_object)]
#[derive(Clone, Copy)]
pub(crate) struct PyPlan {
    plan: Plan,
}

#[pymethods]
impl PyPlan {
    #[new]
    #[pyo3(signature = (cwnd_bytes, *, pacing_mbps = None, gap_ms = 0.0, burst_bytes = 0,
        ecn = "not-ect", timer_s = None, reduces_by_prr = true, exact_window = false))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        cwnd_bytes: f64,
        pacing_mbps: Option<f64>,
        gap_ms: f64,
        burst_bytes: u32,
        ecn: &str,
        timer_s: Option<f64>,
        reduces_by_prr: bool,
        exact_window: bool,
    ) -> PyResult<PyPlan> {
        let known = ECN_WORDS.iter().find(|(_, word)| *word == ecn);
        let Some(&(ecn, _)) = known else {
            return Err(PyValueError::new_err("ecn: expected not-ect, ect0, ect1 or ce"));
        };
        let values = PlanValues {
            cwnd_bytes,
            pacing_mbps,
            gap_ms,
            burst_bytes,
            ecn,
            timer_s,
            reduces_by_prr,
            exact_window,
        };
        values.plan(&LIMITS).map(|plan| PyPlan { plan }).map_err(PyValueError::new_err)
    }

    /// The congestion window in bytes.
    #[getter]
    fn cwnd_bytes(&self) -> u64 {
        self.plan.cwnd
    }

    /// The pacing rate in Mbit/s.
    #[getter]
    fn pacing_mbps(&self) -> Option<f64> {
        self.plan.pacing.map(Rate::as_mbps)
    }

    /// The minimum time between two packets in milliseconds.
    #[getter]
    fn gap_ms(&self) -> f64 {
        self.plan.gap.as_millis_f64()
    }

    /// The size of groups of packets with pacing, in bytes.
    #[getter]
    fn burst_bytes(&self) -> u32 {
        self.plan.burst
    }

    /// The ECN code point of outgoing packets.
    #[getter]
    fn ecn(&self) -> &'static str {
        ecn_name(self.plan.ecn)
    }

    /// The time of the next call of ``on_timer``, in seconds since the run began.
    #[getter]
    fn timer_s(&self) -> Option<f64> {
        (self.plan.timer < Time::NEVER).then(|| self.plan.timer.as_secs_f64())
    }

    /// Whether Proportional Rate Reduction spreads a reduction of the window.
    #[getter]
    fn reduces_by_prr(&self) -> bool {
        self.plan.reduces_by_prr
    }

    /// Whether the window is exact: see :class:`Plan`.
    #[getter]
    fn exact_window(&self) -> bool {
        self.plan.exact_window
    }

    /// Shows the arguments that differ from their defaults.
    fn __repr__(&self) -> String {
        let mut text = format!("Plan({}", self.cwnd_bytes());
        let mut add = |name: &str, value: String| text += &format!(", {name}={value}");
        if let Some(rate) = self.pacing_mbps() {
            add("pacing_mbps", rate.to_string());
        }
        if !self.plan.gap.is_zero() {
            add("gap_ms", self.gap_ms().to_string());
        }
        if self.plan.burst > 0 {
            add("burst_bytes", self.plan.burst.to_string());
        }
        if self.plan.ecn != Ecn::NotEct {
            add("ecn", format!("'{}'", self.ecn()));
        }
        if let Some(timer) = self.timer_s() {
            add("timer_s", timer.to_string());
        }
        if !self.plan.reduces_by_prr {
            add("reduces_by_prr", "False".into());
        }
        if self.plan.exact_window {
            add("exact_window", "True".into());
        }
        text + ")"
    }
}

/// Facts that a controller gets when it is created.
#[pyclass(frozen, name = "Setup", module = "paceline._native")]
pub(crate) struct PySetup(Setup);

#[pymethods]
impl PySetup {
    /// The size of the largest packet, in bytes on the wire.
    #[getter]
    fn mss_bytes(&self) -> u32 {
        self.0.mss
    }

    /// Number of the flow, from 0.
    #[getter]
    fn flow(&self) -> u32 {
        self.0.flow
    }

    /// Number of the flow's connection: 0 for the first one, plus 1 with each reconnection.
    #[getter]
    fn connection(&self) -> u32 {
        self.0.connection
    }

    /// Returns a random generator, seeded from the run's seed, the flow, the connection and the name: equal runs draw
    /// equal numbers.
    #[pyo3(signature = (name = "controller"))]
    fn random<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let key = self.0.random(name).next_u64();
        py.import("random")?.getattr("Random")?.call1((key,))
    }
}

/// A controller whose methods are in Python.
struct PyController {
    /// The Python object; `None` after an exception.
    object: Option<Py<PyAny>>,
    plan: Plan,
    sends: bool,
    needs: Signals,
    /// Attributes whose values a run records over time.
    records: Arc<Vec<&'static str>>,
    control: Arc<RunControl>,
}

impl PyController {
    /// Creates a controller, and asks it for its first plan.
    fn new(
        class: &Py<PyAny>,
        setup: &Setup,
        (needs, records): (Signals, Arc<Vec<&'static str>>),
        control: Arc<RunControl>,
    ) -> PyController {
        let plan = Plan::window(10 * u64::from(setup.mss));
        let made = control.call_python(|py| {
            let class = class.bind(py);
            let object = class
                .call1((PySetup(setup.clone()),))
                .map_err(|error| in_method(class, "__init__", error))?;
            let base =
                py.import("paceline.controller")?.getattr("Controller")?.getattr("on_send")?;
            let sends = !object.get_type().getattr("on_send")?.is(&base);
            let first = object.call_method0("start").and_then(|first| plan_from_answer(&first));
            let first = first.map_err(|error| in_method(class, "start", error))?;
            Ok((sends, first.unwrap_or(plan), object.unbind()))
        });
        match made {
            Ok((sends, plan, object)) => {
                PyController { object: Some(object), plan, sends, needs, records, control }
            }
            Err(error) => {
                control.fail(error);
                PyController { object: None, plan, sends: false, needs, records, control }
            }
        }
    }

    /// Calls the method of this name with `call`, and takes over the plan that it returns. An exception ends the run.
    fn call(
        &mut self,
        method: &'static str,
        call: impl for<'py> FnOnce(&Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>,
    ) {
        let Some(object) = &self.object else { return };
        let answer = self.control.call_python(|py| {
            let object = object.bind(py);
            let plan = call(object).and_then(|answer| plan_from_answer(&answer));
            plan.map_err(|error| in_method(object.get_type().as_any(), method, error))
        });
        match answer {
            Ok(Some(plan)) => self.plan = plan,
            Ok(None) => {}
            Err(error) => {
                self.control.fail(error);
                self.object = None;
                self.plan.timer = Time::NEVER;
            }
        }
    }
}

/// Returns the error of a method call, marked as such for the command's exit status. An error that no line of Python has
/// raised, such as a wrong answer or a wrong number of parameters, gets the place of the method.
fn in_method(class: &Bound<'_, PyAny>, method: &str, error: PyErr) -> PyErr {
    let py = class.py();
    let place = || -> PyResult<String> {
        let place_of = py.import("paceline.controller")?.getattr("place_of")?;
        place_of.call1((class, method))?.extract()
    };
    let is_nowhere = error.traceback(py).is_none() && error.is_instance_of::<PyTypeError>(py);
    let error = match is_nowhere.then(place) {
        Some(Ok(place)) => PyTypeError::new_err(format!("{place}: {}", error.value(py))),
        _ => error,
    };
    // An exception that takes no attributes remains unmarked.
    let _ = error.value(py).setattr("paceline_method", method);
    error
}

/// Converts a returned plan; `None` keeps the present plan.
fn plan_from_answer(answer: &Bound<'_, PyAny>) -> PyResult<Option<Plan>> {
    if answer.is_none() {
        return Ok(None);
    }
    match answer.cast::<PyPlan>() {
        Ok(plan) => Ok(Some(plan.get().plan)),
        Err(_) => Err(PyTypeError::new_err(format!(
            "a controller answers with a paceline.Plan or None, not {}",
            answer.get_type().name()?
        ))),
    }
}

impl Controller for PyController {
    fn needs(&self) -> Signals {
        self.needs
    }

    fn on_send(&mut self, now: Time, packet: &mut Outgoing) -> u64 {
        if self.sends {
            let (number, size) = (packet.number, packet.size);
            let told = (now.as_secs_f64(), number, size, packet.retransmission);
            self.call("on_send", |object| object.call_method1("on_send", told));
        }
        0
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        self.call("on_feedback", |object| {
            let py = object.py();
            let told = Bound::new(py, PyFeedback::from(feedback))?;
            object.call_method1(pyo3::intern!(py, "on_feedback"), (told,))
        });
    }

    fn on_timer(&mut self, now: Time) {
        self.plan.timer = Time::NEVER;
        let now = now.as_secs_f64();
        self.call("on_timer", |object| object.call_method1("on_timer", (now,)));
    }

    fn on_idle(&mut self, now: Time, idle: Span, _rto: Span) {
        let told = (now.as_secs_f64(), idle.as_secs_f64());
        self.call("on_idle", |object| object.call_method1("on_idle", told));
    }

    fn plan(&self) -> Plan {
        self.plan
    }

    fn inspect(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let Some(object) = self.object.as_ref().filter(|_| !self.records.is_empty()) else {
            return;
        };
        let values = self.control.call_python(|py| {
            let object = object.bind(py);
            let value = |name: &&'static str| recorded_value(object, name);
            self.records.iter().map(value).collect::<PyResult<Vec<f64>>>()
        });
        match values {
            Ok(values) => {
                self.records.iter().zip(values).for_each(|(name, value)| see(name, value))
            }
            Err(error) => self.control.fail(error),
        }
    }
}

/// Returns the value of an attribute; NaN, a gap in plots, for `None`.
fn recorded_value(object: &Bound<'_, PyAny>, name: &str) -> PyResult<f64> {
    let class = object.get_type().name()?;
    let value = object.getattr(name).map_err(|_| {
        PyAttributeError::new_err(format!(
            "records: {class} has no attribute '{name}'; set it in start()"
        ))
    })?;
    if value.is_none() {
        return Ok(f64::NAN);
    }
    value.extract().map_err(|_| {
        let kind = value.get_type().name().map_or_else(|_| String::new(), |name| name.to_string());
        PyTypeError::new_err(format!("records: {class}.{name} is no number but {kind}"))
    })
}

/// Returns the names of the attributes that a class wants to have recorded.
fn recorded_names(class: &Bound<'_, PyAny>) -> PyResult<Vec<&'static str>> {
    let wrong = || PyTypeError::new_err("records: expected a list of names of attributes");
    let records = class.getattr("records")?;
    if records.is_instance_of::<PyString>() {
        return Err(wrong());
    }
    let names: Vec<String> = records.extract().map_err(|_| wrong())?;
    Ok(names.into_iter().map(interned).collect())
}

/// Returns a name whose memory is kept until the process ends: one for equal names.
fn interned(name: String) -> &'static str {
    static NAMES: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    match names.iter().find(|known| **known == name) {
        Some(known) => known,
        None => {
            let name: &'static str = Box::leak(name.into_boxed_str());
            names.push(name);
            name
        }
    }
}

/// Returns the signals that a class requires.
fn required_signals(class: &Bound<'_, PyAny>) -> PyResult<Signals> {
    let words: Vec<String> = class.getattr("needs")?.extract()?;
    let mut all = Signals::NONE;
    for word in words {
        let known = Signals::named(&word).filter(|signal| FEEDBACK_SIGNALS.contains(*signal));
        let Some(signal) = known else {
            let names: Vec<_> = FEEDBACK_SIGNALS.names().collect();
            let problem = format!("needs: {word:?}: expected one of {}", names.join(", "));
            return Err(PyValueError::new_err(problem));
        };
        all = all.and(signal);
    }
    Ok(all)
}

/// Returns the built-in names and those of `controllers`, a dictionary from names to classes, for a
/// run that `control` can end.
///
/// # Errors
/// A name is taken, or a class is not a controller.
pub(crate) fn names_with_controllers(
    controllers: Option<&Bound<'_, PyDict>>,
    control: &Arc<RunControl>,
) -> PyResult<Names> {
    let mut names = paceline_remy::names();
    if let Some(controllers) = controllers {
        add_controllers(&mut names, controllers, control)?;
    }
    Ok(names)
}

/// Adds `controllers`, a dictionary from names to classes, to the names of a run that `control` can end.
///
/// # Errors
/// A name is taken, or a class is not a controller.
pub(crate) fn add_controllers(
    names: &mut Names,
    controllers: &Bound<'_, PyDict>,
    control: &Arc<RunControl>,
) -> PyResult<()> {
    for (name, class) in controllers {
        let needs = required_signals(&class)?;
        let records = Arc::new(recorded_names(&class)?);
        let (class, control) = (Arc::new(class.unbind()), Arc::clone(control));
        let halves = Halves::sender(move |setup| {
            PyController::new(&class, setup, (needs, Arc::clone(&records)), Arc::clone(&control))
        });
        let entry = SchemeEntry::new(name.extract::<String>()?, move |spec| {
            spec.params::<NoParams>()?;
            Ok(halves.clone())
        });
        names.schemes.add(entry).map_err(|error| PyValueError::new_err(error.to_string()))?;
    }
    Ok(())
}

paceline_cc::params! {
    /// A controller in Python has its parameters in its class.
    #[allow(unreachable_pub)]
    pub struct NoParams {}
}
