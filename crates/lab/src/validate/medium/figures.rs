//! Figures of ns-2, ns-3 and Bianchi's model for stations that always have a packet of 1300 bytes:
//! `reference/peers/wifi_dcf.csv`, row by row.

use paceline_wifi::Load::{self, Both, Down, Up};
use paceline_wifi::{Phy, Preamble};

use self::Standard::{A, B};

/// Physical layer of a row.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Standard {
    /// 802.11a.
    A,
    /// 802.11b with long preambles.
    B,
}

impl Standard {
    pub(super) fn phy(self) -> Phy {
        match self {
            Standard::A => Phy::ofdm(),
            Standard::B => Phy::dsss(Preamble::Long),
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Standard::A => "802.11a",
            Standard::B => "802.11b",
        }
    }
}

/// Figures of saturated stations.
#[derive(Copy, Clone, Debug)]
pub(super) struct SaturationRow {
    pub(super) standard: Standard,
    pub(super) mbps: f64,
    pub(super) stations: u32,
    pub(super) load: Load,
    /// Throughput of packets, in Mbit/s.
    pub(super) throughput: f64,
    /// Share of transmitted frames that collided.
    pub(super) collisions: f64,
}

const fn row(
    standard: Standard,
    mbps: f64,
    stations: u32,
    load: Load,
    throughput: f64,
    collisions: f64,
) -> SaturationRow {
    SaturationRow { standard, mbps, stations, load, throughput, collisions }
}

/// ns-2 2.35. SaturationRows of OFDM with both directions are left out, because they lack collisions.
#[rustfmt::skip]
pub(super) static NS2: &[SaturationRow] = &[
    row(B, 1.0, 1, Both, 0.8817, 0.0645),
    row(B, 1.0, 1, Down, 0.9021, 0.0),
    row(B, 1.0, 1, Up, 0.9021, 0.0),
    row(B, 1.0, 10, Down, 0.9021, 0.0),
    row(B, 1.0, 2, Both, 0.8685, 0.0993),
    row(B, 1.0, 2, Down, 0.9021, 0.0),
    row(B, 1.0, 2, Up, 0.8828, 0.0629),
    row(B, 1.0, 5, Both, 0.8122, 0.2144),
    row(B, 1.0, 5, Down, 0.9021, 0.0001),
    row(B, 1.0, 5, Up, 0.8298, 0.1802),
    row(B, 11.0, 1, Both, 5.9313, 0.0611),
    row(B, 11.0, 1, Down, 5.6965, 0.0),
    row(B, 11.0, 1, Up, 5.6965, 0.0),
    row(B, 11.0, 10, Down, 5.6908, 0.0),
    row(B, 11.0, 2, Both, 5.9767, 0.097),
    row(B, 11.0, 2, Down, 5.6953, 0.0),
    row(B, 11.0, 2, Up, 5.9568, 0.059),
    row(B, 11.0, 5, Both, 5.7221, 0.2093),
    row(B, 11.0, 5, Down, 5.6949, 0.0),
    row(B, 11.0, 5, Up, 5.8105, 0.1802),
    row(B, 2.0, 1, Both, 1.6529, 0.0688),
    row(B, 2.0, 1, Down, 1.6798, 0.0),
    row(B, 2.0, 1, Up, 1.6798, 0.0),
    row(B, 2.0, 10, Down, 1.6794, 0.0001),
    row(B, 2.0, 2, Both, 1.6437, 0.0942),
    row(B, 2.0, 2, Down, 1.6797, 0.0),
    row(B, 2.0, 2, Up, 1.6632, 0.0601),
    row(B, 2.0, 5, Both, 1.5404, 0.2117),
    row(B, 2.0, 5, Down, 1.6798, 0.0),
    row(B, 2.0, 5, Up, 1.5702, 0.1798),
    row(B, 54.0, 1, Both, 10.9188, 0.0585),
    row(B, 54.0, 1, Down, 9.8743, 0.0),
    row(B, 54.0, 1, Up, 9.8743, 0.0),
    row(A, 24.0, 1, Down, 17.2718, 0.0),
    row(A, 24.0, 1, Up, 17.2718, 0.0),
    row(A, 54.0, 1, Down, 29.2661, 0.0),
    row(A, 54.0, 1, Up, 29.2661, 0.0),
    row(A, 6.0, 1, Down, 5.3326, 0.0001),
    row(A, 6.0, 1, Up, 5.3326, 0.0001),
    row(B, 1.0, 10, Both, 0.7598, 0.3094),
    row(B, 1.0, 10, Up, 0.7704, 0.2936),
    row(B, 11.0, 10, Both, 5.4112, 0.304),
    row(B, 11.0, 10, Up, 5.4656, 0.2899),
    row(B, 2.0, 10, Both, 1.4494, 0.3013),
    row(B, 2.0, 10, Up, 1.4608, 0.2898),
];

