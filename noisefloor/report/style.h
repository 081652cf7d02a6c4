// The style sheet of reports. Colours are variables, set once for light and print and once for dark. Text has a
// contrast of 4.5 or more on every surface on which it appears.
//
// Internal to report/.
#pragma once

namespace noisefloor {

inline constexpr const char* kReportStyle = R"css(
:root{--page:#f4f6f8;--card:#fff;--soft:#eef2f6;--ink:#15202b;--muted:#4a5766;--line:#d5dce4;--accent:#1b5591;
--good:#0f6238;--good-soft:#e2f3e9;--warn:#7d4400;--warn-soft:#fdf1dc;--bad:#9d1219;--bad-soft:#fce8e8;
--c1:#1f5a99;--c2:#b5460f;--c3:#1b7a4b;--c4:#7a3b93;--c5:#7d6200;--c6:#a3195b;
--shade-1:#e2f0e7;--shade-2:#e7eef7;--shade-3:#fbf0df;--shade-4:#f9e6e5;--before:#8795a4;--after:#5c6b7a;--left:#e3e9ef}
@media screen and (prefers-color-scheme:dark){:root{--page:#0e1318;--card:#161d25;--soft:#1e2731;--ink:#e9eef3;--muted:#aab6c2;
--line:#313d49;--accent:#86baf2;--good:#7fdcab;--good-soft:#12301f;--warn:#f3c479;--warn-soft:#33260f;--bad:#ff9d9a;--bad-soft:#3a1718;
--c1:#7fb5ee;--c2:#f2a06b;--c3:#6fd3a0;--c4:#cf9fe6;--c5:#e0c25a;--c6:#f08fbb;
--shade-1:#17291f;--shade-2:#18232f;--shade-3:#2b2416;--shade-4:#2e1b1b;--before:#77879a;--after:#a4b2c1;--left:#27323d}}
*{box-sizing:border-box}
html{color-scheme:light dark;-webkit-text-size-adjust:100%;scroll-behavior:smooth}
@media (prefers-reduced-motion:reduce){html{scroll-behavior:auto}}
body{margin:0;background:var(--page);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",
"Liberation Sans",sans-serif;overflow-wrap:break-word}
h1,h2,h3{line-height:1.2;margin:0;text-wrap:balance}
p{margin:0}
a{color:var(--accent)}
:focus-visible{outline:3px solid var(--accent);outline-offset:3px;border-radius:4px}
.skip{position:absolute;left:16px;top:-80px;background:var(--ink);color:var(--card);padding:10px 16px;border-radius:0 0 8px 8px}
.skip:focus{top:0;z-index:1}
.page{max-width:1112px;margin:0 auto;padding:0 16px}
header .page{display:flex;flex-wrap:wrap;gap:8px 24px;align-items:baseline;justify-content:space-between;padding-top:20px;padding-bottom:20px}
.brand{font-weight:650;letter-spacing:-.01em}
.brand span{color:var(--muted);font-weight:400}
nav ul{display:flex;flex-wrap:wrap;gap:6px 18px;list-style:none;margin:0;padding:0;font-size:14px}
nav a{display:inline-block;padding:4px 0;text-decoration:none}
nav a:hover{text-decoration:underline}
.card{background:var(--card);border:1px solid var(--line);border-radius:14px;padding:20px}
.hero{border-top:5px solid var(--state);padding:24px 20px}
.good{--state:var(--good);--state-soft:var(--good-soft)}
.careful{--state:var(--warn);--state-soft:var(--warn-soft)}
.bad{--state:var(--bad);--state-soft:var(--bad-soft)}
.hero-grid{display:grid;gap:24px}
.badge{display:inline-block;background:var(--state-soft);color:var(--state);font-weight:650;font-size:14px;line-height:1.4;padding:4px 12px;
border-radius:14px}
h1{font-size:clamp(28px,6vw,42px);letter-spacing:-.025em;margin:14px 0 12px;font-weight:700}
.promise{font-size:clamp(17px,2.4vw,20px);line-height:1.5;max-width:36em}
.figure-of-merit{background:var(--state-soft);border-radius:12px;padding:20px;align-self:start}
.figure-of-merit .big{font-size:clamp(38px,8vw,54px);line-height:1.1;font-weight:700;letter-spacing:-.03em;color:var(--state);
font-variant-numeric:tabular-nums}
.figure-of-merit p+p{margin-top:6px;font-size:15px}
.facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:16px 24px;margin:24px 0 0;padding:20px 0 0;
border-top:1px solid var(--line)}
.facts dt{color:var(--muted);font-size:14px}
.facts dd{margin:0;font-weight:600}
.facts dd+dd{font-weight:400;font-size:14px;color:var(--muted)}
.checks{list-style:none;margin:20px 0 0;padding:20px 0 0;border-top:1px solid var(--line);display:grid;gap:10px}
.checks li{display:grid;grid-template-columns:22px 1fr;gap:8px}
.checks svg{width:20px;height:20px;margin-top:3px}
.checks .tick-mark{fill:none;stroke:var(--good);stroke-width:2.4;stroke-linecap:round;stroke-linejoin:round}
.checks .open-mark{fill:none;stroke:var(--muted);stroke-width:2}
.checks strong{font-weight:600}
.warning{background:var(--warn-soft);color:var(--warn);border-radius:10px;padding:12px 16px;margin-top:16px;font-weight:550}
section.part{margin-top:44px;scroll-margin-top:12px}
section.part>h2{font-size:24px;letter-spacing:-.015em;margin-bottom:6px}
.lead{color:var(--muted);max-width:60em;margin-bottom:18px}
h3{font-size:17px}
.sub{color:var(--muted);font-size:14px;margin-top:2px}
.card>.sub{margin-top:8px}
.grid-2{display:grid;gap:16px;grid-template-columns:minmax(0,1fr)}
figure{margin:0;min-width:0}
.chart{display:block;width:100%;height:auto;max-width:560px;margin:10px auto 0}
.chart.narrow{display:none}
.chart text{font-size:12.5px;fill:var(--muted);font-variant-numeric:tabular-nums}
.chart text.axis,.chart text.here-name{fill:var(--ink);font-weight:600}
.grid{stroke:var(--line);stroke-width:1;fill:none}
.frame{stroke:var(--muted);stroke-width:1;fill:none}
.reference{stroke:var(--muted);stroke-width:1.5;stroke-dasharray:6 5;fill:none}
[class^=line-]{fill:none;stroke-width:2.2;stroke-linejoin:round;stroke-linecap:round}
[class^=band-]{fill-opacity:.2}
.line-1{stroke:var(--c1)}.line-2{stroke:var(--c2);stroke-dasharray:9 5}.line-3{stroke:var(--c3);stroke-dasharray:2 5}
.line-4{stroke:var(--c4);stroke-dasharray:12 4 2 4}.line-5{stroke:var(--c5);stroke-dasharray:5 3}.line-6{stroke:var(--c6);stroke-dasharray:1 4}
.band-1,.dot-1{fill:var(--c1)}.band-2,.dot-2{fill:var(--c2)}.band-3,.dot-3{fill:var(--c3)}.band-4,.dot-4{fill:var(--c4)}
.band-5,.dot-5{fill:var(--c5)}.band-6,.dot-6{fill:var(--c6)}
.spot{fill:var(--card);stroke:var(--c2);stroke-width:3}
.shade-1{fill:var(--shade-1)}.shade-2{fill:var(--shade-2)}.shade-3{fill:var(--shade-3)}.shade-4{fill:var(--shade-4)}
.typical{fill:var(--c1)}
.here{stroke:var(--c2);stroke-width:3;fill:none;stroke-linecap:round}.here-mark{fill:var(--c2)}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:4px 18px;margin:10px 0 0;padding:0;font-size:14px}
.legend li{display:flex;gap:8px;align-items:center}
.legend svg{width:28px;height:12px;flex:none}
.reading{margin-top:12px;font-size:15px}
details{margin-top:12px;font-size:14px}
summary{cursor:pointer;color:var(--accent);padding:4px 0;font-weight:550}
.scroll{overflow-x:auto;max-height:360px;overflow-y:auto;margin-top:8px;border:1px solid var(--line);border-radius:8px}
table{border-collapse:collapse;width:100%;font-size:14px;font-variant-numeric:tabular-nums}
caption{text-align:left;font-weight:600;font-size:17px;padding-bottom:8px}
.scroll caption{font-size:14px;padding:8px 10px}
th,td{text-align:left;padding:7px 10px;border-bottom:1px solid var(--line);vertical-align:top}
tbody tr:last-child>*{border-bottom:0}
thead th{color:var(--muted);font-weight:600}
.number{text-align:right}
.names th{font-weight:400;color:var(--muted);width:38%;padding-left:0}
.names td{overflow-wrap:anywhere;padding-right:0}
.odds td+td{white-space:nowrap;font-weight:600}
.mono{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace;font-size:13px}
.bar{display:block;width:100%;height:34px;border-radius:9px}
.part-before{fill:var(--before)}.part-own{fill:var(--c1)}.part-after{fill:var(--after)}.part-left{fill:var(--left)}
.swatch-left{stroke:var(--muted);stroke-width:1}
.amounts{list-style:none;margin:14px 0 0;padding:0;display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:12px 20px}
.amounts li{display:grid;grid-template-columns:16px 1fr;gap:2px 10px;align-items:baseline}
.amounts svg{width:14px;height:14px}
.amounts strong{font-size:20px;font-variant-numeric:tabular-nums}
.amounts span{grid-column:2;color:var(--muted);font-size:14px}
.plain{margin:0;padding-left:22px;max-width:48em}
.plain li+li{margin-top:6px}
.command+.command{margin-top:16px}
pre{margin:6px 0 0;background:var(--soft);border-radius:9px;padding:12px 14px;white-space:pre-wrap;overflow-wrap:anywhere}
pre code{user-select:all}
footer{margin-top:44px;border-top:1px solid var(--line);color:var(--muted);font-size:14px}
footer .page{padding-top:18px;padding-bottom:32px}
.stack>*+*{margin-top:16px}
.columns>*{break-inside:avoid;margin-bottom:16px}
@media (min-width:760px){.hero{padding:36px 36px 30px}.hero-grid{grid-template-columns:minmax(0,1fr) 290px;gap:40px}.card{padding:24px}}
@media (min-width:1000px){.grid-2{grid-template-columns:repeat(2,minmax(0,1fr))}.grid-2>:last-child:nth-child(odd){grid-column:1/-1}.columns{columns:2;column-gap:16px}}
@media (max-width:599px){.chart.wide{display:none}.chart.narrow{display:block}}
@media print{@page{margin:14mm}
html{color-scheme:light;scroll-behavior:auto}body{background:#fff;font-size:10.5pt}.page{max-width:none;padding:0 1px}
.skip,nav,details{display:none}.card{border-radius:8px;padding:14px}.hero{padding:18px 16px}section.part{margin-top:22px}
*{print-color-adjust:exact;-webkit-print-color-adjust:exact}
figure,.card.keep,tr,li,.command{break-inside:avoid}h2,h3,caption,.lead{break-after:avoid}
.chart.wide{display:none}.chart.narrow{display:block;max-width:400px}
.grid-2{grid-template-columns:repeat(2,minmax(0,1fr))}.grid-2>:last-child:nth-child(odd){grid-column:1/-1}.columns{columns:2;column-gap:16px}
.scroll{max-height:none;overflow:visible}}
)css";

}  // namespace noisefloor
