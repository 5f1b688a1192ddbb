//! Figures as SVG and PNG, of the same drawing.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontStyle, register_font};

use super::statistics::Estimate;

/// The font that text is measured with, and drawn with in PNG.
const FONT: &str = "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf";

/// Colours that colour-blind people can tell apart (Okabe and Ito), darkest first.
const COLOURS: [RGBColor; 9] = [
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(213, 94, 0),
    RGBColor(240, 228, 66),
    RGBColor(110, 110, 110),
    RGBColor(0, 0, 0),
];

/// Bars in groups, each with its interval.
#[derive(Debug)]
pub(super) struct Bars {
    pub(super) title: String,
    pub(super) axis: String,
    /// Names of the groups.
    pub(super) groups: Vec<String>,
    /// What each group has.
    pub(super) bars: Vec<Bar>,
}

/// A bar of each group.
#[derive(Debug)]
pub(super) struct Bar {
    pub(super) name: String,
    /// The number of its colour, the same in each figure.
    pub(super) colour: usize,
    /// Its value in each group.
    pub(super) values: Vec<Option<Estimate>>,
}

/// A table of numbers, coloured by how far from 1 they are.
#[derive(Debug)]
pub(super) struct Matrix {
    pub(super) title: String,
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<Row>,
}

/// One row of a matrix.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) name: String,
    /// Its cells, or why there are none.
    pub(super) cells: Result<Vec<Option<f64>>, String>,
}

/// Makes the font known, once for the process.
///
/// # Errors
/// It is not installed.
pub(super) fn prepare() -> Result<()> {
    let font = fs::read(FONT)
        .with_context(|| format!("no font `{FONT}`: install the Debian package `fonts-dejavu-core`"))?;
    // The library keeps fonts for as long as the process lives.
    register_font("sans-serif", FontStyle::Normal, font.leak())
        .map_err(|_| anyhow!("`{FONT}` is not a font that can be used"))
}

/// Writes `NAME.svg` and `NAME.png`.
pub(super) fn write_bars(folder: &Path, name: &str, bars: &Bars) -> Result<()> {
    let width = 160 + 9 * (bars.groups.len() * (bars.bars.len() + 1)) as u32;
    let size = (width.max(900), 480);
    let (svg, png) = (
        folder.join(format!("{name}.svg")),
        folder.join(format!("{name}.png")),
    );
    draw_bars(&SVGBackend::new(&svg, size).into_drawing_area(), bars)?;
    draw_bars(&BitMapBackend::new(&png, size).into_drawing_area(), bars)
}

/// Writes `NAME.svg` and `NAME.png`.
pub(super) fn write_matrix(folder: &Path, name: &str, matrix: &Matrix) -> Result<()> {
    let width = 180 + 62 * matrix.columns.len() as u32;
    let size = (width.max(780), 170 + 34 * matrix.rows.len() as u32);
    let (svg, png) = (
        folder.join(format!("{name}.svg")),
        folder.join(format!("{name}.png")),
    );
    draw_matrix(&SVGBackend::new(&svg, size).into_drawing_area(), matrix)?;
    draw_matrix(&BitMapBackend::new(&png, size).into_drawing_area(), matrix)
}

type Area<B> = DrawingArea<B, Shift>;

/// The library's errors borrow from what draws; only what they say is kept.
#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn failed<E: std::error::Error + Send + Sync>(error: DrawingAreaErrorKind<E>) -> anyhow::Error {
    anyhow!("cannot draw a figure: {error}")
}

fn text<'a>(size: u32, horizontal: HPos, vertical: VPos) -> TextStyle<'a> {
    ("sans-serif", size)
        .into_font()
        .color(&BLACK)
        .pos(Pos::new(horizontal, vertical))
}

fn turned<'a>(size: u32, horizontal: HPos) -> TextStyle<'a> {
    ("sans-serif", size)
        .into_font()
        .transform(FontTransform::Rotate270)
        .color(&BLACK)
        .pos(Pos::new(horizontal, VPos::Center))
}