/// ns-2 2.35: runs with one seed, and with another address resolution.
#[rustfmt::skip]
pub(super) static NS2_CHECK: &[SaturationRow] = &[
    row(B, 1.0, 1, Up, 0.9027, 0.0),
    row(B, 1.0, 3, Up, 0.8684, 0.0999),
    row(B, 1.0, 5, Up, 0.8362, 0.1686),
    row(B, 11.0, 1, Up, 5.693, 0.0),
    row(B, 11.0, 3, Up, 5.9488, 0.1069),
    row(B, 11.0, 5, Up, 5.7945, 0.1832),
];

/// ns-3 3.37.
#[rustfmt::skip]
pub(super) static NS3: &[SaturationRow] = &[
    row(B, 1.0, 1, Both, 0.8841, 0.0605),
    row(B, 1.0, 1, Down, 0.9012, 0.0),
    row(B, 1.0, 1, Up, 0.9016, 0.0),
    row(B, 1.0, 10, Both, 0.7685, 0.3028),
    row(B, 1.0, 10, Up, 0.7776, 0.2893),
    row(B, 1.0, 2, Both, 0.8689, 0.1003),
    row(B, 1.0, 2, Up, 0.8853, 0.0586),
    row(B, 1.0, 5, Both, 0.8194, 0.2056),
    row(B, 1.0, 5, Up, 0.8306, 0.1827),
    row(B, 11.0, 1, Both, 5.94, 0.0618),
    row(B, 11.0, 1, Down, 5.6597, 0.0),
    row(B, 11.0, 1, Up, 5.6628, 0.0),
    row(B, 11.0, 10, Both, 5.6567, 0.2962),
    row(B, 11.0, 10, Down, 5.6593, 0.0),
    row(B, 11.0, 10, Up, 5.6637, 0.2896),
    row(B, 11.0, 2, Both, 6.0029, 0.1025),
    row(B, 11.0, 2, Down, 5.6597, 0.0),
    row(B, 11.0, 2, Up, 5.9509, 0.0598),
    row(B, 11.0, 5, Both, 5.9072, 0.1959),
    row(B, 11.0, 5, Down, 5.6597, 0.0),
    row(B, 11.0, 5, Up, 5.9051, 0.1818),
    row(B, 2.0, 1, Both, 1.6637, 0.0594),
    row(B, 2.0, 1, Down, 1.6765, 0.0),
    row(B, 2.0, 1, Up, 1.677, 0.0),
    row(B, 2.0, 10, Both, 1.4629, 0.3034),
    row(B, 2.0, 10, Up, 1.486, 0.2816),
    row(B, 2.0, 2, Both, 1.6425, 0.0989),
    row(B, 2.0, 2, Up, 1.6654, 0.0577),
    row(B, 2.0, 5, Both, 1.561, 0.2004),
    row(B, 2.0, 5, Up, 1.5784, 0.1793),
    row(A, 24.0, 1, Both, 16.7141, 0.1081),
    row(A, 24.0, 1, Down, 16.9507, 0.0),
    row(A, 24.0, 1, Up, 16.9559, 0.0),
    row(A, 24.0, 10, Both, 14.6467, 0.3753),
    row(A, 24.0, 10, Up, 14.6813, 0.3676),
    row(A, 24.0, 2, Both, 16.341, 0.1756),
    row(A, 24.0, 2, Up, 16.6543, 0.1129),
    row(A, 24.0, 5, Both, 15.4869, 0.2887),
    row(A, 24.0, 5, Up, 15.7313, 0.2596),
    row(A, 54.0, 1, Both, 28.9474, 0.109),
    row(A, 54.0, 1, Down, 28.4274, 0.0),
    row(A, 54.0, 1, Up, 28.4627, 0.0),
    row(A, 54.0, 10, Both, 26.0485, 0.3922),
    row(A, 54.0, 10, Down, 28.4405, 0.0),
    row(A, 54.0, 10, Up, 26.4645, 0.3696),
    row(A, 54.0, 2, Both, 28.6686, 0.1765),
    row(A, 54.0, 2, Down, 28.4274, 0.0),
    row(A, 54.0, 2, Up, 28.8871, 0.1111),
    row(A, 54.0, 5, Both, 27.6286, 0.2883),
    row(A, 54.0, 5, Down, 28.4274, 0.0),
    row(A, 54.0, 5, Up, 27.9552, 0.2626),
    row(A, 6.0, 1, Both, 5.0695, 0.1052),
    row(A, 6.0, 1, Down, 5.2905, 0.0),
    row(A, 6.0, 1, Up, 5.292, 0.0),
    row(A, 6.0, 10, Both, 4.2571, 0.3802),
    row(A, 6.0, 10, Up, 4.2666, 0.3732),
    row(A, 6.0, 2, Both, 4.889, 0.1755),
    row(A, 6.0, 2, Up, 5.0518, 0.1108),
    row(A, 6.0, 5, Both, 4.5604, 0.2891),
    row(A, 6.0, 5, Up, 4.6415, 0.2612),
];

