//! A screen as SVG: a window with text in it, every run of one style exactly as wide as its columns.

use std::fmt::Write;

use vt100::Color;

use crate::frozen::{Cell, Row, Style};

const CELL: f64 = 8.4;
const LINE: f64 = 18.0;
const EDGE: f64 = 14.0;
const BAR: f64 = 32.0;
const PAPER: &str = "#14141c";
const INK: &str = "#d8d8d8";
const FONT: &str = "ui-monospace, 'JetBrains Mono', 'DejaVu Sans Mono', Menlo, Consolas, 'Noto Sans Mono CJK JP', monospace";

/// The sixteen colours of a terminal.
const NAMED: [&str; 16] = [
    "#1e1e28", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d8d8d8",
    "#6b7080", "#ff7b85", "#b5e890", "#ffd68a", "#7cc4ff", "#df8cf5", "#6fd3df", "#ffffff",
];

pub fn picture(rows: &[Row], title: &str) -> String {
    let columns = rows.iter().map(|row| columns(row)).max().unwrap_or(0);
    let width = columns as f64 * CELL + 2.0 * EDGE;
    let height = rows.len() as f64 * LINE + BAR + 2.0 * EDGE;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         width=\"{width:.0}\" height=\"{height:.0}\" font-family=\"{FONT}\" font-size=\"14\">\n\
         <title>{title}</title>\n\
         <rect width=\"{width:.0}\" height=\"{height:.0}\" rx=\"9\" fill=\"{PAPER}\"/>\n"
    );
    for (place, colour) in ["#ff5f57", "#febc2e", "#28c840"].iter().enumerate() {
        let x = 20 + 20 * place;
        let _ = writeln!(
            svg,
            "<circle cx=\"{x}\" cy=\"16\" r=\"6\" fill=\"{colour}\"/>"
        );
    }
    let middle = width / 2.0;
    let _ = writeln!(
        svg,
        "<text x=\"{middle:.0}\" y=\"21\" fill=\"#8a8a96\" text-anchor=\"middle\">{title}</text>"
    );
    for (index, row) in rows.iter().enumerate() {
        draw(&mut svg, row, BAR + EDGE + index as f64 * LINE);
    }
    svg.push_str("</svg>\n");
    svg
}

fn columns(row: &[Cell]) -> usize {
    row.iter().map(|cell| cell.columns).sum()
}

fn draw(svg: &mut String, row: &Row, top: f64) {
    let mut column = 0;
    for run in runs(row) {
        let (x, wide) = (EDGE + column as f64 * CELL, columns(run) as f64 * CELL);
        column += columns(run);
        let style = run[0].style;
        let (front, back) = colours(style);
        if let Some(back) = back {
            let _ = writeln!(
                svg,
                "<rect x=\"{x:.1}\" y=\"{top:.1}\" width=\"{wide:.1}\" height=\"{LINE}\" fill=\"{back}\"/>"
            );
        }
        let text: String = run.iter().map(|cell| cell.text.as_str()).collect();
        if text.trim().is_empty() {
            continue;
        }
        let _ = writeln!(
            svg,
            "<text x=\"{x:.1}\" y=\"{:.1}\" fill=\"{front}\"{} textLength=\"{wide:.1}\" \
             lengthAdjust=\"spacingAndGlyphs\" xml:space=\"preserve\">{}</text>",
            top + 13.5,
            marks(style),
            escaped(&text)
        );
    }
}

/// Neighbours that look the same. What is not plain Latin stands alone: its glyphs have widths of their own.
fn runs(row: &Row) -> impl Iterator<Item = &[Cell]> {
    row.chunk_by(|left, right| {
        let plain = |cell: &Cell| cell.columns == 1 && cell.text.is_ascii();
        let same = left.text == right.text && left.columns == 1;
        left.style == right.style && (same || plain(left) && plain(right))
    })
}

fn marks(style: Style) -> String {
    let marks = [
        (style.bold, " font-weight=\"bold\""),
        (style.faint, " opacity=\"0.6\""),
        (style.italic, " font-style=\"italic\""),
        (style.underlined, " text-decoration=\"underline\""),
    ];
    let marks = marks.iter().filter(|(is_on, _)| *is_on);
    marks.map(|(_, mark)| *mark).collect()
}

fn colours(style: Style) -> (String, Option<String>) {
    let (front, back) = (colour(style.front), colour(style.back));
    match style.inverse {
        true => (
            back.unwrap_or_else(|| PAPER.to_owned()),
            Some(front.unwrap_or_else(|| INK.to_owned())),
        ),
        false => (front.unwrap_or_else(|| INK.to_owned()), back),
    }
}

fn colour(colour: Color) -> Option<String> {
    match colour {
        Color::Default => None,
        Color::Rgb(red, green, blue) => Some(format!("#{red:02x}{green:02x}{blue:02x}")),
        Color::Idx(index @ 0..=15) => Some(NAMED[usize::from(index)].to_owned()),
        Color::Idx(index @ 232..) => {
            let grey = 8 + 10 * (u32::from(index) - 232);
            Some(format!("#{grey:02x}{grey:02x}{grey:02x}"))
        }
        Color::Idx(index) => {
            let level = |step: u32| if step == 0 { 0 } else { 55 + 40 * step };
            let cube = u32::from(index) - 16;
            let [red, green, blue] = [cube / 36, cube / 6 % 6, cube % 6].map(level);
            Some(format!("#{red:02x}{green:02x}{blue:02x}"))
        }
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
