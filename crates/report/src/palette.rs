//! Plot styles of schemes.

use paceline_schemes::{Dash, Hue, PlotStyle, SCHEMES, Shape};

use crate::style::Paint;

/// The styles of a set of schemes: colours, dashes and shapes, all different as long as there are
/// enough.
///
/// A built-in scheme has the style that the registry gives it
/// ([`paceline_schemes::Scheme::plot_style`]) in every plot. A variant of it (`abc[dt=60ms]`,
/// `cubic+codel`) has this style too, unless another name in the set has it. All other names get a
/// free style in the given order: an unused hue, or else an unused dash of a used hue.
#[derive(Debug, Clone, Default)]
pub struct Palette {
    entries: Vec<(String, Paint)>,
}

impl Palette {
    /// Assigns styles to names; a repeated name counts once.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut distinct: Vec<&str> = Vec::new();
        for name in names {
            if !distinct.contains(&name) {
                distinct.push(name);
            }
        }
        let mut given: Vec<Option<PlotStyle>> = vec![None; distinct.len()];
        let mut used: Vec<PlotStyle> = Vec::new();
        // Order in which names take their scheme's style: bare names, variants with parameters,
        // variants with a queue of their own.
        for claim in [bare, without_parameters, without_queue] {
            for (slot, name) in given.iter_mut().zip(&distinct) {
                let known = known(&claim(name));
                let free = known.filter(|style| !used.iter().any(|other| alike(*style, *other)));
                if let (None, Some(style)) = (*slot, free) {
                    *slot = Some(style);
                    used.push(style);
                }
            }
        }
        for slot in given.iter_mut().filter(|slot| slot.is_none()) {
            let style = free(&used);
            *slot = Some(style);
            used.push(style);
        }
        let paints = given.into_iter().map(|style| style.map_or(Paint::INK, Paint::of));
        Self { entries: distinct.into_iter().map(str::to_owned).zip(paints).collect() }
    }

    /// Assigns the style that `paint` returns for the number of a name, from 0; a repeated name
    /// counts once.
    pub(crate) fn in_order<'a>(
        names: impl IntoIterator<Item = &'a str>,
        paint: impl Fn(usize) -> Paint,
    ) -> Self {
        let mut entries: Vec<(String, Paint)> = Vec::new();
        for name in names {
            if !entries.iter().any(|(known, _)| known == name) {
                entries.push((name.to_owned(), paint(entries.len())));
            }
        }
        Self { entries }
    }

    /// Returns the style of a scheme; its default style if it is not in the set.
    pub fn paint(&self, name: &str) -> Paint {
        match self.entries.iter().find(|(known, _)| known == name) {
            Some((_, paint)) => *paint,
            None => known(&without_queue(name)).map_or(Paint::INK, Paint::of),
        }
    }

    /// Returns the names with their styles, in the given order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Paint)> {
        self.entries.iter().map(|(name, paint)| (name.as_str(), *paint))
    }
}

/// True if lines, or points, of two styles look alike.
fn alike(one: PlotStyle, other: PlotStyle) -> bool {
    one.hue == other.hue && (one.dash == other.dash || one.shape == other.shape)
}

/// Returns an unused style: with a new hue if there is one, or else with a new dash. If all are
/// used, returns a used one.
fn free(used: &[PlotStyle]) -> PlotStyle {
    let count = |hue: Hue| used.iter().filter(|style| style.hue == hue).count();
    let taken = |hue: Hue, dash: Dash| used.iter().any(|l| (l.hue, l.dash) == (hue, dash));
    let dashes = || Dash::ALL.into_iter().flat_map(|dash| Hue::ALL.map(|hue| (hue, dash)));
    let new_hue = dashes().find(|&(hue, _)| count(hue) == 0);
    let open = new_hue.or_else(|| dashes().find(|&(hue, dash)| !taken(hue, dash)));
    let again = || {
        let hue = Hue::ALL.into_iter().min_by_key(|hue| count(*hue)).unwrap_or(Hue::Slate);
        (hue, Dash::ALL[count(hue) % Dash::ALL.len()])
    };
    let (hue, dash) = open.unwrap_or_else(again);
    let held = |shape: Shape| used.iter().any(|l| l.shape == shape && l.hue == hue);
    let lone = |shape: &Shape| !held(*shape) && !used.iter().any(|l| l.shape == *shape);
    let shape = Shape::ALL.into_iter().find(lone);
    let shape = shape.or_else(|| Shape::ALL.into_iter().find(|shape| !held(*shape)));
    PlotStyle::new(hue, dash, shape.unwrap_or(Shape::Circle))
}

/// Returns true if a scheme, with its parameters and queue, is a built-in one.
pub(crate) fn is_built_in(scheme: &str) -> bool {
    known(&without_queue(scheme)).is_some()
}

/// Returns the style of a built-in scheme.
fn known(name: &str) -> Option<PlotStyle> {
    let name = match name {
        "reno" => "newreno",
        name => name,
    };
    SCHEMES.iter().find(|scheme| scheme.name == name).map(|scheme| scheme.plot_style)
}

fn bare(name: &str) -> String {
    name.trim().to_lowercase()
}

/// Returns `abc[dt=60ms]` as `abc`.
fn without_parameters(name: &str) -> String {
    let mut depth = 0_usize;
    let mut plain = String::new();
    for c in name.trim().chars() {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            c if depth == 0 => plain.push(c),
            _ => {}
        }
    }
    plain.to_lowercase()
}

/// Returns `cubic+codel` as `cubic`.
fn without_queue(name: &str) -> String {
    let plain = without_parameters(name);
    plain.split('+').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_scheme_keeps_its_look() {
        let alone = Palette::new(["abc"]);
        let crowd = Palette::new(["mine", "cubic", "yours", "abc", "abc"]);
        assert_eq!(alone.paint("abc"), crowd.paint("abc"));
        assert_eq!(alone.paint("cubic"), crowd.paint("cubic"));
        assert_eq!(Palette::new(["abc[dt=60ms]"]).paint("abc[dt=60ms]"), alone.paint("abc"));
        assert_eq!(crowd.iter().count(), 4);
    }

    #[test]
    fn all_schemes_and_some_variants_are_told_apart() {
        let variants = ["cubic+codel", "cubic+pie", "abc[dt=20ms]", "omniscient", "mine"];
        let palette = Palette::new(SCHEMES.iter().map(|scheme| scheme.name).chain(variants));
        let all: Vec<_> = palette.iter().collect();
        for (at, (name, one)) in all.iter().enumerate() {
            for (other_name, other) in &all[at + 1..] {
                assert!(one.name != other.name || one.dash != other.dash, "{name} {other_name}");
                assert!(one.name != other.name || one.shape != other.shape, "{name} {other_name}");
            }
        }
    }

    #[test]
    fn few_names_have_hues_of_their_own() {
        let names = ["abc[dt=20ms]", "abc", "cubic", "cubic+codel", "x", "reno", "y", "rcp"];
        let palette = Palette::new(names);
        let mut seen: Vec<_> = palette.iter().map(|(_, paint)| paint.name).collect();
        assert_eq!(palette.paint("abc"), Palette::new(["abc"]).paint("abc"));
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), names.len());
    }

    #[test]
    fn many_names_reuse_looks() {
        let names: Vec<String> = (0..50).map(|i| format!("scheme{i}")).collect();
        assert_eq!(Palette::new(names.iter().map(String::as_str)).iter().count(), 50);
    }
}
