//! Requests for simulated runs beside real ones: paths, schemes, defaults, errors.

use paceline_cc::{ArgumentError, SchemeSpec, Span};
use paceline_path::BufferSize;
use paceline_sim::Names;
use paceline_sim::runs::{Runs, Spread};
use paceline_sim::scenario::{Capacity, FlowSpec, Scenario, Workload};

use super::GapRun;
use crate::compare::{Comparison, twice};

/// Simulated runs beside real ones.
#[derive(Clone, Debug)]
pub struct GapRequest {
    /// The paths.
    pub paths: GapPaths,
    /// The schemes; without any, those of the scenario.
    pub schemes: Vec<SchemeSpec>,
    /// Whether each scheme that has a window and no pacing also runs paced as by the fq qdisc.
    pub paced: bool,
    /// Length of each run; `None` for the scenario's or 60 s.
    pub duration: Option<Span>,
    /// Seed of the first run; `None` for the scenario's or 1.
    pub seed: Option<u64>,
    /// Number of simulated runs; `None` for the number in the scenario's file, or 10 if it has none.
    pub count: Option<u32>,
    /// Spread of the simulated runs' starts; `None` for the scenario's or 1 s.
    pub spread: Option<Spread>,
}

/// Paths of real and simulated runs.
#[derive(Clone, Debug)]
pub enum GapPaths {
    /// One path for each link.
    Links {
        /// The links with their names.
        links: Vec<(String, Capacity)>,
        /// Capacity of the link that acknowledgements take; `None` for an unlimited one.
        reverse: Option<Capacity>,
        /// Round-trip propagation delay.
        rtt: Span,
        /// Limit of the link's queue.
        buffer: BufferSize,
        /// Number of flows of each scheme.
        flows: u32,
    },
    /// The path of a scenario whose flows all send bulk data over it from the beginning to the end.
    Scenario(Box<Scenario>),
}

impl GapRequest {
    /// Default number of simulated runs of each scheme.
    pub const RUNS: u32 = 10;

    /// Returns a request for these schemes over these paths with all defaults.
    pub fn new(paths: GapPaths, schemes: Vec<SchemeSpec>) -> GapRequest {
        GapRequest {
            paths,
            schemes,
            paced: false,
            duration: None,
            seed: None,
            count: None,
            spread: None,
        }
    }

    /// Returns the runs that answer the request, path by path.
    ///
    /// # Errors
    /// The scenario has other flows than bulk flows over one path, or names no scheme.
    pub fn plan(&self, names: &Names) -> Result<Vec<GapRun>, ArgumentError> {
        if let Some(scheme) = twice(&self.schemes) {
            let problem = format!("{scheme} stands in the list twice");
            return Err(ArgumentError::new("schemes", problem));
        }
        let mut runs = match &self.paths {
            GapPaths::Links { links, reverse, rtt, buffer, flows } => {
                let mut runs = Vec::new();
                for (name, capacity) in links {
                    for scheme in self.schemes(&self.schemes, names) {
                        let comparison = Comparison {
                            reverse: reverse.clone(),
                            flows: *flows,
                            rtt: *rtt,
                            buffer: *buffer,
                            duration: self.duration.unwrap_or(Comparison::DURATION),
                            seed: self.seed.unwrap_or(1),
                            ..Comparison::new(name, capacity.clone(), scheme)
                        };
                        let scenario = comparison.scenario();
                        runs.push(GapRun { comparison, scenario });
                    }
                }
                runs
            }
            GapPaths::Scenario(scenario) => self.of_scenario(scenario, names)?,
        };
        for GapRun { scenario, .. } in &mut runs {
            let written = scenario.runs;
            let usual = if scenario.states_runs { written.count } else { GapRequest::RUNS };
            scenario.runs = Runs {
                count: self.count.unwrap_or(usual),
                spread: self.spread.unwrap_or(written.spread),
            };
        }
        Ok(runs)
    }

    /// Returns these schemes, each followed by its paced variant if that is wanted and the host can
    /// pace it.
    fn schemes(&self, schemes: &[SchemeSpec], names: &Names) -> Vec<SchemeSpec> {
        let with = schemes.iter().flat_map(|scheme| {
            let mut paced = scheme.clone();
            paced.sender.args.push(("pacing".into(), "linux".into()));
            let can_be = self.paced && names.build_scheme(&paced.sender).is_ok();
            [Some(scheme.clone()), can_be.then_some(paced)].into_iter().flatten()
        });
        with.collect()
    }

    /// Returns the runs over a scenario's path. The measured link is the first one on the path.
    fn of_scenario(
        &self,
        scenario: &Scenario,
        names: &Names,
    ) -> Result<Vec<GapRun>, ArgumentError> {
        let mut scenario = scenario.clone();
        scenario.duration = self.duration.unwrap_or(scenario.duration);
        scenario.seed = self.seed.unwrap_or(scenario.seed);
        scenario.warmup = Span::ZERO;
        let first = scenario.flows.first().cloned().ok_or_else(|| refused("there is no flow"))?;
        self.check(&scenario, &first)?;
        let of_path = |name: &String| scenario.links.iter().position(|link| link.name == *name);
        let measured = first.path.first().and_then(of_path);
        // Moves the measured link to the front.
        scenario.links.swap(0, measured.ok_or_else(|| refused("there is no link"))?);
        let own: Vec<SchemeSpec> = first.scheme.named().cloned().into_iter().collect();
        let schemes = if self.schemes.is_empty() { &own } else { &self.schemes };
        let runs = self.schemes(schemes, names).into_iter().map(|scheme| {
            let mut scenario = scenario.clone();
            scenario.flows.iter_mut().for_each(|flow| flow.scheme = scheme.clone().into());
            let link = &scenario.links[0];
            let comparison = Comparison {
                flows: scenario.flows.iter().map(|flow| flow.count).sum(),
                rtt: first.rtt,
                buffer: link.buffer,
                duration: scenario.duration,
                seed: scenario.seed,
                ..Comparison::new(&link.name, link.capacity.clone(), scheme)
            };
            GapRun { comparison, scenario }
        });
        Ok(runs.collect())
    }

