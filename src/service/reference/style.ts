/** Stylesheet of the reference: light and dark by the reader's setting, one column where the window is narrow. */
export const STYLE = `:root {
  color-scheme: light dark;
  --ground: #ffffff; --panel: #f5f6f8; --line: #e1e4ea; --ink: #1c2330; --soft: #5a6475; --link: #0b57d0;
  --get: #0a7d4f; --post: #8a4b00; --ok: #0a7d4f; --refused: #8a4b00; --fault: #b3261e; --name: #0b57d0; --text: #0a7d4f; --literal: #8a4b00;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #14171d; --panel: #1d2129; --line: #30363f; --ink: #e4e7ec; --soft: #9aa4b4; --link: #8ab4f8;
    --get: #5fd3a2; --post: #f0b36a; --ok: #5fd3a2; --refused: #f0b36a; --fault: #f2887f; --name: #8ab4f8; --text: #5fd3a2; --literal: #f0b36a;
  }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; display: grid; grid-template-columns: 17rem minmax(0, 1fr); background: var(--ground); color: var(--ink);
  font: 16px/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif; }
a { color: var(--link); text-decoration: none; }
a:hover { text-decoration: underline; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
code, pre { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: 0.86em; }
nav.wide { position: sticky; top: 0; height: 100vh; overflow-y: auto; padding: 1.5rem 1rem 2rem 1.5rem; border-right: 1px solid var(--line); background: var(--panel); }
nav ul { list-style: none; margin: 0 0 1rem; padding: 0; }
nav li a { display: block; padding: 0.15rem 0.5rem; border-radius: 6px; color: var(--ink); font-size: 0.9rem; overflow-wrap: anywhere; }
nav li a:hover { background: var(--line); text-decoration: none; }
nav .group { margin: 0 0 0.25rem 0.5rem; font-size: 0.72rem; font-weight: 600; letter-spacing: 0.06em; text-transform: uppercase; color: var(--soft); }
nav .method { font-size: 0.62rem; min-width: 2.6rem; }
main { padding: 2.5rem clamp(1rem, 4vw, 4rem) 6rem; max-width: 62rem; width: 100%; }
h1 { font-size: 1.9rem; line-height: 1.25; margin: 0 0 0.25rem; }
h2 { font-size: 1.35rem; margin: 2.8rem 0 0.75rem; padding-bottom: 0.3rem; border-bottom: 1px solid var(--line); }
h3 { font-size: 1.12rem; margin: 0 0 0.4rem; }
h3 a { color: inherit; }
h4 { font-size: 0.95rem; margin: 1.4rem 0 0.5rem; }
p { margin: 0.6rem 0; max-width: 46rem; }
ul { padding-left: 1.3rem; max-width: 46rem; }
li { margin: 0.25rem 0; }
.meta, .bounds, .example, .optional { color: var(--soft); font-size: 0.88rem; }
.meta { overflow-wrap: anywhere; }
p code, li code, td code, .example code { background: var(--panel); border: 1px solid var(--line); border-radius: 4px; padding: 0.05em 0.3em; overflow-wrap: break-word; }
pre { background: var(--panel); border: 1px solid var(--line); border-radius: 8px; padding: 0.8rem 1rem; overflow-x: auto; line-height: 1.5; margin: 0.6rem 0; }
pre .name { color: var(--name); } pre .text { color: var(--text); } pre .literal { color: var(--literal); }
.scroll { overflow-x: auto; margin: 0.6rem 0; }
table { border-collapse: collapse; width: 100%; font-size: 0.92rem; }
th { text-align: left; font-size: 0.78rem; font-weight: 600; color: var(--soft); padding: 0.3rem 1rem 0.3rem 0; border-bottom: 1px solid var(--line); }
td { vertical-align: top; padding: 0.45rem 1rem 0.45rem 0; border-bottom: 1px solid var(--line); }
td:first-child code, .fields td:first-child { white-space: nowrap; }
.fields td:nth-child(2) { min-width: 8rem; color: var(--soft); }
.fields td:nth-child(3) { min-width: 14rem; }
.operation, .schema { border: 1px solid var(--line); border-radius: 12px; padding: 1.25rem 1.4rem; margin: 1.4rem 0; }
.operation:target, .schema:target { border-color: var(--link); }
tr:target td { background: var(--panel); }
.meta a code { white-space: nowrap; }
.bounds::before, td .example::before { content: "\\00b7\\00a0"; }
.bounds:empty { display: none; }
.route { display: flex; flex-wrap: wrap; gap: 0.5rem; align-items: center; margin: 0; }
.method { display: inline-block; font-size: 0.75rem; font-weight: 700; letter-spacing: 0.03em; }
.method.get { color: var(--get); } .method.post { color: var(--post); }
.cost { font-size: 0.78rem; border: 1px solid currentColor; border-radius: 99px; padding: 0 0.6rem; }
.cost.free { color: var(--ok); } .cost.paid { color: var(--refused); }
details.response { border: 1px solid var(--line); border-radius: 8px; padding: 0.5rem 0.8rem; margin: 0.5rem 0; }
summary { cursor: pointer; }
.status { display: inline-block; min-width: 2.4rem; font-weight: 700; font-variant-numeric: tabular-nums; }
.status.ok { color: var(--ok); } .status.refused { color: var(--refused); } .status.fault { color: var(--fault); }
figure { margin: 0.6rem 0 0.2rem; }
figcaption { font-size: 0.85rem; color: var(--soft); }
.values { columns: 3 12rem; list-style: none; padding: 0; max-width: none; }
details.narrow { display: none; }
@media (max-width: 860px) {
  body { display: block; }
  nav.wide { display: none; }
  details.narrow { display: block; position: sticky; top: 0; z-index: 1; max-height: 60vh; overflow-y: auto; background: var(--ground);
    border: 1px solid var(--line); border-radius: 8px; padding: 0.5rem 0.9rem; margin: 1rem 0; }
  html { scroll-padding-top: 4rem; }
  main { padding-top: 1.5rem; }
  h1 { font-size: 1.5rem; }
  .operation, .schema { padding: 1rem; }
  .fields, .fields tbody, .fields tr, .fields td { display: block; }
  .fields thead { display: none; }
  .fields tr { border-bottom: 1px solid var(--line); padding: 0.5rem 0; }
  .fields td { border: 0; padding: 0.1rem 0; }
}
@media print {
  body { display: block; }
  nav.wide, details.narrow { display: none; }
}
`;

export const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0b57d0"/><path d="M9 7v18M23 7v18M9 16h14" stroke="#fff" stroke-width="4" stroke-linecap="round"/></svg>
`;
