//! Figures as files: SVG, PDF or PNG by the file's name, with a size, a font and colours.

use std::path::Path;

use clap::{Args, ValueEnum};
use paceline_export::{ExportError, FAMILY, Fonts, Format, to_pdf, to_png};
use paceline_report::{Colors, Figure, Layout};

use crate::output::{self, Error};

/// Points in an inch; TeX's point is 1/72.27 inch.
const POINTS: f64 = 72.0;
const TEX_POINTS: f64 = 72.27;
const CENTIMETRES: f64 = 2.54;

/// Options of a figure's look.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Look")]
pub(crate) struct FigureArgs {
    /// Width: 3.5in, 8.9cm, 89mm or TeX's points, as \the\columnwidth prints them: 252pt
    #[arg(long, value_name = "LENGTH", default_value = "7in", value_parser = length, allow_hyphen_values = true)]
    width: f64,
    /// Height, in the units of --width; without it, what suits the figure
    #[arg(long, value_name = "LENGTH", value_parser = length, allow_hyphen_values = true)]
    height: Option<f64>,
    /// A family of this machine's fonts, such as "Times New Roman"; PDF files have it embedded
    #[arg(long, value_name = "FAMILY", default_value = FAMILY)]
    font: String,
    /// Size of the text in points
    #[arg(long, value_name = "POINTS", default_value = "8", value_parser = font_size, allow_hyphen_values = true)]
    font_size: f64,
    /// Colours on white, shades of grey, or, for SVG, colours that follow the reader's dark mode
    #[arg(long, value_enum, default_value = "print")]
    colors: ColorSet,
    /// Pixels per inch of a PNG file
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u16).range(20..=2400))]
    dpi: u16,
    /// Write below the figure how to read it and how it was made, which makes it higher; files have this text in their
    /// metadata in any case
    #[arg(long)]
    caption: bool,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq, ValueEnum)]
enum ColorSet {
    Print,
    Screen,
    Gray,
}

impl Default for FigureArgs {
    fn default() -> FigureArgs {
        FigureArgs {
            width: 7.0 * POINTS,
            height: None,
            font: FAMILY.into(),
            font_size: 8.0,
            colors: ColorSet::Print,
            dpi: 300,
            caption: false,
        }
    }
}

/// Reads a length in points (1/72 inch).
fn length(text: &str) -> Result<f64, String> {
    const EXPECTED: &str = "expected a length such as 3.5in, 89mm, 8.9cm or 252pt";
    let text = text.trim();
    let end = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number: f64 = number.trim().parse().map_err(|_| EXPECTED.to_string())?;
    let points = match unit.trim() {
        "in" => number * POINTS,
        "cm" => number / CENTIMETRES * POINTS,
        "mm" => number / CENTIMETRES / 10.0 * POINTS,
        "pt" => number / TEX_POINTS * POINTS,
        "bp" => number,
        "" => return Err(format!("`{text}` has no unit: write {text}pt, {text}mm or {text}in")),
        unit => return Err(format!("unknown unit `{unit}`; {EXPECTED}")),
    };
    match points.is_finite() && points > 0.0 {
        true => Ok(points),
        false => Err("a length is above zero".into()),
    }
}

/// Reads a font size in points.
fn font_size(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.trim().trim_end_matches("pt").trim_end().parse().ok();
    number
        .filter(|size| (3.0..=40.0).contains(size))
        .ok_or_else(|| "expected 3 to 40 points, such as 8".into())
}

impl FigureArgs {
    /// Returns the layout of the figure.
    pub(crate) fn layout(&self) -> Result<Layout, Error> {
        let colors = match self.colors {
            ColorSet::Print => Colors::Print,
            ColorSet::Screen => Colors::Screen,
            ColorSet::Gray => Colors::Gray,
        };
        let layout = Layout::new(self.width, self.height, self.font_size, self.font.trim(), colors)
            .map_err(|problem| Error::Usage(format!("--width, --height: {problem}")))?;
        Ok(if self.caption { layout.with_caption() } else { layout })
    }

    /// Checks, before anything runs, that the file can be written in its format with the font.
    pub(crate) fn check(&self, path: &Path) -> Result<(), Error> {
        self.layout()?;
        output::has_folder(path)?;
        match format_of(path)? {
            Format::Svg => Ok(()),
            Format::Pdf | Format::Png => self.fonts().map(drop),
        }
    }

    fn fonts(&self) -> Result<Fonts, Error> {
        match self.font.trim().eq_ignore_ascii_case(FAMILY) {
            true => Ok(Fonts::built_in()),
            false => {
                Fonts::named(&self.font).map_err(|error| Error::Usage(format!("--font: {error}")))
            }
        }
    }

    /// Writes the figure into a file whose name says the format, and reports it unless `quiet`. The file keeps `made`,
    /// the sentence of how it was made.
    pub(crate) fn write(
        &self,
        figure: &Figure,
        made: &str,
        path: &Path,
        quiet: bool,
    ) -> Result<(), Error> {
        let svg = figure.to_file(&self.layout()?, made);
        let bytes = match format_of(path)? {
            Format::Svg => svg.into_bytes(),
            Format::Pdf => self.convert(|fonts| to_pdf(&svg, fonts))?,
            Format::Png => self.convert(|fonts| to_png(&svg, fonts, f32::from(self.dpi)))?,
        };
        match quiet {
            true => output::write_file(path, &bytes),
            false => output::write_named(path, &bytes),
        }
    }

    fn convert(
        &self,
        convert: impl Fn(&Fonts) -> Result<Vec<u8>, ExportError>,
    ) -> Result<Vec<u8>, Error> {
        self.fonts()?.convert(convert).map_err(|error| Error::Message(error.to_string()))
    }
}

fn format_of(path: &Path) -> Result<Format, Error> {
    Format::of_name(path).ok_or_else(|| {
        Error::Usage(format!(
            "{}: the name says the format of a figure: it has to end with .pdf, .svg or .png",
            path.display()
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_the_units_of_papers() {
        assert_eq!(length("3.5in"), Ok(252.0));
        assert_eq!(length("2.54 cm"), Ok(72.0));
        assert_eq!(length("25.4mm"), Ok(72.0));
        assert_eq!(length("72.27pt"), Ok(72.0));
        assert_eq!(length("72bp"), Ok(72.0));
        assert!(length("252").expect_err("no unit").contains("252pt"));
        for wrong in ["", "in", "3.5 feet", "-1in", "0in", "nanin", "infin"] {
            assert!(length(wrong).is_err(), "{wrong}");
        }
        assert_eq!((font_size("9"), font_size("9pt")), (Ok(9.0), Ok(9.0)));
        assert!(font_size("200").is_err());
    }
}