/// ns-3 3.37, with acknowledgements at the rate of the data.
#[rustfmt::skip]
pub(super) static NS3_ACK: &[SaturationRow] = &[
    row(B, 11.0, 1, Up, 5.9925, 0.0),
    row(B, 11.0, 10, Up, 6.0102, 0.2848),
    row(B, 11.0, 5, Up, 6.2598, 0.1826),
];

/// Bianchi's model with ns-2's settings: an EIFS after a collision, windows of 31, 63, ... slots.
#[rustfmt::skip]
pub(super) static BIANCHI_NS2: &[SaturationRow] = &[
    row(B, 1.0, 1, Up, 0.9022, 0.0),
    row(B, 1.0, 2, Up, 0.886, 0.0586),
    row(B, 1.0, 3, Up, 0.866, 0.107),
    row(B, 1.0, 4, Up, 0.8474, 0.1473),
    row(B, 1.0, 5, Up, 0.8309, 0.1812),
    row(B, 1.0, 6, Up, 0.8161, 0.21),
    row(B, 1.0, 10, Up, 0.7711, 0.2931),
    row(B, 1.0, 11, Up, 0.7623, 0.3085),
    row(B, 1.0, 20, Up, 0.7047, 0.4039),
    row(B, 1.0, 21, Up, 0.6998, 0.4116),
    row(B, 2.0, 1, Up, 1.6796, 0.0),
    row(B, 2.0, 2, Up, 1.6677, 0.0586),
    row(B, 2.0, 3, Up, 1.6362, 0.107),
    row(B, 2.0, 4, Up, 1.6041, 0.1473),
    row(B, 2.0, 5, Up, 1.5744, 0.1812),
    row(B, 2.0, 6, Up, 1.5477, 0.21),
    row(B, 2.0, 10, Up, 1.4645, 0.2931),
    row(B, 2.0, 11, Up, 1.448, 0.3085),
    row(B, 2.0, 20, Up, 1.3398, 0.4039),
    row(B, 2.0, 21, Up, 1.3306, 0.4116),
    row(B, 5.5, 1, Up, 3.7191, 0.0),
    row(B, 5.5, 2, Up, 3.803, 0.0586),
    row(B, 5.5, 3, Up, 3.7694, 0.107),
    row(B, 5.5, 4, Up, 3.7145, 0.1473),
    row(B, 5.5, 5, Up, 3.6572, 0.1812),
    row(B, 5.5, 6, Up, 3.6025, 0.21),
    row(B, 5.5, 10, Up, 3.4231, 0.2931),
    row(B, 5.5, 11, Up, 3.3866, 0.3085),
    row(B, 5.5, 20, Up, 3.1424, 0.4039),
    row(B, 5.5, 21, Up, 3.1214, 0.4116),
    row(B, 11.0, 1, Up, 5.6949, 0.0),
    row(B, 11.0, 2, Up, 5.9966, 0.0586),
    row(B, 11.0, 3, Up, 6.0072, 0.107),
    row(B, 11.0, 4, Up, 5.952, 0.1473),
    row(B, 11.0, 5, Up, 5.8794, 0.1812),
    row(B, 11.0, 6, Up, 5.8044, 0.21),
    row(B, 11.0, 10, Up, 5.5402, 0.2931),
    row(B, 11.0, 11, Up, 5.4845, 0.3085),
    row(B, 11.0, 20, Up, 5.1045, 0.4039),
    row(B, 11.0, 21, Up, 5.0713, 0.4116),
];

