//! The user's congestion controls as kernel modules: `linux:./mine.c`.

use std::fs;
use std::path::{Path, PathBuf};

use paceline_kernel::MODULE_SOURCES;

use super::error::{BuildError, at};
use super::kernel;
use super::manifest::BuiltGuest;
use super::own::{NO_ABC, OWN, OwnModule, own_module};
use super::places::{Lock, sha256, write_whole};
use super::run::run;
use super::tools;

/// A built module.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BuiltModule {
    /// The file that the guest loads.
    pub path: PathBuf,
    /// Arguments with which the guest loads it.
    pub args: String,
    /// The name of the congestion control that the module registers.
    pub scheme: String,
    /// SHA-256 of the file, in hexadecimal digits.
    pub sha256: String,
}

impl BuiltModule {
    fn of(path: PathBuf, args: String, scheme: String) -> Result<BuiltModule, BuildError> {
        let bytes = fs::read(&path).map_err(at(&path))?;
        Ok(BuiltModule { path, args, scheme, sha256: sha256(&bytes) })
    }
}

/// Returns true if a congestion control is the path of a C file.
pub(crate) fn is_file(name: &str) -> bool {
    name.contains('/') || name.ends_with(".c")
}

/// Returns the module that a guest has to load for a congestion control: a path of a C file, which is compiled, one
/// of [`OWN`], or a name that the guest has. `None` if its kernel has it. `parameters` are names and values: of module
/// parameters of a C file, or of one of [`OWN`].
///
/// # Errors
/// The guest does not have this congestion control, it cannot be built, or it has no such parameter.
pub fn find_module(
    guest: &BuiltGuest,
    name: &str,
    parameters: &[(String, String)],
) -> Result<Option<BuiltModule>, BuildError> {
    if is_file(name) {
        return build_module(guest, Path::new(name), parameters).map(Some);
    }
    if guest.manifest.schemes.iter().any(|scheme| scheme == name) {
        return match parameters.first() {
            None => Ok(None),
            Some((parameter, _)) => Err(BuildError::Unusable(format!(
                "`{name}` is of the guest's kernel, and has no parameter `{parameter}`"
            ))),
        };
    }
    if OWN.contains(&name) {
        return build_own_module(guest, name, parameters).map(Some);
    }
    let why = if name == "abc" { format!(". {NO_ABC}") } else { String::new() };
    Err(BuildError::Unusable(format!(
        "the Linux guest {} has no congestion control `{name}`: it has {}; modules are {}; a file is named as ./{name}.c{why}",
        guest.folder.display(),
        guest.manifest.schemes.join(", "),
        OWN.join(", ")
    )))
}

/// Compiles a congestion control in C for a guest, which takes seconds. A source that was compiled
/// for this kernel before is not compiled again.
///
/// # Errors
/// The source registers no congestion control or does not compile, it has no such parameter, or the guest's object
/// files are gone.
fn build_module(
    guest: &BuiltGuest,
    source: &Path,
    parameters: &[(String, String)],
) -> Result<BuiltModule, BuildError> {
    let name = source.display();
    if source.extension().is_some_and(|extension| extension == "ko") {
        return Err(BuildError::Unusable(format!(
            "{name}: a module is compiled for each guest's kernel: name its C file"
        )));
    }
    let text = fs::read_to_string(source)
        .map_err(|error| BuildError::Unusable(format!("{name}: {error}")))?;
    let args = module_args(&name.to_string(), &text, parameters)?;
    let scheme = scheme_of(&text).ok_or_else(|| {
        BuildError::Unusable(format!(
            "{name}: registers no congestion control: expected a `struct tcp_congestion_ops` with .name = \"...\""
        ))
    })?;
    let real = source.canonicalize().map_err(at(source))?;
    let beside = real.parent().unwrap_or(Path::new("/"));
    if real.to_string_lossy().contains([' ', ':', '#', '$', '\'', '"']) {
        return Err(BuildError::Unusable(format!(
            "{name}: the kernel's build takes no folder with such a name: move the file to a path of letters and digits"
        )));
    }
    // Headers beside the source may have changed: then `make` decides.
    let is_whole = !text.lines().any(|line| line.trim_start().starts_with("#include \""));
    let stem = stem_of(&real);
    let parts = Parts {
        stem: &stem,
        key: &real.display().to_string(),
        name: &name.to_string(),
        files: &[(&format!("{stem}.c"), &text)],
        includes: Some(beside),
        is_whole,
    };
    BuiltModule::of(compile(guest, &parts)?, args, scheme)
}

