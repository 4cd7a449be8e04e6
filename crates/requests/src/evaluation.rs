//! Evaluation of tables and schemes on one network or on those of a specification:
//! `paceline remy eval`, `paceline.remy.evaluate`.

use std::sync::Arc;

use paceline_cc::spec::nearest;
use paceline_cc::{ArgumentError, Rate, Span};
use paceline_flow::{Amount, On};
use paceline_path::BufferSize;
use paceline_remy::evaluate::Contender;
use paceline_remy::spec::Specification;
use paceline_remy::{Assessment, EvalRow, FileError, Network, Problem, StarvedSender};
use paceline_schemes::SCHEMES;
use paceline_schemes::remy::{RemyParams, RuleTable};
use paceline_sim::runs::Spread;
use paceline_sim::scenario::{Capacity, CustomScheme, SchemeChoice};
use paceline_sim::{BuildError, Names};
use thiserror::Error;

/// A request to compare tables and schemes on networks whose senders are on and off.
#[derive(Clone, Debug)]
pub struct EvaluationRequest {
    /// Names of built-in tables, and paths of others.
    pub tables: Vec<String>,
    /// Schemes for comparison.
    pub schemes: Vec<String>,
    /// Length of each run; `None` for [`EvaluationRequest::DURATION`], or the specification's.
    pub duration: Option<Span>,
    /// Seed of the first run.
    pub first_seed: u64,
    /// Number of runs, each with a seed of its own: 1 to 100,000.
    pub seeds: u32,
    /// Whether senders with tables retransmit lost packets, and timeouts count. If false, they
    /// behave as in the published simulator, which repairs nothing.
    pub repairs: bool,
}

/// Network of an evaluation without a specification. Senders begin off, and are on and off for
/// exponentially distributed times.
#[derive(Clone, Debug)]
pub struct EvaluationNetwork {
    /// Capacity of the link.
    pub link: Capacity,
    /// RTT without a queue, above zero.
    pub rtt: Span,
    /// Number of senders, 1 to 10,000.
    pub senders: u32,
    /// Mean time for which senders are on.
    pub on: Span,
    /// Mean time for which they are off.
    pub off: Span,
    /// Limit of the link's queue.
    pub buffer: BufferSize,
    /// Share of packets lost behind the link, below 1.
    pub loss: f64,
    /// Mean of a random delay of each acknowledgement, distributed exponentially.
    pub jitter: Span,
    /// Time by which an RTT may exceed the minimum RTT and count as the minimum, for senders with
    /// tables; `None` for that of each table.
    pub resolution: Option<Span>,
    /// Offsets in the link's recording at which the runs start.
    pub spread: Spread,
}

impl Default for EvaluationRequest {
    /// Returns a request without tables and schemes, and with three seeds from 1 on.
    fn default() -> EvaluationRequest {
        EvaluationRequest {
            tables: Vec::new(),
            schemes: Vec::new(),
            duration: None,
            first_seed: 1,
            seeds: 3,
            repairs: false,
        }
    }
}

impl Default for EvaluationNetwork {
    /// Returns two senders on a link of 15 Mbit/s with an RTT of 150 ms, on and off for a mean of 5
    /// s each.
    fn default() -> EvaluationNetwork {
        EvaluationNetwork {
            link: Capacity::Constant(Rate::from_bps(15_000_000)),
            rtt: Span::from_millis(150),
            senders: 2,
            on: Span::from_secs(5),
            off: Span::from_secs(5),
            buffer: BufferSize::Unlimited,
            loss: 0.0,
            jitter: Span::ZERO,
            resolution: None,
            spread: Spread::default(),
        }
    }
}

/// Reason why an evaluation failed.
#[derive(Debug, Error)]
pub enum EvaluationError {
    /// An argument is invalid.
    #[error(transparent)]
    Argument(#[from] ArgumentError),
    /// A network with a table or scheme cannot be built.
    #[error("{name}: {error}")]
    Build {
        /// Name of the table or scheme.
        name: String,
        /// Error of building the network.
        error: BuildError,
    },
}

impl EvaluationRequest {
    /// Length of a run if neither the request nor a specification sets it.
    pub const DURATION: Span = Span::from_secs(1000);