/// Bianchi's model with the standard's windows, and a DIFS after a collision.
#[rustfmt::skip]
pub(super) static BIANCHI_STANDARD: &[SaturationRow] = &[
    row(B, 1.0, 1, Up, 0.9014, 0.0),
    row(B, 1.0, 2, Up, 0.8871, 0.057),
    row(B, 1.0, 3, Up, 0.8683, 0.1046),
    row(B, 1.0, 4, Up, 0.8506, 0.1444),
    row(B, 1.0, 5, Up, 0.8346, 0.1781),
    row(B, 1.0, 6, Up, 0.8203, 0.2069),
    row(B, 1.0, 10, Up, 0.7762, 0.2902),
    row(B, 1.0, 11, Up, 0.7676, 0.3058),
    row(B, 1.0, 20, Up, 0.7106, 0.4019),
    row(B, 1.0, 21, Up, 0.7058, 0.4096),
    row(B, 2.0, 1, Up, 1.6769, 0.0),
    row(B, 2.0, 2, Up, 1.6704, 0.057),
    row(B, 2.0, 3, Up, 1.6424, 0.1046),
    row(B, 2.0, 4, Up, 1.6128, 0.1444),
    row(B, 2.0, 5, Up, 1.5851, 0.1781),
    row(B, 2.0, 6, Up, 1.5598, 0.2069),
    row(B, 2.0, 10, Up, 1.4802, 0.2902),
    row(B, 2.0, 11, Up, 1.4643, 0.3058),
    row(B, 2.0, 20, Up, 1.3593, 0.4019),
    row(B, 2.0, 21, Up, 1.3503, 0.4096),
    row(B, 5.5, 1, Up, 3.7059, 0.0),
    row(B, 5.5, 2, Up, 3.8128, 0.057),
    row(B, 5.5, 3, Up, 3.7956, 0.1046),
    row(B, 5.5, 4, Up, 3.7531, 0.1444),
    row(B, 5.5, 5, Up, 3.7055, 0.1781),
    row(B, 5.5, 6, Up, 3.6587, 0.2069),
    row(B, 5.5, 10, Up, 3.5, 0.2902),
    row(B, 5.5, 11, Up, 3.467, 0.3058),
    row(B, 5.5, 20, Up, 3.2431, 0.4019),
    row(B, 5.5, 21, Up, 3.2236, 0.4096),
    row(B, 11.0, 1, Up, 5.6639, 0.0),
    row(B, 11.0, 2, Up, 6.018, 0.057),
    row(B, 11.0, 3, Up, 6.0686, 0.1046),
    row(B, 11.0, 4, Up, 6.0451, 0.1444),
    row(B, 11.0, 5, Up, 5.9981, 0.1781),
    row(B, 11.0, 6, Up, 5.944, 0.2069),
    row(B, 11.0, 10, Up, 5.7364, 0.2902),
    row(B, 11.0, 11, Up, 5.6908, 0.3058),
    row(B, 11.0, 20, Up, 5.3692, 0.4019),
    row(B, 11.0, 21, Up, 5.3404, 0.4096),
    row(A, 6.0, 1, Up, 5.2913, 0.0),
    row(A, 6.0, 2, Up, 5.0883, 0.1046),
    row(A, 6.0, 3, Up, 4.8987, 0.1781),
    row(A, 6.0, 4, Up, 4.746, 0.2315),
    row(A, 6.0, 5, Up, 4.6227, 0.2722),
    row(A, 6.0, 6, Up, 4.5207, 0.3043),
    row(A, 6.0, 10, Up, 4.2327, 0.3892),
    row(A, 6.0, 11, Up, 4.1785, 0.4043),
    row(A, 6.0, 20, Up, 3.8275, 0.4959),
    row(A, 6.0, 21, Up, 3.7976, 0.5032),
    row(A, 24.0, 1, Up, 16.9519, 0.0),
    row(A, 24.0, 2, Up, 16.9425, 0.1046),
    row(A, 24.0, 3, Up, 16.5443, 0.1781),
    row(A, 24.0, 4, Up, 16.1506, 0.2315),
    row(A, 24.0, 5, Up, 15.8076, 0.2722),
    row(A, 24.0, 6, Up, 15.5124, 0.3043),
    row(A, 24.0, 10, Up, 14.6417, 0.3892),
    row(A, 24.0, 11, Up, 14.473, 0.4043),
    row(A, 24.0, 20, Up, 13.3565, 0.4959),
    row(A, 24.0, 21, Up, 13.2597, 0.5032),
    row(A, 54.0, 1, Up, 28.4542, 0.0),
    row(A, 54.0, 2, Up, 29.6, 0.1046),
    row(A, 54.0, 3, Up, 29.3631, 0.1781),
    row(A, 54.0, 4, Up, 28.9155, 0.2315),
    row(A, 54.0, 5, Up, 28.4633, 0.2722),
    row(A, 54.0, 6, Up, 28.0472, 0.3043),
    row(A, 54.0, 10, Up, 26.7332, 0.3892),
    row(A, 54.0, 11, Up, 26.4683, 0.4043),
    row(A, 54.0, 20, Up, 24.658, 0.4959),
    row(A, 54.0, 21, Up, 24.4972, 0.5032),
];

