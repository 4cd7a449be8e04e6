//! Which networks the specialised world can run.

use paceline_cc::{Rate, Span, Stream};
use paceline_flow::On;
use paceline_path::{BufferSize, Impairments};
use paceline_schemes::remy::Per;
use paceline_sim::StreamNames;
use paceline_sim::scenario::{Capacity, QueueChoice, RouterChoice};

use super::TableSenders;
use super::acks::AckPaths;
use super::link::FastLink;
use crate::network::{Measures, Network, PACKET};

/// Returns the link of a network that the specialised world can run, for a run of this duration
/// with this seed; `None` if the general world has to run it. The conditions are:
///
/// - There is one link, of a constant rate above zero or with a trace that repeats.
/// - Its buffer is droptail, does not limit sojourn times, and holds at least one packet. (Sizes in
///   bytes, times and bandwidth-delay products are numbers of packets, because all packets have one
///   size.)
/// - There is a delay behind the link. Losses behind it are independent.
/// - No router marks packets, and no table uses marks.
/// - Senders switch on and off by time, not by bytes.
/// - Each packet is acknowledged separately. Acknowledgements may be randomly delayed or grouped
///   into slots, but are not reordered.
/// - Only throughput and mean delay are measured.
/// - Senders retransmit nothing and ignore timeouts, as in the published program. They apply a rule
///   once for all acknowledgements of an instant.
/// - All senders follow known tables: the one being tried, or a second one for the other kind.
///   Senders of other schemes are not simulated here.
pub(super) fn fits(
    network: &Network,
    senders: &TableSenders<'_>,
    duration: Span,
    seed: u64,
) -> Option<FastLink> {
    let own = network.own();
    let others_are_known = match &network.others {
        _ if own == network.senders => true,
        Some(others) => others.scheme.is_none() || senders.others.is_some(),
        None => true,
    };
    let mut tables = senders.others.into_iter().chain([senders.table]);
    let is_plain = network.second.is_none()
        && matches!(network.on, On::Time(_))
        && matches!(network.router, RouterChoice::Auto | RouterChoice::None)
        && !network.rtt.is_zero()
        && (0.0..=1.0).contains(&network.loss)
        && matches!(network.queue, QueueChoice::Auto)
        && network.acked_packets <= 1
        && network.measures == Measures::default()
        && senders.params.as_published
        && senders.params.per == Per::Batch;
    if !is_plain || !others_are_known || tables.any(|table| table.hears_marks()) {
        return None;
    }
    let link = match &network.link {
        Capacity::Constant(rate) if *rate > Rate::ZERO => FastLink::constant(*rate),
        Capacity::Trace { trace, opportunity, overhead, repeat: true } if *opportunity > 0 => {
            FastLink::trace(trace, *opportunity, *overhead)
        }
        _ => return None,
    };
    let link = link.with_buffer(packets(network, duration)?);
    Some(match network.loss > 0.0 {
        true => link.with_losses(network.loss, Stream::new(seed, "link link")),
        false => link,
    })
}

/// Returns the capacity of a network's buffer in packets, `Some(None)` if it is unlimited; `None`
/// if it is not a number of packets or is zero.
fn packets(network: &Network, duration: Span) -> Option<Option<u64>> {
    if network.buffer == BufferSize::Unlimited {
        return Some(None);
    }
    let (rate, _) = network.rates(duration).ok()?;
    let limit = network.buffer.resolve(rate, network.rtt);
    let by_bytes = limit.bytes.map(|bytes| bytes / u64::from(PACKET));
    let packets = limit.packets.into_iter().chain(by_bytes).min()?;
    (packets > 0 && limit.sojourn.is_none()).then_some(Some(packets))
}

/// Returns the return paths of acknowledgements, if these take time.
pub(super) fn ack_paths(network: &Network, seed: u64) -> Option<AckPaths> {
    let impairments = network.ack_impairments();
    if impairments == Impairments::default() {
        return None;
    }
    let own = network.own();
    // The general world names flows of one scheme by their numbers, and those of a table `remy`.
    let mut names = StreamNames::default();
    let mut streams = Vec::new();
    for count in [own, network.senders - own] {
        for number in 1..=count {
            let name = match count == 1 || !network.starts.is_zero() {
                true => "remy".to_string(),
                false => format!("remy-{number}"),
            };
            streams.push(Stream::new(seed, &format!("acks of {}", names.unique(&name))));
        }
    }
    Some(AckPaths::new(impairments, streams))
}
