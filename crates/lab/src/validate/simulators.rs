//! Figures of ns-3, ns-2 and htsim, run by run.

use super::bottleneck::{Run, run};

/// Every row of ns-3 3.37 that is not doubtful. Rows of LEDBAT are left out, because its window
/// does not move after slow start, and rows of four Cubic flows over CoDel, because they stay in
/// loss recovery.
#[rustfmt::skip]
pub(super) static NS3: &[Run] = &[
    run("TcpCubic", "fifo", 1, 0, [11.903, 199.69, 250.22, 1.0]),
    run("TcpCubic", "fifo", 1, 10, [11.984, 201.65, 249.22, 1.0]).known(),
    run("TcpLinuxReno", "fifo", 1, 0, [11.903, 161.37, 247.22, 1.0]),
    run("TcpLinuxReno", "fifo", 1, 10, [11.984, 169.97, 244.22, 1.0]).known(),
    run("TcpNewReno", "fifo", 1, 0, [11.903, 167.17, 248.21, 1.0]),
    run("TcpNewReno", "fifo", 1, 10, [11.984, 175.63, 245.22, 1.0]),
    run("TcpVegas", "fifo", 1, 0, [11.469, 1.85, 2.89, 1.0]),
    run("TcpVegas", "fifo", 1, 10, [11.984, 1.92, 1.89, 1.0]).known(),
    run("TcpBbr", "fifo", 1, 0, [11.607, 11.73, 27.7, 1.0]),
    run("TcpBbr", "fifo", 1, 10, [11.635, 7.99, 25.34, 1.0]).known(),
    run("TcpCubic", "fifo", 1, 0, [11.9, 199.72, 249.22, 1.0]).delayed(),
    run("TcpCubic", "fifo", 1, 10, [11.984, 201.0, 249.22, 1.0]).delayed(),
    run("TcpBbr", "fifo", 1, 0, [11.603, 12.11, 28.3, 1.0]).delayed(),
    run("TcpBbr", "fifo", 1, 10, [11.632, 7.87, 25.43, 1.0]).delayed(),
    run("TcpDctcp", "red", 1, 0, [11.578, 19.81, 22.92, 1.0]),
    run("TcpDctcp", "red", 1, 10, [11.984, 21.84, 22.92, 1.0]).known(),
    run("TcpCubic", "codel", 1, 0, [10.779, 2.66, 6.9, 1.0]),
    run("TcpCubic", "codel", 1, 10, [10.964, 1.07, 5.9, 1.0]).known(),
    run("TcpCubic", "pie", 1, 0, [11.173, 11.54, 33.94, 1.0]),
    run("TcpCubic", "pie", 1, 10, [11.557, 9.93, 29.93, 1.0]).known(),
    run("TcpCubic", "fqcodel", 1, 0, [10.779, 2.66, 6.9, 1.0]),
    run("TcpCubic", "fqcodel", 1, 10, [10.964, 1.07, 5.9, 1.0]).known(),
    run("TcpCubic", "codel", 1, 0, [10.779, 2.66, 6.9, 1.0]).on(12.0, 100, 1000),
    run("TcpCubic", "codel", 1, 10, [10.964, 1.07, 5.9, 1.0]).on(12.0, 100, 1000),
    run("TcpCubic", "pie", 4, 0, [11.542, 17.03, 39.94, 0.9577]),
    run("TcpCubic", "pie", 4, 10, [11.866, 12.89, 32.93, 0.9703]).known(),
    run("TcpCubic", "fqcodel", 4, 0, [11.772, 7.08, 12.91, 1.0]),
    run("TcpCubic", "fqcodel", 4, 10, [11.865, 2.71, 8.9, 0.9998]).known(),
    run("TcpCubic", "fifo", 4, 0, [11.937, 208.15, 250.22, 0.9945]),
    run("TcpCubic", "fifo", 4, 10, [11.984, 208.68, 250.22, 0.9972]).known(),
    run("TcpVegas", "fifo", 4, 0, [11.937, 11.29, 10.9, 1.0]),
    run("TcpVegas", "fifo", 4, 10, [11.984, 10.9, 10.9, 1.0]).known(),
    run("TcpLinuxReno", "fifo", 4, 0, [11.937, 177.22, 249.22, 0.9985]),
    run("TcpLinuxReno", "fifo", 4, 10, [11.984, 181.15, 248.22, 0.9993]).known(),
    run("TcpBbr", "fifo", 4, 0, [11.683, 109.62, 139.07, 0.9965]),
    run("TcpBbr", "fifo", 4, 10, [11.685, 106.13, 137.29, 0.9978]).known(),
    run("TcpCubic", "fifo", 8, 0, [14.896, 676.69, 800.67, 0.9892]).on(15.0, 150, 1000),
    run("TcpCubic", "fifo", 8, 10, [14.98, 687.9, 800.67, 0.9912]).on(15.0, 150, 1000),
    run("TcpLinuxReno", "codel", 4, 0, [11.518, 7.04, 11.91, 0.9858]),
    run("TcpLinuxReno", "codel", 4, 10, [11.627, 4.75, 11.91, 0.986]),
    run("TcpCubic", "codel", 2, 0, [11.484, 4.89, 8.9, 0.9939]),
    run("TcpCubic", "codel", 2, 10, [11.697, 2.55, 6.9, 0.9923]),
    run("TcpLinuxReno", "codel", 1, 0, [9.592, 2.06, 6.9, 1.0]),
    run("TcpLinuxReno", "codel", 1, 10, [9.608, 0.98, 5.9, 1.0]),
    run("TcpLinuxReno", "pie", 1, 0, [10.76, 9.16, 26.93, 1.0]),
    run("TcpLinuxReno", "pie", 1, 10, [10.889, 8.25, 25.92, 1.0]),
    run("TcpLinuxReno", "fqcodel", 4, 0, [10.707, 5.56, 17.81, 0.9999]),
    run("TcpLinuxReno", "fqcodel", 4, 10, [10.601, 3.95, 14.91, 0.9999]),
];

