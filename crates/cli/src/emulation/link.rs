//! Builds links, queues and pipes from the user's options.

use std::fmt;

use paceline_cc::{Router, RouterSetup, SchemeSpec, Span, Spec, SpecError, Stream};
use paceline_emulator::Element;
use paceline_path::{BufferSize, Impairments, Limit, Link, Pipe, Port, Service};
use paceline_sim::scenario::{Capacity, FlowSpec, LinkSpec, RouterChoice, Scenario, Stretch};
use paceline_sim::{Transmitter, router_setup};

use super::{DEFAULT_SEED, DirectionSetup};
use crate::args;
use crate::output::Error;
use crate::registries;

/// A queue, and the router on it. A scheme's name stands for its router on the queue that follows
/// it, or on droptail.
#[derive(Clone, Debug)]
pub(crate) struct QueueChoice {
    pub(crate) queue: Spec,
    pub(crate) router: RouterChoice,
}

impl fmt::Display for QueueChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.router {
            RouterChoice::Scheme(router) => write!(f, "{router}+{}", self.queue),
            RouterChoice::Auto | RouterChoice::None | RouterChoice::Custom(_) => {
                write!(f, "{}", self.queue)
            }
        }
    }
}

/// Reads a queue or a scheme with a router, such as `droptail`, `codel[target=5ms]`, `abc`,
/// `abc+codel`.
pub(crate) fn queue_choice(text: &str) -> Result<QueueChoice, String> {
    let scheme = SchemeSpec::parse(text).map_err(|error| error.to_string())?;
    let names = registries::names();
    let queues = &names.queues;
    if let Some(queue) = queues.get(&scheme.sender.name)
        && scheme.queue.is_none()
    {
        queue.check(&scheme.sender).map_err(|error| error.to_string())?;
        return Ok(QueueChoice { queue: scheme.sender, router: RouterChoice::None });
    }
    let scheme = names.check_scheme(text).map_err(|error| match error {
        SpecError::UnknownName { name, instead, .. } => {
            let near = match (instead, queues.find(&name)) {
                (Some(instead), _) => format!(" ({instead})."),
                (None, Err(SpecError::UnknownName { near: Some(near), .. })) => {
                    format!("; did you mean `{near}`?")
                }
                _ => ".".into(),
            };
            let list = queues.names().collect::<Vec<_>>().join(", ");
            format!(
                "no queue and no scheme is called `{name}`{near} Queues are {list}; `paceline \
                 schemes` lists schemes, too"
            )
        }
        error => error.to_string(),
    })?;
    let halves = names.build_scheme(&scheme.sender).map_err(|error| error.to_string())?;
    if halves.router.is_none() {
        let name = &scheme.sender.name;
        return Err(format!(
            "`{name}` has no router half: the programs inside bring their own senders; name a \
             queue such as droptail or codel, or a scheme with a router such as abc"
        ));
    }
    let droptail = || Spec { name: "droptail".into(), args: Vec::new() };
    Ok(QueueChoice {
        queue: scheme.queue.unwrap_or_else(droptail),
        router: RouterChoice::Scheme(scheme.sender),
    })
}

/// Returns a link or an access point with its queue and router. `limit` is the limit of the queue.
/// The stations of an 802.11 link are the stations of the scenario's flows over it.
pub(crate) fn link(
    scenario: &Scenario,
    spec: &LinkSpec,
    queue: &Spec,
    limit: impl FnOnce(&Service) -> Limit,
) -> Result<Element, Error> {
    let fail = |problem: String| Error::Usage(format!("link `{}`: {problem}", spec.name));
    if let Capacity::Wifi(wifi) = &spec.capacity
        && wifi.queue_per_station
    {
        let problem = "an emulated link has one station, as what is inside is one; leave out \
                       queues = \"per-station\"";
        return Err(fail(problem.into()));
    }
    let transmitter = paceline_sim::transmitter(scenario, spec)
        .map_err(|error| Error::Usage(error.to_string()))?;
    let stream = paceline_sim::queue_stream(scenario, &spec.name);
    let entry = registries::names().queues.find(&queue.name);
    let queue = entry
        .and_then(|entry| entry.build(queue, limit(transmitter.capacity()), stream))
        .map_err(|error| fail(error.to_string()))?;
    let mut port = Port::new(queue);
    port.set_router(
        router(&spec.router, &router_setup(scenario, &spec.name))
            .map_err(|error| fail(error.to_string()))?,
    );
    Ok(match transmitter {
        Transmitter::Service(service) => Element::Link(Box::new(Link::with_port(port, service))),
        Transmitter::AccessPoint(access_point) => {
            let medium = access_point.medium(port.into());
            Element::AccessPoint(Box::new(medium.map_err(|error| fail(error.to_string()))?))
        }
    })
}

