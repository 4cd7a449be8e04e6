//! Plots and pages: SVG charts and self-contained HTML reports.