/// Returns the arguments of a user's module.
///
/// # Errors
/// The kernel would ignore a parameter, because the source has none of this name.
fn module_args(
    file: &str,
    text: &str,
    parameters: &[(String, String)],
) -> Result<String, BuildError> {
    let code = without_comments(text);
    for (name, _) in parameters {
        let is_word = |part: &str| part.trim() == name;
        let declared = code.split("module_param").skip(1).any(|rest| {
            let inside = rest.split_once('(').map_or("", |(_, inside)| inside);
            let inside = inside.split(')').next().unwrap_or_default();
            inside.split(',').next().is_some_and(is_word)
        });
        if !declared {
            return Err(BuildError::Unusable(format!(
                "{file}: has no module parameter `{name}`: expected module_param({name}, TYPE, 0444)"
            )));
        }
    }
    let words = parameters.iter().map(|(name, value)| format!("{name}={value}"));
    Ok(words.collect::<Vec<_>>().join(" "))
}

/// Compiles one of [`OWN`].
fn build_own_module(
    guest: &BuiltGuest,
    name: &str,
    parameters: &[(String, String)],
) -> Result<BuiltModule, BuildError> {
    let stem = format!("paceline_{name}");
    let OwnModule { main, args } = own_module(name, parameters)?;
    let file = format!("{stem}.c");
    let mut files = vec![(file.as_str(), main.as_str())];
    files.extend(MODULE_SOURCES);
    let own = format!("the congestion control `{name}`");
    // Tables of rules are part of the main file.
    let key = format!("{name} {}", sha256(main.as_bytes()));
    let parts =
        Parts { stem: &stem, key: &key, name: &own, files: &files, includes: None, is_whole: true };
    BuiltModule::of(compile(guest, &parts)?, args, name.into())
}

/// Inputs of a module's compilation.
struct Parts<'a> {
    /// The module's name.
    stem: &'a str,
    /// Text that distinguishes its folder from other modules' folders.
    key: &'a str,
    /// Name in errors.
    name: &'a str,
    /// Names and texts of its files, `STEM.c` first.
    files: &'a [(&'a str, &'a str)],
    /// A folder with headers.
    includes: Option<&'a Path>,
    /// Whether the module is compiled from these files alone.
    is_whole: bool,
}

fn compile(guest: &BuiltGuest, parts: &Parts<'_>) -> Result<PathBuf, BuildError> {
    let (place, tree) = guest.build_tree()?;
    let stem = parts.stem;
    let key = format!("{}\n{}", parts.key, guest.manifest.kernel_sha256);
    let folder = place.join("modules").join(format!("{stem}-{}", &sha256(key.as_bytes())[..10]));
    let _lock = Lock::take(&folder)?;
    let built = folder.join(format!("{stem}.ko"));
    let stamp = folder.join("source.sha256");
    let texts: Vec<_> = parts.files.iter().map(|(_, text)| *text).collect();
    let hash = sha256(texts.concat().as_bytes());
    let is_same = built.is_file() && fs::read_to_string(&stamp).is_ok_and(|old| old == hash);
    if parts.is_whole && is_same {
        return Ok(built);
    }
    tools::check(false)?;
    for (name, text) in parts.files {
        let copy = folder.join(name);
        if fs::read_to_string(&copy).map_or(true, |old| old != *text) {
            write_whole(&copy, text.as_bytes(), false)?;
        }
    }
    let includes = parts.includes.map(|path| format!("ccflags-y := -I{}\n", path.display()));
    let makefile = format!("obj-m := {stem}.o\n{}", includes.unwrap_or_default());
    write_whole(&folder.join("Kbuild"), makefile.as_bytes(), false)?;
    let mut make = kernel::make(&tree, &place);
    make.arg(format!("M={}", folder.display())).arg("modules");
    let doing = format!("{} cannot be compiled as a kernel module", parts.name);
    run(make, &doing, &folder.join("build.log"), &mut |_| {}).map_err(|error| {
        // Name the user's file in errors, not the copy.
        let copy = folder.join(format!("{stem}.c")).display().to_string();
        BuildError::Failed(error.to_string().replace(&copy, parts.name))
    })?;
    write_whole(&stamp, hash.as_bytes(), false)?;
    Ok(built)
}

/// Returns the name of the object file: modules' names have letters, digits and `_`.
fn stem_of(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let word = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    stem.chars().map(word).take(40).collect()
}