/// Every row of ns-2 2.35 that is not doubtful. Rows of one Cubic flow are left out, because it
/// retransmits 33,791 packets after its slow start.
#[rustfmt::skip]
pub(super) static NS2: &[Run] = &[
    run("reno", "droptail", 1, 0, [11.929, 159.72, 244.77, 1.0]),
    run("reno", "droptail", 1, 10, [12.0, 168.47, 242.77, 1.0]),
    run("newreno", "droptail", 1, 0, [11.59, 157.29, 242.77, 1.0]),
    run("newreno", "droptail", 1, 10, [12.0, 168.03, 242.77, 1.0]),
    run("sack", "droptail", 1, 0, [11.772, 158.83, 244.77, 1.0]),
    run("sack", "droptail", 1, 10, [12.0, 168.04, 242.77, 1.0]),
    run("vegas", "droptail", 1, 0, [11.929, 12.6, 51.77, 1.0]),
    run("vegas", "droptail", 1, 10, [12.0, 5.76, 18.77, 1.0]),
    run("vegas2", "droptail", 1, 0, [11.195, 0.9, 1.0, 1.0]),
    run("vegas2", "droptail", 1, 10, [11.968, 0.97, 1.0, 1.0]),
    run("compound", "droptail", 1, 0, [11.929, 161.88, 246.77, 1.0]),
    run("compound", "droptail", 1, 10, [12.0, 168.17, 242.77, 1.0]),
    run("cubic", "droptail", 4, 0, [11.874, 206.87, 248.77, 0.9557]),
    run("cubic", "droptail", 4, 10, [12.007, 222.71, 248.77, 0.9712]),
    run("vegas", "droptail", 4, 0, [11.912, 13.48, 10.77, 0.9001]),
    run("vegas", "droptail", 4, 10, [12.001, 10.76, 10.77, 0.8986]),
    run("vegas2", "droptail", 4, 0, [11.907, 7.3, 6.84, 0.9998]),
    run("vegas2", "droptail", 4, 10, [11.999, 6.84, 6.84, 0.9998]),
    run("compound", "droptail", 4, 0, [11.916, 170.47, 245.77, 0.9819]),
    run("compound", "droptail", 4, 10, [11.999, 177.0, 246.77, 0.9898]),
    run("sack", "droptail", 4, 0, [11.921, 178.55, 247.67, 0.9981]),
    run("sack", "droptail", 4, 10, [12.0, 179.06, 246.77, 0.9999]),
    run("xcp", "xcp", 1, 0, [11.89, 0.64, 1.0, 1.0]),
    run("xcp", "xcp", 1, 10, [11.978, 0.27, 1.0, 1.0]).known(),
    run("xcp", "xcp", 6, 0, [11.912, 0.75, 1.77, 0.9998]),
    run("xcp", "xcp", 6, 10, [11.964, 0.63, 1.0, 1.0]).known(),
    run("xcp", "xcp", 1, 0, [95.236, 0.43, 0.22, 1.0]).on(96.0, 100, 1600),
    run("xcp", "xcp", 1, 10, [95.979, 0.04, 0.13, 1.0]).on(96.0, 100, 1600).known(),
    run("xcp", "xcp", 6, 0, [95.333, 0.33, 0.47, 0.9995]).on(96.0, 100, 1600),
    run("xcp", "xcp", 6, 10, [95.903, 0.18, 0.35, 1.0]).on(96.0, 100, 1600).known(),
];

/// Every row of htsim.
#[rustfmt::skip]
pub(super) static HTSIM: &[Run] = &[
    run("tcp", "fifo", 1, 0, [11.922, 168.02, 243.67, 1.0]),
    run("tcp", "fifo", 1, 10, [12.0, 174.02, 244.77, 1.0]),
    run("dctcp", "ecn-threshold", 1, 0, [9.943, 4.17, 17.77, 1.0]),
    run("dctcp", "ecn-threshold", 1, 10, [10.864, 4.54, 18.77, 1.0]),
    run("tcp", "fifo", 4, 0, [11.937, 174.18, 245.77, 0.9999]),
    run("tcp", "fifo", 4, 10, [11.978, 172.44, 246.77, 0.9998]),
];
