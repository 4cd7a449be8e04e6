//! The kill switch: firewall rules that drop packets that would leave this machine outside of the
//! tunnel. They belong to no process, so that they stay while no tunnel runs.

use paceline_os::RealTimeError;
use paceline_os::ruleset::{Chain, Family, Hook, Lifetime, NewTable, Step, delete};

use super::super::Prefix;

const OUTPUT: Chain =
    Chain { name: "output", hook: Hook::Output, priority: 0, kind: "filter", drops: true };
const FORWARD: Chain =
    Chain { name: "forward", hook: Hook::Forward, priority: 0, kind: "filter", drops: true };

/// Ports of DHCP clients and servers (RFC 2131 §4.1, RFC 8415 §7.2).
const DHCP: (u16, u16) = (68, 67);
const DHCP6: (u16, u16) = (546, 547);
/// ICMPv6 types of router and neighbour solicitations and advertisements (RFC 4861 §4).
const NEIGHBOUR_DISCOVERY: (u8, u8) = (133, 136);
/// ICMPv6 type of multicast listener reports, from which switches learn where to forward
/// solicitations (RFC 9777 §5.2).
const LISTENER_REPORT: (u8, u8) = (143, 143);

fn table(name: &str) -> String {
    format!("paceline-kill-switch-{name}")
}

/// Drops all packets that leave by another interface than `device`, except those with `mark`, those
/// to this machine itself or to the networks in `allowed`, and those by which an interface gets
/// addresses and finds neighbours. Replaces an earlier kill switch of this tunnel.
///
/// # Errors
/// The kernel has no nf_tables, or refuses the rules.
pub(super) fn install(
    name: &str,
    device: &str,
    mark: u32,
    allowed: &[Prefix],
) -> Result<(), RealTimeError> {
    let mut new = NewTable::new(Family::Both, &table(name), Lifetime::Persistent);
    new.chain(&OUTPUT);
    new.chain(&FORWARD);
    let family = |at: &Prefix| if at.address.is_ipv4() { Family::Four } else { Family::Six };
    for chain in [&OUTPUT, &FORWARD] {
        for interface in ["lo", device] {
            new.rule(chain, &[Step::LeavesBy(interface.into(), true), Step::Accept]);
        }
        for network in allowed {
            let to = Step::To(network.base(), network.bits);
            new.rule(chain, &[Step::Is(family(network)), to, Step::Accept]);
        }
    }
    // Packets from the tunnel to a network behind this machine.
    new.rule(&FORWARD, &[Step::CameBy(device.into(), true), Step::Accept]);
    new.rule(&OUTPUT, &[Step::Marked(mark), Step::Accept]);
    for (family, (source, destination)) in [(Family::Four, DHCP), (Family::Six, DHCP6)] {
        let steps = [
            Step::Is(family),
            Step::Protocol(libc::IPPROTO_UDP),
            Step::Ports(source, destination),
            Step::Accept,
        ];
        new.rule(&OUTPUT, &steps);
    }
    for (least, most) in [NEIGHBOUR_DISCOVERY, LISTENER_REPORT] {
        let steps = [Step::Is(Family::Six), Step::MessageTypes(least, most), Step::Accept];
        new.rule(&OUTPUT, &steps);
    }
    new.install().map(drop).map_err(RealTimeError::system("kill switch (nf_tables)"))
}

/// Removes the kill switch of the tunnel `name`. Returns false if there is none.
///
/// # Errors
/// The kernel refuses to remove it.
pub(super) fn lift(name: &str) -> Result<bool, RealTimeError> {
    match delete(Family::Both, &table(name)) {
        // A kernel without nf_tables has no kill switch.
        Err(error)
            if matches!(error.raw_os_error(), Some(libc::EPROTONOSUPPORT | libc::EINVAL)) =>
        {
            Ok(false)
        }
        lifted => lifted.map_err(RealTimeError::system("lifting the kill switch (nf_tables)")),
    }
}
