//! The page's style sheet.

/// For light and dark screens, and for paper. The colours of the timeline can be told apart by colour-blind people.
pub(super) const SHEET: &str = "
:root { color-scheme: light dark; --ink: #1a1a1a; --paper: #fff; --line: #ccc; --quiet: #666;
  --compile: #e69f00; --cache: #56b4e9; --run: #0072b2; --ahead-of-time: #999; --failed: #d55e00; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --paper: #16181c; --line: #444; --quiet: #9a9a9a; } }
body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 75rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2rem; } h3 { font-size: 1rem; overflow-wrap: anywhere; }
.quiet { color: var(--quiet); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: .75rem; margin: 1rem 0; }
.tiles div { border: 1px solid var(--line); border-radius: 6px; padding: .5rem .75rem; }
.tiles dt { color: var(--quiet); font-size: .8rem; } .tiles dd { margin: 0; font-size: 1.3rem; font-variant-numeric: tabular-nums; }
table { border-collapse: collapse; margin: 1rem 0; font-size: .85rem; display: block; overflow-x: auto; }
caption { text-align: left; color: var(--quiet); padding-bottom: .25rem; }
th, td { border-bottom: 1px solid var(--line); padding: .25rem .6rem; text-align: left; vertical-align: top; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
figure { margin: 1rem 0; overflow-x: auto; } figcaption { color: var(--quiet); font-size: .85rem; }
svg { max-width: 100%; height: auto; } svg text { fill: var(--ink); font: 12px system-ui, sans-serif; }
svg .axis { stroke: var(--line); } .compile { fill: var(--compile); } .cache { fill: var(--cache); } .run, .of-variants { fill: var(--run); }
.ahead-of-time { fill: var(--ahead-of-time); } .failed { fill: var(--failed); }
";
