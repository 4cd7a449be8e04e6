//! What tables and schemes reach on one network or on those of a specification: `paceline remy eval`,
//! `paceline.remy.evaluate`.

use std::sync::Arc;

use paceline_cc::{Rate, Span};
use paceline_path::BufferSize;
use paceline_remy::evaluate::Contender;
use paceline_remy::spec::Specification;
use paceline_remy::{Assessment, EvalRow, Network};
use paceline_schemes::remy::{RemyParams, RuleTable};
use paceline_sim::BuildError;
use paceline_sim::flow::{Amount, On};
use paceline_sim::runs::Spread;
use paceline_sim::scenario::{Capacity, CustomScheme, SchemeChoice};
use thiserror::Error;

use crate::argument::ArgumentError;

/// Tables and schemes side by side on networks whose senders are on and off.
#[derive(Clone, Debug)]
pub struct EvaluationRequest {
    /// Names of built-in tables, and files of others.
    pub tables: Vec<String>,
    /// Schemes beside them.
    pub schemes: Vec<String>,
    /// Length of each run; `None` for [`EvaluationRequest::DURATION`], or what the specification says.
    pub duration: Option<Span>,
    /// The first seed.
    pub first_seed: u64,
    /// Number of runs, each with a seed of its own: 1 to 100,000.
    pub seeds: u32,
    /// True if senders of tables send again what was lost, and timeouts count; else they are as in the published
    /// simulator, which repairs nothing.
    pub repairs: bool,
}

/// The network of an evaluation that has no specification. Senders begin off, and are on and off for
/// exponentially distributed times.
#[derive(Clone, Debug)]
pub struct EvaluationNetwork {
    /// Capacity of the link.
    pub link: Capacity,
    /// RTT without a queue, above zero.
    pub rtt: Span,
    /// Number of senders, 1 to 10,000.
    pub senders: u32,
    /// Mean time that senders are on.
    pub on: Span,
    /// Mean time that they are off.
    pub off: Span,
    /// What may wait at the link.
    pub buffer: BufferSize,
    /// Share of packets that get lost behind the link, below 1.
    pub loss: f64,
    /// Mean of a random delay of each acknowledgement, distributed exponentially.
    pub jitter: Span,
    /// RTTs that exceed the smallest one by at most this much count as the smallest, for senders of tables;
    /// `None` for 10 ns, as in the published simulator.
    pub resolution: Option<Span>,
    /// Where in the link's recording the runs start.
    pub spread: Spread,
}

impl Default for EvaluationRequest {
    /// No table, no scheme, three seeds from 1 on.
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
    /// Two senders on a link of 15 Mbit/s whose RTT is 150 ms, on and off for 5 s each in the mean.
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

/// Why there is no evaluation.
#[derive(Debug, Error)]
pub enum EvaluationError {
    /// An argument.
    #[error(transparent)]
    Argument(#[from] ArgumentError),
    /// A network with a table or scheme cannot be built.
    #[error("{name}: {error}")]
    Build {
        /// The table or scheme.
        name: String,
        /// Why.
        error: BuildError,
    },
}

impl EvaluationRequest {
    /// Length of a run if neither the request nor a specification says it.
    pub const DURATION: Span = Span::from_secs(1000);

    /// Returns a row for each table and scheme on one network. `go_on` is asked before each whether to go on.
    ///
    /// # Errors
    /// The argument that is wrong, or what cannot be built.
    pub fn on_network(
        &self,
        network: &EvaluationNetwork,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Vec<EvalRow>, EvaluationError> {
        let duration = self.duration.unwrap_or(EvaluationRequest::DURATION);
        network.check()?;
        let spread = network.spread;
        let mut params = RemyParams { as_published: !self.repairs, ..RemyParams::default() };
        params.resolution = network.resolution.unwrap_or(params.resolution);
        let contenders = self.contenders(&params)?;
        let seeds = self.seed_list()?;
        let network = network.network();
        let rate = network.packets_per_ms(duration);
        let rate = rate.map_err(|error| EvaluationError::Build { name: "link".into(), error })?;
        let mut rows = Vec::new();
        for (name, contender) in contenders.iter().take_while(|_| go_on()) {
            let row =
                paceline_remy::eval(name, &network, rate, contender, duration, &seeds, spread);
            rows.push(row.map_err(|error| EvaluationError::Build { name: name.clone(), error })?);
        }
        Ok(rows)
    }

    /// Returns a row for each table and scheme on the networks of a specification, whose duration is changed to
    /// that of the request. `go_on` is asked before each whether to go on.
    ///
    /// # Errors
    /// The argument that is wrong, or what cannot be built.
    pub fn on_specification(
        &self,
        specification: &mut Specification,
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
        let contenders = self.contenders(&params)?;
        let seeds = self.seed_list()?;
        let mut rows: Vec<Assessment> = Vec::new();
        for (name, contender) in contenders.iter().take_while(|_| go_on()) {
            let row = paceline_remy::assess(name, contender, specification, &seeds, rows.first());
            rows.push(row.map_err(|error| EvaluationError::Build { name: name.clone(), error })?);
        }
        Ok(rows)
    }

    /// The seeds of the runs.
    ///
    /// # Errors
    /// If there are none or too many.
    pub fn seed_list(&self) -> Result<Vec<u64>, ArgumentError> {
        if !(1..=100_000).contains(&self.seeds) {
            let problem = format!("expected 1 to 100000, not {}", self.seeds);
            return Err(ArgumentError::new("seeds", problem));
        }
        Ok((0..self.seeds).map(|number| self.first_seed.wrapping_add(number.into())).collect())
    }

    /// Tables and schemes with their names; senders of tables have these parameters.
    fn contenders(&self, params: &RemyParams) -> Result<Vec<(String, Contender)>, ArgumentError> {
        let mut all = Vec::new();
        for name in &self.tables {
            let (table, params) = (find_table(name)?.0, params.clone());
            all.push((name.clone(), Contender::Table { table, params }));
        }
        let names = paceline_remy::names();
        for text in &self.schemes {
            let wrong = |error: paceline_cc::SpecError| ArgumentError::new("schemes", error);
            let spec =
                names.check_scheme(text).map_err(|error| ArgumentError::new("schemes", error))?;
            let choice: SchemeChoice = if spec.sender.name == "remy" {
                // A table from a file is known to these names alone.
                CustomScheme::new(text, names.build_scheme(&spec.sender).map_err(wrong)?).into()
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

/// Returns a table with what is known about it: a built-in one by its name, or else one from a file.
///
/// # Errors
/// If there is none; the problem lists the built-in tables.
pub fn find_table(name: &str) -> Result<(Arc<RuleTable>, String), ArgumentError> {
    let tables = paceline_remy::tables();
    if let Some(named) = tables.find(name) {
        let table = named.table().map_err(|error| ArgumentError::new("table", error))?;
        return Ok((table, format!("The built-in table {name}")));
    }
    match paceline_remy::load(name) {
        Ok(loaded) => Ok((Arc::new(loaded.table), loaded.about)),
        Err(error) => {
            let known: Vec<&str> = tables.iter().map(|table| &*table.name).collect();
            let known = known.join(", ");
            let problem = format!("{error}; a built-in table would be one of {known}");
            Err(ArgumentError::new("table", problem))
        }
    }
}
