//! Where symbolic links of a transfer may point.

/// Returns true if a symbolic link at `path` with this target may point outside of its top-level
/// folder. A safe target starts with at most as many `..` as there are folders of the transfer
/// above the link, and has no `..` after another component, which may itself be a link.
pub(super) fn leads_outside(path: &[u8], target: &[u8]) -> bool {
    if target.starts_with(b"/") {
        return true;
    }
    // Of `a/b/link`, both `a` and `b` are above the link, and `..` from `a/b` is `a`.
    let slashes = path.iter().filter(|&&byte| byte == b'/').count();
    let Some(most) = slashes.checked_sub(1) else { return true };
    let components = target.split(|&byte| byte == b'/').filter(|name| !matches!(*name, b"" | b"."));
    let (mut ups, mut has_name) = (0, false);
    for component in components {
        match component {
            b".." if has_name => return true,
            b".." => ups += 1,
            _ => has_name = true,
        }
    }
    ups > most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_stay_in_their_folder_at_the_top_level() {
        for (path, target) in [
            ("a/l", "x"),
            ("a/l", "b/c"),
            ("a/l", "./x"),
            ("a/l", "."),
            ("a/b/l", "../x"),
            ("a/b/l", ".././x"),
            ("a/b/c/l", "../../x"),
            ("a/l", "..x"),
        ] {
            assert!(!leads_outside(path.as_bytes(), target.as_bytes()), "{path} -> {target}");
        }
        for (path, target) in [
            ("l", "x"),
            ("a/l", "/etc/passwd"),
            ("a/l", "../x"),
            ("a/l", ".."),
            ("a/b/l", "../../x"),
            ("a/b/l", "..//.//../x"),
            // `s` may be a link to `.`.
            ("a/l", "s/.."),
            ("a/b/c/l", "../s/../x"),
        ] {
            assert!(leads_outside(path.as_bytes(), target.as_bytes()), "{path} -> {target}");
        }
    }
}