fn router(
    choice: &RouterChoice,
    setup: &RouterSetup,
) -> Result<Option<Box<dyn Router>>, SpecError> {
    match choice {
        // Scenario files cannot have custom routers.
        RouterChoice::Auto | RouterChoice::None | RouterChoice::Custom(_) => Ok(None),
        RouterChoice::Scheme(spec) => {
            Ok(registries::names().build_scheme(spec)?.router.map(|make| make(setup)))
        }
    }
}

/// Returns the limit of a link's queue, for a buffer in any unit.
pub(crate) fn limit(
    scenario: &Scenario,
    size: BufferSize,
    capacity: &Capacity,
    rtt: Span,
) -> impl FnOnce(&Service) -> Limit {
    move |service| size.resolve(paceline_sim::mean_rate(capacity, service, scenario.duration), rtt)
}

/// Round-trip time for buffers in bandwidth-delay products.
const RTT: Span = FlowSpec::RTT;

/// Returns a direction with one link: its capacity is a rate, a trace or a file.
pub(crate) fn link_side(
    direction: &str,
    text: &str,
    both: (BufferSize, &QueueChoice),
    seed: Option<u64>,
    again: bool,
) -> Result<DirectionSetup, Error> {
    let (buffer, choice) = both;
    let (name, mut capacity) = args::capacity(text).map_err(Error::Usage)?;
    if let Capacity::Trace { repeat, .. } = &mut capacity {
        *repeat = again;
    }
    // The direction is part of the name, so that both links have their own random numbers.
    let mut spec = LinkSpec::new(&format!("{direction} {name}"), capacity);
    spec.router = choice.router.clone();
    let mut alone = Scenario::new(&name);
    alone.seed = seed.unwrap_or(DEFAULT_SEED);
    let limit = limit(&alone, buffer, &spec.capacity, RTT);
    let made = link(&alone, &spec, &choice.queue, limit)?;
    Ok(DirectionSetup {
        hops: vec![made],
        name: Some(name),
        queue: Some(format!("{choice} [{buffer}]")),
        ..DirectionSetup::default()
    })
}

/// Returns a pipe with a delay and impairments; `None` if it would have neither.
pub(crate) fn pipe(
    place: &str,
    delay: Span,
    stretch: &Stretch,
    seed: u64,
) -> Result<Option<Pipe>, Error> {
    let delay = delay + stretch.delay;
    if stretch.impairments == Impairments::default() {
        return Ok((!delay.is_zero()).then(|| Pipe::new(delay)));
    }
    let stream = Stream::new(seed, place);
    Pipe::with_impairments(delay, stretch.impairments.clone(), stream)
        .map(Some)
        .map_err(|error| Error::Usage(format!("{place}: {error}")))
}

#[cfg(test)]
mod tests {
    use paceline_cc::{Body, Packet, Rate, Stage as _, Time};

    use super::*;

    #[test]
    fn a_queue_draws_by_the_seed_and_the_name_of_its_link() {
        let delivered = |seed, name: &str| -> Vec<u64> {
            let red = queue_choice("red[min=1,max=100,max_p=0.5,w=1]").expect("a queue");
            let spec = LinkSpec::new(name, Capacity::Constant(Rate::from_mbps(12.0)));
            let scenario = Scenario::new("queues").with(|scenario| scenario.seed = seed);
            let limit = |_: &Service| Limit::NONE;
            let made = link(&scenario, &spec, &red.queue, limit).expect("a link");
            let Element::Link(mut link) = made else { return Vec::new() };
            for number in 0..100 {
                let body = Body::Opaque(number);
                link.push(Time::ZERO, &Packet { body, ..Packet::opaque(1500) });
            }
            let popped = std::iter::from_fn(|| link.pop(Time::from_secs(9)));
            popped.map(|packet| packet.number()).collect()
        };
        assert!((1..100).contains(&delivered(1, "up").len()));
        assert_eq!(delivered(1, "up"), delivered(1, "up"));
        assert_ne!(delivered(1, "up"), delivered(2, "up"));
        assert_ne!(delivered(1, "up"), delivered(1, "down"));
    }

    #[test]
    fn queues_and_schemes_with_routers_are_read() {
        let codel = queue_choice("codel[target=5ms]").expect("a queue");
        assert_eq!((codel.queue.name.as_str(), codel.router), ("codel", RouterChoice::None));
        let abc = queue_choice("abc").expect("a router");
        assert_eq!(
            (abc.queue.name.as_str(), abc.to_string().as_str()),
            ("droptail", "abc+droptail")
        );
        assert_eq!(codel.queue.to_string(), "codel[target=5ms]");
        assert!(matches!(abc.router, RouterChoice::Scheme(_)));
        assert_eq!(queue_choice("abc+codel").expect("both").queue.name, "codel");
    }

    #[test]
    fn what_cannot_be_a_queue_is_refused_with_a_remedy() {
        let refused = |text: &str| queue_choice(text).err().unwrap_or_default();
        assert!(refused("cubic").contains("no router half"));
        assert!(refused("codle").contains("did you mean `codel`"));
        assert!(refused("codel[target=x]").contains("target"));
    }
}
