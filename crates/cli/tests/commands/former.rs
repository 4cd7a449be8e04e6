//! Former command lines still work, and say what the present form is.

use crate::common::paceline;
use paceline_testing::Folder;

#[test]
fn a_former_option_works_and_its_present_name_is_noted() {
    let medium = ["medium", "--stations", "2", "--json"];
    let former = paceline(&[&medium[..], &["--seconds", "1"]].concat());
    let present = paceline(&[&medium[..], &["--duration", "1s"]].concat());
    assert_eq!((former.code, present.code), (0, 0), "{}{}", former.err, present.err);
    assert_eq!(former.out, present.out);
    assert_eq!(former.err, "note: --seconds is now called --duration\n");
    assert_eq!(present.err, "");
    let both = paceline(&["medium", "--seconds", "1", "--duration", "1s"]);
    assert!(both.code == 2 && both.err.contains("--duration"), "{}", both.err);
}

#[test]
fn a_direction_may_be_a_word_or_an_option() {
    for (command, value) in [("loss", &["1%"][..]), ("onoff", &["1s", "1s"])] {
        for (way, other) in [("up", "--down"), ("downlink", "--up")] {
            // `--cpu 9999` is refused before anything starts: the arguments before it were understood.
            let options = ["--cpu", "9999", "--", "true"];
            let lines = [
                [&[command, way], value, &options].concat(),
                [&[command, "-q", way], value, &options].concat(),
                [&[command, other], value, &options].concat(),
                [&[command, "--up"], value, &["--down"], value, &options].concat(),
            ];
            for line in lines {
                let seen = paceline(&line);
                assert!(seen.code == 2 && seen.err.contains("9999"), "{line:?}: {}", seen.err);
            }
        }
    }
    for line in [&["loss", "1%", "true"][..], &["onoff", "--", "true"], &["onoff", "up", "1s"]] {
        let seen = paceline(line);
        assert!(seen.code == 2 && seen.err.contains("--up"), "{line:?}: {}", seen.err);
    }
}

#[test]
fn traces_are_converted_into_the_file_of_o_or_into_a_second_word() {
    let folder = Folder::new("convert");
    let from = folder.write("from.trace", b"10\n20\n");
    let [option, word] = ["option.csv", "word.csv"].map(|name| folder.path(name));
    for line in [&["-o", &option][..], &[&word]] {
        let seen = paceline(&[&["trace", "convert", &from][..], line].concat());
        assert!(seen.code == 0 && seen.err.contains("wrote "), "{}", seen.err);
    }
    let read = |path: &str| std::fs::read_to_string(path).expect("a file");
    assert_eq!(read(&option), read(&word));
    let both = paceline(&["trace", "convert", &from, &word, "-o", &option]);
    assert_eq!(both.code, 2, "{}", both.err);
    let none = paceline(&["trace", "convert", &from]);
    assert!(none.code == 2 && none.err.contains("--output"), "{}", none.err);
}
