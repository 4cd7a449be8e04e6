//! The C sources of the programs, for those who compile them otherwise: as modules of a Linux guest.

macro_rules! sources {
    ($($name:literal),+ $(,)?) => {
        [$(($name, include_str!(concat!("../bpf/", $name)))),+]
    };
}

/// Names and texts of the C files from which a program is compiled as a kernel module (by `as_module.h`).
pub const MODULE_SOURCES: [(&str, &str); 19] = sources![
    "abc.h",
    "abc_ecn.bpf.c",
    "abc_sender.h",
    "as_module.h",
    "c2tcp.bpf.c",
    "c2tcp.h",
    "cubic.h",
    "feedback.h",
    "fixed.h",
    "hystart.h",
    // Included by the programs; as_module.h defines its guard, so that it adds nothing.
    "kernel.h",
    "remy.bpf.c",
    "remy.h",
    "remy_rate.h",
    "reno.h",
    "sockets.h",
    "undo.h",
    "vegas.h",
    "vegas_ebpf.bpf.c",
];
