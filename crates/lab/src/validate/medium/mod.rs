//! The shared 802.11 medium beside ns-2, ns-3 and Bianchi's model: `reference/peers/wifi_dcf.csv`.

mod echo;
mod figures;
mod flows;
mod saturated;

use super::case::Case;

/// Returns a case for each row, and variants that copy the peers.
pub(super) fn cases() -> Vec<Case<'static>> {
    let mut cases = saturated::simulators();
    cases.extend(echo::cases());
    cases.extend(saturated::bianchi());
    cases.extend(flows::cases());
    cases
}
