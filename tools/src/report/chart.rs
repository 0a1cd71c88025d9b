//! The FIFOs of a report as a picture: a histogram of latencies each (SVG).
//!
//! All coordinates are integers, so the same report gives the same bytes. Deliberately uses no font metrics and no
//! script: the picture opens anywhere.

use std::fmt::Write as _;
use std::io::{self, Write};

use num_bigint::BigUint;

use super::exact::{Figure, decimal};
use super::{Distribution, FifoReport, RunReport};

const WIDTH: u64 = 760;
const PANEL: u64 = 250;
const HEAD: u64 = 56;
const LEFT: u64 = 70;
const BARS: u64 = WIDTH - LEFT - 20;
/// Top of a panel's bars and their greatest height.
const TOP: u64 = 70;
const TALLEST: u64 = 130;

/// Writes the picture of a report.
///
/// # Errors
/// `out` cannot be written.
pub fn chart(report: &RunReport, mut out: impl Write) -> io::Result<()> {
    let height = HEAD + PANEL * report.fifos.len() as u64 + 10;
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>"
    )?;
    text(&mut out, [10, 24], "font-size=\"16\" font-weight=\"bold\"", &format!("run {}", report.run_id))?;
    let observed =
        report.observed.as_ref().map_or_else(String::new, |span| format!(" in {}", ns(&span.time)));
    text(&mut out, [10, 44], "fill=\"#555555\"", &format!("{} events{observed}", report.events))?;
    for (fifo, at) in report.fifos.iter().zip(0u64..) {
        panel(&mut out, fifo, HEAD + PANEL * at)?;
    }
    writeln!(out, "</svg>")
}

fn ns(figure: &Figure) -> String {
    format!("{} ns", decimal(&(&figure.value * BigUint::from(1_000_000_000u32)), 3))
}

fn escaped(words: &str) -> String {
    let mut text = String::with_capacity(words.len());
    for letter in words.chars() {
        match letter {
            '&' => text.push_str("&amp;"),
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            '"' => text.push_str("&quot;"),
            other => text.push(other),
        }
    }
    text
}

fn text(out: &mut impl Write, [x, y]: [u64; 2], style: &str, words: &str) -> io::Result<()> {
    writeln!(out, "<text x=\"{x}\" y=\"{y}\" {style}>{}</text>", escaped(words))
}

fn panel(out: &mut impl Write, fifo: &FifoReport, top: u64) -> io::Result<()> {
    let unit = |name: &Option<String>| name.as_deref().unwrap_or("?").to_owned();
    let name = fifo.name.as_ref().map_or_else(String::new, |name| format!(" {name}"));
    let title = format!("FIFO {}{name}: {} → {}", fifo.id, unit(&fifo.writer), unit(&fifo.reader));
    writeln!(out, "<g>")?;
    text(out, [10, top + 20], "font-weight=\"bold\"", &title)?;
    match &fifo.latency {
        None => text(out, [10, top + 40], "fill=\"#555555\"", "no packet went all the way through")?,
        Some(latency) => {
            let mut words = format!(
                "latency: min {}, median {}, p99 {}, max {}",
                ns(&latency.min),
                ns(&latency.median),
                ns(&latency.p99),
                ns(&latency.max)
            );
            if let Some(occupancy) = &fifo.occupancy {
                // Strings take what they are given.
                let _ =
                    write!(words, "; occupancy: mean {}, max {}", occupancy.mean.decimal(2), occupancy.max);
            }
            text(out, [10, top + 40], "fill=\"#555555\"", &words)?;
            bars(out, latency, top)?;
        }
    }
    writeln!(out, "</g>")
}

fn bars(out: &mut impl Write, latency: &Distribution, top: u64) -> io::Result<()> {
    let most = latency.histogram.iter().map(|bin| bin.count).max().unwrap_or(1).max(1);
    let width = (BARS / latency.histogram.len().max(1) as u64).min(60);
    let floor = top + TOP + TALLEST;
    for (bin, at) in latency.histogram.iter().zip(0u64..) {
        let x = LEFT + at * width;
        // A bar of any packets at all can be seen.
        let tall =
            u64::try_from(u128::from(bin.count) * u128::from(TALLEST) / u128::from(most)).unwrap_or(TALLEST);
        let tall = tall.max(u64::from(bin.count > 0));
        writeln!(
            out,
            "<rect x=\"{x}\" y=\"{}\" width=\"{}\" height=\"{tall}\" fill=\"#3b6fb6\"><title>{} to {}: {}</title></rect>",
            floor - tall,
            width - 2,
            ns(&bin.from),
            ns(&bin.to),
            bin.count
        )?;
    }
    let end = LEFT + latency.histogram.len() as u64 * width;
    writeln!(out, "<line x1=\"{LEFT}\" y1=\"{floor}\" x2=\"{end}\" y2=\"{floor}\" stroke=\"#333333\"/>")?;
    let right = "text-anchor=\"end\" fill=\"#333333\"";
    text(out, [LEFT - 6, floor - TALLEST + 10], right, &most.to_string())?;
    text(out, [LEFT - 6, floor], right, "0")?;
    if let (Some(first), Some(last)) = (latency.histogram.first(), latency.histogram.last()) {
        let style = "text-anchor=\"middle\" fill=\"#333333\"";
        text(out, [LEFT, floor + 18], style, &ns(&first.from))?;
        text(out, [end.max(LEFT + 120), floor + 18], style, &ns(&last.to))?;
    }
    Ok(())
}
