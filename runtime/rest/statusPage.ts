/** The page at `/` for people: connectors and tasks with states, rates and the last error. Own HTML, renewed every two seconds. */

import { version } from '../config/version.ts';
import type { ConnectorStateInfo, Herder } from '../herder/herder.ts';
import type { WorkerMetrics } from '../metrics/workerMetrics.ts';

const style = `
:root { color-scheme: light dark; --line: #8884; --muted: #888; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; margin: 0; } h1 small { font-weight: normal; color: var(--muted); font-size: .9rem; }
table { border-collapse: collapse; width: 100%; margin-top: 1.5rem; }
th, td { text-align: left; padding: .35rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
tr.task td:first-child { padding-left: 2rem; color: var(--muted); }
.state { font-size: .8rem; font-weight: 600; padding: .1rem .5rem; border-radius: 1rem; background: #8883; }
.RUNNING { background: #2a93; } .FAILED { background: #d336; } .RESTARTING { background: #e903; } .PAUSED { background: #37d3; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .3rem 0 0; font-size: .8rem; max-height: 16rem; overflow: auto; }
footer { margin-top: 2rem; color: var(--muted); } .lag { color: var(--muted); }`;

const script = `
setInterval(async () => {
  const answer = await fetch('/ui').catch(() => null);
  const old = document.querySelector('main');
  if (!answer || !answer.ok) { old.style.opacity = .4; return; }
  const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html').querySelector('main');
  const open = new Set([...old.querySelectorAll('details[open]')].map(d => d.id));
  for (const d of fresh.querySelectorAll('details')) d.open = open.has(d.id);
  old.replaceWith(fresh);
}, 2000);`;

export function statusPage(herder: Herder, metrics: WorkerMetrics): string {
  const rows = [...herder.connectors()].sort().map(name => connectorRows(herder, metrics, name));
  const empty = '<tr><td colspan="6">No connectors yet. POST one to <code>/connectors</code>.</td></tr>';
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Millrace</title><style>${style}</style></head>
<body><h1>Millrace <small>${escaped(version)} · worker ${escaped(herder.workerId)} · cluster ${escaped(herder.clusterId)}</small></h1>
<main><table><thead><tr><th>Connector</th><th>State</th><th class="n">Records/s in</th><th class="n">Records/s out</th><th class="n">Lag</th><th>Last error</th></tr></thead>
<tbody>${rows.join('') || empty}</tbody></table></main>
<footer><a href="/connectors?expand=status&amp;expand=info">connectors</a> · <a href="/connector-plugins?connectorsOnly=false">plugins</a> · <a href="/metrics">metrics</a> · <a href="/openapi.json">OpenAPI</a> · <a href="/health">health</a></footer>
<script>${script}</script></body></html>`;
}

function connectorRows(herder: Herder, metrics: WorkerMetrics, name: string): string {
  let info: ConnectorStateInfo;
  try {
    info = herder.connectorStatus(name);
  } catch {
    // Just made: its status comes in a moment.
    return `<tr><td>${escaped(name)}</td><td>…</td><td></td><td></td><td></td><td></td></tr>`;
  }
  const tasks = info.tasks.map(({ id, state, trace }) => {
    const found = metrics.task({ connector: name, task: id });
    const lag = found === null ? '' : lagText(found);
    const rates = found === null ? ['', ''] : [rate(found.rates.recordsIn), rate(found.rates.recordsOut)];
    return row('task', `task ${id}`, state, rates, lag, trace, `${name}/${id}`);
  });
  const { state, trace } = info.connector;
  return [row('', `${name} (${info.type})`, state, ['', ''], '', trace, name), ...tasks].join('');
}

function row(
  kind: string,
  label: string,
  state: string,
  [recordsIn, recordsOut]: readonly string[],
  lag: string,
  trace: string | undefined,
  id: string,
): string {
  const error = trace === undefined ? '' : errorCell(trace, id);
  return `<tr class="${kind}"><td>${escaped(label)}</td><td><span class="state ${escaped(state)}">${escaped(state)}</span></td><td class="n">${recordsIn}</td><td class="n">${recordsOut}</td><td class="n lag">${escaped(lag)}</td><td>${error}</td></tr>`;
}

function errorCell(trace: string, id: string): string {
  const [first = ''] = trace.split('\n');
  return `<details id="${escaped(id)}"><summary>${escaped(first)}</summary><pre>${escaped(trace)}</pre></details>`;
}

/** A source tells how late its last event was: without new ones that says nothing of now. */
function lagText({ snapshot, rates }: NonNullable<ReturnType<WorkerMetrics['task']>>): string {
  const behindMs = snapshot.ownGauges.milliseconds_behind_source;
  if (behindMs !== undefined && behindMs >= 0) {
    return rates.recordsOut === 0 ? `${Math.round(behindMs)} ms at the last event` : `${Math.round(behindMs)} ms`;
  }
  const records = snapshot.gauges.sink_record_lag_max;
  return records === undefined ? '' : `${records} records`;
}

function rate(perSecond: number): string {
  return perSecond >= 10 || perSecond === 0 ? String(Math.round(perSecond)) : perSecond.toFixed(1);
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, character => entities[character]!);
}
