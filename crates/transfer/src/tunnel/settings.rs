//! The settings of a client's device, from the user's options and the server's handout. Without
//! input or output.

use std::net::IpAddr;

use paceline_wire::{Handout, Prefix};

use super::device::DeviceOptions;

/// Minimum prefix length of a handed-out network. A shorter one acts as a default route, which a
/// client must request by `--route`.
const LEAST_BITS: u8 = 8;

/// Returns the settings of a client's device. The addresses are the user's, or else the server's;
/// the routes are those of both.
///
/// # Errors
/// There is no address, or the server hands out an address that no machine can have, or a network
/// so large that it would route almost all packets into the tunnel.
pub(super) fn settings(own: &DeviceOptions, handout: &Handout) -> Result<DeviceOptions, String> {
    let mut settings = own.clone();
    if settings.addresses.is_empty() {
        if handout.networks.is_empty() {
            return Err("the server hands out no addresses: name one with --address ADDR/BITS, or in the tunnel's file \
                        with address = [\"ADDR/BITS\"], or use a key that the server lists (`paceline tunnel clients add`)"
                .into());
        }
        for network in &handout.networks {
            check_address(network.address)?;
            check_bits(own, network)?;
        }
        settings.addresses.clone_from(&handout.networks);
    }
    for route in &handout.routes {
        check_bits(own, route)?;
        let route = Prefix { address: route.base(), bits: route.bits };
        let is_there = |known: &Prefix| (known.base(), known.bits) == (route.address, route.bits);
        if !settings.addresses.iter().chain(&settings.routes).any(is_there) {
            settings.routes.push(route);
        }
    }
    Ok(settings)
}

fn check_bits(own: &DeviceOptions, network: &Prefix) -> Result<(), String> {
    let asked_for = |route: &Prefix| route.bits <= network.bits && route.contains(network.address);
    if network.bits < LEAST_BITS && !own.routes.iter().any(asked_for) {
        let (base, bits) = (network.base(), network.bits);
        return Err(format!(
            "the server hands out the network {base}/{bits}, which would lead almost everything into the tunnel: allow \
             it with --route {base}/{bits}"
        ));
    }
    Ok(())
}

fn check_address(address: IpAddr) -> Result<(), String> {
    let is_loopback_or_all = address.is_loopback() || address.is_multicast();
    let is_broadcast = matches!(address, IpAddr::V4(four) if four.is_broadcast());
    if is_loopback_or_all || is_broadcast || address.is_unspecified() {
        return Err(format!(
            "the server hands out the address {address}, which no device can have"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefixes(texts: &[&str]) -> Vec<Prefix> {
        texts.iter().map(|text| Prefix::parse(text).expect("a network")).collect()
    }

    fn set(
        (addresses, routes): (&[&str], &[&str]),
        (networks, handed): (&[&str], &[&str]),
    ) -> Result<(Vec<Prefix>, Vec<Prefix>), String> {
        let (addresses, routes) = (prefixes(addresses), prefixes(routes));
        let own = DeviceOptions { name: "t".into(), addresses, routes, offload: true };
        let handout = Handout { networks: prefixes(networks), routes: prefixes(handed) };
        settings(&own, &handout).map(|settings| (settings.addresses, settings.routes))
    }

    #[test]
    fn what_is_handed_out_is_used_and_the_users_own_address_goes_first() {
        let handed = (&["10.77.0.2/24", "fd77::2/64"][..], &["10.0.0.9/8", "192.0.2.0/24"][..]);
        let routes = prefixes(&["192.0.2.0/24", "10.0.0.0/8"]);
        let expected = (prefixes(&["10.77.0.2/24", "fd77::2/64"]), routes);
        assert_eq!(set((&[], &["192.0.2.0/24"]), handed), Ok(expected));
        let own = set((&["10.77.0.9/24"], &[]), handed).expect("settings").0;
        assert_eq!(own, prefixes(&["10.77.0.9/24"]));
        assert!(set((&[], &[]), (&[], &[])).expect_err("no address").contains("--address"));
        assert!(set((&["10.77.0.9/24"], &[]), (&[], &[])).is_ok());
    }

    #[test]
    fn default_routes_and_impossible_addresses_are_refused() {
        let good = &["10.77.0.2/24"][..];
        for (networks, routes) in [
            (good, &["0.0.0.0/0"][..]),
            (good, &["128.0.0.0/1"]),
            (good, &["::/0"]),
            (good, &["2000::/3"]),
            (&["10.77.0.2/0"], &[]),
            (&["10.77.0.2/7"], &[]),
        ] {
            let error = set((&[], &[]), (networks, routes)).expect_err("almost everything");
            assert!(error.contains("allow it with --route"), "{error}");
        }
        assert!(set((&[], &["0.0.0.0/0"]), (good, &["0.0.0.0/0", "128.0.0.0/1"])).is_ok());
        assert!(set((&[], &["0.0.0.0/0"]), (good, &["::/0"])).is_err());
        for address in
            ["127.0.0.1/8", "::1", "224.0.0.1/24", "0.0.0.0/24", "ff02::1/64", "255.255.255.255"]
        {
            assert!(set((&[], &[]), (&[address], &[])).is_err(), "{address}");
        }
    }
}