    /// Returns a row for each table, and each scheme of `names`, on one network. Calls `go_on` before each one, and
    /// stops if it returns false.
    ///
    /// # Errors
    /// An argument is invalid, or the network cannot be built.
    pub fn on_network(
        &self,
        network: &EvaluationNetwork,
        names: &Names,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Vec<EvalRow>, EvaluationError> {
        let duration = self.duration.unwrap_or(EvaluationRequest::DURATION);
        network.check()?;
        let spread = network.spread;
        let mut params = RemyParams { as_published: !self.repairs, ..RemyParams::default() };
        params.resolution = network.resolution.unwrap_or(params.resolution);
        let contenders = self.contenders(&params, names)?;
        let seeds = self.seed_list()?;
        let network = network.network();
        let rate = network.packets_per_ms(duration);
        let rate = rate.map_err(|error| EvaluationError::Build { name: "link".into(), error })?;
        let mut rows = Vec::new();
        for (name, contender) in contenders.iter().take_while(|_| go_on()) {
            let row =
                paceline_remy::eval(name, &network, rate, contender, duration, &seeds, spread);
            let row = row.map_err(|error| EvaluationError::Build { name: name.clone(), error })?;
            if !was_on(&row.starved, row.throughput_mbps) {
                let problem = format!(
                    "no sender was on within the {duration} of a run, so that nothing is measured: {network}; make the \
                     runs longer, or the time for which senders are off shorter"
                );
                return Err(ArgumentError::new("duration", problem).into());
            }
            rows.push(row);
        }
        Ok(rows)
    }

    /// Returns a row for each table and scheme on the networks of a specification. The request's
    /// duration replaces the specification's. Calls `go_on` before each one, and stops if it
    /// returns false.
    ///
    /// # Errors
    /// An argument is invalid, or a network cannot be built.
    pub fn on_specification(
        &self,
        specification: &mut Specification,
        names: &Names,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Vec<Assessment>, EvaluationError> {
        if specification.trains_two() {
            return Err(ArgumentError::new(
                "on",
                "networks.others.trained: the second table is only at hand while both are trained; write \
                 networks.others.file = \"DIR/others.toml\" with the one that came out",
            )
            .into());
        }
        specification.duration = self.duration.map_or(specification.duration, Into::into);
        let mut params = specification.params();
        params.as_published &= !self.repairs;
        let contenders = self.contenders(&params, names)?;
        let seeds = self.seed_list()?;
        let mut rows: Vec<Assessment> = Vec::new();
        for (name, contender) in contenders.iter().take_while(|_| go_on()) {
            let row = paceline_remy::assess(name, contender, specification, &seeds, rows.first());
            let row = row.map_err(|error| EvaluationError::Build { name: name.clone(), error })?;
            if !was_on(&row.starved, row.throughput_mbps) {
                let first = specification.specimens(self.first_seed);
                let network = first.first().map_or_else(String::new, |one| one.network.to_string());
                let problem = format!(
                    "no sender was on within a run of any network, so that nothing is measured; the first network: \
                     {network}; make the runs longer, or the time for which senders are off shorter"
                );
                return Err(ArgumentError::new("duration", problem).into());
            }
            rows.push(row);
        }
        Ok(rows)
    }

    /// Returns the seeds of the runs.
    ///
    /// # Errors
    /// The number of seeds is 0 or too large.
    pub fn seed_list(&self) -> Result<Vec<u64>, ArgumentError> {
        if !(1..=100_000).contains(&self.seeds) {
            let problem = format!("expected 1 to 100000, not {}", self.seeds);
            return Err(ArgumentError::new("seeds", problem));
        }
        Ok((0..self.seeds).map(|number| self.first_seed.wrapping_add(number.into())).collect())
    }

    /// Returns tables and schemes with their names; `params` are the parameters of senders with
    /// tables.
    fn contenders(
        &self,
        params: &RemyParams,
        names: &Names,
    ) -> Result<Vec<(String, Contender)>, ArgumentError> {
        let mut all = Vec::new();
        for name in &self.tables {
            let (table, params) = (find_table(name)?.0, params.clone());
            all.push((name.clone(), Contender::Table { table, params }));
        }
        for text in &self.schemes {
            let wrong = |error: paceline_cc::SpecError| ArgumentError::new("schemes", error);
            let spec =
                names.check_scheme(text).map_err(|error| ArgumentError::new("schemes", error))?;
            let choice: SchemeChoice = if is_known_here_alone(&spec.sender.name) {
                let halves = names.build_scheme(&spec.sender).map_err(wrong)?;
                CustomScheme::new(text, halves).with_queue(spec.queue).into()
            } else {
                SchemeChoice::Named(spec)
            };
            all.push((text.clone(), choice.into()));
        }
        match all.is_empty() {
            true => Err(ArgumentError::new("tables, schemes", "expected at least one of them")),
            false => Ok(all),
        }
    }
}

/// Returns true if a sender was on in a run: packets of some arrived, or some of them are starved.
fn was_on(starved: &[StarvedSender], throughput_mbps: f64) -> bool {
    throughput_mbps > 0.0 || !starved.is_empty()
}

/// Returns true for `remy`, whose tables may come from files, and for schemes that are not built in.
fn is_known_here_alone(scheme: &str) -> bool {
    scheme == "remy" || !SCHEMES.iter().any(|builtin| builtin.name == scheme)
}

impl EvaluationNetwork {
    fn check(&self) -> Result<(), ArgumentError> {
        let wrong = |argument, problem: String| Err(ArgumentError::new(argument, problem));
        if self.rtt.is_zero() {
            return wrong("rtt", "expected a time above zero".into());
        }
        if self.on.is_zero() {
            return wrong("on", "expected a time above zero".into());
        }
        if !(1..=10_000).contains(&self.senders) {
            return wrong("senders", format!("expected 1 to 10000, not {}", self.senders));
        }
        if !(0.0..1.0).contains(&self.loss) {
            return wrong("loss", format!("expected a share from 0 to below 1, not {}", self.loss));
        }
        Ok(())
    }

    fn network(&self) -> Network {
        let mean = |span: Span| Amount::Exponential(span.as_secs_f64());
        Network::new(Rate::ZERO, self.rtt).with(|network| {
            network.link = self.link.clone();
            network.on = On::Time(mean(self.on));
            network.off = mean(self.off);
            network.senders = self.senders;
            network.buffer = self.buffer;
            network.loss = self.loss;
            network.jitter = self.jitter;
        })
    }
}

/// Returns a table and its description: a built-in one by its name, or one from a file.
///
/// # Errors
/// There is no such table, or its file is invalid; the problem lists the built-in tables.
pub fn find_table(name: &str) -> Result<(Arc<RuleTable>, String), ArgumentError> {
    let tables = paceline_remy::tables();
    if let Some(named) = tables.find(name) {
        let table = named.table().map_err(|error| ArgumentError::new("table", error))?;
        return Ok((table, format!("The built-in table {name}")));
    }
    match paceline_remy::load(name) {
        Ok(loaded) => Ok((Arc::new(loaded.table), loaded.about)),
        Err(error) => Err(ArgumentError::new("table", no_table(name, &error))),
    }
}

/// Returns the error of a name that is neither a table's file nor a built-in table. Files that are there get no list of
/// built-in tables.
pub fn no_table(name: &str, error: &FileError) -> String {
    let is_missing = matches!(&error.problem, Problem::Io(problem) if problem.kind() == std::io::ErrorKind::NotFound);
    if !is_missing {
        return error.to_string();
    }
    let tables = paceline_remy::tables();
    let known: Vec<&str> = tables.iter().map(|table| &*table.name).collect();
    match nearest(name, known.iter().copied()) {
        Some(near) => {
            format!("{error}, and no built-in table has this name (did you mean `{near}`?)")
        }
        None => format!("{error}; a built-in table would be one of {}", known.join(", ")),
    }
}
