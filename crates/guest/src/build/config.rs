//! Configuration of the guest's kernel.

/// Paceline's lines of the configuration.
pub(super) const OURS: &str = include_str!("../../kernel/guest.config");

/// Options that every guest needs. The oldest usable kernel is the first that has all of them.
const NEEDED: [&str; 11] = [
    "UML_TIME_TRAVEL_SUPPORT",
    "VIRTIO_UML",
    "VIRTIO_NET",
    "HOSTFS",
    "STATIC_LINK",
    "INET",
    "PACKET",
    "BLK_DEV_INITRD",
    "EPOLL",
    "TIMERFD",
    "SIGNALFD",
];

/// Returns the kernel's `Kconfig` with a default of `CONFIG_HZ` in front: User-Mode Linux offers no
/// choice, and of several defaults the first one counts. The kernel's tree is not changed.
pub(super) fn with_ticks(kconfig: &str, hz: u32) -> String {
    let choice = format!("config HZ\n\tint\n\tdefault {hz}\n");
    let mut text = String::new();
    let mut is_placed = false;
    for line in kconfig.lines() {
        text += line;
        text.push('\n');
        // `mainmenu` has to be the first statement.
        if !is_placed && line.starts_with("mainmenu") {
            text += &choice;
            is_placed = true;
        }
    }
    match is_placed {
        true => text,
        false => choice + &text,
    }
}

/// Returns the needed options that a finished configuration lacks.
pub(super) fn lacking(config: &str) -> Vec<&'static str> {
    let has = |option: &str| config.lines().any(|line| line == format!("CONFIG_{option}=y"));
    NEEDED.into_iter().filter(|option| !has(option)).collect()
}

/// Returns the value of `CONFIG_HZ`.
pub(super) fn ticks(config: &str) -> Option<u32> {
    config.lines().find_map(|line| line.strip_prefix("CONFIG_HZ="))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_stand_behind_the_main_menu() {
        let text = with_ticks("# x\nmainmenu \"Linux\"\nsource \"init/Kconfig\"\n", 250);
        assert_eq!(
            text,
            "# x\nmainmenu \"Linux\"\nconfig HZ\n\tint\n\tdefault 250\nsource \"init/Kconfig\"\n"
        );
        assert!(with_ticks("source \"x\"\n", 100).starts_with("config HZ"));
    }

    #[test]
    fn our_configuration_has_what_is_needed() {
        assert_eq!(lacking(OURS), [""; 0]);
        assert_eq!(lacking("CONFIG_INET=m\n").len(), NEEDED.len());
        assert_eq!(ticks("CONFIG_HZ=250\n"), Some(250));
        assert_eq!(ticks(OURS), None);
    }
}