/// ns-3 3.37: each packet of 1300 bytes is answered by a packet of 40 bytes over the medium.
#[rustfmt::skip]
pub(super) static ECHO: &[SaturationRow] = &[
    row(B, 11.0, 1, Down, 4.0607, 0.0529),
    row(B, 11.0, 1, Up, 4.0456, 0.0565),
    row(B, 11.0, 3, Down, 4.1335, 0.0321),
    row(B, 11.0, 3, Up, 5.0799, 0.1449),
    row(B, 2.0, 1, Down, 1.4007, 0.0547),
    row(B, 2.0, 1, Up, 1.3946, 0.0591),
    row(B, 2.0, 3, Down, 1.4317, 0.0315),
    row(B, 2.0, 3, Up, 1.4869, 0.1449),
    row(A, 54.0, 1, Down, 19.7678, 0.1003),
    row(A, 54.0, 1, Up, 19.8224, 0.0998),
    row(A, 54.0, 3, Down, 20.514, 0.0672),
    row(A, 54.0, 3, Up, 23.9902, 0.223),
    row(A, 6.0, 1, Down, 4.3009, 0.1033),
    row(A, 6.0, 1, Up, 4.3233, 0.0988),
    row(A, 6.0, 3, Down, 4.4772, 0.0649),
    row(A, 6.0, 3, Up, 4.3779, 0.2214),
];