    /// Checks that all flows send bulk data over the path of the first from the beginning to the
    /// end, under one scheme.
    fn check(&self, scenario: &Scenario, first: &FlowSpec) -> Result<(), ArgumentError> {
        if !scenario.arrivals.is_empty() {
            return Err(refused("there are flows of random arrivals"));
        }
        let way = |flow: &FlowSpec| {
            (flow.path.clone(), flow.back.clone(), flow.rtt, flow.data.clone(), flow.acks.clone())
        };
        for flow in &scenario.flows {
            let name = &flow.name;
            let whole = flow.start.is_zero() && flow.stop.is_none() && flow.stagger.is_zero();
            let problem = if !matches!(flow.workload, Workload::Bulk) {
                "is no bulk flow"
            } else if !whole {
                "starts or stops on the way"
            } else if way(flow) != way(first) {
                "takes another path than the first"
            } else if self.schemes.is_empty() && flow.scheme != first.scheme {
                "has another scheme than the first: name --schemes"
            } else {
                continue;
            };
            return Err(refused(&format!("flow `{name}` {problem}")));
        }
        Ok(())
    }
}

/// Returns the error about a scenario.
fn refused(problem: &str) -> ArgumentError {
    let rule = "`gap` runs bulk flows over one path, from the beginning to the end";
    ArgumentError::new("scenario", format!("{problem}; {rule}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "duration = \"2s\"\nruns = 3\n[[link]]\nname = \"l\"\nrate = \"12Mbps\"\n\
                        [[flow]]\nscheme = \"cubic\"\npath = [\"l\"]\n";

    fn names() -> Names {
        paceline_remy::names()
    }

    fn of_file(text: &str) -> GapRequest {
        let scenario = paceline_sim::scenario::parse("test", text, None).expect("a scenario");
        GapRequest::new(GapPaths::Scenario(Box::new(scenario)), Vec::new())
    }

    fn over_links(schemes: &[&str]) -> GapRequest {
        let schemes = schemes.iter().map(|text| SchemeSpec::parse(text).expect("a scheme"));
        let (name, capacity) = crate::written::capacity("12Mbps").expect("a rate");
        let paths = GapPaths::Links {
            links: vec![(name, capacity)],
            reverse: None,
            rtt: Comparison::RTT,
            buffer: Comparison::BUFFER,
            flows: 1,
        };
        GapRequest::new(paths, schemes.collect())
    }

    #[test]
    fn links_have_ten_runs_of_a_minute() {
        let runs = over_links(&["cubic", "bbr"]).plan(&names()).expect("runs");
        let of = |run: &GapRun| (run.scenario.runs.count, run.scenario.duration);
        assert_eq!(runs.iter().map(of).collect::<Vec<_>>(), [(10, Comparison::DURATION); 2]);
    }

    #[test]
    fn paced_schemes_follow_those_that_the_host_can_pace() {
        let request = GapRequest { paced: true, ..over_links(&["cubic", "bbr"]) };
        let runs = request.plan(&names()).expect("runs");
        let schemes: Vec<String> =
            runs.iter().map(|run| run.comparison.scheme.to_string()).collect();
        assert_eq!(schemes, ["cubic", "cubic[pacing=linux]", "bbr"]);
    }

    #[test]
    fn scenarios_keep_their_own_runs_and_schemes() {
        let runs = of_file(FILE).plan(&names()).expect("runs");
        assert_eq!(runs.len(), 1);
        assert_eq!(runs[0].comparison.scheme.to_string(), "cubic");
        assert_eq!(
            (runs[0].scenario.runs.count, runs[0].scenario.duration),
            (3, Span::from_secs(2))
        );
    }

    #[test]
    fn a_single_run_that_the_file_states_stays_single() {
        for (line, count) in [("runs = 1\n", 1), ("", GapRequest::RUNS)] {
            let request = of_file(&FILE.replace("runs = 3\n", line));
            let count_of =
                |request: &GapRequest| request.plan(&names()).expect("runs")[0].scenario.runs.count;
            assert_eq!(count_of(&request), count, "{line}");
            assert_eq!(count_of(&GapRequest { count: Some(7), ..request }), 7, "{line}");
        }
    }

    #[test]
    fn no_scheme_stands_in_the_list_twice() {
        let error = over_links(&["cubic", "bbr", "cubic"]).plan(&names()).expect_err("twice");
        assert_eq!(error.to_string(), "schemes: cubic stands in the list twice");
    }

    #[test]
    fn other_flows_than_bulk_over_one_path_are_refused() {
        for (more, said) in [
            ("bytes = 1000\n", "is no bulk flow"),
            ("start = \"1s\"\n", "starts or stops on the way"),
            ("[[flow]]\nscheme = \"bbr\"\npath = [\"l\"]\n", "has another scheme than the first"),
            ("[[flow]]\nscheme = \"cubic\"\npath = [\"l\"]\nrtt = \"7ms\"\n", "takes another path"),
        ] {
            let error = of_file(&format!("{FILE}{more}")).plan(&names()).expect_err(more);
            assert_eq!(error.argument, "scenario");
            assert!(error.problem.contains(said), "{error}");
        }
    }
}