fn draw_bars<B: DrawingBackend>(root: &Area<B>, bars: &Bars) -> Result<()> {
    root.fill(&WHITE).map_err(failed)?;
    let (width, height) = root.dim_in_pixel();
    let (left, top, right, bottom) = (60, 90, width as i32 - 15, height as i32 - 120);
    let highest = bars
        .bars
        .iter()
        .flat_map(|bar| &bar.values)
        .flatten()
        .map(|estimate| estimate.high)
        .fold(1.1, f64::max)
        .min(2.0);
    let at = |value: f64| bottom - ((value.min(highest) / highest) * f64::from(bottom - top)) as i32;

    root.draw(&Text::new(
        bars.title.clone(),
        (left, 8),
        text(18, HPos::Left, VPos::Top),
    ))
    .map_err(failed)?;
    root.draw(&Text::new(
        bars.axis.clone(),
        (left, 30),
        text(12, HPos::Left, VPos::Top),
    ))
    .map_err(failed)?;
    let (mut x, mut y) = (left, 50);
    for Bar { name, colour, .. } in &bars.bars {
        let colour = COLOURS[colour % COLOURS.len()];
        let wide = 40 + 8 * name.len() as i32;
        if x + wide > right {
            (x, y) = (left, y + 16);
        }
        root.draw(&Rectangle::new([(x, y), (x + 10, y + 10)], colour.filled()))
            .map_err(failed)?;
        root.draw(&Text::new(
            name.clone(),
            (x + 14, y + 5),
            text(12, HPos::Left, VPos::Center),
        ))
        .map_err(failed)?;
        x += wide;
    }
    for step in 0..=(highest / 0.2) as i32 {
        let value = f64::from(step) * 0.2;
        let style = if step == 5 {
            BLACK.mix(0.9)
        } else {
            BLACK.mix(0.15)
        };
        root.draw(&PathElement::new(
            [(left, at(value)), (right, at(value))],
            style.stroke_width(1),
        ))
        .map_err(failed)?;
        root.draw(&Text::new(
            format!("{value:.1}"),
            (left - 6, at(value)),
            text(12, HPos::Right, VPos::Center),
        ))
        .map_err(failed)?;
    }
    let of_group = f64::from(right - left) / bars.groups.len().max(1) as f64;
    for (index, group) in bars.groups.iter().enumerate() {
        let start = f64::from(left) + of_group * index as f64;
        let of_bar = of_group / (bars.bars.len() + 1) as f64;
        for (bar, Bar { colour, values, .. }) in bars.bars.iter().enumerate() {
            let Some(Some(estimate)) = values.get(index) else {
                continue;
            };
            let from = start + of_bar * (bar as f64 + 0.5);
            let (from, to) = (from as i32, (from + of_bar) as i32 - 1);
            let colour = COLOURS[colour % COLOURS.len()];
            root.draw(&Rectangle::new(
                [(from, at(estimate.value)), (to, bottom)],
                colour.filled(),
            ))
            .map_err(failed)?;
            let middle = i32::midpoint(from, to);
            if estimate.values > 1 {
                root.draw(&PathElement::new(
                    [(middle, at(estimate.low)), (middle, at(estimate.high))],
                    BLACK.stroke_width(1),
                ))
                .map_err(failed)?;
            }
            if estimate.value > highest {
                root.draw(&Text::new(
                    format!("{:.1}", estimate.value),
                    (middle, top - 1),
                    text(10, HPos::Center, VPos::Bottom),
                ))
                .map_err(failed)?;
            }
        }
        let middle = (start + of_group / 2.0) as i32;
        root.draw(&Text::new(
            group.clone(),
            (middle, bottom + 6),
            turned(12, HPos::Right),
        ))
        .map_err(failed)?;
    }
    root.present().map_err(failed)
}

fn draw_matrix<B: DrawingBackend>(root: &Area<B>, matrix: &Matrix) -> Result<()> {
    root.fill(&WHITE).map_err(failed)?;
    let (left, top, cell, line) = (150, 140, 62, 34);
    root.draw(&Text::new(
        matrix.title.clone(),
        (10, 8),
        text(16, HPos::Left, VPos::Top),
    ))
    .map_err(failed)?;
    for (column, name) in matrix.columns.iter().enumerate() {
        let x = left + cell * column as i32 + cell / 2;
        root.draw(&Text::new(name.clone(), (x, top - 6), turned(12, HPos::Left)))
            .map_err(failed)?;
    }
    for (row, Row { name, cells }) in matrix.rows.iter().enumerate() {
        let y = top + line * row as i32;
        root.draw(&Text::new(
            name.clone(),
            (left - 8, y + line / 2),
            text(12, HPos::Right, VPos::Center),
        ))
        .map_err(failed)?;
        let cells = match cells {
            Ok(cells) => cells,
            Err(reason) => {
                root.draw(&Text::new(
                    reason.clone(),
                    (left + 6, y + line / 2),
                    text(12, HPos::Left, VPos::Center),
                ))
                .map_err(failed)?;
                continue;
            }
        };
        for (column, value) in cells.iter().enumerate() {
            let Some(value) = value else { continue };
            let x = left + cell * column as i32;
            let base = if *value <= 1.0 { COLOURS[0] } else { COLOURS[5] };
            let strength = (value.log2().abs() / 2.0).min(0.75);
            let corners = [(x + 1, y + 1), (x + cell - 1, y + line - 1)];
            root.draw(&Rectangle::new(corners, base.mix(strength).filled()))
                .map_err(failed)?;
            root.draw(&Text::new(
                format!("{value:.2}"),
                (x + cell / 2, y + line / 2),
                text(12, HPos::Center, VPos::Center),
            ))
            .map_err(failed)?;
        }
    }
    root.present().map_err(failed)
}
