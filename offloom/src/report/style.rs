//! The page's style sheet.

/// For light and dark screens, wide and narrow, and for paper. The colours of the timeline can be told apart
/// by colour-blind people. On a narrow screen a row of a table is a block, each cell behind the heading of
/// its column.
pub(super) const SHEET: &str = "
:root { color-scheme: light dark; --ink: #1a1a1a; --paper: #fff; --line: #ccc; --quiet: #5f5f5f; --track: #f2f2f2;
  --compile: #e69f00; --cache: #56b4e9; --of-variants: #0072b2; --run: #009e73; --ahead-of-time: #999; --failed: #d55e00; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --paper: #16181c; --line: #444; --quiet: #a6a6a6; --track: #22252b; } }
body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 75rem; margin: 1.5rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; overflow-wrap: anywhere; } h2 { font-size: 1.2rem; margin-top: 2rem; } h3 { font-size: 1rem; }
code, li, dd, td:first-child { overflow-wrap: anywhere; }
.quiet, dt, caption { color: var(--quiet); }
.verdict { font-size: 1.15rem; }
.cards { display: grid; grid-template-columns: repeat(4, 1fr); gap: .75rem; margin: 1rem 0; }
.cards div { border: 1px solid var(--line); border-radius: 6px; padding: .5rem .75rem; }
.cards div:first-child { border-width: 2px; border-color: var(--of-variants); }
.cards dt { font-size: .8rem; } .cards dd { margin: 0; font-size: 1.3rem; font-variant-numeric: tabular-nums; }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: 1rem 0; } .facts dd { margin: 0; }
table { border-collapse: collapse; margin: .75rem 0; font-size: .85rem; }
caption { text-align: left; padding-bottom: .25rem; }
th, td { border-bottom: 1px solid var(--line); padding: .25rem .6rem; text-align: left; vertical-align: top; }
th { vertical-align: bottom; } .number { text-align: right; font-variant-numeric: tabular-nums; }
details { margin: .5rem 0; } summary { cursor: pointer; font-weight: 600; overflow-wrap: anywhere; }
details.process { border: 1px solid var(--line); border-radius: 6px; padding: .5rem .75rem; }
figure { margin: 1rem 0; }
.legend { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; padding: 0; margin: 0 0 .75rem; list-style: none; font-size: .85rem; }
.legend i { display: inline-block; width: .8rem; height: .8rem; margin-right: .4rem; vertical-align: -.1rem; }
.lane { display: grid; grid-template-columns: 17rem 1fr; gap: .75rem; align-items: center; font-size: .8rem; }
.lane > span { white-space: nowrap; overflow: hidden; text-overflow: ellipsis; } .lane.variant > span { padding-left: 1rem; color: var(--quiet); }
.lane svg { width: 100%; height: 14px; background: var(--track); display: block; margin: 1px 0; }
.axis { display: flex; justify-content: space-between; color: var(--quiet); }
.compile { fill: var(--compile); background: var(--compile); } .cache { fill: var(--cache); background: var(--cache); }
.run { fill: var(--run); background: var(--run); } .of-variants { fill: var(--of-variants); background: var(--of-variants); }
 .failed { fill: var(--failed); background: var(--failed); }
.ahead-of-time { fill: var(--ahead-of-time); background: var(--ahead-of-time); }
@media (max-width: 700px) {
  body { margin: .75rem auto; padding: 0 .75rem; }
  .cards { grid-template-columns: repeat(2, 1fr); gap: .5rem; }
  .lane { grid-template-columns: 1fr; gap: 0; margin-top: .35rem; } .lane > span { white-space: normal; overflow-wrap: anywhere; }
  .axis span:nth-child(even) { display: none; }
  table, caption, tbody, tr, td { display: block; } thead { display: none; }
  tr { border-bottom: 2px solid var(--line); padding: .35rem 0; }
  td { overflow-wrap: anywhere; } td, td.number { border: 0; padding: .1rem 0; display: grid; grid-template-columns: 9rem 1fr; text-align: left; }
  td::before { content: attr(data-label); color: var(--quiet); } td:empty { display: none; }
}
";
