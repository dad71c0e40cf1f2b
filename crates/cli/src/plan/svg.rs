//! Draws the simulations over time: a panel for each, with the trouble as a band. Pure.

use std::fmt::Write;

use super::figures::{Figures, Sample};
use crate::counted::thousands;
use crate::span;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 150.0;
const LEFT: f64 = 20.0;
const TOP: f64 = 44.0;
const PANEL: f64 = TOP + HEIGHT + 36.0;

const STYLE: &str = "\
svg{background:#fff;font:13px system-ui,sans-serif}text{fill:#1f2328}.q{stroke:#0969da}.d{stroke:#cf222e}.c{stroke:#9a6700}\
.b{fill:#cf222e;opacity:.1}path{fill:none;stroke-width:1.5}.a{stroke:#8c959f}text.q{fill:#0969da}text.d{fill:#cf222e}\
text.c{fill:#9a6700}text{stroke:none!important}\
@media(prefers-color-scheme:dark){svg{background:#0d1117}text{fill:#e6edf3}.q{stroke:#58a6ff}.d{stroke:#ff7b72}.c{stroke:#d29922}\
text.q{fill:#58a6ff}text.d{fill:#ff7b72}text.c{fill:#d29922}.b{opacity:.25}}";

/// Value of a line.
type Value = fn(&Sample) -> usize;

pub(super) fn svg(runs: &[Figures]) -> String {
    let (width, height) = (WIDTH + 2.0 * LEFT, PANEL * runs.len() as f64);
    let panels: String = runs.iter().enumerate().map(|(row, run)| panel(run, PANEL * row as f64)).collect();
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
         aria-label=\"redrive plan\"><style>{STYLE}</style>{panels}</svg>\n"
    )
}

fn panel(run: &Figures, top: f64) -> String {
    let end = run.samples.last().map_or(1.0, |sample| sample.at.as_secs_f64()).max(1.0);
    let x = |seconds: f64| LEFT + WIDTH * (seconds / end).min(1.0);
    let (from, until) = (x(run.course.calm.as_secs_f64()), x(run.course.end().as_secs_f64()));
    let bottom = TOP + HEIGHT;
    let lines: [(&str, &str, Value); 3] = [
        ("q", "in the queue", |sample| sample.depth),
        ("d", "dead letters", |sample| sample.dead_letters),
        ("c", "calls", |sample| sample.calls),
    ];
    let mut panel = format!(
        "<g transform=\"translate(0 {top})\"><text x=\"{LEFT}\" y=\"18\" font-weight=\"600\">{}</text>\
         <rect class=\"b\" x=\"{from:.1}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{HEIGHT}\"/>\
         <path class=\"a\" d=\"M{LEFT} {bottom}H{}\"/>",
        run.name(),
        until - from,
        LEFT + WIDTH
    );
    for (number, (class, name, value)) in lines.into_iter().enumerate() {
        let most = run.samples.iter().map(value).max().unwrap_or_default();
        let y = |value: usize| bottom - HEIGHT * value as f64 / most.max(1) as f64;
        let mut path = format!("M{LEFT} {bottom}");
        for sample in &run.samples {
            // Writing to a string cannot fail.
            let _ = write!(path, "L{:.1} {:.1}", x(sample.at.as_secs_f64()), y(value(sample)));
        }
        let _ = write!(
            panel,
            "<path class=\"{class}\" d=\"{path}\"/><text class=\"{class}\" x=\"{}\" y=\"36\">{name}: at most {}</text>",
            LEFT + 200.0 * number as f64,
            thousands(most)
        );
    }
    let _ = write!(
        panel,
        "<text x=\"{LEFT}\" y=\"{0}\">0</text><text x=\"{1}\" y=\"{0}\" text-anchor=\"end\">{2}</text></g>",
        bottom + 18.0,
        LEFT + WIDTH,
        span::span(run.samples.last().map_or_else(Default::default, |sample| sample.at))
    );
    panel
}
