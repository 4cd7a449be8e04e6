// The style of `<paceline-run>`; colours as in the report (crates/report/src/style.rs).

const LIGHT = "--paper: #ffffff; --ink: #1c2126; --muted: #59636e; --grid: #e6e9ec; --rule: #848e99; --soft: #f5f7f9; "
  + "--accent: #0072b2; --bad: #b34e00; --queue: #f3d9b8; color-scheme: light;";
const DARK = "--paper: #14181d; --ink: #e8ecf0; --muted: #9aa5b1; --grid: #272e36; --rule: #6b7682; --soft: #1b2127; "
  + "--accent: #4ba9e6; --bad: #ff8a3d; --queue: #54401f; color-scheme: dark;";

export const STYLE = `
:host { display: block; max-width: 60rem; ${LIGHT} }
:host([hidden]) { display: none; }
@media (prefers-color-scheme: dark) { :host(:not([theme="light"])) { ${DARK} } }
:host([theme="dark"]) { ${DARK} }
figure { margin: 0; padding: 0.7rem; background: var(--paper); color: var(--ink); border: 1px solid var(--grid); border-radius: 8px;
  font: 0.95rem/1.45 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
.bar { display: flex; gap: 0.6rem; align-items: center; }
button { font: inherit; color: inherit; background: var(--soft); border: 1px solid var(--rule); border-radius: 6px;
  padding: 0.25rem 0.7rem; min-height: 2rem; min-width: 4.5rem; cursor: pointer; }
button:disabled, input:disabled { cursor: default; opacity: 0.6; }
input { flex: 1; min-width: 4rem; min-height: 1.75rem; accent-color: var(--accent); }
output { font-variant-numeric: tabular-nums; min-width: 4rem; text-align: right; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
canvas { display: block; width: 100%; height: 300px; margin: 0.5rem 0; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 18rem), 1fr)); gap: 0 1rem; }
.plots canvas { height: 170px; }
.plots p { margin: 0.3rem 0 0; font-weight: 600; }
figcaption { color: var(--muted); font-size: 0.9rem; margin: 0.3rem 0; overflow-wrap: anywhere; }
.key { display: inline-block; width: 1.6rem; border-top: 3px solid; vertical-align: 0.25rem; margin-right: 0.35rem; }
.key.dashed { border-top-style: dashed; } .key.dotted { border-top-style: dotted; }
.key.ideal { border-top: 2px dashed var(--ink); }
.key.queue { border-top: 0.7rem solid var(--queue); width: 0.9rem; vertical-align: -0.05rem; }
.legend { display: flex; flex-wrap: wrap; gap: 0 1.1rem; margin: 0.2rem 0; color: var(--muted); font-size: 0.85rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { padding: 0.25rem 0.6rem; border-bottom: 1px solid var(--grid); text-align: right; white-space: nowrap;
  font-variant-numeric: tabular-nums; }
th:first-child { text-align: left; }
thead th { color: var(--muted); font-size: 0.85rem; }
.error { border-left: 4px solid var(--bad); background: var(--soft); padding: 0.5rem 0.8rem; margin: 0.5rem 0; overflow-wrap: anywhere; }
[hidden] { display: none !important; }
@media print { .bar { display: none; } }
`;