/// Returns the `.name` of the first `struct tcp_congestion_ops` in a C source that has one.
fn scheme_of(text: &str) -> Option<String> {
    let text = without_comments(text);
    let (_, rest) = text.split_once("tcp_congestion_ops")?;
    for after in rest.split(".name").skip(1) {
        let Some(value) = after.trim_start().strip_prefix('=') else { continue };
        let Some(value) = value.trim_start().strip_prefix('"') else { continue };
        let name = value.split('"').next().unwrap_or_default();
        // TCP_CA_NAME_MAX is 16, with the zero byte.
        let is_name = (1..16).contains(&name.len())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
        return is_name.then(|| name.to_string());
    }
    None
}

fn without_comments(text: &str) -> String {
    let mut rest = text;
    let mut code = String::new();
    while let Some(start) = rest.find("/*") {
        code += &rest[..start];
        let after = &rest[start + 2..];
        rest = after.find("*/").map_or("", |end| &after[end + 2..]);
        code.push(' ');
    }
    code += rest;
    let lines = code.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_programs_bring_all_that_they_include() {
        let has = |name: &str| MODULE_SOURCES.iter().any(|(file, _)| *file == name);
        for (file, text) in MODULE_SOURCES {
            let includes = text.lines().filter_map(|line| line.strip_prefix("#include \""));
            // as_module.h has an include in a comment that shows its use, and replaces
            // accelerate.h.
            for name in includes.filter_map(|rest| rest.strip_suffix('"')) {
                assert!(has(name), "{file} includes {name}");
            }
        }
        for name in OWN {
            assert!(has(&format!("{name}.bpf.c")), "{name}");
        }
    }

    #[test]
    fn modules_are_compiled_for_the_guest_of_this_machine() {
        let guest = crate::build::default_guest().and_then(|folder| BuiltGuest::read(&folder));
        let guest = guest.and_then(|guest| guest.build_tree().map(|_| guest));
        let Ok(guest) = guest else {
            let test = paceline_testing::this_test();
            return paceline_testing::skip(
                paceline_testing::Need::Linux,
                &test,
                "no guest is built",
            );
        };
        for name in OWN {
            let built = find_module(&guest, name, &[]).expect("it compiles").expect("a module");
            assert!(built.path.is_file() && built.scheme == name, "{}", built.path.display());
        }
        assert_eq!(find_module(&guest, "reno", &[]).expect("the kernel has it"), None);
        let error = find_module(&guest, "no-such-scheme", &[]).expect_err("none").to_string();
        assert!(error.contains("no congestion control `no-such-scheme`"), "{error}");
    }

    #[test]
    fn arguments_are_those_of_module_parameters() {
        let source = "static int beta = 7;\nmodule_param(beta, int, 0644);\n\
                      module_param_named(gamma, inner, int, 0444); /* module_param(delta, */";
        let args = |names: &[&str]| {
            let parameters: Vec<_> =
                names.iter().map(|name| (name.to_string(), "1,2".to_string())).collect();
            module_args("a.c", source, &parameters).map_err(|error| error.to_string())
        };
        assert_eq!(args(&[]).as_deref(), Ok(""));
        assert_eq!(args(&["beta", "gamma"]).as_deref(), Ok("beta=1,2 gamma=1,2"));
        for wrong in ["inner", "bet", "delta"] {
            let error = args(&[wrong]).expect_err(wrong);
            assert!(error.contains(&format!("a.c: has no module parameter `{wrong}`")), "{error}");
        }
    }

    #[test]
    fn the_name_of_a_scheme_is_found_in_its_source() {
        let source = |name: &str| {
            format!(
                "// struct tcp_congestion_ops of .name = \"wrong\"\n/* .name = \"wrong\" */\n\
                 static struct tcp_congestion_ops mine;\nstatic struct tcp_congestion_ops mine = {{\n\
                 \t.owner = THIS_MODULE,\n\t.name\t= \"{name}\",\n}};\n"
            )
        };
        assert_eq!(scheme_of(&source("fixed")).as_deref(), Some("fixed"));
        assert_eq!(scheme_of(&source("my-bbr_2")).as_deref(), Some("my-bbr_2"));
        for wrong in ["", "a name", "sixteen_letters_"] {
            assert_eq!(scheme_of(&source(wrong)), None, "{wrong}");
        }
        assert_eq!(scheme_of("int main(void) { return 0; } /* tcp_congestion_ops"), None);
        assert_eq!(stem_of(Path::new("/a/tcp-mine.v2.c")), "tcp_mine_v2");
    }
}
