"""The style sheet of the report: Spool's look on a page, dark and light, on screen and on paper."""

from spool.views.look import ACTIVITIES, Role

PAGE = {"dark": ("#14171b", "#1b1f25", "#2c323a"), "light": ("#ffffff", "#f5f6f8", "#d9dde2")}
"""Ground, surface and line."""


def _variables(theme: str) -> str:
    ground, surface, line = PAGE[theme]
    colours = ";".join(f"--{role.name.lower()}:{getattr(role.value, theme)}" for role in Role)
    return f"--ground:{ground};--surface:{surface};--line:{line};{colours}"


_LIGHT = _variables("light")
_ROLES = "".join(f".{role.name.lower()}{{color:var(--{role.name.lower()})}}" for role in Role)
_ROWS = "".join(
    f"tr.{name} td:first-child,tr.{name} td:nth-child(3){{color:var(--{name});font-weight:600}}"
    for name in (role.name.lower() for role in Role)
)
_LANES = "".join(f"svg .{activity}{{fill:var(--{role.name.lower()})}}" for activity, role in ACTIVITIES.items())

STYLE = f"""
:root{{color-scheme:light dark;{_LIGHT}}}
@media (prefers-color-scheme:dark){{:root{{{_variables("dark")}}}}}
*{{box-sizing:border-box}}
body{{margin:0;background:var(--ground);color:var(--plain);font:15px/1.5 system-ui,sans-serif}}
header,main{{max-width:72rem;margin:0 auto;padding:1rem}}
header span,small{{color:var(--dim)}}
article+article{{border-top:1px solid var(--line);margin-top:2rem;padding-top:1rem}}
h1{{font-size:1.35rem;margin:.5rem 0;overflow-wrap:anywhere}}
h2{{font-size:1rem;margin:2rem 0 .5rem}}
p{{margin:.25rem 0;overflow-wrap:anywhere}}
{_ROLES}
.verdict{{font-weight:600}}
figure{{margin:0}}
figcaption{{color:var(--dim);font-size:.85rem;margin-bottom:.25rem}}
.charts{{display:grid;grid-template-columns:repeat(auto-fit,minmax(17rem,1fr));gap:1.25rem}}
svg{{display:block;overflow:visible}}
svg text{{fill:var(--dim);font-size:11px}}
.night{{display:grid;grid-template-columns:max-content 1fr;gap:.75rem}}
.night span{{display:block;height:22px;margin-bottom:6px;color:var(--dim)}}
svg .lane{{fill:var(--surface)}}
svg .axis,svg .tick{{stroke:var(--line)}}
{_LANES}
svg .boxes{{fill:var(--good)}}
svg .bad{{fill:var(--bad);stroke:var(--plain);stroke-width:1.5}}
.wide{{overflow-x:auto}}
table{{border-collapse:collapse;width:100%;font-size:.92rem}}
th,td{{text-align:left;padding:.3rem .75rem .3rem 0;border-bottom:1px solid var(--line)}}
th,td{{white-space:nowrap;color:var(--plain)}}
th{{color:var(--dim);font-weight:500}}
td:nth-child(2),td:last-child{{white-space:normal;min-width:8rem}}
{_ROWS}
tr:has(+.notes) td{{border-bottom:0}}
.notes td{{color:var(--dim);padding-top:0;white-space:normal;overflow-wrap:anywhere}}
ul{{margin:0;padding-left:1.1rem}}
dl{{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1.25rem;margin:0}}
dt{{color:var(--dim)}}
dd{{margin:0;overflow-wrap:anywhere}}
details{{border-bottom:1px solid var(--line);padding:.35rem 0}}
details details{{margin-left:1rem;border:0}}
summary{{cursor:pointer}}
summary:focus-visible{{outline:2px solid var(--running)}}
pre{{background:var(--surface);padding:.6rem;overflow-x:auto;font:13px/1.45 ui-monospace,monospace;margin:.4rem 0}}
pre code{{white-space:pre-wrap;overflow-wrap:anywhere}}
.added{{color:var(--good)}}
.removed{{color:var(--bad)}}
.hunk{{color:var(--dim)}}
@media (max-width:40rem){{
.stories thead{{display:none}}
.stories tr{{display:flex;flex-wrap:wrap;border-bottom:1px solid var(--line);padding:.2rem 0}}
.stories td{{border:0;padding:.1rem .75rem .1rem 0;white-space:normal}}
.stories td:nth-child(2){{flex:1 0 90%}}
.stories td:nth-child(n+4)::before{{content:attr(data-of) " ";color:var(--dim)}}
.stories tr:has(+.notes){{border:0}}
.stories .notes td:first-child{{display:none}}
dl{{grid-template-columns:1fr;gap:0}}dd{{margin-bottom:.5rem}}}}
@media print{{
:root{{color-scheme:light;{_LIGHT}}}
body{{font-size:10pt}}
header,main{{max-width:none;padding:0}}
section,figure,tr{{break-inside:avoid}}
pre{{white-space:pre-wrap}}
rect{{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
}}
""".strip()
